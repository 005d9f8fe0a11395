//! What the commands take that concern a project as a whole, and the demonstration.

use std::path::PathBuf;

use clap::Args;

use super::whole_number;

#[derive(Debug, Args)]
#[command(
    after_help = "What is there already stays. Handlers of init.before can refuse; nothing is written \
                        then.\n\nNext: samuel run init --prd <FILE>, which makes the plan"
)]
pub(crate) struct ProjectInitArgs {
    /// Replace a samuel.toml that is there; a backup is kept
    #[arg(long)]
    pub(crate) force: bool,
    /// Only write what Samuel needs: no AGENTS.md
    #[arg(long)]
    pub(crate) minimal: bool,
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
#[command(after_help = "Only what stands between <!-- samuel:begin --> and <!-- samuel:end --> is written. \
                        Templates of your own go to .samuel/templates/<methodology>/agents.md.tmpl and \
                        folder.md.tmpl.")]
pub(crate) struct SyncArgs {
    /// List what would be written, and write nothing
    #[arg(long)]
    pub(crate) dry_run: bool,
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DoctorArgs {
    /// Show every hook point's chain: what runs, in which order, what is skipped and why, and where that is set
    #[arg(long)]
    pub(crate) hooks: bool,
    /// Repair prd.toon and hide secrets in earlier records
    #[arg(long, conflicts_with = "hooks")]
    pub(crate) fix: bool,
    /// Repair without asking
    #[arg(long, short, requires = "fix")]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct TrustArgs {
    /// Trust it without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
    /// Show what was trusted, and what is different now
    #[arg(long, conflicts_with_all = ["yes", "revoke"])]
    pub(crate) show: bool,
    /// Forget what was trusted
    #[arg(long, conflicts_with = "yes")]
    pub(crate) revoke: bool,
}

#[derive(Debug, Args)]
pub(crate) struct DemoArgs {
    /// Work in this new or empty directory and keep it [default: a temporary one]
    #[arg(long, value_name = "DIR")]
    pub(crate) keep: Option<PathBuf>,
    /// What the agent and the checks run in: host, which is no sandbox, bwrap or oci
    #[arg(long, value_name = "NAME", default_value = "host")]
    pub(crate) sandbox: String,
    /// How many lanes work at once, each in a clone of its own [default: none, one loop]
    #[arg(long, value_name = "N", value_parser = whole_number::<u32>(1..=64))]
    pub(crate) jobs: Option<u32>,
    /// The image of the sandbox oci, pinned by its digest; it needs a shell, the usual small programs and what
    /// this command is linked with
    #[arg(long, value_name = "IMAGE")]
    pub(crate) image: Option<String>,
}
