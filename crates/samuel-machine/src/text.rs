//! Text for the agent, and what an answer means for the iteration.
//!
//! Text waits in the order it was said. At the start of an iteration it goes
//! into the prompt and is *in flight* until the agent call succeeds; when the
//! call fails it is put back in front.

use samuel_hook::{HookPoint, OnFailure, Outcome, Said, Speaker};
use samuel_model::{
    ExitReason, FailureClass, Question,
    payload::{Deliver, TaskBrief},
    text::one_line,
};
use samuel_state::Mutation;
use serde::{Deserialize, Serialize};

use super::{
    Core, Effect, Ending, HookReply, Machine, Setup, State,
    core::Repeat,
    iteration::Iteration,
    state::{CallPhase, Phase},
};
use crate::event::{Event, IterationFailure};

/// How much text may wait, in bytes. The oldest makes room.
pub(super) const MAX_PENDING_BYTES: usize = 1 << 20;
/// How much of one text is delivered, in bytes. The end is left out.
pub(super) const MAX_PART_BYTES: usize = 32 << 10;
/// How much is delivered at once, in bytes; a prompt takes a little more.
const MAX_FRAMED_BYTES: usize = 96 << 10;
/// Characters kept of why a run ends, where its texts are too long to be saved.
const MAX_DETAIL_CHARS: usize = 1_000;

/// Text for the agent that is in no prompt of an iteration.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(super) struct Texts {
    /// Text for the next prompt.
    pub(super) pending: Vec<Said>,
    /// The text of the last turn, until the agent has got it.
    #[serde(default)]
    pub(super) delivering: Vec<Said>,
}

impl Texts {
    /// Drops texts of the user that agents of other lanes were given.
    pub(super) fn were_delivered_elsewhere(&mut self, texts: &[String]) {
        for text in texts {
            let is_it = |said: &Said| said.speaker == Speaker::User && said.item.content == *text;
            if let Some(place) = self.pending.iter().position(is_it) {
                self.pending.remove(place);
            }
        }
    }
}

impl Core {
    /// Says whether text waits that is worth a turn of its own.
    pub(super) fn asks_for_turn(&self) -> bool {
        self.texts.pending.iter().any(|said| self.is_owed(said))
    }

    /// Says whether an agent of this lane is to be given a text before the run ends, whatever that takes. It only reads
    /// along what the user was told.
    pub(super) fn is_owed(&self, said: &Said) -> bool {
        match said.speaker {
            Speaker::Handler => true,
            // What was said of a call of its own is for no other lane.
            Speaker::User => !self.setup.follows || said.point == HookPoint::AbilityBefore,
            Speaker::ToUser => false,
        }
    }

    /// Takes down that the agent was given texts, since what the user says is said to all lanes.
    pub(super) fn were_delivered(&mut self, texts: Vec<Said>) {
        if self.setup.in_lane {
            let of_user = texts.into_iter().filter(|said| said.speaker == Speaker::User);
            let of_user: Vec<String> = of_user.map(|said| said.item.content).collect();
            if !of_user.is_empty() {
                self.effect(Effect::Delivered(of_user));
            }
        }
    }

    /// Files what handlers said, and says whether the point's outcome keeps
    /// the iteration from going on.
    pub(super) fn absorb(
        &mut self,
        iteration: Option<&mut Iteration>,
        reply: &HookReply,
    ) -> Option<IterationFailure> {
        self.file(iteration, reply.outcome.said.iter().cloned());
        self.verdict(&reply.outcome)
    }

    /// Files what handlers said for the moment that they asked for.
    pub(super) fn file(
        &mut self,
        mut iteration: Option<&mut Iteration>,
        text: impl IntoIterator<Item = Said>,
    ) {
        for said in text {
            // A message that waits already is not told twice.
            if said.speaker == Speaker::ToUser && self.texts.pending.contains(&said) {
                continue;
            }
            match (&mut iteration, said.item.deliver) {
                (Some(iteration), Deliver::Now) => iteration.now.push(said),
                _ => self.keep_for_next([said]),
            }
        }
    }

