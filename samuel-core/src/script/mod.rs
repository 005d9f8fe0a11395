//! Commands as handlers run them: scripts of plugins, commands of hook files.
//!
//! A [`HookCommand`] is a [`CommandLine`] with its directory, environment, input and limits. It runs
//! under a supervisor and ends as a [`ScriptOutput`], which says what was printed, how it ended
//! and, as a [`HookFailure`](crate::hook::HookFailure), why it has not answered. What its output
//! means is left to whoever runs it: the envelope of plugins, the dialects of hook files.
//!
//! ```
//! use samuel_core::{process::Supervisor, script::{CommandLine, HookCommand}};
//! use tokio_util::sync::CancellationToken;
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build()?.block_on(async {
//! let script = HookCommand::new(CommandLine::Shell("cat; echo done; exit 3".into()), "/").stdin("work ");
//! let output = script.run(&Supervisor::GroupOnly, &CancellationToken::new()).await.map_err(|failure| failure.message)?;
//! assert_eq!((output.stdout.text().as_str(), output.status_line().as_str()), ("work done\n", "exit code 3"));
//! assert!(output.failure().is_some());
//! # Ok::<(), String>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod bad_output;
mod command_line;
mod env;
pub(crate) mod named;
mod output;
mod pinned;
mod private_copy;
mod reading;
mod runner;

pub(crate) use bad_output::{SHOWN_CHARS, bad_output};
pub use command_line::CommandLine;
pub(crate) use env::env_in;
pub use env::{MAX_DEPTH, depth_of, hook_env};
pub use output::ScriptOutput;
pub(crate) use pinned::executed;
pub use pinned::{PinOptions, Pinned, ScriptFile};
pub(crate) use private_copy::{CopiedFile, CopyError, CopyOf, PrivateCopy, hold};
pub use reading::Budget;
pub use runner::HookCommand;
