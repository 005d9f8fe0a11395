//! How lines begin.
//!
//! Objects that look alike begin their lines alike. [`Prefixes`] keeps a line
//! feed, an indentation and a key in one piece, so that they are written at once.

use super::tape::Tape;

/// Line feeds, indentations and keys that stood together before.
#[derive(Default)]
pub(super) struct Prefixes {
    text: String,
    /// By key and depth: the depth, and the part of the text.
    places: Vec<(usize, u32, u32)>,
}

impl Prefixes {
    /// Later keys are those of maps rather than of structs.
    const KEYS: usize = 64;
    const DEPTHS: usize = 4;
    const MAX_BYTES: usize = 1 << 14;

    #[inline]
    fn place(key: u32, depth: usize) -> usize {
        key as usize + depth % Self::DEPTHS * Self::KEYS
    }

    #[inline]
    pub(super) fn get(&self, key: u32, depth: usize) -> Option<&str> {
        let &(known, from, to) =
            self.places.get(Self::place(key, depth)).filter(|_| (key as usize) < Self::KEYS)?;
        if known == depth && to > from { self.text.get(from as usize..to as usize) } else { None }
    }

    /// Makes a prefix when a key comes to a depth for the second time.
    pub(super) fn note(&mut self, tape: &Tape, key: u32, depth: usize) {
        let place = Self::place(key, depth);
        if key as usize >= Self::KEYS || self.text.len() > Self::MAX_BYTES {
            return;
        }
        if place >= self.places.len() {
            self.places.resize(place + 1, (usize::MAX, 0, 0));
        }
        let Some(entry) = self.places.get_mut(place) else { return };
        if entry.0 != depth {
            *entry = (depth, 0, 0);
            return;
        }
        let from = self.text.len();
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', depth * tape.options.indent()));
        self.text.push_str(tape.keys.with_colon(key));
        *entry = (depth, from as u32, self.text.len() as u32);
    }
}
