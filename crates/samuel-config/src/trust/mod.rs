//! Whether what a repository brings may run.
//!
//! Agent commands, quality checks, plugins and templates come with the repository and
//! execute on the user's machine. The library never decides by itself whether they may:
//! the caller gives a [`TrustPolicy`], which is shown the [`Executables`]. A
//! [`TrustStore`] keeps what was trusted, outside of every repository, so that a start
//! asks again only where something else would run, and shows the [`Difference`].
//!
//! ```
//! use samuel_config::trust::{Executables, TrustPolicy, TrustStore};
//!
//! let (state, project) = (tempfile::tempdir()?, tempfile::tempdir()?);
//! let store = TrustStore::open(&state.path().join("trust"))?;
//! let (root, now) = (project.path(), jiff::Timestamp::now());
//! let executables = Executables::default();
//!
//! let policy = TrustPolicy::recorded(store.clone());
//! let refused = policy.decide(root, &executables, now).unwrap_err();
//! assert_eq!(refused.to_string(), "nobody has allowed what this project would run");
//!
//! store.record(root, &executables, now)?;
//! assert!(policy.decide(root, &executables, now).is_ok());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod control_file_change;
mod difference;
mod executables;
mod policy;
mod refusal;
mod store;

pub use self::{
    control_file_change::ControlFileChange,
    difference::{ChangedExecutable, Difference},
    executables::{Executable, ExecutableKind, Executables},
    policy::{RecordedTrust, TrustPolicy},
    refusal::{RefusalReason, TrustRefusal},
    store::{TrustRecord, TrustStore, TrustStoreError},
};
pub use self::{
    control_file_change::UNREADABLE,
    executables::{NOT_WATCHED, command_line, handlers, plugin},
};
