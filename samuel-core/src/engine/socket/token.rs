//! Tokens: who may ask a run, and what.

use std::{fmt, hint::black_box, io};

use crate::model::hex;

/// 32 random bytes that nobody can guess.
#[derive(Clone)]
pub(super) struct Token(String);

impl Token {
    /// Makes one.
    ///
    /// # Errors
    /// Returns an error where the system has no random bytes: a token that can be guessed is none.
    pub(super) fn new() -> io::Result<Self> {
        let mut bytes = [0; 32];
        getrandom::fill(&mut bytes).map_err(io::Error::other)?;
        Ok(Self(hex(&bytes)))
    }

    /// Returns its 64 digits.
    pub(super) fn as_str(&self) -> &str {
        &self.0
    }

    /// Says whether a text is this token, in a time that does not tell how much of it is.
    pub(super) fn is(&self, text: &str) -> bool {
        let (own, text) = (self.0.as_bytes(), text.as_bytes());
        let differing = own.iter().zip(text).fold(0, |differing, (a, b)| black_box(differing | (a ^ b)));
        own.len() == text.len() && differing == 0
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token")
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_token_is_64_digits_that_no_other_and_no_part_of_it_is() {
        let (token, other) = (Token::new().unwrap(), Token::new().unwrap());
        assert!(token.as_str().len() == 64 && token.as_str().bytes().all(|digit| digit.is_ascii_hexdigit()));
        assert!(token.is(token.as_str()));
        for wrong in ["", &token.as_str()[..63], &format!("{}0", token.as_str()), other.as_str()] {
            assert!(!token.is(wrong), "{wrong}");
        }
        assert!(!format!("{token:?}").contains(&token.as_str()[..8]));
    }
}
