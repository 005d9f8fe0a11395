//! Where a project stands.

use std::{num::NonZeroU32, path::PathBuf};

use jiff::Timestamp;
use serde::{Deserialize, Serialize};

use super::{OtherPlan, Project};
use crate::{
    config::PilotSettings,
    model::{
        AgentTotal, Claim, LiveState, Plan, Progress, ProgressStatus, Remedy, Scope, Task, TaskCounts,
        TaskId, payload::Mode,
    },
    plan::{LoopAtWork, Pilot, Work, WorkRemedy, WorkUnderWay},
    sched::overlapping,
    state::{Begun, Called, Holder, LoadedPlan, RunEnd, SavedRun, StateDiagnostic, StateError},
};

/// How often the plan and the loop lock are read until both are of one moment.
const MAX_LOOKS: u32 = 3;

/// Who holds the loop lock, as far as that is known; nothing where nobody does.
type LoopHeld = Option<Option<Holder>>;

/// Where a project stands, with what that was read from.
#[derive(Clone, Debug)]
pub(crate) struct ProjectStanding {
    pub(crate) status: ProjectStatus,
    pub(crate) loaded: LoadedPlan,
    pub(crate) under_way: WorkUnderWay,
}

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
    /// What has claimed work go on that does not go on by itself, each step once.
    #[serde(default)]
    pub remedies: Vec<WorkRemedy>,
    /// The branches with merged work of workers that are not in what is checked out, the newest first.
    #[serde(default)]
    pub unmerged: Vec<String>,
    /// What all runs did so far.
    pub progress: Progress,
    /// What the calls of each agent consumed in all runs of the plan, as far as one saved it.
    pub agents: Vec<AgentTotal>,
    /// The calls of agents that the loop which is running makes now, at most one for each worker.
    pub calls: Vec<Called>,
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

impl ProjectStatus {
    /// Returns what to do about work that does not go on by itself.
    pub fn help(&self) -> Option<Remedy> {
        WorkRemedy::help_of(&self.remedies)
    }

