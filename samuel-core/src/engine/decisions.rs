//! Tool calls that people decide on: who came first, and what the run made of it.
//!
//! Whoever decides, over the socket or by a handle, does it by [`Controller::decide`]: it lets nobody decide after
//! somebody else, and waits until the run tells what came of the call, which may have been kept back meanwhile because its time
//! was up. Who decides the same once more, such as after an answer that was lost, is told the same. Who gives a decision as any
//! other command does it by [`Controller::command`]: it comes first or not at all, too, and nobody waits for what comes of it. The
//! [`Hub`](super::hub::Hub) has the [`Decisions`] of a run.

use std::{collections::VecDeque, time::Duration};

use tokio::time::timeout;

use super::handle::Controller;
use crate::{
    event::Event,
    machine::{Command, denied_by_person},
    model::{Coded, ErrorCode, LiveState},
};

/// Of how many tool calls it is kept what became of them, more than wait at the same time.
const MAX_KEPT: usize = 256;
/// How long it is waited for what the run makes of a decision, less than who asks over the socket waits. The run itself may wait
/// for a lock for longer: what is not told by then may still follow.
const TOLD_WAIT: Duration = Duration::from_secs(5);
/// How whoever has a handle of the run is called.
const PROGRAM: &str = "the program that runs the loop";

/// What somebody decides on a tool call.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Decision {
    /// The number of the call.
    pub(super) call: u64,
    pub(super) is_approved: bool,
    /// What the agent is told.
    pub(super) text: Option<String>,
}

impl Decision {
    /// Returns what the run tells of the call where it follows.
    fn wanted(&self) -> Outcome {
        Outcome((!self.is_approved).then(|| denied_by_person(self.text.as_deref())))
    }

    /// Returns what a command decides; the command where that is nothing.
    fn of(command: Command) -> Result<Self, Command> {
        match command {
            Command::Approve { call, text } => Ok(Self { call, is_approved: true, text }),
            Command::Deny { call, text } => Ok(Self { call, is_approved: false, text }),
            command => Err(command),
        }
    }

    fn into_command(self) -> Command {
        let Self { call, is_approved, text } = self;
        match is_approved {
            true => Command::Approve { call, text },
            false => Command::Deny { call, text },
        }
    }
}

/// What became of a tool call: nothing for one that is made, else why it is not.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Outcome(Option<String>);

/// What became of the tool calls that people were asked about, of the last ones.
#[derive(Debug, Default)]
pub(super) struct Decisions(VecDeque<Decided>);

#[derive(Debug)]
struct Decided {
    call: u64,
    /// Who decided first, and what; nothing where the run ended the wait.
    first: Option<(String, Decision)>,
    /// What came of it, once the run has told.
    outcome: Option<Outcome>,
}

impl Decisions {
    /// Takes in what an event tells.
    pub(super) fn follow(&mut self, event: &Event) {
        let Event::ApprovalGiven { call, reason, .. } = event else { return };
        let outcome = Some(Outcome(reason.clone()));
        match self.0.iter_mut().find(|decided| decided.call == *call) {
            Some(decided) => decided.outcome = outcome,
            None => self.keep(Decided { call: *call, first: None, outcome }),
        }
    }

    fn keep(&mut self, decided: Decided) {
        if self.0.len() >= MAX_KEPT {
            self.0.pop_front();
        }
        self.0.push_back(decided);
    }

    fn of(&self, call: u64) -> Option<&Decided> {
        self.0.iter().find(|decided| decided.call == call)
    }

    /// Returns what somebody is told who decided on a call, as the first or not; nothing as long as the run has not told what
    /// came of it.
    fn answer(&self, call: u64, is_first: bool) -> Option<Result<(), DecisionError>> {
        let decided = self.of(call)?;
        let outcome = decided.outcome.as_ref()?;
        let by = match &decided.first {
            Some((_, first)) if first.wanted() == *outcome && is_first => return Some(Ok(())),
            Some((by, first)) if first.wanted() == *outcome => Some(by.clone()),
            _ => None,
        };
        Some(Err(match (by, &outcome.0) {
            (Some(by), refused) => DecisionError::Decided { call, is_approved: refused.is_none(), by },
            (None, reason) => DecisionError::Settled { call, reason: reason.clone() },
        }))
    }
}

