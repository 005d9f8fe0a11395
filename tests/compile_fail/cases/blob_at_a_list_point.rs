//! Sections are listed, not folded into a blob.

use samuel_hook::{Answer, payload::ContextExtraOutput};

fn main() {
    let _ = ContextExtraOutput::from_blob("# Glossary");
}
