//! What a prompt is made of: the data that templates and handlers read, and
//! the template language that turns them into text.

mod framing;
mod task;
pub mod template;

pub use framing::Framing;
pub(crate) use framing::one_line;
pub use samuel_contract::context::*;
