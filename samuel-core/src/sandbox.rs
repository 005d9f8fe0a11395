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
mod image;
mod probe;
mod view;
#[cfg_attr(not(feature = "sandbox"), path = "sandbox/absent.rs")]
mod walls;

use std::{fmt, path::Path, sync::Arc};

use serde::Serialize;

use crate::{
    hook::nearest,
    model::{Coded, ErrorCode, Remedy},
    process::CommandSpec,
};

pub use engine_kind::EngineKind;
pub use image::Image;
pub use probe::{ProbeFinding, ProbeGround, ProbeOutcome, probe};
pub use view::View;
use walls::built_in;
#[cfg(feature = "sandbox")]
pub(crate) use walls::{
    Access, MAX_GATEWAYS, Mount, Program, ProgramParts, Spoken, Start, host_socket, is_same, new_token,
    problem_of_mount,
};
#[cfg(feature = "sandbox")]
pub use walls::{Bwrap, Contents, Engine, Memory, Oci, Reach};
pub use walls::{Containers, Guest};

/// The name of [`Host`].
pub const HOST: &str = "host";
/// The name of the sandbox that is made with bubblewrap.
pub const BWRAP: &str = "bwrap";
/// The name of the sandbox that runs commands in containers.
pub const OCI: &str = "oci";

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

    /// Returns one whose commands have another directory to write to, as each of several lanes has its own. By default
    /// there is none: what commands see is not known.
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

    fn in_workspace(&self, _: &Path) -> Option<Arc<dyn Sandbox>> {
        Some(Arc::new(Self))
    }
}

/// The sandboxes of a run, by their names.
#[derive(Clone, Debug)]
pub struct Sandboxes(Vec<Arc<dyn Sandbox>>);

impl Default for Sandboxes {
    fn default() -> Self {
        let [bwrap, oci] = built_in();
        Self(vec![Arc::new(Host), bwrap, oci])
    }
}

impl Sandboxes {
    /// Takes those that a program brings, beside [`Host`], `bwrap` and `oci`.
    ///
    /// # Errors
    /// Returns [`SandboxError::Taken`] for a name that stands for another.
    pub fn with(brought: impl IntoIterator<Item = Arc<dyn Sandbox>>) -> Result<Self, SandboxError> {
        brought.into_iter().try_fold(Self::default(), |mut all, one| {
            if all.0.iter().any(|other| other.name() == one.name()) {
                return Err(SandboxError::Taken { name: one.name().to_owned() });
            }
            all.0.push(one);
            Ok(all)
        })
    }

    /// Returns those that can have another directory to write to, with that one.
    #[must_use]
    pub(crate) fn in_workspace(&self, workspace: &Path) -> Self {
        Self(self.0.iter().filter_map(|sandbox| sandbox.in_workspace(workspace)).collect())
    }

    /// Returns the names of all, also of those that cannot be used here.
    pub(crate) fn known(&self) -> Vec<&str> {
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
    use crate::{
        agent::{Script, ScriptedCall},
        config::CheckCommand,
        engine::RunError,
        hook::{Call, points},
        model::{ExitReason, payload::BeforeAgentInvokeOutput},
        testing::{Bench, Played},
    };

    /// A sandbox that its commands can see.
    #[derive(Debug)]
    struct Marked;

    impl Sandbox for Marked {
        fn name(&self) -> &str {
            "marked"
        }

        fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
            Ok(spec.within("/usr/bin/env", ["INSIDE=yes"]))
        }
    }

    /// Makes one run in which a handler chooses the sandbox of each call, if one is named; says where
    /// the agent was.
    async fn seen_by_the_agent(chosen: Option<&'static str>) -> (String, Played) {
        let bench = Bench::with_tasks(&[("1", "Look around")]).unwrap();
        let script = Script::default()
            .call(ScriptedCall::any().repeated().run("echo \"inside=$INSIDE\" > seen").done());
        let mut run = bench.run(script).sandbox(Arc::new(Marked)).settings(|settings| {
            settings.max_iterations = std::num::NonZero::new(1);
            settings.quality_checks = vec![CheckCommand::new("test \"$INSIDE\" = yes")];
        });
        if let Some(name) = chosen {
            run = run.hook::<points::BeforeAgentInvoke, _>(
                "choose",
                move |_: Call<points::BeforeAgentInvoke>| async move {
                    Ok(BeforeAgentInvokeOutput { sandbox: Some(name.to_owned()), ..Default::default() })
                },
            );
        }
        let played = bench.play(run).await.unwrap();
        (std::fs::read_to_string(bench.path().join("seen")).unwrap_or_default(), played)
    }

