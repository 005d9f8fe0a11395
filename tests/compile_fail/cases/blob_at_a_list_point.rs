//! Sections are listed, not folded into a blob.

use samuel_core::{
    hook::{Answer},
    model::payload::ContextExtraOutput,
};

fn main() {
    let _ = ContextExtraOutput::from_blob("# Glossary");
}
