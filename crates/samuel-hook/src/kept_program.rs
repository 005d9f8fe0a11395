//! A program that is kept, and asked one question after the other.
//!
//! Each question is a line of its standard input, each answer one of its standard output. On the way it
//! reports as a program in the agent's place does ([`Conversation`](super::Conversation)), and is replied to.
//! What the lines mean that are no reports is the caller's to say, such as where the answer is.

use std::{sync::Arc, time::Duration};

use samuel_process::{CommandOutput, CommandSpec, OutputLimits, ProcessError, Running, Supervisor};
use tokio_util::sync::CancellationToken;

use super::{
    AgentPort,
    conversation::{Ear, Replies, report, supervised},
};

/// A program that is kept between questions.
///
/// Dropping it ends the program and everything below it.
#[derive(Debug)]
pub struct KeptProgram {
    running: Running,
    input: Option<Replies>,
}

/// What a program that is kept said next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum KeptLine {
    /// A line that is no report.
    Line(String),
    /// Something that cannot be used, with the reason. It is not to be asked again.
    Wrong(String),
    /// Nothing more: it has ended.
    End,
}

impl KeptProgram {
    /// Starts a program.
    ///
    /// A line that it is told may take as long as `limit` to be read, one that it prints may have `max_line` bytes.
    ///
    /// # Errors
    /// Returns a [`ProcessError`] if it could not be started.
    pub async fn start(
        spec: CommandSpec,
        supervisor: &Supervisor,
        limit: Duration,
        max_line: usize,
    ) -> Result<Self, ProcessError> {
        let limits = OutputLimits { line: max_line, ..OutputLimits::default() };
        let mut running = supervised(spec.stdin_piped().limits(limits), supervisor, None).await?;
        let input = Replies::to(&mut running, limit);
        Ok(Self { running, input })
    }

    /// Asks a question, which is one line; names the program's supervisor where there is a port. One that
    /// has ended is told nothing.
    pub async fn ask(&mut self, question: Vec<u8>, port: Option<&Arc<dyn AgentPort>>) {
        if let Some((port, id)) = port.zip(self.running.supervisor()) {
            port.supervised_by(id.pid, id.start_time).await;
        }
        if let Some(input) = &mut self.input {
            input.asked = 0;
            // Whoever waits for the answer finds that it has ended.
            let _ = input.sender.send(question).await;
        }
    }

    /// Waits for the next line that is no report, and hears those before it.
    pub async fn next(
        &mut self,
        port: Option<&Arc<dyn AgentPort>>,
        warn: &(dyn Fn(String) + Send + Sync),
    ) -> KeptLine {
        // Whoever no longer waits drops the program.
        let ear = Ear { port, warn, cancel: &CancellationToken::new() };
        loop {
            let Some(line) = self.running.next_line().await else { return KeptLine::End };
            if line.truncated {
                return KeptLine::Wrong("a line of it is too long".to_owned());
            }
            if line.invalid_utf8 {
                return KeptLine::Wrong("it is not UTF-8".to_owned());
            }
            let heard = match report(&line.text) {
                None => return KeptLine::Line(line.text),
                Some(Ok(report)) => ear.heard(report, self.input.as_mut()).await,
                Some(Err(wrong)) => Err(wrong),
            };
            if let Err(wrong) = heard {
                return KeptLine::Wrong(wrong);
            }
        }
    }

    /// Waits for its end, with its input closed.
    ///
    /// # Errors
    /// Returns a [`ProcessError`] if its supervisor was killed.
    pub async fn end(mut self) -> Result<CommandOutput, ProcessError> {
        self.input = None;
        self.running.wait().await
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    async fn kept(script: &str) -> KeptProgram {
        let spec = CommandSpec::new("/bin/sh", "/").args(["-c", script]);
        KeptProgram::start(spec, &Supervisor::GroupOnly, Duration::from_secs(30), 1024).await.unwrap()
    }

    #[tokio::test]
    async fn a_program_is_asked_again_and_again_and_reports_on_the_way() {
        let script = r#"n=0; while read q; do n=$((n+1)); echo '{"warning":"w"}'; echo "$n $q"; done"#;
        let mut program = kept(script).await;
        let warned = std::sync::Mutex::new(0);
        for (question, answer) in [("one", "1 one"), ("two", "2 two")] {
            program.ask(question.into(), None).await;
            let said = program.next(None, &|_| *warned.lock().unwrap() += 1).await;
            assert_eq!(said, KeptLine::Line(answer.to_owned()));
        }
        assert_eq!(*warned.lock().unwrap(), 2);
        assert!(program.end().await.unwrap().success());
    }

    #[tokio::test]
    async fn a_program_that_waits_for_a_reply_gets_it_among_its_questions() {
        let script = r#"read q
            echo '{"before_ability":{"call_id":"1","ability_id":"Bash","input":{}}}'
            read reply; echo "$q $reply""#;
        let mut program = kept(script).await;
        program.ask(b"may I?".to_vec(), None).await;
        let said = program.next(None, &|_| {}).await;
        assert_eq!(said, KeptLine::Line(r#"may I? {"decision":"allow","input":{}}"#.to_owned()));
        assert_eq!(program.next(None, &|_| {}).await, KeptLine::End);
    }

    #[tokio::test]
    async fn what_cannot_be_used_is_told() {
        let mut program = kept(r#"echo '{"event":5}'; sleep 600"#).await;
        assert!(
            matches!(program.next(None, &|_| {}).await, KeptLine::Wrong(wrong) if wrong.contains("report"))
        );
        let mut program = kept("head -c 5000 /dev/zero | tr '\\0' x; echo").await;
        assert_eq!(program.next(None, &|_| {}).await, KeptLine::Wrong("a line of it is too long".to_owned()));
    }
}
