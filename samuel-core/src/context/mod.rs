//! What a prompt is made of: the template engine and, beside it, the data it reads.

pub mod template;
