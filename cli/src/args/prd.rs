//! What the commands take that make a plan: of a PRD, or of one that is kept.

use std::path::PathBuf;

use clap::Args;
use samuel_core::prd::Form;

use super::whole_number;

#[derive(Debug, Args)]
pub(crate) struct InitArgs {
    /// The PRD, a Markdown or JSON file, whose tasks become the plan
    #[arg(long, value_name = "FILE")]
    pub(crate) prd: Option<PathBuf>,
    /// Replace a plan that is there; `samuel run restore` has it then
    #[arg(long)]
    pub(crate) force: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReadingArgs {
    /// Read the PRD in this form, also at each update; `samuel run convert --formats` lists them
    #[arg(long, value_name = "NAME")]
    pub(crate) format: Option<Form>,
    /// Make an empty plan of a PRD without tasks
    #[arg(long)]
    pub(crate) allow_empty: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "--update finds each task of the PRD in the plan, by id and then by title, and changes what it \
                  says, where only the PRD changed it. What was edited in the plan stays. Where tasks stand, \
                  their commits and tasks that were added stay, and so do tasks that the PRD has no more, \
                  unless --prune is given. At a terminal it shows what is different and asks. It works beside \
                  a running loop, and `samuel run undo` takes it back.\n\nExamples:\n  samuel run convert \
                  --dry-run docs/prd.md\n  samuel run convert docs/prd.md\n  samuel run convert \
                  --update --dry-run docs/prd.md\n  generate-prd | samuel run convert --update -"
)]
pub(crate) struct ConvertArgs {
    /// The PRD, a Markdown or JSON file; "-" reads it from stdin, with --update
    #[arg(value_name = "PRD", required_unless_present = "formats")]
    pub(crate) prd: Option<PathBuf>,
    /// Replace a plan that has tasks; `samuel run restore` has it then
    #[arg(long, conflicts_with = "update")]
    pub(crate) force: bool,
    /// Bring the plan up to date with the PRD
    #[arg(long)]
    pub(crate) update: bool,
    /// Remove tasks that came from a PRD and are in this one no more
    #[arg(long, requires = "update")]
    pub(crate) prune: bool,
    /// Show the plan, or with --update what would be different, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Change the plan without asking, also where the PRD looks like another one
    #[arg(long, short, requires = "update")]
    pub(crate) yes: bool,
    #[command(flatten)]
    pub(crate) reading: ReadingArgs,
    /// List the forms that a PRD may have
    #[arg(long, conflicts_with_all = ["prd", "force", "update", "dry_run", "format", "allow_empty"])]
    pub(crate) formats: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Plans are kept in $SAMUEL_STATE_DIR, $XDG_STATE_HOME/samuel or ~/.local/state/samuel. A \
                        plan that is there is kept beside the restored one, as prd.toon.bak-<time>.\n\nExit \
                        codes: 0 done, 1 no such plan is kept, 75 a loop runs"
)]
pub(crate) struct RestoreArgs {
    /// The number of the plan, as --list shows it; by default the last one that is not there now
    #[arg(value_name = "NUMBER", conflicts_with = "list", value_parser = whole_number::<u64>(1..=u64::MAX))]
    pub(crate) number: Option<u64>,
    /// List the plans that are kept and change nothing
    #[arg(long)]
    pub(crate) list: bool,
}
