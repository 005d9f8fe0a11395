//! The agents of a run: which one a call has, which cannot work, what each consumed.

use std::collections::BTreeMap;

use jiff::Timestamp;
use samuel_agent::{Choice, Chosen, Out, Situation};
use samuel_model::{AgentTotal, FailureClass, TaskId, Usage, payload::Turn};
use samuel_state::ProgressKind;
use serde::{Deserialize, Serialize};

use super::{AgentEnd, Core, Machine, iteration::Iteration, limit::to_the_second};
use crate::event::Event;

/// What a run knows of its agents.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub(super) struct Agents {
    /// Those that cannot work, by name.
    out: BTreeMap<String, Out>,
    /// The latest time of day that is known.
    pub(super) now: Timestamp,
    /// What the last call was chosen to have.
    pub(super) last: Option<Choice>,
    /// The agent of the call that began last; `None` from the choice of an agent to the beginning of its call.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) called: Option<String>,
    /// Whether the call that ended last leaves its work to another agent.
    pub(super) passes_on: bool,
    /// What each consumed, by name.
    usage: BTreeMap<String, Usage>,
    /// What each consumed in the runs before of this plan.
    earlier: BTreeMap<String, Usage>,
    /// How many iterations failed at a task.
    failures: BTreeMap<TaskId, u32>,
}

impl Agents {
    /// Counts an iteration that failed at a task.
    pub(super) fn count_failure(&mut self, task: Option<TaskId>) {
        let Some(task) = task else { return };
        let count = self.failures.entry(task).or_default();
        *count = count.saturating_add(1);
    }

    /// Counts what an agent consumed.
    pub(super) fn count(&mut self, agent: &str, usage: Usage) {
        if usage != Usage::default() {
            *self.usage.entry(agent.to_owned()).or_default() += usage;
        }
    }

    /// Returns what each agent consumed, by name.
    pub(super) fn usage(&self) -> Vec<AgentTotal> {
        listed(self.usage.clone())
    }

    /// Returns what all agents consumed.
    pub(super) fn total(&self) -> Usage {
        let mut total = Usage::default();
        self.usage.values().for_each(|usage| total += *usage);
        total
    }

    /// Returns what each agent consumed in all runs of the plan, by name.
    fn usage_of_plan(&self) -> BTreeMap<String, Usage> {
        let mut all = self.earlier.clone();
        for (agent, usage) in &self.usage {
            *all.entry(agent.clone()).or_default() += *usage;
        }
        all
    }

    /// Takes over from the run before what each agent consumed.
    pub(super) fn succeed(&mut self, before: &Self) {
        self.earlier = before.usage_of_plan();
    }

    /// Forgets what was consumed in the runs before, since the plan was replaced.
    pub(super) fn forget_earlier(&mut self) {
        self.earlier.clear();
    }

    /// Knows that an agent cannot work.
    pub(super) fn put_out(&mut self, agent: &str, out: Out) {
        self.out.insert(agent.to_owned(), out);
    }

    /// Forgets usage limits, of which the next call tells.
    pub(super) fn forget_limits(&mut self) {
        self.out.retain(|_, out| *out == Out::CannotStart);
    }
}

impl Core {
    /// Chooses the agent of a turn. One after the main turn has that of the main turn, as long as it
    /// can work.
    pub(super) fn choose_agent(&mut self, turn: Turn, iteration: Option<&Iteration>) -> Choice {
        self.agents.called = None;
        let last = self.agents.last.clone();
        let is_in = |choice: &Choice| !self.agents.out.contains_key(&choice.agent);
        if let Some(last) = last.filter(|last| turn != Turn::Main && is_in(last)) {
            return last;
        }
        let Chosen { choice, .. } = self.chosen(iteration);
        self.agents.last = Some(choice.clone());
        choice
    }

    /// Returns what would be chosen, and whether it is out.
    fn chosen(&self, iteration: Option<&Iteration>) -> Chosen {
        let task = iteration.and_then(|iteration| iteration.task.as_ref());
        // Those of this run, and the attempts of all runs.
        let failures = task.map(|task| TaskId::new(task.id.clone())).map(|id| {
            let of_run = self.agents.failures.get(&id).copied().unwrap_or_default();
            of_run.max(self.attempts(&id))
        });
        let situation = Situation {
            mode: iteration.map(|iteration| iteration.mode).unwrap_or_default(),
            task: task.map(|task| (task.complexity, task.priority)),
            failures: failures.unwrap_or_default(),
        };
        self.setup.routing.choose(&self.setup.agent, situation, &self.agents.out, self.agents.now)
    }

