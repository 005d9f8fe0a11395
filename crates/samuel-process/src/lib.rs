//! Running commands and agents so that nothing of them survives.
//!
//! A [`CommandSpec`] says what to run; [`spawn`] starts it and returns a [`Running`], which
//! hands out standard output line by line while the command works, takes its standard
//! input bit by bit, and ends with a [`CommandOutput`]; [`run`] does all of that in one call. Both
//! keep the same promises:
//!
//! - the command has its own process group, no terminal and exactly the
//!   environment of its specification;
//! - it is ended at its deadline and not before, politely first (SIGTERM) and after a
//!   grace by SIGKILL, and the call returns once everything is gone;
//! - output is read as it comes, kept as head and tail, counted in full and
//!   copied to a file if asked;
//! - with a [`Supervisor`] process in between, every descendant goes with the
//!   command, those that left its group or session too, and they go even when
//!   the program that embeds Samuel is killed by SIGKILL, and when the command
//!   kills or stops its supervisor; and the command inherits no open file but its three streams.
//!
//! ```text
//! Samuel ── control socket ──► supervisor (subreaper, own session)
//!    │                             │  link
//!    │                          keeper (subreaper, own session, control group)
//!    │                             │  own process group
//!    └── stdin, stdout, stderr ──► command ──► descendants
//! ```
//!
//! The supervisor holds one end of the control socket and Samuel the other.
//! When Samuel's end closes, for whatever reason, the keeper kills
//! everything below it. Each of the three does the work of the one below if that is
//! lost: the keeper and the supervisor as parents, Samuel by the [`Containment`],
//! and the next program that calls [`sweep_remains`] for a Samuel that is dead too. A PID
//! namespace would hide the supervisors altogether, but each command would count its
//! pids from 1: files with pids that outlive a command then name processes that live,
//! and without root `sudo` stops working. The supervisor is a small program that the caller names, because
//! Samuel is a library and may live in a Python interpreter: the `samuel`
//! binary, or anything that calls [`supervisor_main`]. Without one
//! ([`Supervisor::GroupOnly`], the only choice outside Linux) Samuel can
//! only signal the process group.
//!
//! ```
//! use samuel_process::{CommandSpec, Supervisor, run};
//!
//! # let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let cancel = tokio_util::sync::CancellationToken::new();
//! let hello = CommandSpec::new("/bin/echo", "/").arg("hello");
//! let output = run(hello, &Supervisor::GroupOnly, &cancel).await?;
//! assert_eq!((output.success(), output.stdout.text().as_str()), (true, "hello\n"));
//! # Ok::<(), samuel_process::ProcessError>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! What a command may do, which environment it gets and what its output means
//! is decided elsewhere (hooks, agents). This crate reads no environment and
//! installs no signal handler in the embedding program.

mod capture;
mod companion;
mod containment;
mod control;
mod drive;
mod error;
mod filter;
mod group;
mod heartbeat;
mod input;
mod last_resort;
mod launch;
mod left;
mod lines;
mod lookup;
mod mark;
mod output;
mod run;
mod running;
mod schedule;
mod spec;
mod startable;
mod streams;
mod supervised;
mod supervisor;
#[cfg_attr(
    not(target_os = "linux"),
    allow(dead_code, reason = "only the supervisor of Linux reads jobs and writes reports")
)]
mod wire;

#[cfg(target_os = "linux")]
mod cgroup;
#[cfg(target_os = "linux")]
mod client;
#[cfg(target_os = "linux")]
mod guard;
#[cfg(target_os = "linux")]
mod keeper;
#[cfg(target_os = "linux")]
mod link;
#[cfg(target_os = "linux")]
mod proc_table;
#[cfg(target_os = "linux")]
mod remains;
#[cfg(target_os = "linux")]
mod shim;
#[cfg(target_os = "linux")]
mod sweep;

pub use capture::create_private;
pub use companion::Companion;
pub use containment::Containment;
pub use error::ProcessError;
pub use filter::{OutputFilter, StreamFilter};
pub use input::StdinPipe;
pub use left::{LeftRunning, Process, Remains, listed};
pub use lines::Line;
pub use lookup::{find_on_path, find_program};
pub use output::{Captured, CommandOutput, End, ExitStatus};
pub use run::run;
pub use running::{Running, Stopper, spawn};
pub use spec::{Clocks, CommandSpec, OutputLimits, Spill, Stdin};
pub use startable::{problem_of_line, problem_of_program};
pub use supervisor::{
    Supervisor, SupervisorId, is_gone, strongest_containment, supervisor_main, sweep_remains, this_process,
    wait_for_sweep,
};
