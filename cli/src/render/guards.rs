//! The guards that hold a run, in one line.

use samuel_core::event::Guard;

use super::safe;

/// Writes what ends a run, or takes a task out of it, in one line.
pub(crate) fn guards(guards: &[Guard]) -> String {
    let words: Vec<_> = guards.iter().map(|guard| safe(&guard.words)).collect();
    format!("guards: {}", words.join(", "))
}
