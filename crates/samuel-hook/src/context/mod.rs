//! What a prompt is made of: the data that templates and handlers read, and
//! the template language that turns them into text.
//!
//! ```
//! use samuel_hook::context::{PromptContext, template::Template};
//!
//! let mut context = PromptContext::default();
//! context.iteration.number = 3;
//! let prompt = Template::parse("prompt", "This is iteration {{.Iteration.Number}}.")?.render(&context)?;
//! assert_eq!(prompt.text, "This is iteration 3.");
//! # Ok::<(), samuel_hook::context::template::TemplateError>(())
//! ```

mod framing;
mod lookalike;
mod stats;
pub mod template;

pub use framing::Framing;
pub use framing::bytes_left_out;
pub use samuel_contract::context::*;
pub use stats::{PromptQuotation, PromptSection, PromptStats};