    /// Says whether the point's outcome keeps the iteration from going on.
    pub(super) fn verdict(&mut self, outcome: &Outcome) -> Option<IterationFailure> {
        if let Some(abort) = &outcome.abort {
            let message = abort.to_string();
            if abort.action == OnFailure::AbortLoop {
                self.end_strictly(&message);
            }
            return Some(IterationFailure { class: FailureClass::HookBroke, message });
        }
        let message = outcome.refused.clone()?;
        Some(IterationFailure { class: FailureClass::Refused, message })
    }

    /// Makes a broken handler the reason why the run ends, unless the reason
    /// is the caller's wish or a fault of Samuel itself.
    fn end_strictly(&mut self, message: &str) {
        let stands = |ending: &Ending| {
            matches!(ending.reason, ExitReason::StrictHook | ExitReason::Cancelled | ExitReason::Error)
        };
        if !self.ending.as_ref().is_some_and(stands) {
            self.ending = Some(Ending::new(ExitReason::StrictHook, Some(message.to_owned())));
        }
    }

    /// Keeps text for the next prompt, whenever it asked to be delivered.
    pub(super) fn keep_for_next(&mut self, text: impl IntoIterator<Item = Said>) {
        self.texts.pending.extend(text);
        self.make_room();
    }

    /// Takes the text that waits for a prompt which holds some already. What the user said and does not fit into it
    /// waits for the next one, in its order; of handlers everything is taken, and the prompt says how much it leaves out.
    pub(super) fn take_pending(&mut self, held: &[Said]) -> Vec<Said> {
        let mut room = MAX_FRAMED_BYTES;
        for said in held {
            room = room.saturating_sub(self.part(said, room).len());
        }
        let (mut taken, mut left) = (Vec::new(), Vec::new());
        for said in std::mem::take(&mut self.texts.pending) {
            let fits = room > 0 && said.item.content.len().min(MAX_PART_BYTES) <= room;
            if said.speaker == Speaker::User && (!left.is_empty() || !fits) {
                left.push(said);
                continue;
            }
            room = room.saturating_sub(self.part(&said, room).len());
            taken.push(said);
        }
        self.texts.pending = left;
        taken
    }

    /// Puts text back in front that did not reach the agent.
    pub(super) fn put_back(&mut self, mut text: Vec<Said>) {
        text.append(&mut self.texts.pending);
        self.texts.pending = text;
        self.make_room();
    }

    fn make_room(&mut self) {
        let mut size: usize = self.texts.pending.iter().map(|said| said.item.content.len()).sum();
        let mut dropped = 0;
        for said in self.texts.pending.iter().take(self.texts.pending.len().saturating_sub(1)) {
            if size <= MAX_PENDING_BYTES {
                break;
            }
            size -= said.item.content.len();
            dropped += 1;
        }
        if dropped > 0 {
            self.texts.pending.drain(..dropped);
            let message =
                format!("too much text waits for the agent: the oldest {dropped} parts were dropped");
            self.emit(Event::Warning { message });
        }
    }
}

impl Machine {
    /// Leaves out the texts of a machine that is to be saved: those that wait, and how
    /// what was under way went.
    pub fn forget_texts(&mut self) {
        let core = &mut self.core;
        (core.texts, core.repeat) = (Texts::default(), Repeat::default());
        for mutation in &mut core.mutations {
            match mutation {
                Mutation::TakeBack { failures, .. } => failures.clear(),
                Mutation::Block { reason, .. } => *reason = None,
                _ => {}
            }
        }
        // What was delivered is delivered once more.
        core.mutations.retain(|mutation| !matches!(mutation, Mutation::Heard { .. }));
        if let Some(detail) = core.ending.as_mut().and_then(|ending| ending.detail.as_mut()) {
            *detail = one_line(detail, MAX_DETAIL_CHARS);
        }
        if let State::Iteration(_, Phase::Agent(call)) | State::Closing(_, call) = &mut self.state {
            call.failure = None;
            if let CallPhase::Drain(end) = &mut call.at {
                (end.output, end.failure) = (None, None);
            }
        }
        if let Some(iteration) = self.state.iteration_mut() {
            iteration.in_flight.clear();
            iteration.now.clear();
            iteration.answered_question = None;
            if let Some(failure) = &mut iteration.failure {
                failure.message.clear();
            }
            if let Some(reason) = &mut iteration.parked {
                reason.clear();
            }
        }
    }
}

