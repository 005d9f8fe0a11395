//! What is said to a program of an image, and what it says.
//!
//! Both are lines. A program that serves is given `{"n": 7, "handler": "check", "envelope": {..}}` and answers with
//! `{"n": 7, ..answer..}`, or `{"n": 7, "error": {"message": ..}}` where it cannot. One that is called once is given
//! the envelope and prints the answer, as a script does. In the agent's place reports come before the answer, and
//! replies behind the question, each with the number of the call where there are numbers.

use std::{fs::File, io::Write as _, pin::Pin};

use serde::Deserialize;
use serde_json::{Map, Value};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::{ReadHalf, WriteHalf},
    sync::mpsc,
};

use crate::{
    hook::{BreakClass, HookFailure, Lines, is_report},
    model::ErrorCode,
    plugin::envelope::{self, MAX_ANSWER_BYTES},
    process::Line,
};

/// How many bytes are read at a time, at least.
const PIECE: usize = 16 << 10;
/// How many details of a failure are kept, and how long each may be, in characters.
const MAX_DETAILS: usize = 20;
const MAX_DETAIL_CHARS: usize = 1_000;

/// The lines that a program says, while what is said to it is written.
pub(super) struct Exchange<'a> {
    read: ReadHalf<'a>,
    /// What was read and is no whole line yet.
    buffer: &'a mut Vec<u8>,
    /// How far it was looked through for the end of a line.
    scanned: usize,
    writing: Option<Pin<Box<dyn Future<Output = ()> + Send + 'a>>>,
    /// Where all that is said is kept.
    log: Option<File>,
    is_over: bool,
}

/// What is to be said, and whether it ends there.
pub(super) struct Saying {
    /// What is left of a line that was said in part, its end with it.
    pub(super) begun: Vec<u8>,
    pub(super) lines: mpsc::Receiver<Vec<u8>>,
    /// The number that goes with each line.
    pub(super) number: Option<u64>,
    /// Whether the end is told, once there are no more lines.
    pub(super) ends: bool,
}

impl Saying {
    /// Says the rest of one line and no other.
    pub(super) fn rest(begun: Vec<u8>) -> Self {
        Self { begun, lines: mpsc::channel(1).1, number: None, ends: false }
    }
}

impl<'a> Exchange<'a> {
    pub(super) fn new(
        (read, write): (ReadHalf<'a>, WriteHalf<'a>),
        buffer: &'a mut Vec<u8>,
        saying: Saying,
        log: Option<File>,
    ) -> Self {
        let writing: Pin<Box<dyn Future<Output = ()> + Send>> = Box::pin(say(write, saying));
        Self { read, buffer, scanned: 0, writing: Some(writing), log, is_over: false }
    }

    /// Returns all that is said until the end, or the words why it is too much.
    pub(super) async fn whole(mut self) -> Result<Vec<u8>, (String, Vec<u8>)> {
        while self.fill().await {
            if self.buffer.len() > MAX_ANSWER_BYTES {
                return Err((too_long(), std::mem::take(self.buffer)));
            }
        }
        Ok(std::mem::take(self.buffer))
    }

    /// Reads more, and says whether there was any. Writes meanwhile.
    async fn fill(&mut self) -> bool {
        self.buffer.reserve(PIECE);
        let before = self.buffer.len();
        loop {
            let writing = async {
                match &mut self.writing {
                    Some(writing) => writing.await,
                    None => std::future::pending().await,
                }
            };
            tokio::select! {
                biased;
                () = writing => self.writing = None,
                read = self.read.read_buf(self.buffer) => {
                    if let (Some(log), Some(new)) = (&mut self.log, self.buffer.get(before..)) {
                        // What cannot be kept is no reason to end an agent.
                        let _ = log.write_all(new);
                    }
                    return read.is_ok_and(|count| count > 0);
                }
            }
        }
    }
}

