//! Which agent a call has, and why: one pure function.
//!
//! A [`Routing`] is what is configured: a model, routes, fallbacks. [`Routing::choose`] takes
//! it, where the run is ([`Situation`]) and which agents are [out](Out), and always comes to the
//! same [`Choice`]. Who is out says the machine; the choice is made by it before each main turn.

use std::collections::BTreeMap;

use jiff::Timestamp;
use samuel_config::{AgentRoute, MethodologySettings};
use samuel_model::{
    payload::{Complexity, Mode, Priority},
    text::counted,
    with_model,
};
use serde::{Deserialize, Serialize};

/// Under this name a call of `agent.invoke` has the model in its extensions.
pub const MODEL: &str = "model";
/// Under this name it has each argument that a route adds.
pub const ARGUMENT: &str = "argument";

/// Which agents a run can have, as it is configured.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Routing {
    /// The model of the configured agent; by default the agent's own choice.
    pub model: Option<String>,
    /// Tables of conditions; the first that fits decides.
    pub routes: Vec<AgentRoute>,
    /// The agents that stand in for one that is out, in order.
    pub fallback: Vec<String>,
}

/// What a call is about.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Situation {
    /// What the iteration is for.
    pub mode: Mode,
    /// The complexity and the priority of its task, where it has one.
    pub task: Option<(Complexity, Priority)>,
    /// How many iterations of the run have failed at the task.
    pub failures: u32,
}

/// Why an agent cannot work.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Out {
    /// It cannot be started.
    CannotStart,
    /// It has a usage limit until then; nobody says when it ends where there is no moment.
    Limited(Option<Timestamp>),
}

impl Out {
    /// Says whether it is so at a moment.
    fn holds(self, now: Timestamp) -> bool {
        !matches!(self, Self::Limited(Some(until)) if until <= now)
    }

    fn why(self, agent: &str) -> String {
        match self {
            Self::CannotStart => format!("{agent} cannot be started"),
            Self::Limited(None) => {
                format!("{agent} is at a usage limit of which nobody says when it ends")
            }
            Self::Limited(Some(until)) => {
                format!("{agent} is at its usage limit until {}", until.strftime("%Y-%m-%d %H:%M:%S UTC"))
            }
        }
    }
}

/// The agent of a call.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct Choice {
    /// The agent.
    pub agent: String,
    /// Its model; by default its own choice.
    pub model: Option<String>,
    /// Arguments beside those that it has anyway.
    pub args: Vec<String>,
    /// Why it is this one, in words.
    pub why: String,
}

impl Choice {
    /// Returns the agent with its model: `claude (opus)`.
    pub fn name(&self) -> String {
        with_model(&self.agent, self.model.as_deref())
    }
}

/// What was chosen, and whether it can work.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Chosen {
    /// The agent of the call.
    pub choice: Choice,
    /// Why it cannot work, where all that could be chosen are out: it is then the one that is
    /// back first.
    pub out: Option<Out>,
}

impl Routing {
    /// Takes what settings have of it.
    pub fn of(settings: &MethodologySettings) -> Self {
        Self {
            model: Some(settings.model.clone()).filter(|model| !model.trim().is_empty()),
            routes: settings.routes.clone(),
            fallback: settings.fallback.clone(),
        }
    }

    /// Chooses the agent of a call, where one is configured and some may be out at a moment: the
    /// first route that fits says which, else the configuration; where that one is out, the first
    /// fallback that is not; where all are, the one that is back first.
    pub fn choose(
        &self,
        configured: &str,
        situation: Situation,
        out: &BTreeMap<String, Out>,
        now: Timestamp,
    ) -> Chosen {
        let wanted = self.wanted(configured, situation);
        let state = |choice: &Choice| out.get(&choice.agent).copied().filter(|out| out.holds(now));
        let Some(reason) = state(&wanted) else { return Chosen { choice: wanted, out: None } };
        let why = format!("a fallback, since {}", reason.why(&wanted.agent));
        let others = self.fallback.iter().filter(|agent| **agent != wanted.agent);
        let others = others.map(|agent| Choice { why: why.clone(), ..self.plain(configured, agent) });
        let all = std::iter::once(wanted.clone()).chain(others).map(|choice| {
            let out = state(&choice);
            (choice, out)
        });
        let back = |out: &Option<Out>| match out {
            None => (0, None),
            Some(Out::Limited(Some(until))) => (1, Some(*until)),
            Some(Out::Limited(None)) => (2, None),
            Some(Out::CannotStart) => (3, None),
        };
        // The first of several that are alike.
        let best = all.min_by_key(|(_, out)| back(out));
        let (choice, out) = best.unwrap_or_default();
        Chosen { choice, out }
    }

