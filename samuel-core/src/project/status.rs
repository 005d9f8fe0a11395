//! Where a project stands.

use std::{num::NonZeroU32, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{OtherPlan, Project};
use crate::{
    config::PilotSettings,
    model::{
        AgentTotal, Claim, LiveState, Plan, Progress, ProgressStatus, Scope, Task, TaskCounts, TaskId,
        payload::Mode,
    },
    plan::{Pilot, Work},
    state::{Called, Holder, RunEnd, StateDiagnostic, StateError},
};

/// Where a project stands, as [`Project::status`] read it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct ProjectStatus {
    /// The project's name, from the plan.
    pub project: String,
    /// The root directory.
    pub root: PathBuf,
    /// The methodology in use.
    pub methodology: String,
    /// The PRD the plan was converted from.
    pub source_prd: Option<String>,
    /// The plan's revision.
    pub revision: u64,
    /// How many tasks stand where.
    pub tasks: TaskCounts,
    /// What a run would do next: of these tasks, where `only` names some.
    pub next: NextStep,
    /// The questions that wait for an answer, in the order of the plan.
    pub questions: Vec<OpenQuestion>,
    /// How many more there are, where an answer over the run's socket does not hold all.
    #[serde(default)]
    pub more_questions: usize,
    /// The tasks that the run is for that is under way, or was cut off; none where it is
    /// for all, or there is no such run.
    pub only: Vec<TaskId>,
    /// Who works on what while several work on the plan, and what is kept of attempts that came to
    /// nothing.
    pub claims: Vec<Claim>,
    /// What all runs did so far.
    pub progress: Progress,
    /// What the calls of each agent consumed in all runs of the plan, as far as one saved it.
    pub agents: Vec<AgentTotal>,
    /// The call of the agent that the loop which is running makes now, where it makes one.
    pub call: Option<Called>,
    /// Whether a loop is running now.
    pub running: bool,
    /// Who runs it, where that is known.
    pub holder: Option<Holder>,
    /// What the loop that is running says of itself, where it was asked; [`Project::status`] asks nobody.
    pub live: Option<LiveState>,
    /// Until when the loop that is running waits for a usage limit of its agent,
    /// where it does.
    pub waits_until: Option<Timestamp>,
    /// How the last run of the plan ended; nothing while one runs, after one that was
    /// cut off, and before the first.
    pub last_end: Option<RunEnd>,
    /// What is wrong with the plan file and was worked around.
    pub diagnostics: Vec<StateDiagnostic>,
    /// The plans that other methodologies have here.
    pub other_plans: Vec<OtherPlan>,
    /// How many lines of the plan file could not be understood and are kept.
    pub unparsed: usize,
}

/// A question about a task that waits for an answer.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OpenQuestion {
    /// The task.
    pub task: TaskId,
    /// Its title.
    pub title: String,
    /// What is asked.
    pub question: String,
    /// Answers that are proposed; any other may be given too.
    pub options: Vec<String>,
}

impl OpenQuestion {
    /// Finds all of a plan.
    pub fn all_of(plan: &Plan) -> Vec<Self> {
        let open = plan.tasks.iter().filter_map(|task| Some((task, task.open_question()?)));
        open.map(|(task, question)| Self {
            task: task.id.clone(),
            title: task.title.clone(),
            question: question.text.clone(),
            options: question.options.clone(),
        })
        .collect()
    }
}

/// What a run would do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum NextStep {
    /// Work on a task.
    Task {
        /// The task.
        task: Box<Task>,
    },
    /// Look for tasks: the project is in pilot mode.
    Discovery,
    /// Nothing: every task is completed or skipped, or there are none.
    AllDone,
    /// Nothing: tasks are left, or may be in lines that cannot be read, and none can be
    /// worked on.
    Blocked {
        /// Why not, one line a task.
        reasons: Vec<String>,
    },
}

