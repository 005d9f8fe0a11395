//! What to do next, which whoever shows it words.

use std::borrow::Cow;

use serde::Serialize;

use super::TaskId;

/// What to do next about an error or a finding.
///
/// What is the same everywhere is [prose](Self::Say). What is done by a command at the
/// terminal and by a call in a program is a case of its own, and each edge words all
/// of them in its terms.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Remedy {
    /// Prose, one line.
    Say(&'static str),
    /// Prose with names or numbers in it, one line.
    Tell(String),
    /// One after the other.
    All(Vec<Remedy>),
    /// Make a project ready.
    MakeProject,
    /// Make a plan.
    MakePlan,
    /// Say that the plan may be replaced.
    ReplacePlan,
    /// Say in which form a PRD is to be read.
    NameForm,
    /// Say that a PRD without tasks may become an empty plan.
    AllowEmptyPlan,
    /// Say that a PRD is the plan's own, or replace the plan.
    TakeOtherPrd,
    /// Put back the last plan that is kept.
    RestorePlan {
        /// How many are kept, such as "2 plans are".
        kept: String,
    },
    /// List the plans that are kept.
    ListKeptPlans,
    /// List the runs of which a record is kept.
    ListRuns,
    /// Look at the plan, which is another one now.
    LookAtPlan,
    /// Look at what is completed, which a start takes as it stands.
    LookAtCompleted,
    /// List the tasks.
    ListTasks,
    /// Name a change by its number, which the history of a task has.
    NameChange,
    /// See which questions are open, and which tool calls wait.
    ListQuestions,
    /// Wait for whoever works on the task, or give it back.
    GiveBackClaim,
    /// Start a run, which frees what lanes of a run that is gone were working on.
    FreeByStart,
    /// Land what lanes have submitted, without a loop.
    LandQueue,
    /// Let go of work that somebody holds, so that it lands.
    LetLand {
        /// The task.
        task: TaskId,
    },
    /// See what waits to be landed, and why.
    ListQueue,
    /// Choose another id, or let one be assigned.
    ChooseTaskId,
    /// Change the tasks that were named, or leave them out.
    LeaveTasksOut,
    /// Correct the plan's file, or have it repaired.
    RepairPlan,
    /// Hide secrets in what earlier runs recorded.
    CleanRecords,
    /// See why the run is blocked.
    SeeWhyBlocked,
    /// Start a run.
    StartRun,
    /// Go on with the run.
    GoOn,
    /// Read the progress log, then go on.
    ReadProgressAndGoOn,
    /// Read the progress log, then go on, with a higher limit where this one is too low.
    RaiseLimit {
        /// The setting that holds it, such as `max_iterations`.
        setting: String,
    },
    /// Read the message, then go on.
    ReadMessageAndGoOn,
    /// Say that what would run may run.
    TrustRun,
    /// Say that exactly what would run may run, or be asked.
    TrustOtherDigest,
    /// Change what would run, or allow it.
    ChangeWhatRuns,
    /// Forget what was trusted, and trust it anew.
    RevokeTrust,
    /// Undo changes of control files, or accept them when asked.
    AcceptChanges,
    /// Undo changes of control files, or accept them when asked or by their digest.
    AcceptDigest {
        /// The digest of what would run.
        digest: String,
    },
    /// Name the agent's command.
    NameAgentCommand,
    /// Correct the recording that the agent's command names.
    CorrectRecording,
    /// See the chains of all points.
    SeeChains,
    /// List the plugins that are installed.
    ListPlugins,
    /// List the methodologies there are.
    ListMethodologies,
    /// Install a plugin that samuel.toml lists.
    InstallPlugin {
        /// Where it comes from, if that is known.
        source: Option<String>,
    },
    /// Say that a plugin gets what it asks for.
    GrantPlugin,
    /// Say that what a source has by now is taken, though it should have stayed what it was.
    AcceptMoved,
    /// Publish another version, or say that what is published under the tag may be replaced.
    PublishAnother,
    /// See what can be asked for.
    SeeUsage,
    /// See what can be asked for when a plugin is made.
    SeePluginOptions,
    /// Build the component of a plugin.
    BuildPlugin,
    /// List what a plugin can be set to.
    ListPluginSettings,
    /// Use a Samuel that was built with the host of components.
    BuildWithComponents,
    /// Wait for the loop that runs, or end it.
    EndLoop,
    /// Remove a task together with what needs it.
    RemoveWithParts,
    /// Work with one lane.
    UseOneLane,
    /// Say with how many lanes a run works, or name no branch for what they make.
    SayHowManyLanes,
    /// Build the image of the project's containers, and pin it.
    BuildImage,
    /// List the variables of templates with their values.
    ListVariables,
    /// Copy the templates that there are anew, and carry changes over.
    ExportTemplates,
    /// Say that templates of the project may be replaced.
    ReplaceTemplates,
    /// Print what can be read of a broken TOON text.
    RecoverToon,
}

impl Remedy {
    /// Puts words before it.
    #[must_use]
    pub fn after(self, words: impl Into<Self>) -> Self {
        Self::All(vec![words.into(), self])
    }

    /// Returns what it says in words that fit everywhere; empty for a step.
    pub fn prose(&self) -> String {
        self.in_words(&|_| Cow::Borrowed(""))
    }

    /// Returns it in words; what is no prose is worded by `step`.
    pub fn in_words(&self, step: &dyn Fn(&Self) -> Cow<'static, str>) -> String {
        match self {
            Self::Say(words) => (*words).to_owned(),
            Self::Tell(words) => words.clone(),
            Self::All(all) => {
                let all = all.iter().map(|each| each.in_words(step)).filter(|words| !words.is_empty());
                all.collect::<Vec<_>>().join(" ")
            }
            other => step(other).into_owned(),
        }
    }
}

impl PartialEq<&str> for Remedy {
    fn eq(&self, words: &&str) -> bool {
        self.prose() == *words
    }
}

impl From<&'static str> for Remedy {
    fn from(words: &'static str) -> Self {
        Self::Say(words)
    }
}

impl From<String> for Remedy {
    fn from(words: String) -> Self {
        Self::Tell(words)
    }
}