    #[tokio::test]
    async fn agents_and_checks_run_in_the_sandbox_that_the_program_brings() {
        let (seen, played) = seen_by_the_agent(None).await;
        assert_eq!(seen, "inside=yes\n");
        assert_eq!(played.report.exit_reason, ExitReason::Completed, "{}", played.transcript());
    }

    #[tokio::test]
    async fn a_handler_chooses_the_sandbox_of_one_call_by_its_name() {
        let (seen, played) = seen_by_the_agent(Some(HOST)).await;
        assert_eq!(seen, "inside=\n");
        assert_eq!(played.report.exit_reason, ExitReason::Completed, "the check stays where it was");
        let (seen, played) = seen_by_the_agent(Some("bwarp")).await;
        assert_eq!(seen, "", "nothing ran");
        assert!(played.transcript().contains("unknown sandbox \"bwarp\""), "{}", played.transcript());
    }

    #[tokio::test]
    async fn a_sandbox_that_cannot_be_used_is_refused_before_anything_runs() {
        let bench = Bench::with_tasks(&[("1", "Look around")]).unwrap();
        let error = bench.run(Script::default()).sandbox(Arc::new(Broken("vm"))).build().unwrap_err();
        assert!(matches!(&error, RunError::Sandbox(SandboxError::Unusable { .. })), "{error}");
        let unknown = bench.run(Script::default()).settings(|settings| settings.sandbox = "vm".to_owned());
        assert!(matches!(unknown.build(), Err(RunError::Sandbox(SandboxError::Unknown { .. }))));
    }

    #[tokio::test]
    async fn samuel_toml_names_a_sandbox_of_the_program() {
        let config = |name| format!("[methodology.ralph]\nsandbox = \"{name}\"\n");
        let bench = Bench::builder().config(config("marked")).task("1", "Look around").build().unwrap();
        let script = || {
            let call = ScriptedCall::any().run("echo \"inside=$INSIDE\" > seen").done();
            bench.run(Script::default().call(call)).sandboxes([Arc::new(Marked) as Arc<dyn Sandbox>])
        };
        bench.play(script()).await.unwrap();
        assert_eq!(std::fs::read_to_string(bench.path().join("seen")).unwrap(), "inside=yes\n");
        let told = |error: RunError| {
            let place = error.location().map(|place| (place.line, place.column));
            format!("{error} | {} | {place:?}", error.help().prose())
        };
        let unknown = |name| Bench::builder().config(config(name)).task("1", "Look around").build().unwrap();
        let (near, far) = (unknown("makred"), unknown("docker"));
        let refused = |bench: &Bench, brought: Option<Arc<dyn Sandbox>>| {
            told(bench.run(Script::default()).sandboxes(brought).build().unwrap_err())
        };
        let place = "methodology.ralph.sandbox: unknown sandbox";
        let told_near = refused(&near, Some(Arc::new(Marked)));
        assert!(
            told_near.contains(&format!(":2:1: {place} \"makred\" | Did you mean \"marked\"?")),
            "{told_near}"
        );
        assert!(told_near.ends_with("Some((Some(2), Some(1)))"), "{told_near}");
        let told_far = refused(&far, None);
        assert!(
            told_far.contains(&format!("{place} \"docker\" | Use one of host, bwrap, oci.")),
            "{told_far}"
        );
        let selected = far.run(Script::default()).sandbox(Arc::new(Marked));
        assert!(
            told(selected.build().unwrap_err()).contains("Use one of host, bwrap, oci, marked."),
            "a misspelt name is one all the same"
        );
    }

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
        Sandboxes::with([Arc::new(Broken(name)) as Arc<dyn Sandbox>])
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
        assert!(Sandboxes::default().find(OCI).is_err());
    }

    #[test]
    fn no_sandbox_of_a_program_stands_for_another() {
        for name in ["host", "oci", "bwrap"] {
            assert_eq!(with(name).unwrap_err(), SandboxError::Taken { name: name.to_owned() });
        }
    }
}
