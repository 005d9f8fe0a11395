//! What the commands of agents and checks run in.
//!
//! A [`Sandbox`] makes another command of a command: what it runs in, with the
//! command as its argument. Which one is chosen by name, for each call of the agent;
//! checks run in the one of the settings. There is [`Host`], which adds nothing; [`Bwrap`], which shows
//! a command little more than its workspace; [`Oci`], which runs it in a container of an image; both are tried
//! out by [`probe`](probe()); and a program brings its own ([`RunBuilder::sandboxes`](crate::engine::RunBuilder::sandboxes)).
//! Without the feature `sandbox` the names of those two stand for nothing that commands could run in.
//!
//! ```
//! use samuel_core::{process::CommandSpec, sandbox::{Sandbox, SandboxError}};
//!
//! /// Commands without a network.
//! #[derive(Debug)]
//! struct Offline;
//!
//! impl Sandbox for Offline {
//!     fn name(&self) -> &str {
//!         "offline"
//!     }
//!
//!     fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
//!         Ok(spec.within("/usr/bin/unshare", ["--net", "--map-root-user", "--"]))
//!     }
//! }
//!
//! let spec = Offline.wrap(CommandSpec::shell("true", "/tmp"))?;
//! assert_eq!(spec.program(), "/usr/bin/unshare");
//! # Ok::<(), SandboxError>(())
//! ```

mod engine_kind;
mod probe;
mod view;
#[cfg_attr(not(feature = "sandbox"), path = "sandbox/absent.rs")]
mod walls;

pub use engine_kind::EngineKind;
pub use probe::{ProbeFinding, ProbeGround, ProbeOutcome, probe};
pub use samuel_hook::sandbox::{HOST, Host, Image, Sandbox, SandboxError, Sandboxes, UnheldLimit};
pub use view::View;
#[cfg(feature = "sandbox")]
pub(crate) use walls::{
    Access, MAX_GATEWAYS, Mount, Program, ProgramParts, Spoken, Start, host_socket, is_same, new_token,
    problem_of_mount,
};
#[cfg(feature = "sandbox")]
pub use walls::{Bwrap, Contents, Engine, Memory, Oci, Reach};
pub use walls::{Containers, Guest, built_in};

/// The name of the sandbox that is made with bubblewrap.
pub const BWRAP: &str = "bwrap";
/// The name of the sandbox that runs commands in containers.
pub const OCI: &str = "oci";
