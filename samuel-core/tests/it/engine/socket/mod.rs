//! Agents whose own hooks ask the run about their tool calls, by its socket.

mod calls;
mod kit;
mod listening;
mod plan;