impl Lines for Exchange<'_> {
    async fn next(&mut self) -> Option<Line> {
        while !self.is_over {
            if let Some(line) = take_line(self.buffer, self.scanned) {
                self.scanned = 0;
                return Some(line);
            }
            self.scanned = self.buffer.len();
            if self.scanned > MAX_ANSWER_BYTES {
                self.is_over = true;
                return Some(Line::new(&std::mem::take(self.buffer), true));
            }
            self.is_over = !self.fill().await;
        }
        let rest = std::mem::take(self.buffer);
        (!rest.is_empty()).then(|| Line::new(&rest, false))
    }
}

/// Takes the first line out of what was read, if it is whole; there is no end of one before a place.
pub(super) fn take_line(buffer: &mut Vec<u8>, scanned: usize) -> Option<Line> {
    let end = scanned + memchr::memchr(b'\n', buffer.get(scanned..)?)?;
    let line = Line::new(buffer.get(..end)?, false);
    buffer.drain(..=end);
    Some(line)
}

/// Writes what is to be said, a line each. One that does not listen is no error: it may answer all the same.
async fn say(mut write: WriteHalf<'_>, mut saying: Saying) {
    if write.write_all(&saying.begun).await.is_err() {
        return;
    }
    while let Some(line) = saying.lines.recv().await {
        let line = match saying.number {
            Some(number) => numbered(number, &line),
            None => [line.as_slice(), b"\n"].concat(),
        };
        if write.write_all(&line).await.is_err() {
            return;
        }
    }
    if saying.ends {
        let _ = write.shutdown().await;
    }
}

/// Puts a number into an object, which is a line then.
pub(super) fn numbered(number: u64, object: &[u8]) -> Vec<u8> {
    let rest = object.strip_prefix(b"{").unwrap_or(object);
    let comma = if rest.starts_with(b"}") { "" } else { "," };
    [format!("{{\"n\":{number}{comma}").as_bytes(), rest, b"\n"].concat()
}

/// Words a question to a program that serves.
pub(super) fn question(handler: &str, envelope: &[u8]) -> Vec<u8> {
    let handler = Value::from(handler).to_string();
    [b"{\"handler\":", handler.as_bytes(), b",\"envelope\":", envelope, b"}"].concat()
}

/// What one line of a program that serves is.
pub(super) enum Said {
    Report(Map<String, Value>),
    Answer(Map<String, Value>),
    Failure(HookFailure),
}

/// Reads a line of a program that serves.
///
/// # Errors
/// Returns a failure for what belongs to no such conversation; the program is not to be spoken with any more.
pub(super) fn read(line: &Line, number: u64) -> Result<Said, HookFailure> {
    let bad = |problem: &str| envelope::bad_output(problem, line.text.as_bytes());
    if line.truncated {
        return Err(bad(&too_long()));
    }
    if line.invalid_utf8 {
        return Err(bad("it is not UTF-8"));
    }
    let Ok(Value::Object(mut fields)) = serde_json::from_str(&line.text) else {
        return Err(bad("it is no line with a JSON object"));
    };
    if fields.remove("n") != Some(Value::from(number)) {
        return Err(bad(&format!("its `n` is not that of the call, which is {number}")));
    }
    if is_report(&fields) {
        return Ok(Said::Report(fields));
    }
    match fields.remove("error") {
        None | Some(Value::Null) => Ok(Said::Answer(fields)),
        Some(error) => match Told::deserialize(error) {
            Ok(told) => Ok(Said::Failure(told.into())),
            Err(error) => Err(bad(&format!("its `error` cannot be read: {error}"))),
        },
    }
}

/// A failure as a program tells it.
#[derive(Deserialize)]
struct Told {
    message: String,
    #[serde(default)]
    code: String,
    #[serde(default)]
    details: Vec<String>,
}

impl From<Told> for HookFailure {
    /// Of its codes only `denied` is taken for granted.
    fn from(told: Told) -> Self {
        let is_denied = told.code == ErrorCode::HOOK_DENIED.name;
        let class = if is_denied { BreakClass::Denied } else { BreakClass::Failed };
        let cut = |line: &str| line.chars().take(MAX_DETAIL_CHARS).collect::<String>();
        let mut failure = Self::new(class, cut(told.message.lines().next().unwrap_or_default()));
        failure.details = told.details.iter().take(MAX_DETAILS).map(|line| cut(line)).collect();
        failure
    }
}

