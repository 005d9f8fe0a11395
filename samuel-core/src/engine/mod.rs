//! The loop: the driver of the machine that decides.
//!
//! [`Run`] is built from a project, an agent and handlers, and started; the
//! [`RunHandle`] gives its events and takes commands. The
//! [`machine`](crate::machine) decides what happens next without doing anything itself;
//! the driver carries it out, and what it does is told as [`event`](crate::event)s.
//! Which handlers there are by default is the methodology's.
//!
//! ```
//! use samuel_core::{engine::Run, model::TaskId, testing::{Bench, completes_each_task}, trust::TrustPolicy};
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let bench = Bench::with_tasks(&[("1", "Greet the world")])?;
//! let run = Run::builder(bench.project().clone())
//!     .script(completes_each_task())
//!     .trust(TrustPolicy::TrustAll)
//!     .build()?;
//! let mut handle = run.start().await?;
//! let mut events = handle.events();
//! while let Some(record) = events.next().await {
//!     println!("{:?}", record.event);
//! }
//! assert_eq!(handle.wait().await?.completed, [TaskId::new("1")]);
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod arguments;
mod asked;
mod begin;
mod branch_watch;
mod bridged;
mod broker;
mod builder;
mod call_access;
mod call_logs;
mod check_programs;
mod checked_files;
mod checkup;
mod consumed;
mod contexts;
mod control_files;
mod credit;
mod decisions;
mod driver;
mod error;
mod executables;
mod fire;
mod flight;
mod follow;
mod frozen;
#[cfg_attr(not(feature = "sandbox"), path = "no_gateways.rs")]
mod gateways;
mod git_files;
mod handle;
mod hook_list;
mod hook_log;
mod hook_report;
mod hook_trial;
mod hook_validation;
mod hooks;
mod hub;
mod in_clone;
mod lanes;
mod left_changed;
mod listening;
mod live;
mod live_state;
mod old_logs;
mod only_loop;
mod people;
mod plan_effects;
mod points;
mod port;
mod preview;
mod profile;
mod record;
mod refusals;
mod repeated_warnings;
mod run;
mod sandbox_image;
mod sandbox_report;
#[cfg_attr(not(feature = "sandbox"), path = "no_sandboxes.rs")]
mod sandboxes;
mod services;
pub mod socket;
mod start_warning;
mod tickets;
mod tool_kinds;
mod turn_place;
mod unheld_budget;
mod waiting;
mod work_tree;

pub use builder::RunBuilder;
pub use checkup::{Checkup, Finding, Health, Subject};
pub use decisions::DecisionError;
pub use error::RunError;
pub use handle::{Controller, EndSignal, RunHandle};
pub use hook_list::{HookList, ListedHook};
pub use hook_report::{
    AskedReport, ChainReport, EntryReport, HandlerReport, HookReport, OriginReport, PointReport,
    SettingReport, SkippedReport,
};
pub use hook_trial::{HookFiring, HookTrial};
pub use hook_validation::{HookProblem, HookValidation};
pub use hooks::{Hooks, HooksError, ShownHook, ShownHooks};
pub use hub::Events;
pub use lanes::{
    CleanedLanes, KeptOfLanes, LandReport, LandedWork, LaneBranch, LaneList, LaneStanding, LaneWorkTree,
    LanesError, MergeReport, QueueEntry, QueueList, ReturnedWork,
};
pub use live::{Attached, LiveError, LiveRun};
pub(crate) use points::{KeptPoints, Points, is_brought};
pub use preview::{Glance, Preview, PreviewStop};
pub use profile::{Profile, ProfileRow};
#[cfg(any(test, feature = "testing"))]
pub(crate) use record::{NOT_RECORDED, TOO_FAST};
pub use run::Run;
pub use sandbox_report::SandboxReport;
pub use start_warning::{AgentWorks, StartWarning};
