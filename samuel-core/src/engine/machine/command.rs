//! What somebody wants of a run, and how the loop is left before its time.

use serde::{Deserialize, Serialize};

use super::{Command, Effect, EffectResult, Ending, Machine, Phase, Then};
use crate::{
    engine::event::{Event, Failure, RunFault},
    hook::{HookPoint, Said, Speaker},
    model::{
        ExitReason, FailureClass,
        payload::{Deliver, TextItem},
    },
    state::ProgressKind,
};

/// What somebody wants of the run. The later ones are the stronger ones.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Wish {
    /// End after the iteration.
    Cancel,
    /// The money is spent.
    Budget,
    /// The time is up.
    WallClock,
    /// End now.
    Stop,
}

impl Wish {
    pub(super) fn reason(self) -> ExitReason {
        match self {
            Self::Cancel | Self::Stop => ExitReason::Cancelled,
            Self::Budget => ExitReason::Budget,
            Self::WallClock => ExitReason::WallClock,
        }
    }
}

impl Machine {
    pub(super) fn command(&mut self, command: Command) {
        match command {
            Command::Pause => {
                self.hold = true;
                if self.phase == Phase::Sleep {
                    self.interrupt();
                }
            }
            Command::Resume => {
                self.hold = false;
                if self.phase == Phase::Paused {
                    self.emit(Event::Resumed);
                    self.begin_iteration();
                }
            }
            Command::Steer(content) => self.keep(Said {
                handler: "user".into(),
                point: HookPoint::BeforeIteration,
                item: TextItem { content, deliver: Deliver::Next },
                speaker: Speaker::User,
            }),
            Command::Cancel => self.wish(Wish::Cancel),
            Command::Stop => self.wish(Wish::Stop),
        }
    }

    /// Notes that the run should end, and interrupts what can be interrupted.
    pub(super) fn wish(&mut self, wish: Wish) {
        if self.wish.is_some_and(|earlier| earlier >= wish) {
            return;
        }
        self.wish = Some(wish);
        match self.phase {
            Phase::Sleep => self.interrupt(),
            Phase::Paused => self.begin_iteration(),
            // Nothing is under way but the side, which `give_up` ends.
            Phase::Drain if self.is_urgent() => self.give_up(),
            _ if self.is_urgent() && self.gives_way() => self.interrupt(),
            _ => {}
        }
    }

    /// Says whether the iteration under way is given up.
    pub(super) fn is_urgent(&self) -> bool {
        self.wish.is_some_and(|wish| wish > Wish::Cancel)
    }

    /// Says whether the phase can be left before its time. The plan is changed
    /// whole, and the last points fire whatever happens.
    pub(super) fn gives_way(&self) -> bool {
        !matches!(self.phase, Phase::Mutate(_) | Phase::AfterLoop | Phase::SessionEnd)
    }

    /// Asks for the end of the effect that the phase waits for.
    pub(super) fn interrupt(&mut self) {
        if let Some(id) = self.waits_for {
            self.effect(Effect::Interrupt(id));
        }
    }

    /// Takes down what must not be lost of a result that nobody waits for.
    pub(super) fn note(&mut self, result: EffectResult) {
        let EffectResult::Hook(reply) = result else { return };
        match self.phase {
            Phase::Invoke => {
                let end = self.record_agent(&reply);
                self.tell_agent_end(&end);
            }
            Phase::Quality => _ = self.settle_check(&reply),
            _ => _ = self.absorb(&reply),
        }
    }

    /// Leaves the phase, because the run ends now.
    pub(super) fn give_up(&mut self) {
        self.drop_side();
        self.forget_agent();
        if self.iteration.is_some() {
            self.give_up_iteration();
        } else if self.closing.is_some() || self.phase == Phase::SessionStop {
            self.fire_after_loop();
        } else {
            self.begin_iteration();
        }
    }

    /// Ends the run, because Samuel itself cannot go on. Each of the last
    /// points still has its turn once, and the plan is put in order as far as
    /// that is possible.
    pub(super) fn failed(&mut self, fault: impl Into<RunFault>) {
        let fault = fault.into();
        if self.waits_for.is_some() {
            // Only one main effect at a time: this one ends first.
            self.broken_by = Some(fault);
            return self.interrupt();
        }
        self.broken_by = None;
        self.drop_side();
        self.forget_agent();
        self.closing = None;
        self.abandon_iteration(&fault.message);
        if self.reason() != ExitReason::Error {
            self.ending = None;
        }
        self.ending.get_or_insert_with(|| Ending {
            reason: ExitReason::Error,
            detail: Some(fault.message.clone()),
            fault: Some(fault),
        });
        match self.phase {
            Phase::AfterLoop => self.fire_session_end(),
            Phase::SessionEnd => self.finish(),
            // What cannot be written now is tried once more at the very end.
            Phase::Mutate(Then::EndLoop) => self.fire_last_points(),
            Phase::Mutate(Then::Finish) => {
                self.mutations.pop_front();
                self.mutate(Then::Finish);
            }
            _ => self.fire_after_loop(),
        }
    }

    /// Closes the books of an iteration that cannot be brought to its end. The
    /// changes of the plan that are left are made at the end of the run.
    fn abandon_iteration(&mut self, message: &str) {
        let Some(iteration) = &mut self.iteration else { return };
        if iteration.number > self.counters.iterations {
            return self.drop_iteration();
        }
        if !iteration.settled {
            let task = iteration.task_id();
            let failure = Failure { class: FailureClass::Interrupted, message: message.to_owned() };
            let Failure { class, message } = iteration.failure.get_or_insert(failure).clone();
            self.log(ProgressKind::Error, task, format!("{class}: {message}"));
        }
        if !matches!(self.phase, Phase::Mutate(Then::CloseIteration | Then::StartSession)) {
            self.queue_commit();
        }
        self.conclude_iteration();
    }
}
