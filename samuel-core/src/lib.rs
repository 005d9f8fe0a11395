//! Embeddable autonomous coding loops with typed hooks.
//!
//! Samuel takes a plan, gives a coding agent one task after the other, checks
//! the result itself, records state, and stops when the work is done or a
//! guard says stop. Every step is a named [hook point](HookPoint), to which a
//! program attaches handlers of its own.
//!
//! ```
//! use samuel_core::{Answer, Call, Existing, ExitReason, Project, Run, Script, ScriptedCall, TrustPolicy, blocking, points};
//!
//! fn main() -> Result<(), Box<dyn std::error::Error>> {
//!     // Any directory will do; settings are those of its samuel.toml, where it has one.
//!     let root = std::env::temp_dir().join(format!("greeter-{}", std::process::id()));
//!     std::fs::create_dir_all(&root)?;
//!     let prd = root.join("prd.md");
//!     std::fs::write(&prd, "# Greeter\n\n## Tasks\n\n- [ ] 1.0 Greet the world\n")?;
//!     let project = Project::at(&root)?;
//!     project.convert_prd(&prd, Existing::Refuse)?;
//!
//!     let greeting = root.join("hello.txt");
//!     let run = Run::builder(project)
//!         // Without a script it is the agent that samuel.toml names, else Claude Code.
//!         .script(Script::default().call(ScriptedCall::any().write("hello.txt", "hello").done()))
//!         .trust(TrustPolicy::TrustAll)
//!         .hook::<points::QualityCheck, _>("greeting", blocking(move |_: &Call<points::QualityCheck>| {
//!             Ok(if greeting.exists() { Answer::pass() } else { Answer::refuse("there is no greeting") })
//!         }))
//!         .build()?;
//!
//!     // In a program with a runtime of tokio: run.start().await?.wait().await?
//!     let report = run.run_blocking()?;
//!     assert_eq!(report.exit_reason, ExitReason::Completed);
//!     std::fs::remove_dir_all(&root)?;
//!     Ok(())
//! }
//! ```
//!
//! That program needs this crate alone. The traits [`Agent`], [`Handler`], [`AgentPort`](hook::AgentPort),
//! [`MutationSink`](agent::MutationSink) and [`Clock`](clock::Clock) are implemented below the attribute [`async_trait`](macro@async_trait). The
//! doubles of the module `testing` are there with the feature of that name.
//!
//! What such a program needs is named here; the modules have the rest, each with an
//! example on its page. A program that names a [`Supervisor`] has every process ended
//! with its command, also when it is killed itself; the run says so where it does not.
//!
//! The crate never prints, never reads the environment, the home or the
//! current directory, and installs no signal handler: the caller passes in
//! what it needs.
#![cfg_attr(not(test), warn(missing_docs))]
#![cfg_attr(
    not(feature = "sandbox"),
    allow(
        dead_code,
        unused_imports,
        reason = "parts of modules are there for sandboxes and plugins that are images alone"
    )
)]

pub mod agent;
pub mod broker;
pub mod clock;
pub mod config;
pub mod context;
pub mod detect;
pub mod dialect;
#[cfg(feature = "sandbox")]
pub mod egress;
pub mod engine;
pub mod environment;
pub mod event;
pub mod fleet;
pub mod fs;
pub mod git;
pub mod history;
pub mod hook;
pub mod lifecycle;
pub mod machine;
pub mod merge;
pub mod methodology;
pub mod model;
pub mod plan;
pub mod plugin;
pub mod prd;
pub mod project;
pub mod sandbox;
pub mod sched;
pub mod script;
pub mod session;
pub mod snapshot;
pub mod state;
#[cfg(any(test, feature = "testing"))]
pub mod testing;
pub mod text;
pub mod trust;
pub mod workspace;

pub use async_trait::async_trait;
pub use samuel_process as process;
pub use samuel_toon as toon;

#[doc(no_inline)]
pub use {
    agent::{Agent, Script, ScriptedCall},
    config::MethodologySettings,
    engine::{Controller, Events, Run, RunBuilder, RunError, RunHandle},
    event::{Event, EventRecord, RunReport},
    hook::{Answer, Call, Handler, HookFailure, HookPoint, RegistryBuilder, blocking, points},
    model::{Coded, ErrorCode, ExitReason, Plan, Priority, Status, Task, TaskId, Usage, payload},
    plugin::Catalog,
    process::{Supervisor, supervisor_main},
    project::{Project, ProjectError, find_root},
    session::Session,
    state::{Actor, Existing},
    trust::TrustPolicy,
};
