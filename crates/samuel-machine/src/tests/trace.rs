//! What a simulated run did, and what must hold at its end.

use samuel_hook::{HookCall, HookPoint};
use samuel_model::{FailureClass, Status, payload::Turn};

use super::{
    script::id,
    sim::{Fired, Sim},
    *,
};
use crate::event::RunReport;

impl Sim {
    /// What the machine asked for that changes or asks something, in order.
    pub(super) fn order(&self) -> Vec<String> {
        self.trace.iter().filter_map(label).collect()
    }

    /// The points that fired, in order.
    pub(super) fn points(&self) -> Vec<&'static str> {
        self.fired.iter().map(|fired| fired.point.as_str()).collect()
    }

    pub(super) fn count(&self, point: HookPoint) -> usize {
        self.fired.iter().filter(|fired| fired.point == point).count()
    }

    /// The prompts that were asked for, each with its turn.
    pub(super) fn prompts(&self) -> Vec<(Turn, String)> {
        let prompt = |fired: &Fired| match &fired.call {
            HookCall::BeforeAgentInvoke(input) => Some((fired.turn, input.prompt.clone())),
            _ => None,
        };
        self.fired.iter().filter_map(prompt).collect()
    }

    pub(super) fn events(&self) -> impl Iterator<Item = &Event> {
        self.trace.iter().filter_map(|effect| match effect {
            Effect::Emit(event) => Some(event),
            _ => None,
        })
    }

    /// How each iteration failed, where it did.
    pub(super) fn failures(&self) -> Vec<Option<FailureClass>> {
        let finished = |event: &Event| match event {
            Event::IterationFinished { failure, .. } => Some(failure.as_ref().map(|f| f.class)),
            _ => None,
        };
        self.events().filter_map(finished).collect()
    }

    pub(super) fn report(&self) -> RunReport {
        match self.trace.last() {
            Some(Effect::Emit(Event::RunFinished(report))) => report.clone(),
            other => panic!("the run has not ended: {other:?}"),
        }
    }

    pub(super) fn status(&self, task: &str) -> Status {
        self.plan.task(&id(task)).expect("the task exists").status
    }

    /// Checks that only those tasks are completed that a check stands behind.
    pub(super) fn assert_only_certified(&self, what: &str) {
        assert_eq!(self.plan.count(Status::InProgress), 0, "{what}: no task is left in progress");
        let mut certified = self.report().completed;
        let standing: Vec<TaskId> = self
            .plan
            .tasks
            .iter()
            .filter(|task| task.status == Status::Completed)
            .map(|task| task.id.clone())
            .collect();
        certified.sort();
        assert_eq!(standing, certified, "{what}: only what a check stands behind is completed");
    }

    /// Checks what must hold however a run ended.
    pub(super) fn assert_left_well(&self, what: &str) {
        let report = self.report();
        self.assert_only_certified(what);
        let count = |wanted: fn(&Event) -> bool| self.events().filter(|event| wanted(event)).count();
        let started = count(|event| matches!(event, Event::IterationStarted { .. }));
        let finished = count(|event| matches!(event, Event::IterationFinished { .. }));
        assert_eq!((started, finished), (report.iterations as usize, report.iterations as usize), "{what}");
    }
}

fn label(effect: &Effect) -> Option<String> {
    Some(match effect {
        Effect::Dispatch { call, turn: Turn::Main } => call.point().to_string(),
        Effect::Dispatch { call, turn } => {
            format!("{} ({})", call.point(), format!("{turn:?}").to_lowercase())
        }
        Effect::Load(_) => "load".into(),
        Effect::Mutate(mutation) => mutation.name().into(),
        Effect::Fingerprint => "fingerprint".into(),
        Effect::Sleep(_) => "sleep".into(),
        _ => return None,
    })
}
