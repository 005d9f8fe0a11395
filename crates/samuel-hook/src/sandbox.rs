//! The port for sandboxes: what a run asks of whatever its commands run in.
//!
//! A [`Sandbox`] turns a command into the one that runs it inside. [`Sandboxes`] finds one by its name. [`Host`] adds
//! nothing; the sandboxes that keep something from a command implement the port elsewhere.
//!
//! ```
//! use samuel_hook::sandbox::{HOST, Sandboxes};
//!
//! assert_eq!(Sandboxes::default().find(HOST)?.name(), "host");
//! # Ok::<(), samuel_hook::sandbox::SandboxError>(())
//! ```

mod image;

use std::{fmt, path::Path, sync::Arc};

use samuel_contract::nearest;
use samuel_model::{Coded, ErrorCode, Remedy};
use samuel_process::CommandSpec;
use serde::Serialize;

pub use image::{Image, without_tag};

/// The name of [`Host`].
pub const HOST: &str = "host";

/// What commands run in.
pub trait Sandbox: fmt::Debug + Send + Sync {
    /// Returns the name by which settings and handlers choose it.
    fn name(&self) -> &str;

    /// Checks that commands can run in it; asked before a run starts, and before each
    /// call that a handler chose it for. By default they can.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] that says why not.
    fn check(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Makes of a command the one that runs it in the sandbox.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] where that cannot be. The command is not started then.
    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError>;

    /// Does the same for a quality check, which may have less than an agent. By default it has as much.
    ///
    /// # Errors
    /// Returns what [`wrap`](Self::wrap) does.
    fn wrap_check(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        self.wrap(spec)
    }

    /// Returns the user as whom its commands reach the socket of a run, as the system tells it here.
    /// By default the one of this process.
    fn peer_uid(&self) -> Option<u32> {
        None
    }

    /// Says whether the programs of its commands are its own, such as those of an image, rather than those of this
    /// machine: then no agent's program is looked up before it is called. By default they are not.
    fn brings_programs(&self) -> bool {
        false
    }

    /// Clears away what a run that was cut off may have left; asked once, before the first command of a run. Blocks.
    /// By default there is nothing.
    ///
    /// # Errors
    /// Returns a [`SandboxError`] where that cannot be done. The run does not start then.
    fn begin(&self) -> Result<(), SandboxError> {
        Ok(())
    }

    /// Returns what somebody should know of the commands since it was asked last, one sentence each, such as a host
    /// that was refused. By default nothing.
    fn notices(&self) -> Vec<String> {
        Vec::new()
    }

    /// Returns the limits below `[sandbox]` that it does not hold on this machine. A start that is asked for one of them is
    /// refused. By default it holds all.
    fn unheld(&self) -> Vec<UnheldLimit> {
        Vec::new()
    }

    /// Returns where its commands find a gateway, by its name: an address without a key. By default there is none.
    fn base_url(&self, _gateway: &str) -> Option<String> {
        None
    }

    /// Names what does the work and its version, for people. By default nothing.
    fn version(&self) -> Option<String> {
        None
    }

    /// Returns the same sandbox with another directory that its commands can write to, since each worker has its own
    /// workspace. Default: `None`. Workers then share this sandbox, which gets the workspace as the directory of each
    /// command.
    fn in_workspace(&self, _workspace: &Path) -> Option<Arc<dyn Sandbox>> {
        None
    }
}

/// A limit that a sandbox does not hold on a machine.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct UnheldLimit {
    /// The key below `[sandbox]` that sets it: `memory` or `pids`.
    pub key: &'static str,
    /// Why it is not held, in words.
    pub why: String,
}

impl fmt::Display for UnheldLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} is not limited: {}", self.key, self.why)
    }
}

/// No sandbox: commands have the rights of the user.
#[derive(Clone, Copy, Debug, Default)]
pub struct Host;

impl Sandbox for Host {
    fn name(&self) -> &str {
        HOST
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec)
    }
}

/// The sandboxes of a run, by their names. Default: [`Host`] alone.
#[derive(Clone, Debug)]
pub struct Sandboxes(Vec<Arc<dyn Sandbox>>);

impl Default for Sandboxes {
    fn default() -> Self {
        Self(vec![Arc::new(Host)])
    }
}

impl Sandboxes {
    /// Adds sandboxes to [`Host`], in their order.
    ///
    /// # Errors
    /// Returns [`SandboxError::Taken`] if two sandboxes have the same name.
    pub fn with(others: impl IntoIterator<Item = Arc<dyn Sandbox>>) -> Result<Self, SandboxError> {
        others.into_iter().try_fold(Self::default(), |mut all, one| {
            if all.0.iter().any(|other| other.name() == one.name()) {
                return Err(SandboxError::Taken { name: one.name().to_owned() });
            }
            all.0.push(one);
            Ok(all)
        })
    }

    /// Puts a sandbox in the place of the one that has its name. If none has, it becomes the last.
    #[must_use]
    #[doc(hidden)]
    pub fn replacing(mut self, sandbox: Arc<dyn Sandbox>) -> Self {
        match self.0.iter_mut().find(|other| other.name() == sandbox.name()) {
            Some(other) => *other = sandbox,
            None => self.0.push(sandbox),
        }
        self
    }

    /// Returns all sandboxes, each with another directory to write to if it has such ([`Sandbox::in_workspace`]).
    #[must_use]
    #[doc(hidden)]
    pub fn in_workspace(&self, workspace: &Path) -> Self {
        let within = |one: &Arc<dyn Sandbox>| one.in_workspace(workspace).unwrap_or_else(|| Arc::clone(one));
        Self(self.0.iter().map(within).collect())
    }

