//! The name of a conversation with an agent.

use serde::{Deserialize, Serialize};

/// The most bytes of a name.
const MAX_BYTES: usize = 128;

/// An agent's name for a conversation, by which a later call goes on in it.
///
/// It comes out of the agent's stream and goes into a command line, so it is of
/// letters, digits, `-`, `_`, `.` and `:`, at most 128 of them, and does not begin
/// with `-`: it is always one argument, and never an option.
///
/// ```
/// use samuel_agent::ConversationId;
///
/// let id = ConversationId::new("7951589c-2998-4b51-8082-10bac556fff7");
/// assert_eq!(id.as_deref(), Some("7951589c-2998-4b51-8082-10bac556fff7"));
/// assert_eq!(ConversationId::new("--config=evil.json"), None);
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct ConversationId(String);

impl ConversationId {
    /// Takes a name; nothing where it could be more than a name.
    pub fn new(name: impl Into<String>) -> Option<Self> {
        let name = name.into();
        let legal = |c: u8| c.is_ascii_alphanumeric() || matches!(c, b'-' | b'_' | b'.' | b':');
        let is_name =
            (1..=MAX_BYTES).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(legal);
        is_name.then_some(Self(name))
    }

    /// Returns the name.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl std::ops::Deref for ConversationId {
    type Target = str;

    fn deref(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for ConversationId {
    type Error = &'static str;

    fn try_from(name: String) -> Result<Self, Self::Error> {
        Self::new(name).ok_or("no name of a conversation")
    }
}

impl From<ConversationId> for String {
    fn from(id: ConversationId) -> Self {
        id.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_one_argument_and_never_an_option() {
        for name in ["a", "7951589c-2998-4b51-8082-10bac556fff7", "ses_01.b:c", &"x".repeat(MAX_BYTES)] {
            assert_eq!(ConversationId::new(name).as_deref(), Some(name));
        }
        let long = "x".repeat(MAX_BYTES + 1);
        for name in [
            "", "-", "-p", "--resume", "a b", "a\n", "a\0b", "../x", "a/b", "é", "$(id)", "a;b", "a=b", &long,
        ] {
            assert_eq!(ConversationId::new(name), None, "{name:?}");
            assert!(serde_json::from_value::<ConversationId>(name.into()).is_err(), "{name:?}");
        }
    }
}
