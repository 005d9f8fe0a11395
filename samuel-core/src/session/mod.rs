//! A session without a loop: any orchestrator fires the hook points of a project.
//!
//! A [`Session`] is built from a project and handlers as a run is, and fires the points that a
//! session has: what the user asks for, each call of an ability, each completed task, the stop and
//! the end. Handlers of every tier take part: closures, plugins, the commands of hook files. What
//! they answer comes back as [`Feedback`], merged, and as data: nothing is printed, no suggested
//! action is carried out, and which prompt a text goes into is the caller's to say. Nothing that
//! the repository brings runs before the [`TrustPolicy`](crate::trust::TrustPolicy) allows it.
//!
//! A session that lives over several processes is kept between them as a [`SessionState`].
//!
//! ```
//! use samuel_core::{
//!     hook::{Answer, Call, HookFailure, points},
//!     model::payload::{AbilityBeforeOutput, SessionSource},
//!     session::{AbilityEnd, AbilityOutput, AbilityRequest, Session},
//!     testing::Bench,
//!     trust::TrustPolicy,
//! };
//! use serde_json::json;
//!
//! async fn no_pushes(call: Call<points::AbilityBefore>) -> Result<AbilityBeforeOutput, HookFailure> {
//!     let is_push = call.input().input.contains("git push");
//!     Ok(if is_push { AbilityBeforeOutput::refuse("pushes are the maintainers'") } else { Default::default() })
//! }
//!
//! # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
//! # runtime.block_on(async {
//! let bench = Bench::with_tasks(&[])?;
//! let session = Session::builder(bench.project().clone())
//!     .session("review")
//!     .hook::<points::AbilityBefore, _>("no-pushes", no_pushes)
//!     .trust(TrustPolicy::TrustAll)
//!     .open()
//!     .await?;
//! session.start(SessionSource::Startup).await?;
//!
//! let request = AbilityRequest::new("Bash", json!({ "command": "git push" }));
//! let called = session.call_ability(request, async |_| Ok::<_, String>(AbilityOutput::new(()))).await?;
//! assert!(matches!(called.end, AbilityEnd::Blocked { reason } if reason == "pushes are the maintainers'"));
//!
//! assert_eq!(session.stop("completed", None).await?.blocked, None);
//! session.end("completed").await?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! # })?;
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod ability;
pub mod bridge;
mod builder;
mod call;
mod error;
mod feedback;
mod live;
mod state;
#[cfg(test)]
mod tests;

pub use ability::{
    AbilityEnd, AbilityOutcome, AbilityOutput, AbilityPermission, AbilityReport, AbilityRequest, Permitted,
};
pub use builder::{ReadySession, SessionBuilder};
pub use error::SessionError;
pub use feedback::Feedback;
pub use live::Session;
pub use state::{OpenCall, SessionState};
