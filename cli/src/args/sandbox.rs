//! What `run sandbox` and its commands take.

use clap::{Args, Subcommand};

#[derive(Debug, Subcommand)]
pub(crate) enum SandboxCommand {
    /// Try to get out of the sandbox, and say of each promise whether it held
    #[command(
        after_help = "The commands run in a directory that is made for it; nothing of the project is run. What \
                            `egress` opens is not tried.\n\nExit codes: 0 all held, 1 one did not, or the sandbox \
                            cannot be used"
    )]
    Check(SandboxCheckArgs),
    /// Build the image that .samuel/sandbox/Containerfile describes, and pin it in samuel.lock
    #[command(
        after_help = "Nothing is pulled, and what the file runs has no network: images it begins with have to be \
                            there, such as by `tar -C rootfs -c . | podman import - NAME`. SAMUEL_RUNTIME names the \
                            engine, podman or docker.\n\nExit codes: 0 built, 1 it cannot be"
    )]
    Image(SandboxImageArgs),
    /// Remove the containers of this project that a Samuel has left that is gone
    #[command(
        after_help = "Each start does it as well. Containers of other projects, and of a run that is at work, \
                            stay.\n\nExit codes: 0 done, 1 the engine cannot be asked"
    )]
    Sweep,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxImageArgs {
    /// An image that is there, to pin in place of one that is built
    #[arg(value_name = "NAME")]
    pub(crate) name: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct SandboxCheckArgs {
    /// The sandbox [default: that of samuel.toml]
    #[arg(long, value_name = "NAME")]
    pub(crate) sandbox: Option<String>,
}