impl Core {
    /// Puts what was said into one text, each part quoted from who said it.
    pub(super) fn frame(&self, said: &[Said]) -> String {
        self.framed(said).join("\n\n")
    }

    /// Quotes each text that was said from who said it. Of all together only so much is there as
    /// is delivered at once.
    pub(super) fn framed(&self, said: &[Said]) -> Vec<String> {
        let count = said.len();
        let mut room = MAX_FRAMED_BYTES;
        let mut parts: Vec<String> = Vec::new();
        for (number, said) in said.iter().enumerate() {
            if room == 0 {
                let more = format!("{} more texts are left out", count - number);
                parts.push(self.setup.framing.remark(&more));
                break;
            }
            let part = self.part(said, room);
            room = room.saturating_sub(part.len());
            parts.push(part);
        }
        parts
    }

    /// Quotes a text from who said it, as much of it as there is room for.
    fn part(&self, said: &Said, room: usize) -> String {
        let framing = &self.setup.framing;
        let (text, max) = (&said.item.content, MAX_PART_BYTES.min(room));
        match said.speaker {
            Speaker::User => framing.quote_user(text, max),
            Speaker::ToUser => {
                let source = format!("message to the user from hook {} at {}", said.handler, said.point);
                framing.quote(&source, text, max)
            }
            Speaker::Handler => framing.quote(&format!("hook {} at {}", said.handler, said.point), text, max),
        }
    }

    /// Puts together what the prompt of an iteration opens with beside the task itself: what its last
    /// agent left open, what was answered to it, and what was said.
    pub(super) fn waiting_text(&self, iteration: &Iteration) -> String {
        let task = iteration.task.as_ref();
        let parts = [
            task.and_then(|task| self.left_open(task)),
            task.zip(iteration.answered_question.as_ref())
                .map(|(task, question)| self.answer_to(task, question)),
            Some(self.frame(&iteration.in_flight)),
        ];
        parts.into_iter().flatten().collect::<Vec<_>>().join("\n\n").trim_end().to_owned()
    }

    /// Tells the agent of a task what was asked about it, and what a person answered.
    fn answer_to(&self, task: &TaskBrief, question: &Question) -> String {
        let framing = &self.setup.framing;
        let options = question.options.iter().map(|option| format!("\n- {option}")).collect::<String>();
        let asked = format!("{}{}{options}", question.text, if options.is_empty() { "" } else { "\n" });
        let remark =
            format!("Something was asked about task {}, and the user answers it. Go by the answer.", task.id);
        let answer = question.answer.as_deref().unwrap_or_default();
        [
            framing.remark(&remark),
            framing.quote(&format!("question about task {}", task.id), &asked, MAX_PART_BYTES),
            framing.quote_user(answer, MAX_PART_BYTES),
        ]
        .join("\n\n")
    }

    /// Says that the last agent of a task did not say what became of it; nothing where it did.
    fn left_open(&self, task: &TaskBrief) -> Option<String> {
        let Setup { framing, binary, .. } = &self.setup;
        let is_open = self.counters.unrecorded.iter().any(|open| open.as_str() == task.id);
        is_open.then(|| framing.remark(&format!(
            "Task {id} was worked on before, and nobody recorded it as done, so it is still open. Look at what is \
             there: if the task is done, record it with `{binary} run done {id}`; else finish it first. The task \
             counts as done only once that command was called.",
            id = task.id
        )))
    }
}
