//! What nobody inside may learn, and hiding it in what passes.

use std::{fmt, sync::Arc};

use memchr::memmem;

/// What stands in the place of each byte that is hidden.
const HIDDEN: u8 = b'*';

/// From how many bytes on the beginning of a secret tells something of it.
const TELLING: usize = 6;

/// A text that is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Secret(Arc<str>);

impl Secret {
    pub(super) fn new(text: &str) -> Self {
        Self(text.into())
    }

    pub(super) fn expose(&self) -> &str {
        &self.0
    }

    /// Begins to hide it in a stream.
    pub(super) fn mask(&self) -> Mask {
        Mask { secret: self.clone(), kept: Vec::new() }
    }

    /// Hides it in a text that is whole.
    pub(super) fn hide(&self, text: &[u8]) -> Vec<u8> {
        let mut mask = self.mask();
        let mut told = mask.pass(text);
        told.extend(mask.end());
        told
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Secret")
    }
}

/// Hides a secret in what passes, however it is cut into pieces; as many bytes come out as went in.
///
/// What could be the beginning of the secret is kept until what follows shows whether it is. All else passes at
/// once, so that an answer in pieces arrives in pieces.
pub(super) struct Mask {
    secret: Secret,
    kept: Vec<u8>,
}

impl Mask {
    /// Hides nothing.
    pub(super) fn of_nothing() -> Self {
        Secret::new("").mask()
    }

    /// Takes a piece, and returns what can be passed on.
    pub(super) fn pass(&mut self, piece: &[u8]) -> Vec<u8> {
        let secret = self.secret.expose().as_bytes();
        if secret.is_empty() {
            return piece.to_vec();
        }
        let mut told = std::mem::take(&mut self.kept);
        told.extend(piece);
        let found: Vec<usize> = memmem::find_iter(&told, secret).collect();
        for at in found {
            if let Some(hidden) = told.get_mut(at..at + secret.len()) {
                hidden.fill(HIDDEN);
            }
        }
        let first = told.len().saturating_sub(secret.len().saturating_sub(1));
        let begins = |at: &usize| told.get(*at..).is_some_and(|end| secret.starts_with(end));
        if let Some(at) = (first..told.len()).find(begins) {
            self.kept = told.split_off(at);
        }
        told
    }

    /// Returns what was kept: nothing follows it. As much of the secret as would tell something of it is hidden.
    pub(super) fn end(&mut self) -> Vec<u8> {
        let mut kept = std::mem::take(&mut self.kept);
        if kept.len() >= TELLING {
            kept.fill(HIDDEN);
        }
        kept
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn passed(pieces: &[&str]) -> (String, String) {
        let mut mask = Secret::new("sk-secret").mask();
        let told: Vec<u8> = pieces.iter().flat_map(|piece| mask.pass(piece.as_bytes())).collect();
        let kept = mask.end();
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("text");
        (text(told), text(kept))
    }

    #[test]
    fn a_secret_is_hidden_however_it_is_cut() {
        let whole = "a sk-secret, sk-secretsk-secret";
        for cut in 0..whole.len() {
            let (left, right) = whole.split_at(cut);
            assert_eq!(passed(&[left, right]).0, "a *********, ******************", "cut at {cut}");
        }
        let letters: Vec<String> = whole.chars().map(String::from).collect();
        let letters: Vec<&str> = letters.iter().map(String::as_str).collect();
        assert_eq!(passed(&letters).0, "a *********, ******************");
    }

    #[test]
    fn what_only_begins_as_it_does_arrives_and_all_else_at_once() {
        assert_eq!(passed(&["data: hello\n\n"]), ("data: hello\n\n".to_owned(), String::new()));
        assert_eq!(passed(&["sk-se"]), (String::new(), "sk-se".to_owned()));
        assert_eq!(
            passed(&["sk-secre"]),
            (String::new(), "********".to_owned()),
            "an answer that is cut off"
        );
        assert_eq!(passed(&["sk-se", "a"]).0, "sk-sea");
        assert_eq!(passed(&["sk-sk-secret"]).0, "sk-*********");
    }

    #[test]
    fn it_is_not_shown() {
        assert_eq!(format!("{:?}", Secret::new("sk-secret")), "Secret");
        assert_eq!(Mask::of_nothing().pass(b"all"), b"all");
    }
}
