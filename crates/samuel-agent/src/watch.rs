//! Watching a running agent to its end.
//!
//! A [`Watch`] hands the agent's lines to its parser and the events to the port.
//! It minds the request's cancellation and the notice before the wall clock on
//! the way; the other deadlines are the process module's.

use std::time::Duration;

use samuel_model::{clock::Clock, clock::whole_ms};
use samuel_process::{CommandOutput, Line, ProcessError, Running, Stopper};
use tokio_util::sync::CancellationToken;

use super::{
    AgentEvent, AgentPort,
    config::Deadlines,
    stream::StreamParser,
    text::{MAX_SUMMARY, excerpt},
};

/// How long a cancelled agent has to end by itself.
const CANCEL_GRACE: Duration = Duration::from_millis(300);

/// Watches over a running agent.
pub(super) struct Watch<'a> {
    pub(super) cancel: &'a CancellationToken,
    pub(super) deadlines: Deadlines,
    pub(super) port: &'a dyn AgentPort,
    /// Set once the request is cancelled.
    pub(super) cancelled: bool,
}

impl Watch<'_> {
    /// Reads all lines and waits for the end, minding the cancellation and the
    /// notice before the wall clock on the way.
    pub(super) async fn follow(
        &mut self,
        mut running: Running,
        parser: &mut dyn StreamParser,
        clock: &dyn Clock,
    ) -> Result<CommandOutput, ProcessError> {
        let stopper = running.stopper();
        let (after, left) = self.deadlines.notice().unwrap_or_default();
        let notice = clock.sleep(after);
        tokio::pin!(notice);
        let mut noticed = self.deadlines.wall.is_none();
        let mut finishing = false;
        loop {
            tokio::select! {
                biased;
                () = self.cancel.cancelled(), if !self.cancelled => self.end(&stopper),
                () = &mut notice, if !noticed => {
                    noticed = true;
                    self.port.emit(AgentEvent::SoftDeadline { remaining_ms: whole_ms(left) });
                }
                line = running.next_line() => match line {
                    Some(line) => self.read(&line, parser),
                    None => break,
                },
            }
            if !finishing && parser.progress().ending.is_some() {
                finishing = true;
                stopper.finishing();
            }
        }
        parser.finish().into_iter().for_each(|event| self.port.emit_last(event));
        let end = running.wait();
        tokio::pin!(end);
        tokio::select! {
            biased;
            () = self.cancel.cancelled(), if !self.cancelled => self.end(&stopper),
            output = &mut end => return output,
        }
        end.await
    }

    fn end(&mut self, stopper: &Stopper) {
        self.cancelled = true;
        stopper.terminate(CANCEL_GRACE);
    }

    fn read(&self, line: &Line, parser: &mut dyn StreamParser) {
        if line.truncated {
            self.port.emit(AgentEvent::Unreadable { line: excerpt(&line.text, MAX_SUMMARY) });
            return;
        }
        for event in parser.parse(&line.text) {
            match parser.progress().ending {
                Some(_) => self.port.emit_last(event),
                None => self.port.emit(event),
            }
        }
    }
}