/// The lines of a program that serves, without their numbers: reports, and the answer, which is the last.
pub(super) struct Numbered<'a, 'b> {
    exchange: &'b mut Exchange<'a>,
    number: u64,
    /// How it ended, where no answer came.
    pub(super) ended: Option<HookFailure>,
    is_over: bool,
}

impl<'a, 'b> Numbered<'a, 'b> {
    pub(super) fn new(exchange: &'b mut Exchange<'a>, number: u64) -> Self {
        Self { exchange, number, ended: None, is_over: false }
    }
}

impl Lines for Numbered<'_, '_> {
    async fn next(&mut self) -> Option<Line> {
        if self.is_over {
            return None;
        }
        let line = self.exchange.next().await?;
        let fields = match read(&line, self.number) {
            Ok(Said::Report(fields)) => fields,
            Ok(Said::Answer(fields)) => {
                self.is_over = true;
                fields
            }
            Ok(Said::Failure(failure)) | Err(failure) => {
                self.is_over = true;
                self.ended = Some(failure);
                return None;
            }
        };
        Some(Line::new(Value::Object(fields).to_string().as_bytes(), false))
    }
}

fn too_long() -> String {
    format!("it is longer than {MAX_ANSWER_BYTES} bytes")
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use tokio::net::UnixStream;

    use super::*;

    #[tokio::test]
    async fn whatever_is_said_is_a_line_with_a_number_and_without() {
        for (number, heard) in [(None, "{\"a\":1}\n{}\n"), (Some(7), "{\"n\":7,\"a\":1}\n{\"n\":7}\n")] {
            let (mut here, mut there) = UnixStream::pair().unwrap();
            let (sender, lines) = mpsc::channel(2);
            for line in [&b"{\"a\":1}"[..], b"{}"] {
                sender.try_send(line.to_vec()).unwrap();
            }
            drop(sender);
            say(here.split().1, Saying { begun: b"rest\n".to_vec(), lines, number, ends: true }).await;
            let mut said = String::new();
            there.read_to_string(&mut said).await.unwrap();
            assert_eq!(said, format!("rest\n{heard}"));
        }
    }

    #[test]
    fn a_line_is_of_the_call_or_of_none() {
        let told = |text: &str| match read(&Line::new(text.as_bytes(), false), 7) {
            Ok(Said::Report(fields)) => format!("report {}", Value::Object(fields)),
            Ok(Said::Answer(fields)) => format!("answer {}", Value::Object(fields)),
            Ok(Said::Failure(failure)) => format!("failure {failure} {:?}", failure.details),
            Err(failure) => format!("bad {}", failure.class),
        };
        assert_eq!(told(r#"{"n":7,"ok":true}"#), r#"answer {"ok":true}"#);
        assert_eq!(told(r#"{"n":7,"warning":"w"}"#), r#"report {"warning":"w"}"#);
        assert_eq!(
            told(r#"{"n":7,"error":{"message":"no\nmore","details":["d"]}}"#),
            r#"failure failed: no ["d"]"#
        );
        assert_eq!(
            told(r#"{"n":7,"error":{"code":"E_HOOK_DENIED","message":"no"}}"#),
            r#"failure denied: no []"#
        );
        for bad in [
            r#"{"n":6,"ok":true}"#,
            r#"{"ok":true}"#,
            r#"{"n":"7"}"#,
            "hello",
            "",
            "[7]",
            r#"{"n":7,"error":3}"#,
        ] {
            assert_eq!(told(bad), "bad bad_output", "{bad}");
        }
        assert!(
            read(&Line::new(b"{\"n\":7", true), 7).is_err() && read(&Line::new(b"\xff", false), 7).is_err()
        );
    }

    #[test]
    fn what_is_said_has_the_number_of_the_call() {
        let told = |object: &[u8]| String::from_utf8(numbered(7, object)).unwrap();
        assert_eq!(told(b"{}"), "{\"n\":7}\n");
        assert_eq!(told(&question("a\"b", b"{}")), "{\"n\":7,\"handler\":\"a\\\"b\",\"envelope\":{}}\n");
    }
}