    /// Returns the names of all sandboxes in their order, also of those in which no command can run.
    #[doc(hidden)]
    pub fn known(&self) -> Vec<&str> {
        self.0.iter().map(|sandbox| sandbox.name()).collect()
    }

    /// Returns the names of those that commands can run in.
    pub fn names(&self) -> Vec<&str> {
        let usable = self.0.iter().filter(|sandbox| sandbox.check().is_ok());
        usable.map(|sandbox| sandbox.name()).collect()
    }

    /// Returns the sandbox of a name, once it says that commands can run in it.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unknown`] where there is none,
    /// and what [`Sandbox::check`] says.
    pub fn find(&self, name: &str) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let found = self.named(name)?;
        found.check()?;
        Ok(found)
    }

    /// Returns the sandbox of a name, whether or not commands can run in it.
    ///
    /// # Errors
    /// Returns [`SandboxError::Unknown`] where there is none.
    pub fn named(&self, name: &str) -> Result<Arc<dyn Sandbox>, SandboxError> {
        let Some(found) = self.0.iter().find(|sandbox| sandbox.name() == name) else {
            let (name, nearest) = (name.to_owned(), nearest(name, self.known()).map(str::to_owned));
            return Err(SandboxError::Unknown { name, nearest });
        };
        Ok(Arc::clone(found))
    }
}

/// A sandbox that commands cannot run in.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SandboxError {
    /// No sandbox has the name.
    #[error("unknown sandbox \"{name}\"")]
    Unknown {
        /// The name as it was given.
        name: String,
        /// The nearest name, where one is near.
        nearest: Option<String>,
    },
    /// A program brings a sandbox under a name that stands for another.
    #[error("a sandbox of the program's own cannot be called \"{name}\", which is the name of another")]
    Taken {
        /// The name.
        name: String,
    },
    /// What it needs is not there.
    #[error("sandbox \"{name}\" cannot be used: {problem}")]
    Unusable {
        /// The name.
        name: String,
        /// What is wrong.
        problem: String,
    },
    /// A container could not be removed, in which something may still be at work.
    #[error("container {container} of an earlier command could not be removed, and nothing is run beside it")]
    Stuck {
        /// Its name.
        container: String,
    },
    /// It cannot keep to what is set below `[sandbox]`.
    #[error("sandbox.{key}: {problem}")]
    Setting {
        /// The key below `[sandbox]`.
        key: &'static str,
        /// What is wrong.
        problem: String,
    },
}

impl Coded for SandboxError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::Unusable { .. } | Self::Setting { .. } => ErrorCode::SANDBOX_UNAVAILABLE,
            Self::Stuck { .. } => ErrorCode::SANDBOX_STUCK,
            _ => ErrorCode::SANDBOX_UNKNOWN,
        }
    }

    fn help(&self) -> Remedy {
        match self {
            Self::Unknown { nearest: Some(nearest), .. } => format!("Did you mean \"{nearest}\"?").into(),
            Self::Taken { .. } => "Give it a name of its own.".into(),
            Self::Setting { key: "image", .. } => {
                Remedy::BuildImage.after("Pin one by its digest in samuel.lock, and name that or none as image below [sandbox] in samuel.toml.")
            }
            Self::Setting { key, .. } => format!("Correct {key} below [sandbox] in samuel.toml.").into(),
            _ => self.code().help.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    /// A sandbox in which nothing can run.
    #[derive(Debug)]
    struct Broken(&'static str);

    impl Sandbox for Broken {
        fn name(&self) -> &str {
            self.0
        }

        fn check(&self) -> Result<(), SandboxError> {
            Err(SandboxError::Unusable { name: self.0.to_owned(), problem: "no kernel for it".to_owned() })
        }

        fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
            self.check().map(|()| spec)
        }
    }

    fn with(name: &'static str) -> Result<Sandboxes, SandboxError> {
        Sandboxes::with(["bwrap", "oci", name].map(|name| Arc::new(Broken(name)) as Arc<dyn Sandbox>))
    }

    #[test]
    fn a_sandbox_that_is_unknown_or_unusable_is_refused_in_words() {
        let told = |name| {
            let error = with("vm").unwrap().find(name).unwrap_err();
            format!("{error} | {} | {}", error.help().prose(), error.code().name)
        };
        let use_host = "Use host, which is no sandbox, bwrap or oci. | E_SANDBOX_UNKNOWN";
        assert_eq!(told("docker"), format!("unknown sandbox \"docker\" | {use_host}"));
        assert_eq!(told("bwarp"), "unknown sandbox \"bwarp\" | Did you mean \"bwrap\"? | E_SANDBOX_UNKNOWN");
        assert_eq!(told("hots"), "unknown sandbox \"hots\" | Did you mean \"host\"? | E_SANDBOX_UNKNOWN");
        assert!(
            told("vm").starts_with("sandbox \"vm\" cannot be used: no kernel for it | "),
            "{}",
            told("vm")
        );
        assert!(told("vm").ends_with(" | E_SANDBOX_UNAVAILABLE"));
    }

    #[test]
    fn only_the_host_is_available() {
        assert_eq!(Sandboxes::default().find(HOST).unwrap().name(), "host");
        assert!(with("vm").unwrap().find("oci").is_err());
    }

    #[test]
    fn no_sandbox_of_a_program_stands_for_another() {
        for name in ["host", "oci", "bwrap"] {
            assert_eq!(with(name).unwrap_err(), SandboxError::Taken { name: name.to_owned() });
        }
    }
    #[test]
    fn a_sandbox_takes_the_place_of_its_name() {
        let all = with("vm").unwrap().replacing(Arc::new(Host)).replacing(Arc::new(Broken("jail")));
        assert_eq!(all.known(), ["host", "bwrap", "oci", "vm", "jail"]);
    }
}
