//! The sandboxes that keep something from a command: bubblewrap, and containers of podman and docker.
//!
//! [`Bwrap`] and [`Oci`] begin a command with a [`Guest`], the first process, which is told of it over a lifeline
//! (`launch`, `lifeline`, `sockets`), and what leads out of them is the [`egress`](crate::egress)'s (`outlet`). They are
//! there with the feature `sandbox`; without it `absent` stands in their place.

mod ask;
mod bwrap;
mod guest;
mod launch;
mod lifeline;
mod oci;
mod outlet;
mod process_limit;
mod sockets;

use std::sync::Arc;

use super::{BWRAP, EngineKind, Image, OCI, Sandbox, SandboxError, UnheldLimit, View};

pub(crate) use bwrap::problem_of_mount;
pub use bwrap::{Bwrap, Reach};
pub use guest::Guest;
pub(crate) use lifeline::is_same;
pub(crate) use oci::{Access, Mount, Program, ProgramParts, Spoken, Start, host_socket, new_token};
pub use oci::{Containers, Contents, Engine, Memory, Oci};
pub(crate) use outlet::MAX_GATEWAYS;

/// Returns the sandboxes `bwrap` and `oci`, in this order, as they are before a run describes them: each one refuses
/// every command, and its [`check`](Sandbox::check) returns the reason.
pub fn built_in() -> [Arc<dyn Sandbox>; 2] {
    [Arc::new(Bwrap::default()), Arc::new(Oci::default())]
}
