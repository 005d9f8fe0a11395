//! Ralph: the methodology that is built in.
//!
//! Each function here is what one hook point does by default, on plain typed data; the engine wraps them as handlers and
//! decides what is written where.
//!
//! | hook point | function |
//! |---|---|
//! | `before:loop` | [`check_plan`] |
//! | `iteration.gate` | the mode that [`Pilot`](crate::plan::Pilot) says |
//! | `context.snapshot` | [`take_snapshot`](crate::snapshot::take_snapshot) |
//! | `context.progress` | [`progress_context`] |
//! | `context.task` | [`implementation_context`], [`discovery_context`] |
//! | `before:agent.invoke` | [`compose_prompt`], with the templates in [`templates`] |
//! | `after:agent.invoke` | [`agent_summary`] |
//! | `quality.check` | [`run_checks`] |
//! | `after:loop` | [`loop_summary`] |
//!
//! The context defaults keep what handlers before them produced, by
//! [`fold_toon`] and [`fold_markdown`]. `agent.invoke` is the [agent's](crate::agent).

mod checks;
mod compose;
mod fold;
mod handlers;
mod progress;
mod ready;
mod source_prd;
mod summary;
mod task_context;
pub mod templates;

pub use checks::{Check, CheckSetting, ChecksCancelled, MAX_TAIL_BYTES, run_checks};
pub use compose::{ComposedPrompt, PromptParts, QuotedBlob, compose_prompt};
pub use fold::{Folded, fold_markdown, fold_toon};
pub use progress::{Failures, ToldIn, progress_context};
pub use ready::{PlanCheck, check_plan};
pub use source_prd::SourcePrd;
pub use summary::{agent_summary, loop_summary, plan_summary};
pub use task_context::{discovery_context, implementation_context, recently_completed};

use std::sync::Arc;

use super::{Kit, Methodology};
use crate::{config::DEFAULT_METHODOLOGY, hook::RegistryBuilder};
use handlers::Handlers;
use templates::PROMPTS;

/// The methodology that is built in.
#[derive(Clone, Copy, Debug, Default)]
pub struct Ralph;

impl Methodology for Ralph {
    fn name(&self) -> &str {
        DEFAULT_METHODOLOGY
    }

    fn aliases(&self) -> Vec<&str> {
        vec!["rw"]
    }

    fn templates(&self) -> Vec<(&str, &str)> {
        PROMPTS.to_vec()
    }

    fn register(&self, kit: Kit, registry: &mut RegistryBuilder) {
        Arc::new(Handlers::new(kit)).register(registry);
    }
}
