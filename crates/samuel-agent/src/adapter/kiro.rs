//! Kiro CLI: `kiro-cli chat --no-interactive`.
//!
//! Follows «Headless mode» and «Exit codes» of the Kiro documentation. Kiro is
//! no public package, so unlike the others this adapter is checked only against
//! those pages. Without a positional prompt the whole of standard input is the
//! prompt. It prints coloured text and has no structured stream: usage and tool
//! calls are not known.

use super::{Cli, Reports, Speaks, plain::PlainParser};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "kiro",
    program: Some("kiro-cli"),
    args: &["chat", "--no-interactive", "--trust-all-tools"],
    model_flag: None,
    resume_args: &[],
    lost_words: &[],
    last_args: &[],
    env: &["KIRO_*"],
    provider: None,
    notice: Some("kiro runs with --trust-all-tools: it edits files and runs commands without asking"),
    speaks: Speaks::PerhapsLate,
    reports: Reports::Nothing,
    final_event: false,
    parser: |_, _| Box::new(PlainParser::default()),
};
