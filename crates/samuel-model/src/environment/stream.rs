//! Hiding secrets in a stream of bytes.

use std::{
    fmt,
    mem::{replace, take},
    ops::Range,
    sync::Arc,
};

use super::secrets::{HIDDEN, Secrets};

/// The most bytes that are held back because secrets in them touch each other.
const MAX_HELD: usize = 1 << 20;

/// A stream of bytes in which secrets are hidden, however the stream is cut into pieces. It holds back only bytes that
/// can be the beginning of a secret.
pub struct SecretStream {
    secrets: Arc<Secrets>,
    held: Vec<u8>,
}

impl SecretStream {
    pub(super) fn new(secrets: Arc<Secrets>) -> Self {
        Self { secrets, held: Vec::new() }
    }

    /// Takes the next bytes, and returns the bytes that are known to be no secret by now.
    pub fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.held.extend_from_slice(bytes);
        let places = self.secrets.places_in(&self.held);
        let mut end = self.secrets.begins_at(&self.held);
        // A secret that reaches into what is held back goes with it.
        if let Some(place) = places.iter().find(|place| place.start < end && end < place.end) {
            end = if self.held.len() < MAX_HELD { place.start } else { place.end };
        }
        let rest = self.held.split_off(end);
        shown(&replace(&mut self.held, rest), &places)
    }

    /// Returns the rest. The beginning of a secret that the end cuts is hidden.
    pub fn finish(&mut self) -> Vec<u8> {
        match String::from_utf8(take(&mut self.held)) {
            Ok(text) => self.secrets.hide_values(&text).into_owned().into_bytes(),
            Err(error) => shown(error.as_bytes(), &self.secrets.places_in(error.as_bytes())),
        }
    }
}

// No secret is shown.
impl fmt::Debug for SecretStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SecretStream")
    }
}

/// Returns bytes with a mark in each of the places that are within them.
fn shown(bytes: &[u8], places: &[Range<usize>]) -> Vec<u8> {
    let mut shown = Vec::with_capacity(bytes.len());
    let mut done = 0;
    for place in places.iter().filter(|place| place.end <= bytes.len()) {
        shown.extend_from_slice(bytes.get(done..place.start).unwrap_or_default());
        shown.extend_from_slice(HIDDEN.as_bytes());
        done = place.end;
    }
    shown.extend_from_slice(bytes.get(done..).unwrap_or_default());
    shown
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets() -> Arc<Secrets> {
        let env = [("A_TOKEN", "made-up-1"), ("B_TOKEN", "up-1-and-more")];
        Arc::new(Secrets::of(&env.map(|(name, value)| (name.to_owned(), value.to_owned()))))
    }

    #[test]
    fn hides_secrets_however_a_stream_is_cut() {
        let stream = b"\xff made-up-1 and made-up-1-and-more\nmade-up-2 \xff made-up-1";
        for size in 1..stream.len() {
            let mut hides = secrets().stream();
            let mut told: Vec<u8> = stream.chunks(size).flat_map(|piece| hides.push(piece)).collect();
            told.extend(hides.finish());
            assert_eq!(told, b"\xff *** and ***\nmade-up-2 \xff ***", "pieces of {size} bytes");
        }
    }

    #[test]
    fn holds_back_only_beginnings_of_secrets() {
        let mut hides = secrets().stream();
        assert_eq!(hides.push(b"a line\nand mad"), b"a line\nand ");
        assert_eq!(hides.push(b"ness"), b"madness");
        assert_eq!(hides.push(b" up-1-and-mor"), b" ");
        assert_eq!(hides.finish(), b"***");
    }
}
