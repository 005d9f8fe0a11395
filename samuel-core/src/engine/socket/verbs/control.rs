//! What people ask of a run: to hold, to go on, to tell the agent something, to end, and to be watched.
//!
//! All of it takes the run's own token. What the words of a command lead to is the machine's.

use std::time::Duration;

use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::{
    engine::socket::{
        RunClient, RunClientError,
        verb::{Holder, Verb, VerbSpec},
    },
    model::LiveState,
};

/// The verbs of this family.
pub(super) const VERBS: [VerbSpec; 9] = [
    VerbSpec::of::<PauseVerb>(),
    VerbSpec::of::<ResumeVerb>(),
    VerbSpec::of::<SteerVerb>(),
    VerbSpec::of::<CancelVerb>(),
    VerbSpec::of::<StopVerb>(),
    VerbSpec::of::<ApproveVerb>(),
    VerbSpec::of::<DenyVerb>(),
    VerbSpec::of::<LookVerb>(),
    VerbSpec::of::<EventsVerb>(),
];

/// The longest text for the agent, in characters.
const MAX_TEXT_CHARS: usize = 8_000;
/// The most bytes of a request of this family: each character may take several.
const MAX_REQUEST: usize = 64 << 10;
/// How long is added to the time that a run waits for events, for the way there and back.
const WAY: Duration = Duration::from_secs(5);

/// Who asks, and what the agent is told.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct Ask {
    /// The user and the session.
    pub(in crate::engine) by: String,
    /// Text for the agent.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::engine) text: Option<String>,
    /// The tool call that is approved or denied.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(in crate::engine) call: Option<u64>,
}

/// Nothing is to be said.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(in crate::engine) struct Nothing {}

/// Asks for the next events.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(in crate::engine) struct AskForEvents {
    /// How long the run waits for one, in milliseconds; 20 seconds at most.
    pub(in crate::engine) wait_ms: u64,
}

/// Events of a run, as they were told since the last time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct EventBatch {
    /// The events, each an [`EventRecord`](crate::event::EventRecord) as JSON: a later run may tell of more
    /// than this version knows.
    pub events: Vec<Value>,
    /// Whether the run has ended, so that no more will come.
    pub ended: bool,
}

/// Says what is wrong with a text for the agent, if anything is.
///
/// # Errors
/// Returns it in words.
pub(in crate::engine) fn checked_text(text: &str) -> Result<(), String> {
    if text.trim().is_empty() {
        return Err("the text must not be empty".to_owned());
    }
    if text.chars().count() > MAX_TEXT_CHARS {
        return Err(format!("the text has at most {MAX_TEXT_CHARS} characters"));
    }
    match text.chars().any(|c| c.is_control() && !matches!(c, '\n' | '\t')) {
        true => Err("the text must have no control characters but tabs and line feeds".to_owned()),
        false => Ok(()),
    }
}

fn check_ask(ask: &Ask) -> Result<(), String> {
    ask.text.as_deref().map_or(Ok(()), checked_text)
}

