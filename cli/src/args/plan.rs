//! Arguments of the commands that change what a plan says.

use clap::Args;
use samuel_core::{
    model::{ClaimTarget, Complexity, Priority, TaskId},
    state::{LearnedKind, TaskEdit},
};

#[derive(Debug, Args)]
#[command(
    after_help = "Without an option $VISUAL or $EDITOR opens with what the task says, as TOML; what you save is \
                  taken. A list that is given replaces the one that is there; \"\" empties it. Agents may not \
                  edit tasks.\n\nExamples:\n  samuel run edit 2 --priority high --acceptance \"the tests \
                  pass\"\n  samuel run edit 2 --depends-on 1,1.2"
)]
pub(crate) struct EditArgs {
    /// The task
    pub(crate) id: TaskId,
    /// The title, one line
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    title: Option<String>,
    /// What is to be done, any number of lines
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    description: Option<String>,
    /// How urgent it is: critical, high, medium or low
    #[arg(long, value_name = "PRIORITY")]
    priority: Option<Priority>,
    /// How much work it is: simple, medium or complex
    #[arg(long, value_name = "COMPLEXITY")]
    complexity: Option<Complexity>,
    /// All tasks that must be done first; repeat it, or separate ids by commas
    #[arg(long, value_name = "ID", value_delimiter = ',')]
    depends_on: Option<Vec<String>>,
    /// A file that it creates; repeat it for all
    #[arg(long, value_name = "PATH")]
    creates: Option<Vec<String>>,
    /// A file that it changes; repeat it for all
    #[arg(long, value_name = "PATH")]
    modifies: Option<Vec<String>>,
    /// A rule the work must keep to; repeat it for all
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    guardrail: Option<Vec<String>>,
    /// What must hold for the task to be done; repeat it for all
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    acceptance: Option<Vec<String>>,
}

impl EditArgs {
    /// Returns what the options say anew.
    pub(crate) fn edit(self) -> TaskEdit {
        let filled = |list: Vec<String>| list.into_iter().filter(|text| !text.trim().is_empty()).collect();
        let ids = |list: Vec<String>| {
            let named = list.into_iter().map(|id| id.trim().to_owned()).filter(|id| !id.is_empty());
            named.map(TaskId::new).collect()
        };
        TaskEdit {
            title: self.title,
            description: self.description,
            priority: self.priority,
            complexity: self.complexity,
            depends_on: self.depends_on.map(ids),
            files_to_create: self.creates.map(filled),
            files_to_modify: self.modifies.map(filled),
            guardrails: self.guardrail.map(filled),
            acceptance: self.acceptance.map(filled),
        }
    }
}

#[derive(Debug, Args)]
#[command(
    after_help = "A task that others depend on, or that has parts, stays unless they go too. Agents may not \
                        remove tasks.\n\nExit codes: 0 removed, 1 not there, or others need it"
)]
pub(crate) struct RmArgs {
    /// The tasks
    #[arg(required = true, value_name = "ID")]
    pub(crate) ids: Vec<TaskId>,
    /// Remove their parts too
    #[arg(long)]
    pub(crate) with_parts: bool,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The task is blocked until somebody answers; a run goes on with other tasks meanwhile. Asking again \
                  replaces a question that is open. Agents may ask.\n\nExample:\n  samuel run ask 3 \"Which \
                  database?\" --option sqlite --option postgres"
)]
pub(crate) struct AskArgs {
    /// The task
    pub(crate) id: TaskId,
    /// What is asked, at most 2,000 characters
    #[arg(allow_hyphen_values = true)]
    pub(crate) question: String,
    /// An answer that is proposed, one line; repeat it for more
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) option: Vec<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The text is a line of progress.md and part of later prompts. Within a run the line has its \
                  iteration and its task. Agents may record learnings.\n\nExit codes: 0 recorded, 2 the text cannot be \
                  stored\n\nExample:\n  samuel run learn \"the tests need a database\""
)]
pub(crate) struct LearnArgs {
    /// The text, at most 2,000 characters
    #[arg(allow_hyphen_values = true)]
    pub(crate) text: String,
    /// The kind: learning, explored or found
    #[arg(long, value_name = "KIND", default_value = "learning")]
    pub(crate) kind: LearnedKind,
}

#[derive(Debug, Args)]
#[command(
    after_help = "`samuel run status` lists the questions that are open. The task is pending again, and its next \
                  prompt holds question and answer. Agents may not answer.\n\nExit codes: 0 answered, 1 no question \
                  is open, 2 the text cannot be stored"
)]
pub(crate) struct AnswerArgs {
    /// The task
    pub(crate) id: TaskId,
    /// The answer, at most 8,000 characters; one of the options or any other
    #[arg(value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) answer: String,
}

#[derive(Debug, Args)]
pub(crate) struct BlockArgs {
    /// The task
    pub(crate) id: TaskId,
    /// Why it cannot be worked on; `samuel run reset` clears it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "Each command that changes the plan prints the number of its change. Without a number it is the \
                  last change that you made in this terminal session. A change is not taken back if a later one \
                  touched the same tasks; taking back is a change too and can be taken back. The loop's own \
                  changes stay. Agents may not take changes back.\n\nExit codes: 0 taken back, 1 not, and why"
)]
pub(crate) struct UndoArgs {
    /// The number of the change
    #[arg(value_name = "CHANGE", value_parser = super::whole_number::<u64>(1..=u64::MAX))]
    pub(crate) change: Option<u64>,
}

#[derive(Debug, Args)]
#[command(
    after_help = "The task is pending again, and what its worker makes of it lands no more: the work stays on its \
                  branch. What is being landed is not given back. Agents may not release tasks.\n\nExit codes: 0 \
                  given back, 1 claimed by nobody, or not there, 75 being landed"
)]
pub(crate) struct ReleaseArgs {
    /// The task, or the role: @merge or @discover
    #[arg(value_name = "ID")]
    pub(crate) of: ClaimTarget,
    /// Why, for the history
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub(crate) reason: Option<String>,
}