impl Controller {
    /// Decides on a tool call for somebody, else for the program that has the handle, and waits for what the run makes of it.
    pub(super) async fn decide(&self, by: Option<&str>, decision: Decision) -> Result<(), DecisionError> {
        let call = decision.call;
        // What is told from here on is not missed.
        let mut events = self.hub.subscribe();
        let is_first = self.hub.decisions(|decisions, live| self.begin(decisions, live, by, decision))?;
        let told = async {
            loop {
                let answer = self.hub.decisions(|decisions, _| decisions.answer(call, is_first));
                if let Some(answer) = answer {
                    return answer;
                }
                match events.next().await {
                    Some(record) if !matches!(record.event, Event::RunFinished(_)) => {}
                    _ => return Err(DecisionError::Ended),
                }
            }
        };
        timeout(TOLD_WAIT, told).await.unwrap_or(Err(DecisionError::Late { call }))
    }

    /// Gives a command, for somebody where that is said, and says whether the run takes it. A decision it takes where it is the
    /// first on a call that waits.
    pub(super) fn command(&self, by: Option<&str>, command: Command) -> bool {
        match Decision::of(command) {
            Ok(decision) => {
                let begun = self.hub.decisions(|decisions, live| self.begin(decisions, live, by, decision));
                begun.unwrap_or(false)
            }
            Err(command) => self.give(by, command),
        }
    }

    /// Hands a decision to the run where it is the first on a call that waits, and says whether it is: also where the same
    /// person decides the same again, which the run is given once.
    fn begin(
        &self,
        decisions: &mut Decisions,
        live: &LiveState,
        by: Option<&str>,
        decision: Decision,
    ) -> Result<bool, DecisionError> {
        let (call, by_name) = (decision.call, by.unwrap_or(PROGRAM));
        if let Some(decided) = decisions.of(call) {
            return Ok(decided.first.as_ref().is_some_and(|(by, first)| by == by_name && *first == decision));
        }
        // Nothing waits there any more, and that is the reason.
        if !self.takes_commands() {
            return Err(DecisionError::Ended);
        }
        if !live.approvals.iter().any(|waiting| waiting.call == call) {
            return Err(DecisionError::NothingWaits { call });
        }
        if !self.give(by, decision.clone().into_command()) {
            return Err(DecisionError::Ended);
        }
        let first = Some((by_name.to_owned(), decision));
        decisions.keep(Decided { call, first, outcome: None });
        Ok(true)
    }
}

/// A decision on a tool call that does not count, or of which that is not known.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecisionError {
    /// No such call waits.
    #[error("no tool call {call} waits for approval")]
    NothingWaits {
        /// The number of the call.
        call: u64,
    },
    /// Somebody else decided on it first.
    #[error("tool call {call} was {} already, by {by}", decided(*is_approved))]
    Decided {
        /// The number of the call.
        call: u64,
        /// Whether it is made.
        is_approved: bool,
        /// Who that was.
        by: String,
    },
    /// The run ended the wait, such as because the time was up.
    #[error("tool call {call} was {} already{}", decided(reason.is_none()), because(reason.as_deref()))]
    Settled {
        /// The number of the call.
        call: u64,
        /// Why it is not made; nothing where it is.
        reason: Option<String>,
    },
    /// The run has ended.
    #[error("the run has ended")]
    Ended,
    /// The run did not tell in time what comes of it, such as while it waits for a lock. The decision may still count, and who
    /// decides the same again is told.
    #[error("the run did not tell within {}s what comes of tool call {call}; the decision may still count", TOLD_WAIT.as_secs())]
    Late {
        /// The number of the call.
        call: u64,
    },
}

