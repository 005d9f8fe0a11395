//! Whether a supervisor still answers.
//!
//! A [`Heartbeat`] says when to ask and when an answer is overdue. It has no timer of its
//! own and sends nothing.

use std::time::Duration;
use tokio::time::Instant;

/// How long after an answer, or the start of the command, the next question comes.
const INTERVAL: Duration = Duration::from_millis(500);

/// How long an answer may take before somebody looks why.
const PATIENCE: Duration = Duration::from_millis(500);

/// How often a supervisor is looked at in vain that nobody has stopped, which makes
/// 10 s: the machine may be under heavy load. Looks are counted, not time,
/// because this process may have been stopped itself.
const MAX_LOOKS: u32 = 20;

/// How often a stopped supervisor may go on. One that is stopped again and
/// again is under attack, and given up.
const MAX_STOPS: u32 = 3;

/// What to do about a supervisor.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Beat {
    /// Ask it.
    Ask,
    /// Look why it does not answer.
    Look,
}

/// What became of a look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Verdict {
    /// Wait on.
    Wait,
    /// Let it go on.
    Continue,
    /// Give it up.
    Lost,
}

/// What a supervisor that does not answer was seen doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "there are no supervisors to look at"))]
pub(super) enum Seen {
    Alive,
    Stopped,
    /// Held by a tracer, or gone.
    Beyond,
}

/// The questions to one supervisor.
#[derive(Debug, Default)]
pub(super) struct Heartbeat {
    /// When the next beat is due; never while nothing runs.
    due: Option<Instant>,
    /// Whether an answer is awaited.
    asked: bool,
    looks: u32,
    stops: u32,
}

impl Heartbeat {
    /// The command runs.
    pub(super) fn start(&mut self, now: Instant) {
        self.due = Some(now + INTERVAL);
    }

    /// The command is ended: that has a deadline of its own.
    pub(super) fn stop(&mut self) {
        self.due = None;
    }

    /// An answer has come.
    pub(super) fn answered(&mut self, now: Instant) {
        self.asked = false;
        self.looks = 0;
        self.due = self.due.map(|_| now + INTERVAL);
    }

    /// Returns when the next beat is due.
    pub(super) fn due(&self) -> Option<Instant> {
        self.due
    }

    /// Returns what is due.
    pub(super) fn beat(&mut self, now: Instant) -> Beat {
        self.due = Some(now + PATIENCE);
        if self.asked {
            return Beat::Look;
        }
        self.asked = true;
        Beat::Ask
    }

    /// Judges a supervisor that was looked at.
    pub(super) fn judge(&mut self, seen: Seen) -> Verdict {
        match seen {
            Seen::Alive if self.looks < MAX_LOOKS => {
                self.looks += 1;
                Verdict::Wait
            }
            Seen::Stopped if self.stops < MAX_STOPS => {
                self.stops += 1;
                Verdict::Continue
            }
            Seen::Alive | Seen::Stopped | Seen::Beyond => Verdict::Lost,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_supervisor_is_asked_while_its_command_runs_and_looked_at_when_it_does_not_answer() {
        let (mut heartbeat, now) = (Heartbeat::default(), Instant::now());
        assert_eq!(heartbeat.due(), None);
        heartbeat.start(now);
        assert_eq!(heartbeat.due(), Some(now + INTERVAL));
        assert_eq!(heartbeat.beat(now), Beat::Ask);
        assert_eq!(heartbeat.beat(now + PATIENCE), Beat::Look);
        heartbeat.answered(now + PATIENCE);
        assert_eq!(heartbeat.beat(now + 2 * INTERVAL), Beat::Ask);
        heartbeat.stop();
        heartbeat.answered(now);
        assert_eq!(heartbeat.due(), None);
    }

    #[test]
    fn one_that_is_only_slow_is_waited_for_and_one_that_is_stopped_goes_on_three_times() {
        let mut heartbeat = Heartbeat::default();
        for _ in 0..MAX_LOOKS {
            assert_eq!(heartbeat.judge(Seen::Alive), Verdict::Wait);
        }
        assert_eq!(heartbeat.judge(Seen::Alive), Verdict::Lost);
        for _ in 0..MAX_STOPS {
            assert_eq!(heartbeat.judge(Seen::Stopped), Verdict::Continue);
        }
        assert_eq!(heartbeat.judge(Seen::Stopped), Verdict::Lost);
        assert_eq!(heartbeat.judge(Seen::Beyond), Verdict::Lost);
    }
}