    /// Says in one line that the lane is gone which was working on a claimed task; nothing where it is not.
    pub fn gone(&self, claim: &Claim) -> Option<String> {
        let at_work = if self.running { LoopAtWork::Unknown } else { LoopAtWork::None };
        WorkUnderWay { at_work, ..WorkUnderWay::default() }.gone(claim)
    }
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
    /// Nothing more: what is left is being worked on, waits to be landed, or waits for that.
    UnderWay {
        /// How many tasks lanes work on, have submitted or land.
        #[serde(default)]
        tasks: usize,
        /// Why nothing else can be worked on, one line a task.
        reasons: Vec<String>,
    },
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
        Self::among(plan, unread, scope, pilot, &WorkUnderWay::default())
    }

    /// Finds the same with what is known of who works on the plan.
    pub fn among(
        plan: &Plan,
        unread: &[String],
        scope: &Scope,
        pilot: &Pilot,
        under_way: &WorkUnderWay,
    ) -> Self {
        let (work, _) = Work::among(plan, unread, scope, under_way);
        // Lanes wait for what is under way before they look since nothing else is left.
        let waits = matches!(work, Work::Blocked(_)) && under_way.tasks(plan) > 0;
        let looks = !waits || pilot.only || pilot.is_due(&plan.progress);
        if scope.is_all() && looks && pilot.mode(&plan.progress, &work) == Mode::Discovery {
            return Self::Discovery;
        }
        match work {
            Work::Task(brief) => under_way
                .freed(plan)
                .task(&TaskId::new(brief.id))
                .map_or(Self::AllDone, |task| Self::Task { task: Box::new(task.clone()) }),
            Work::ScopeDone(_) => Self::among(plan, unread, &Scope::All, pilot, under_way),
            Work::AllDone => Self::AllDone,
            Work::Blocked(reasons) => match under_way.tasks(plan) {
                0 => Self::Blocked { reasons },
                tasks => Self::UnderWay { tasks, reasons },
            },
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
        let ProjectStanding { mut status, loaded, .. } = self.standing()?;
        status.unmerged = self.unmerged_branches(&loaded.plan);
        Ok(status)
    }

    /// Says where the project stands, with what that was read from, all at one moment.
    pub(crate) fn standing(&self) -> Result<ProjectStanding, StateError> {
        let lane = self.lane_store();
        let (loaded, held) = self.loaded_with_loop()?;
        let held = held?;
        let saved = match lane.last_saved() {
            // How a run ended is worth less than where its plan stands.
            Err(_) if held.is_none() => None,
            saved => saved?,
        };
        let last_run = || saved.as_ref().map(|saved| saved.run_id.clone());
        let under_way = self.under_way(held.as_ref(), &loaded.plan, last_run);
        let begun = saved.as_ref().and_then(SavedRun::last_begun);
        let (saved, calls) = saved.map(|saved| (saved.checkpoint, saved.calls)).unzip();
        let is_under_way = loaded.plan.progress.status == ProgressStatus::Running;
        // What was saved last may be of the plan before.
        let of_run = saved.as_ref().filter(|saved| is_under_way && saved.end.is_none());
        let scope = of_run.map(|saved| saved.scope.clone()).unwrap_or_default();
        let begun = begun.filter(|_| of_run.is_some());
        let has_run = loaded.plan.progress.total_iterations_run > 0;
        let agents = saved.as_ref().filter(|_| has_run).map(|saved| saved.agents.clone()).unwrap_or_default();
        let (waits_until, end) = saved.map_or((None, None), |saved| (saved.waits_until, saved.end));
        let gaps: Vec<StateDiagnostic> = loaded.gaps(&self.run_dir().prd()).collect();
        let plan = &loaded.plan;
        let mut calls: Vec<Called> = calls.filter(|_| held.is_some() && is_under_way).unwrap_or_default();
        calls.sort_by_key(|called| called.worker);
        let status = ProjectStatus {
            project: plan.project.name.clone(),
            root: self.root().to_owned(),
            methodology: self.methodology().to_owned(),
            source_prd: plan.project.source_prd.clone(),
            revision: loaded.revision,
            tasks: TaskCounts::of(plan),
            next: if held.is_some() && plan.progress.discovery_room.is_some() {
                NextStep::Discovery
            } else {
                let pilot = pilot_of(&self.settings().pilot, false);
                NextStep::among(plan, &loaded.unparsed, &scope, &pilot, &under_way)
            },
            questions: OpenQuestion::all_of(plan),
            more_questions: 0,
            only: scope.into(),
            claims: plan.claims.clone(),
            remedies: under_way.remedies(&plan.claims),
            unmerged: Vec::new(),
            progress: with_begun(&plan.progress, begun),
            agents,
            calls,
            running: held.is_some(),
            holder: held.clone().flatten(),
            live: None,
            // A limit that is over is waited for no more, whatever was saved last.
            waits_until: waits_until.filter(|until| held.is_some() && *until > self.clock().now()),
            last_end: end.filter(|_| held.is_none() && has_ended(plan.progress.status)),
            other_plans: self.other_plans(),
            unparsed: loaded.unread_lines(),
            diagnostics: [&loaded.diagnostics[..], &gaps].concat(),
        };
        Ok(ProjectStanding { status, loaded, under_way })
    }
}

impl Project {
    /// Returns what is known beside a plan of who works on it: which loop is at work here, and, where it has lanes,
    /// which tasks wait for files that others have declared.
    ///
    /// # Errors
    /// Returns a [`StateError`] where that cannot be found out.
    pub fn work_under_way(&self, plan: &Plan) -> Result<WorkUnderWay, StateError> {
        Ok(self.under_way(self.own_loop()?.as_ref(), plan, || self.last_run()))
    }

