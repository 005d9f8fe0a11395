//! Whole plans, which come in parts.

use std::collections::BTreeMap;

use super::ImportPart;
use samuel_model::Plan;

/// How large a part is at most, in bytes.
pub(super) const PART_BYTES: usize = 256 << 10;
/// How large a plan may become, and all plans that are not yet whole together, in bytes.
const MAX_BYTES: usize = 64 << 20;

/// Cuts a plan into parts.
///
/// # Errors
/// Returns what the encoder says.
pub(super) fn parts(plan: &Plan, replace: bool) -> Result<Vec<ImportPart>, serde_json::Error> {
    let text = serde_json::to_string(plan)?;
    let mut pieces = Vec::new();
    let mut rest = text.as_str();
    while !rest.is_empty() {
        let mut end = PART_BYTES.min(rest.len());
        while !rest.is_char_boundary(end) {
            end -= 1;
        }
        let (piece, after) = rest.split_at(end);
        pieces.push(piece.to_owned());
        rest = after;
    }
    let of = pieces.len();
    let part = |(place, text)| ImportPart { part: place + 1, of, replace, text };
    Ok(pieces.into_iter().enumerate().map(part).collect())
}

/// The plans that are not yet whole, by their writers. Where they become too much together, the one that began first goes:
/// its writer may be dead, and nobody else is kept from importing by it.
#[derive(Clone, Debug, Default)]
pub(super) struct PendingImports {
    pending: BTreeMap<String, Pending>,
    bytes: usize,
    /// How many began.
    began: u64,
}

#[derive(Clone, Debug)]
struct Pending {
    /// Which of all that began it was.
    began: u64,
    parts: usize,
    of: usize,
    replace: bool,
    text: String,
}

/// What a part came to.
pub(super) enum Joined {
    /// Others follow.
    Waits,
    /// It was the last one; the whole as JSON.
    Whole(String),
    /// It follows nothing.
    Void,
}

impl PendingImports {
    /// Forgets what a writer began, who does something else now.
    pub(super) fn forget(&mut self, writer: &str) {
        if let Some(pending) = self.pending.remove(writer) {
            self.bytes -= pending.text.len();
        }
    }

    /// Takes the next part of a writer.
    pub(super) fn join(&mut self, writer: &str, part: ImportPart) -> Joined {
        let ImportPart { part, of, replace, text } = part;
        let before = match part {
            1 => {
                self.forget(writer);
                self.began += 1;
                Pending { began: self.began, parts: 0, of, replace, text: String::new() }
            }
            _ => match self.pending.remove(writer) {
                Some(pending) => {
                    self.bytes -= pending.text.len();
                    pending
                }
                None => return Joined::Void,
            },
        };
        let follows = before.parts + 1 == part && before.of == of && before.replace == replace && part <= of;
        if !follows || text.len() > PART_BYTES || before.text.len() + text.len() > MAX_BYTES {
            return Joined::Void;
        }
        let joined = Pending { parts: part, text: before.text + &text, ..before };
        if part == of {
            return Joined::Whole(joined.text);
        }
        self.make_room(joined.text.len());
        self.bytes += joined.text.len();
        self.pending.insert(writer.to_owned(), joined);
        Joined::Waits
    }

    /// Forgets those that began first until so much more is not too much.
    fn make_room(&mut self, bytes: usize) {
        while self.bytes + bytes > MAX_BYTES {
            let first = self.pending.iter().min_by_key(|(_, pending)| pending.began);
            let Some(writer) = first.map(|(writer, _)| writer.clone()) else { return };
            self.forget(&writer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The parts of a plan that become so large together.
    fn join(imports: &mut PendingImports, writer: &str, from: usize, to: usize) -> Joined {
        let part = |part| ImportPart { part, of: 1_000, replace: true, text: "x".repeat(PART_BYTES) };
        (from..to).fold(Joined::Void, |_, number| imports.join(writer, part(number)))
    }

    #[test]
    fn the_half_import_of_a_dead_writer_keeps_nobody_from_importing() {
        let (mut imports, most) = (PendingImports::default(), MAX_BYTES / PART_BYTES);
        assert!(matches!(join(&mut imports, "dead", 1, most), Joined::Waits));
        assert!(matches!(join(&mut imports, "alive", 1, most), Joined::Waits));
        assert_eq!(imports.pending.keys().collect::<Vec<_>>(), ["alive"]);
        assert!(matches!(join(&mut imports, "dead", most, most + 1), Joined::Void), "it has to begin anew");
        assert!(matches!(join(&mut imports, "alive", most, most + 1), Joined::Waits));
        assert!(matches!(join(&mut imports, "alive", most + 1, most + 2), Joined::Void), "it is too large");
        assert_eq!((imports.pending.len(), imports.bytes), (0, 0));
    }

    #[test]
    fn of_several_half_imports_those_that_began_first_go() {
        let (mut imports, third) = (PendingImports::default(), MAX_BYTES / PART_BYTES / 3);
        for writer in ["c", "b", "a"] {
            assert!(matches!(join(&mut imports, writer, 1, third), Joined::Waits));
        }
        assert!(matches!(join(&mut imports, "d", 1, third), Joined::Waits));
        assert_eq!(imports.pending.keys().collect::<Vec<_>>(), ["a", "b", "d"]);
        assert!(matches!(join(&mut imports, "a", third, third + 1), Joined::Waits));
    }
}
