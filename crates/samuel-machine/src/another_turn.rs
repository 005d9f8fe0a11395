//! Turns after the first of an iteration: where the agent was, and why there is another.
//!
//! An agent that can goes on in the conversation of the turn before. The prompt of such a
//! turn is written for one that begins anew as well: it says what it is about.

use std::collections::BTreeMap;

use samuel_agent::ConversationId;
use samuel_hook::Said;
use samuel_model::{payload::TaskBrief, text::one_line};
use serde::{Deserialize, Serialize};

use super::{AgentEnd, Core, Setup, iteration::Iteration};

/// How much of a task's title is shown, in characters.
const MAX_TITLE_CHARS: usize = 200;

/// The task that further turns are about, and the conversations that agents had in the last
/// iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Conversations {
    /// The task's id and title; nothing in a discovery iteration.
    task: Option<(String, String)>,
    /// The last conversation of each agent, by the agent's name.
    of: BTreeMap<String, ConversationId>,
}

impl Conversations {
    /// Begins with an iteration, in which no agent was called yet.
    pub(super) fn new(iteration: &Iteration) -> Self {
        let brief = |task: &TaskBrief| (task.id.clone(), one_line(&task.title, MAX_TITLE_CHARS));
        Self { task: iteration.task.as_ref().map(brief), of: BTreeMap::new() }
    }

    /// Takes down in which conversation an agent was.
    pub(super) fn note(&mut self, end: &AgentEnd) {
        if let Some(id) = &end.conversation {
            self.of.insert(end.agent.clone(), id.clone());
        }
    }

    /// Returns the conversation that an agent can go on in.
    pub(super) fn of(&self, agent: &str) -> Option<&ConversationId> {
        self.of.get(agent)
    }
}

impl Core {
    /// Returns the prompt of another turn of an iteration: why there is one, and what was said.
    pub(super) fn another_turn(&self, why: &str, said: &[Said]) -> String {
        let place = format!("This is another turn of iteration {}{}", self.counters.iterations, self.about());
        self.turn_because(&place, why, &self.frame(said))
    }

    /// Does the same for a turn after the last iteration, with what is already framed.
    pub(super) fn turn_after_all(&self, why: &str, framed: &str) -> String {
        let place = match self.counters.iterations {
            0 => "No iteration was made".to_owned(),
            number => format!("This is a turn after iteration {number}{}", self.about()),
        };
        self.turn_because(&place, why, framed)
    }

    fn turn_because(&self, place: &str, why: &str, framed: &str) -> String {
        let framing = &self.setup.framing;
        let remark = framing.remark(&format!("{place}: {why}"));
        format!("{}\n{remark}\n\n{framed}", framing.preamble())
    }

    /// Says what the iteration is about, and where to read it.
    fn about(&self) -> String {
        let Setup { framing, binary, .. } = &self.setup;
        let Some((id, title)) = &self.conversations.task else { return String::new() };
        format!(", about task {id} \"{}\" (`{binary} run show {id}` prints it)", framing.strip(title))
    }
}