    /// Returns the same for whoever holds the loop lock, if somebody does, and for the run that was saved last, which is
    /// asked for only where it decides: before a run is saved it gets its lanes ready, where it is to have some, and has
    /// claimed nothing by which they are known.
    pub(super) fn under_way(
        &self,
        held: Option<&Option<Holder>>,
        plan: &Plan,
        last_run: impl FnOnce() -> Option<String>,
    ) -> WorkUnderWay {
        let at_work = match held {
            None => LoopAtWork::None,
            Some(holder) => {
                let run = holder.as_ref().and_then(Holder::run);
                match LoopAtWork::of_run(run, plan) {
                    LoopAtWork::WithoutLanes if run.is_none() || run != last_run().as_deref() => {
                        LoopAtWork::Unknown
                    }
                    known => known,
                }
            }
        };
        let overlap = self.settings().parallel.overlap.parse().unwrap_or_default();
        let left_out = if at_work == LoopAtWork::WithLanes { overlapping(plan, overlap) } else { Vec::new() };
        let left_out = left_out.into_iter().map(|left| (left.task.clone(), left.to_string())).collect();
        WorkUnderWay { at_work, left_out }
    }

    /// Returns the run that was saved last, where that can be read.
    pub(super) fn last_run(&self) -> Option<String> {
        let saved = self.lane_store().last_saved().ok().flatten();
        saved.map(|saved| saved.run_id)
    }

    /// Reads the plan, and who holds the loop lock, at one moment: where a loop began or ended meanwhile, both are read
    /// again.
    pub(super) fn loaded_with_loop(&self) -> Result<(LoadedPlan, Result<LoopHeld, StateError>), StateError> {
        let mut before = self.own_loop();
        for _ in 1..MAX_LOOKS {
            let loaded = self.plan_store().load()?;
            let after = self.own_loop();
            if before.as_ref().ok() == after.as_ref().ok() {
                return Ok((loaded, after));
            }
            before = after;
        }
        Ok((self.plan_store().load()?, before))
    }

    /// Returns who holds the loop lock, as far as that is known; nothing where no loop of this methodology is at work.
    pub(crate) fn own_loop(&self) -> Result<LoopHeld, StateError> {
        // There is one loop, which may be another methodology's.
        let is_ours = |holder: &Holder| holder.works_for(Some(self.methodology()));
        let held = self.lane_store().loop_holder()?;
        Ok(held.filter(|holder| holder.as_ref().is_none_or(is_ours)))
    }
}

/// Says how a run with these settings looks for tasks, and whether it does nothing else.
pub(crate) fn pilot_of(settings: &PilotSettings, only: bool) -> Pilot {
    let interval = NonZeroU32::new(settings.discover_interval).unwrap_or(NonZeroU32::MIN);
    Pilot { enabled: settings.enabled || only, interval, max_tasks: settings.max_discovery_tasks, only }
}

/// Returns figures in which iterations count that began, of a run that has not ended.
fn with_begun(progress: &Progress, begun: Option<Begun>) -> Progress {
    let mut progress = progress.clone();
    let begun = begun.map_or(0, |begun| begun.total);
    progress.total_iterations_run = progress.total_iterations_run.max(begun);
    progress
}

fn has_ended(status: ProgressStatus) -> bool {
    matches!(status, ProgressStatus::Stopped | ProgressStatus::Completed)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]
    use super::*;
    use crate::state::{Mutation, apply};

    #[test]
    fn lanes_look_for_tasks_since_nothing_is_left_only_once_nothing_is_under_way() {
        let mut plan = Plan { tasks: vec![Task::new(TaskId::new("1"), "t")], ..Plan::default() };
        let (task, worker) = (TaskId::new("1").into(), "r/lane-1".to_owned());
        apply(&mut plan, &Mutation::Claim { task, worker }, Timestamp::UNIX_EPOCH).unwrap();
        let pilot = Pilot { enabled: true, interval: NonZeroU32::new(5).unwrap(), ..Pilot::default() };
        let at_work = LoopAtWork::WithLanes;
        let under_way = WorkUnderWay { at_work, ..WorkUnderWay::default() };
        let next = |plan: &Plan| NextStep::among(plan, &[], &Scope::All, &pilot, &under_way);
        assert_eq!(next(&plan), NextStep::Discovery, "none was made yet");
        (plan.progress.total_iterations_run, plan.progress.discovery_iterations) = (3, 1);
        plan.progress.last_discovery_iteration = 3;
        assert!(matches!(next(&plan), NextStep::UnderWay { .. }));
    }
}