impl NextStep {
    /// Finds the next step of a plan, of which some lines may be unread, for a run that
    /// is for some of its tasks, or for all and looks for others. Once the tasks of a run are done, it is
    /// that of the next run.
    pub fn of(plan: &Plan, unread: &[String], scope: &Scope, pilot: &Pilot) -> Self {
        let work = Work::of(plan, unread, scope);
        if scope.is_all() && pilot.mode(&plan.progress, &work) == Mode::Discovery {
            return Self::Discovery;
        }
        match work {
            Work::Task(brief) => plan
                .task(&TaskId::new(brief.id))
                .map_or(Self::AllDone, |task| Self::Task { task: Box::new(task.clone()) }),
            Work::ScopeDone(_) => Self::of(plan, unread, &Scope::All, pilot),
            Work::AllDone => Self::AllDone,
            Work::Blocked(reasons) => Self::Blocked { reasons },
        }
    }
}

impl Project {
    /// Says where the project stands. Changes nothing.
    ///
    /// # Errors
    /// Returns [`StateError::NotInitialised`] without a plan, and what else
    /// [`PlanStore::load`](crate::state::PlanStore::load) returns.
    pub fn status(&self) -> Result<ProjectStatus, StateError> {
        let (loaded, lane) = (self.plan_store().load()?, self.lane_store());
        // There is one loop, which may be another methodology's.
        let is_ours = |holder: &Holder| holder.works_for(Some(self.methodology()));
        let held = lane.loop_holder()?.filter(|holder| holder.as_ref().is_none_or(is_ours));
        let saved = match lane.last_saved() {
            // How a run ended is worth less than where its plan stands.
            Err(_) if held.is_none() => None,
            saved => saved?,
        };
        let (saved, called) = saved.map(|saved| (saved.checkpoint, saved.called)).unzip();
        let is_under_way = loaded.plan.progress.status == ProgressStatus::Running;
        // What was saved last may be of the plan before.
        let of_run = saved.as_ref().filter(|saved| is_under_way && saved.end.is_none());
        let scope = of_run.map(|saved| saved.scope.clone()).unwrap_or_default();
        let has_run = loaded.plan.progress.total_iterations_run > 0;
        let agents = saved.as_ref().filter(|_| has_run).map(|saved| saved.agents.clone()).unwrap_or_default();
        let (waits_until, end) = saved.map_or((None, None), |saved| (saved.waits_until, saved.end));
        let gaps: Vec<StateDiagnostic> = loaded.gaps(&self.run_dir().prd()).collect();
        let plan = &loaded.plan;
        Ok(ProjectStatus {
            project: plan.project.name.clone(),
            root: self.root().to_owned(),
            methodology: self.methodology().to_owned(),
            source_prd: plan.project.source_prd.clone(),
            revision: loaded.revision,
            tasks: TaskCounts::of(plan),
            next: if held.is_some() && plan.progress.discovery_room.is_some() {
                NextStep::Discovery
            } else {
                NextStep::of(plan, &loaded.unparsed, &scope, &pilot_of(&self.settings().pilot, false))
            },
            questions: OpenQuestion::all_of(plan),
            more_questions: 0,
            only: scope.into(),
            claims: plan.claims.clone(),
            progress: plan.progress.clone(),
            agents,
            call: called.flatten().filter(|_| held.is_some() && is_under_way),
            running: held.is_some(),
            holder: held.clone().flatten(),
            live: None,
            // A limit that is over is waited for no more, whatever was saved last.
            waits_until: waits_until.filter(|until| held.is_some() && *until > self.clock().now()),
            last_end: end.filter(|_| held.is_none() && has_ended(plan.progress.status)),
            other_plans: self.other_plans(),
            unparsed: loaded.unread_lines(),
            diagnostics: [&loaded.diagnostics[..], &gaps].concat(),
        })
    }
}

/// Says how a run with these settings looks for tasks, and whether it does nothing else.
pub(crate) fn pilot_of(settings: &PilotSettings, only: bool) -> Pilot {
    let interval = NonZeroU32::new(settings.discover_interval).unwrap_or(NonZeroU32::MIN);
    Pilot { enabled: settings.enabled || only, interval, max_tasks: settings.max_discovery_tasks, only }
}

fn has_ended(status: ProgressStatus) -> bool {
    matches!(status, ProgressStatus::Stopped | ProgressStatus::Completed)
}