    /// Returns every choice that there can be, each once, and the key of the setting that it
    /// comes from, such as `routes[0]`; the configured agent is the first.
    pub fn all(&self, configured: &str) -> Vec<(String, Choice)> {
        let mut all = vec![("model".to_owned(), self.plain(configured, configured))];
        let routes = self.routes.iter().enumerate();
        all.extend(routes.map(|(place, route)| {
            let why = format!("for {}", conditions(route));
            (format!("routes[{place}]"), Choice { why, ..self.routed(configured, route) })
        }));
        let fallback = self.fallback.iter().enumerate();
        all.extend(fallback.map(|(place, agent)| {
            let why = "as a fallback".to_owned();
            (format!("fallback[{place}]"), Choice { why, ..self.plain(configured, agent) })
        }));
        let mut known: Vec<Choice> = Vec::new();
        all.retain(|(_, choice)| {
            let choice = Choice { why: String::new(), ..choice.clone() };
            let is_new = !known.contains(&choice);
            known.push(choice);
            is_new
        });
        all
    }

    /// Says which agents work where, on one line; nothing where it is one alone.
    pub fn told(&self, configured: &str) -> Option<String> {
        let mut parts: Vec<String> = Vec::new();
        for route in &self.routes {
            parts.push(format!("{} for {}", self.routed(configured, route).name(), conditions(route)));
        }
        if !self.fallback.is_empty() {
            parts.push(format!("in their place, if need be, {}", self.fallback.join(", ")));
        }
        (!parts.is_empty()).then(|| parts.join("; "))
    }

    fn wanted(&self, configured: &str, situation: Situation) -> Choice {
        match self.routes.iter().enumerate().find(|(_, route)| fits(route, situation)) {
            Some((place, route)) => Choice {
                why: format!("route {}: {}", place.saturating_add(1), conditions(route)),
                ..self.routed(configured, route)
            },
            None if self.routes.is_empty() => self.plain(configured, configured),
            None => Choice { why: "no route fits".to_owned(), ..self.plain(configured, configured) },
        }
    }

    fn routed(&self, configured: &str, route: &AgentRoute) -> Choice {
        let plain = self.plain(configured, route.agent.as_deref().unwrap_or(configured));
        Choice { model: route.model.clone().or(plain.model), args: route.args.clone(), ..plain }
    }

    /// Returns an agent as it is configured.
    fn plain(&self, configured: &str, agent: &str) -> Choice {
        Choice {
            agent: agent.to_owned(),
            model: self.model.clone().filter(|_| agent == configured),
            args: Vec::new(),
            why: "the configured agent".to_owned(),
        }
    }
}

fn fits(route: &AgentRoute, situation: Situation) -> bool {
    let Situation { mode, task, failures } = situation;
    let of_task = |fits: &dyn Fn(Complexity, Priority) -> bool| {
        task.is_some_and(|(complexity, priority)| fits(complexity, priority))
    };
    route.complexity.is_none_or(|wanted| of_task(&|complexity, _| complexity == wanted))
        && route.priority.is_none_or(|wanted| of_task(&|_, priority| priority == wanted))
        && route.mode.is_none_or(|wanted| mode == wanted)
        && route.after_failures.is_none_or(|least| failures >= least)
}

/// Writes the conditions of a route: `complexity complex, after 2 failures`.
fn conditions(route: &AgentRoute) -> String {
    let conditions = [
        route.complexity.map(|complexity| format!("complexity {complexity}")),
        route.priority.map(|priority| format!("priority {priority}")),
        route.mode.map(|mode| format!("mode {mode}")),
        route.after_failures.map(|count| format!("after {}", counted(count, "failure"))),
    ];
    conditions.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
#[path = "route_tests.rs"]
mod tests;
