//! Whether what a repository brings may run: the module `trust` of the crate `samuel-config`.
//!
//! Agent commands, quality checks, plugins and templates come with the repository and
//! execute on the user's machine. The library never decides by itself whether they may:
//! the caller gives a [`TrustPolicy`], which is shown the [`Executables`]. A
//! [`TrustStore`] keeps what was trusted, outside of every repository, so that a start
//! asks again only where something else would run, and shows the [`Difference`].
//!
//! ```
//! use samuel_core::{testing::{Bench, completes_each_task}, trust::{TrustPolicy, TrustStore}};
//!
//! let state = tempfile::tempdir()?;
//! let store = TrustStore::open(&state.path().join("trust"))?;
//! let bench = Bench::with_tasks(&[("1", "Write the notes")])?;
//! let (root, now) = (bench.project().root(), bench.project().clock().now());
//! let mut run = bench.run(completes_each_task()).build()?;
//!
//! let policy = TrustPolicy::recorded(store.clone());
//! let refused = policy.decide(root, run.executables()?, now).unwrap_err();
//! assert_eq!(refused.to_string(), "nobody has allowed what this project would run");
//!
//! store.record(root, run.executables()?, now)?;
//! assert!(policy.decide(root, run.executables()?, now).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

pub use samuel_config::trust::{
    ChangedExecutable, ControlFileChange, Difference, Executable, ExecutableKind, Executables, RecordedTrust,
    RefusalReason, TrustPolicy, TrustRecord, TrustRefusal, TrustStore, TrustStoreError,
};
pub(crate) use samuel_config::trust::{NOT_WATCHED, UNREADABLE, command_line, handlers, plugin};
