//! Arguments of the commands that only look: at the plan, and at what an agent would be given.

use clap::Args;
use samuel_core::{
    model::{Source, Status, TaskId},
    plan::{ListForm, TaskFilter},
};

use super::{Given, limits::setting};

#[derive(Debug, Args)]
#[command(
    after_help = "Groups stand above their parts. With a task that is asked for come the groups that it is \
                  in, unless the list is flat.\n\nExamples:\n  samuel run tasks --ready\n  samuel run tasks \
                  --status pending,blocked --limit 20"
)]
#[expect(clippy::doc_markdown, reason = "the terminal shows it, where no Markdown is")]
pub(crate) struct TasksArgs {
    /// Only tasks that stand so: pending, in_progress, completed, skipped or blocked; repeat it, or separate
    /// them by commas
    #[arg(long, value_name = "STATUS", value_delimiter = ',')]
    status: Vec<Status>,
    /// Only tasks that could be worked on now
    #[arg(long)]
    ready: bool,
    /// Only tasks that came from there: manual, prd or pilot-discovery; repeat it, or separate them by commas
    #[arg(long, value_name = "SOURCE", value_delimiter = ',')]
    source: Vec<Source>,
    /// At most so many of them
    #[arg(long, value_name = "N", value_parser = super::whole_number::<usize>(1..=u64::MAX))]
    limit: Option<usize>,
    /// Groups with their parts below them; the default without --json
    #[arg(long, conflicts_with = "flat")]
    tree: bool,
    /// Each task by itself, in the order of the plan; the default with --json
    #[arg(long)]
    flat: bool,
}

impl TasksArgs {
    /// Returns which tasks are listed. Programs get them in the order of the plan, unless
    /// they ask for a tree.
    pub(crate) fn filter(self, for_program: bool) -> TaskFilter {
        let is_flat = self.flat || (for_program && !self.tree);
        let form = if is_flat { ListForm::Flat } else { ListForm::Tree };
        TaskFilter { statuses: self.status, sources: self.source, ready: self.ready, limit: self.limit, form }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "The history begins where the plan was last stored as a whole, and goes back as far as the \
                  journal does. Of a long one the last 100 changes and 50 attempts are shown.\n\nExit codes: 0 \
                  shown, 1 there is no such task"
)]
pub(crate) struct ShowTaskArgs {
    /// The task
    pub(crate) id: TaskId,
}

#[derive(Debug, Args)]
#[command(
    after_help = "A document has what every command answers, such as ok and warnings, and in data what the \
                  command is asked for.\n\nExamples:\n  samuel schema run status\n  samuel schema run tasks > \
                  tasks.schema.json"
)]
pub(crate) struct SchemaArgs {
    /// The command, such as run status [default: all whose documents have a schema]
    #[arg(value_name = "COMMAND")]
    pub(crate) command: Vec<String>,
}

#[derive(Debug, Args)]
pub(crate) struct LookArgs {
    /// Run what plugins bring without asking
    #[arg(long, short)]
    pub(crate) yes: bool,
}

#[derive(Debug, Args)]
pub(crate) struct PromptArgs {
    /// Print what it consists of instead: the tokens of each section, and what was left out
    #[arg(long, conflicts_with = "export")]
    pub(crate) stats: bool,
    /// Copy the prompt templates to .samuel/templates/<methodology>/ instead, to change them there
    #[arg(long)]
    pub(crate) export: bool,
    /// Replace templates that are there
    #[arg(long, requires = "export")]
    pub(crate) force: bool,
    /// The model that the agent is to use, by its own name for it
    #[arg(long, value_name = "NAME", value_parser = setting("model"), conflicts_with = "export")]
    pub(crate) model: Option<Given>,
    #[command(flatten)]
    pub(crate) look: LookArgs,
}
