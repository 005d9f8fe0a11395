//! Ralph: the methodology that is built in.
pub mod git;
pub mod snapshot;
#[cfg(test)]
mod testing;