    /// Returns the agent of the call under way, or else the one that was chosen last.
    pub(super) fn agent_at_work(&self) -> String {
        let chosen = || self.agents.last.as_ref().map(|last| last.agent.clone());
        self.agents.called.clone().or_else(chosen).unwrap_or_else(|| self.setup.agent.clone())
    }

    /// Returns the choice behind a call; that of a handler wins.
    pub(super) fn called(&self, agent: &str) -> Choice {
        let chosen = self.agents.last.clone().filter(|choice| choice.agent == agent);
        chosen.unwrap_or_else(|| Choice {
            agent: agent.to_owned(),
            why: "a handler of before:agent.invoke chose it".to_owned(),
            ..Choice::default()
        })
    }

    /// Sees whether another agent takes over from one that is out, and says so; else until when
    /// all are out, as far as that is known.
    pub(super) fn pass_on(
        &mut self,
        iteration: Option<&Iteration>,
        agent: &str,
        out: Out,
    ) -> Result<(), Option<Timestamp>> {
        let back_at = |out: Out| match out {
            Out::Limited(until) => until,
            Out::CannotStart => None,
        };
        // Of one that a handler chose nobody else takes over: it would be chosen again.
        if self.agents.last.as_ref().is_none_or(|last| last.agent != agent) {
            return Err(back_at(out));
        }
        self.agents.put_out(agent, out);
        let Chosen { choice, out: still } = self.chosen(iteration);
        let Some(still) = still else {
            self.agents.passes_on = true;
            let message = format!("{} takes over from {agent}: {}", choice.name(), choice.why);
            self.log(ProgressKind::Found, None, message.clone());
            self.emit(Event::Warning { message });
            return Ok(());
        };
        if out == Out::CannotStart {
            // It is called again, for nobody else can be.
            self.agents.out.remove(agent);
        }
        Err(back_at(still))
    }

    /// Takes down what the end of a call says of its agent.
    pub(super) fn note_agent(&mut self, iteration: Option<&Iteration>, end: &AgentEnd) {
        self.agents.passes_on = false;
        self.agents.now = self.agents.now.max(end.ended_at);
        self.agents.count(&end.agent, end.usage);
        match end.failure.as_ref().map(|failure| failure.class) {
            Some(FailureClass::AgentStart) => _ = self.pass_on(iteration, &end.agent, Out::CannotStart),
            Some(FailureClass::RateLimit) => {}
            _ => _ = self.agents.out.remove(&end.agent),
        }
    }

    /// Returns how it is said that all agents are at their limits.
    pub(super) fn all_limited(&self, until: Option<Timestamp>) -> String {
        let whose = if self.setup.routing.fallback.is_empty() {
            "the agent's usage limit lasts"
        } else {
            "the agent and every fallback are at their usage limits, which last"
        };
        match until {
            Some(until) => format!("{whose} until {}", to_the_second(until)),
            None => format!("{whose} until nobody says when"),
        }
    }
}

fn listed(usage: BTreeMap<String, Usage>) -> Vec<AgentTotal> {
    usage.into_iter().map(|(agent, usage)| AgentTotal { agent, usage }).collect()
}

impl Machine {
    /// Tells the machine of agents that cannot be started.
    pub fn cannot_start(&mut self, agents: impl IntoIterator<Item = String>) {
        self.core.agents.out.retain(|_, out| *out != Out::CannotStart);
        agents.into_iter().for_each(|agent| self.core.agents.put_out(&agent, Out::CannotStart));
    }

    /// Returns what each agent consumed in all runs of the plan, by name.
    pub fn usage_of_plan(&self) -> Vec<AgentTotal> {
        listed(self.core.agents.usage_of_plan())
    }

    /// Returns what each agent consumed in the run, with the call under way.
    pub fn used_by_agent(&self) -> BTreeMap<String, Usage> {
        let mut agents = self.core.agents.clone();
        agents.count(&self.core.agent_at_work(), self.core.spending.call_usage);
        agents.usage
    }

    /// Returns the agent of the call that was made last, or is about to be made.
    pub fn chosen_agent(&self) -> Option<&Choice> {
        self.core.agents.last.as_ref()
    }
}