/// Defines verbs that give a command.
macro_rules! commands {
    ($($(#[$doc:meta])* $verb:ident ($name:literal, $check:path);)+) => {
        $($(#[$doc])*
        pub(in crate::engine) struct $verb;

        impl Verb for $verb {
            type Request = Ask;
            type Reply = LiveState;
            const NAME: &'static str = $name;
            const REPLY: &'static str = "state";
            const HOLDER: Holder = Holder::Person;
            const MAX_REQUEST: usize = MAX_REQUEST;
            // A command that is refused is one that nobody hears of.
            const IS_RATED: bool = false;

            fn check(request: &Ask) -> Result<(), String> {
                $check(request)
            }
        })+
    };
}

/// A text is what it is about.
fn check_told(ask: &Ask) -> Result<(), String> {
    checked_text(ask.text.as_deref().unwrap_or_default())
}

commands! {
    /// `pause`: hold before the next iteration.
    PauseVerb("pause", check_ask);
    /// `resume`: go on, and tell the agent something with the next prompt.
    ResumeVerb("resume", check_ask);
    /// `steer`: tell the agent something with the next prompt.
    SteerVerb("steer", check_told);
    /// `cancel`: end after the iteration.
    CancelVerb("cancel", check_ask);
    /// `stop`: end now.
    StopVerb("stop", check_ask);
    /// `approve`: a tool call that waits is made; without one, a run that holds goes on.
    ApproveVerb("approve", check_ask);
    /// `deny`: a tool call that waits is not made.
    DenyVerb("deny", check_ask);
}

/// `look`: what the run does now.
pub(in crate::engine) struct LookVerb;

impl Verb for LookVerb {
    type Request = Nothing;
    type Reply = LiveState;
    const NAME: &'static str = "look";
    const REPLY: &'static str = "state";
    const HOLDER: Holder = Holder::Person;
    const MAX_REQUEST: usize = MAX_REQUEST;
}

/// `events`: what happened since this connection asked last, or the first of what happens next.
pub(in crate::engine) struct EventsVerb;

impl Verb for EventsVerb {
    type Request = AskForEvents;
    type Reply = EventBatch;
    const NAME: &'static str = "events";
    const REPLY: &'static str = "events";
    const HOLDER: Holder = Holder::Person;
    const MAX_REQUEST: usize = MAX_REQUEST;
    // It waits for what happens.
    const IS_RATED: bool = false;
}

impl RunClient {
    /// Has the run hold before its next iteration. `by` says who asks, for the journal.
    ///
    /// # Errors
    /// Returns a [`RunClientError`] where the run refuses, does not answer in time or is gone.
    pub fn pause(&mut self, by: &str) -> Result<LiveState, RunClientError> {
        self.ask::<PauseVerb>(&Ask { by: by.to_owned(), ..Ask::default() })
    }

    /// Lets a run that holds go on, and has the agent told something with the next prompt, where a text
    /// is given.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn resume(&mut self, by: &str, text: Option<&str>) -> Result<LiveState, RunClientError> {
        self.ask::<ResumeVerb>(&Ask { by: by.to_owned(), text: text.map(str::to_owned), call: None })
    }

    /// Has the agent told something with the next prompt.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn steer(&mut self, by: &str, text: &str) -> Result<LiveState, RunClientError> {
        self.ask::<SteerVerb>(&Ask { by: by.to_owned(), text: Some(text.to_owned()), call: None })
    }

    /// Ends the run after the iteration that is under way.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn cancel(&mut self, by: &str) -> Result<LiveState, RunClientError> {
        self.ask::<CancelVerb>(&Ask { by: by.to_owned(), ..Ask::default() })
    }

    /// Ends the run now: the agent and its processes are stopped.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn stop(&mut self, by: &str) -> Result<LiveState, RunClientError> {
        self.ask::<StopVerb>(&Ask { by: by.to_owned(), ..Ask::default() })
    }

    /// Lets a tool call be made that waits for approval; where none is named, lets a run that holds go on. The
    /// agent is told the text with the next prompt, where one is given.
    ///
    /// # Errors
    /// As [`pause`](Self::pause); the run also refuses where nothing waits, and where calls wait and none is named.
    pub fn approve(
        &mut self,
        by: &str,
        call: Option<u64>,
        text: Option<&str>,
    ) -> Result<LiveState, RunClientError> {
        self.ask::<ApproveVerb>(&Ask { by: by.to_owned(), text: text.map(str::to_owned), call })
    }

    /// Keeps a tool call back that waits for approval. The agent reads the text, where one is given.
    ///
    /// # Errors
    /// As [`approve`](Self::approve).
    pub fn deny(
        &mut self,
        by: &str,
        call: Option<u64>,
        text: Option<&str>,
    ) -> Result<LiveState, RunClientError> {
        self.ask::<DenyVerb>(&Ask { by: by.to_owned(), text: text.map(str::to_owned), call })
    }

    /// Returns what the run does now.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn look(&mut self) -> Result<LiveState, RunClientError> {
        self.ask::<LookVerb>(&Nothing {})
    }

    /// Waits so long for events, at most 20 seconds, and returns those since this connection asked last;
    /// the first time, from then on. A connection that asks too rarely loses what the agent says, and
    /// nothing else. The connection's deadline is set anew.
    ///
    /// # Errors
    /// As [`pause`](Self::pause).
    pub fn events(&mut self, wait: Duration) -> Result<EventBatch, RunClientError> {
        self.allow(wait.saturating_add(WAY));
        let wait_ms = u64::try_from(wait.as_millis()).unwrap_or(u64::MAX);
        self.ask::<EventsVerb>(&AskForEvents { wait_ms })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_for_the_agent_is_text_and_not_too_much_of_it() {
        for bad in ["", " \n", "a\u{7}", &"x".repeat(MAX_TEXT_CHARS + 1)] {
            assert!(checked_text(bad).is_err(), "{bad:.10}");
        }
        for good in ["a\n\tb", &"é".repeat(MAX_TEXT_CHARS)] {
            assert_eq!(checked_text(good), Ok(()));
        }
        assert!(SteerVerb::check(&Ask::default()).is_err(), "nothing to tell");
        assert_eq!(ResumeVerb::check(&Ask::default()), Ok(()));
        assert!(VERBS.iter().all(|verb| verb.holder == Holder::Person), "no agent may");
    }
}