fn decided(is_approved: bool) -> &'static str {
    if is_approved { "approved" } else { "denied" }
}

fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}

impl Coded for DecisionError {
    fn code(&self) -> ErrorCode {
        match self {
            Self::NothingWaits { .. } | Self::Decided { .. } | Self::Settled { .. } => {
                ErrorCode::CONTROL_NOTHING_WAITS
            }
            Self::Ended => ErrorCode::CONTROL_NO_LOOP,
            Self::Late { .. } => ErrorCode::CONTROL_UNANSWERED,
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::sync::Arc;

    use tokio::sync::mpsc::{UnboundedReceiver, unbounded_channel};

    use super::*;
    use crate::{engine::hub::Hub, machine::Input, testing::VirtualClock};

    /// Makes a run in which a call waits, and takes the commands that it is given.
    fn asked(call: u64) -> (Arc<Hub>, Controller, UnboundedReceiver<Input>) {
        let hub = Arc::new(Hub::new("r".into(), Arc::new(VirtualClock::new()), Arc::default()));
        let (inputs, taken) = unbounded_channel();
        hub.send(Event::ApprovalAsked {
            iteration: 1,
            call,
            ability_id: "Bash".to_owned(),
            input: "{}".to_owned(),
            reason: "a command".to_owned(),
            wait_ms: 1,
        });
        (Arc::clone(&hub), Controller::new(inputs, hub), taken)
    }

    /// The run tells what became of a call.
    async fn settles(hub: &Hub, call: u64, reason: Option<&str>) {
        let reason = reason.map(str::to_owned);
        hub.send(Event::ApprovalGiven { call, approved: reason.is_none(), reason });
    }

    fn approves(call: u64) -> Decision {
        Decision { call, is_approved: true, text: None }
    }

    fn denies(call: u64, text: &str) -> Decision {
        Decision { call, is_approved: false, text: Some(text.to_owned()) }
    }

    fn message(answer: Result<(), DecisionError>) -> String {
        answer.unwrap_err().to_string()
    }

    #[tokio::test]
    async fn of_two_who_decide_on_one_call_the_first_counts_and_the_second_is_told_who_that_was() {
        let (hub, control, mut taken) = asked(57);
        let settled = settles(&hub, 57, None);
        // A handle, the socket and another handle, before the run tells of any.
        let (first, second, third, ()) = tokio::join!(
            control.decide(None, approves(57)),
            control.decide(Some("1000/pts-2"), denies(57, "no")),
            control.decide(Some("1000/pts-3"), approves(57)),
            settled,
        );
        assert_eq!(first, Ok(()));
        let told = "tool call 57 was approved already, by the program that runs the loop";
        assert_eq!([message(second), message(third)], [told, told]);
        // Nor does anybody count who comes later.
        assert_eq!(message(control.decide(None, denies(57, "no")).await), told);
        assert!(matches!(taken.try_recv(), Ok(Input::Command(Command::Approve { call: 57, .. }))));
        assert!(taken.try_recv().is_err(), "the machine is given no command of who came second");
        assert_eq!(control.decide(None, approves(58)).await, Err(DecisionError::NothingWaits { call: 58 }));
    }

    #[tokio::test]
    async fn who_decides_the_same_again_is_told_the_same_and_the_run_is_told_once() {
        for (decision, reason) in
            [(approves(57), None), (denies(57, "no"), Some(denied_by_person(Some("no"))))]
        {
            let (hub, control, mut taken) = asked(57);
            let decides = |by| control.decide(Some(by), decision.clone());
            // Before the run tells what came of it, and after.
            let (first, again, ()) = tokio::join!(
                decides("1000/pts-1"),
                decides("1000/pts-1"),
                settles(&hub, 57, reason.as_deref())
            );
            assert_eq!([first, again, decides("1000/pts-1").await], [Ok(()), Ok(()), Ok(())]);
            assert!(message(decides("1000/pts-2").await).ends_with("already, by 1000/pts-1"));
            // With other words it is another decision.
            let worded = Decision { text: Some("with care".to_owned()), ..decision.clone() };
            let told = message(control.decide(Some("1000/pts-1"), worded).await);
            assert!(told.ends_with("already, by 1000/pts-1"), "{told}");
            assert!(taken.try_recv().is_ok());
            assert!(taken.try_recv().is_err(), "the machine is given one command");
        }
    }

    #[tokio::test]
    async fn a_decision_that_is_given_as_a_command_comes_first_or_not_at_all() {
        let (hub, control, mut taken) = asked(57);
        let denies = || Command::Deny { call: 57, text: None };
        assert!(
            !control.send_for("1000/pts-1", Command::Approve { call: 58, text: None }),
            "it does not wait"
        );
        assert!(control.send_for("1000/pts-1", Command::Approve { call: 57, text: None }));
        assert!(!control.send_for("1000/pts-2", denies()), "somebody came first");
        control.send(denies());
        let (second, ()) = tokio::join!(control.decide(None, approves(57)), settles(&hub, 57, None));
        assert_eq!(message(second), "tool call 57 was approved already, by 1000/pts-1");
        assert!(matches!(
            taken.try_recv(),
            Ok(Input::CommandOf { command: Command::Approve { call: 57, .. }, by }) if by == "1000/pts-1"
        ));
        assert!(taken.try_recv().is_err(), "the machine is given no command of who came second");
    }

    #[tokio::test]
    async fn a_decision_that_the_end_of_the_time_outran_is_refused() {
        for decision in [approves(57), denies(57, "no")] {
            let (hub, control, mut taken) = asked(57);
            let late = "nobody approved it within 20s: a command";
            let (answer, ()) = tokio::join!(
                control.decide(Some("1000/pts-1"), decision.clone()),
                settles(&hub, 57, Some(late)),
            );
            assert!(taken.try_recv().is_ok(), "it seemed to wait");
            let told = format!("tool call 57 was denied already: {late}");
            assert_eq!(answer.as_ref().unwrap_err().code(), ErrorCode::CONTROL_NOTHING_WAITS);
            assert_eq!(message(answer), told);
            assert_eq!(message(control.decide(None, decision).await), told, "so is who comes later");
        }
    }

    #[tokio::test]
    async fn a_denial_counts_with_its_words() {
        let (hub, control, _taken) = asked(57);
        let reason = denied_by_person(Some("no"));
        let (answer, ()) =
            tokio::join!(control.decide(None, denies(57, "no")), settles(&hub, 57, Some(&reason)));
        assert_eq!(answer, Ok(()));
    }

    #[tokio::test(start_paused = true)]
    async fn who_decides_is_told_where_the_run_ends_or_says_nothing() {
        let (hub, control, _taken) = asked(56);
        let late = control.decide(None, approves(56)).await.unwrap_err();
        assert_eq!((&late, late.code()), (&DecisionError::Late { call: 56 }, ErrorCode::CONTROL_UNANSWERED));
        assert!(late.to_string().ends_with("; the decision may still count"), "{late}");
        // It does, and who decides the same again is told.
        settles(&hub, 56, None).await;
        assert_eq!(control.decide(None, approves(56)).await, Ok(()));
        let (hub, control, taken) = asked(57);
        let ends = async { hub.close() };
        let (answer, ()) = tokio::join!(control.decide(None, approves(57)), ends);
        assert_eq!(answer, Err(DecisionError::Ended));
        drop(taken);
        let (_hub, control, taken) = asked(58);
        drop(taken);
        assert_eq!(control.decide(None, approves(58)).await, Err(DecisionError::Ended));
    }

    #[test]
    fn of_many_calls_the_last_ones_are_kept() {
        let mut decisions = Decisions::default();
        for call in 0..1_000 {
            decisions.follow(&Event::ApprovalGiven { call, approved: true, reason: None });
        }
        assert_eq!(decisions.0.len(), MAX_KEPT);
        assert!(decisions.of(999).is_some() && decisions.of(0).is_none());
    }
}
