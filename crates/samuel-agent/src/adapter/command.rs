//! Any command line as an agent.
//!
//! The configuration says what to run. The prompt is standard input, or a file
//! where an argument holds the placeholder `{prompt_file}`. What the command
//! prints is taken as text.

use super::{Cli, Reports, Speaks, plain::PlainParser};

/// The adapter.
pub(super) const CLI: Cli = Cli {
    name: "command",
    program: None,
    args: &[],
    model_flag: None,
    resume_args: &[],
    lost_words: &[],
    last_args: &[],
    env: &[],
    provider: None,
    notice: Some("the configured command runs as it is: Samuel does not limit what it may do"),
    speaks: Speaks::PerhapsLate,
    reports: Reports::Nothing,
    final_event: false,
    parser: |_, _| Box::new(PlainParser::default()),
};
