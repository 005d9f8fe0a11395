//! The option --discover-only of a `run` without a command, which is short for `run pilot --discover-only`.

use std::ffi::OsString;

use super::RunCommand;

/// What stands for `pilot` where `run` has no command.
const DISCOVER_ONLY: &str = "--discover-only";

/// Puts `pilot` into a `run` without a command that has the option --discover-only, which is short
/// for it: before its options, wherever among them that one stands.
pub(crate) fn with_pilot(mut words: Vec<OsString>) -> Vec<OsString> {
    let run = after_globals(&words, 1);
    let is_run = words.get(run).is_some_and(|word| word == "run" || word == "auto");
    let asked = words.iter().skip(run).take_while(|word| *word != "--");
    if !is_run || !asked.into_iter().any(|word| word == DISCOVER_ONLY) {
        return words;
    }
    let mut at = after_globals(&words, run + 1);
    let is_named = words.get(at).is_some_and(is_methodology);
    if is_named {
        at = after_globals(&words, at + 1);
    }
    if words.get(at).is_some_and(|word| word == DISCOVER_ONLY) {
        // What belongs before the option may stand behind it.
        let behind = after_globals(&words, at + 1);
        if !is_named && words.get(behind).is_some_and(is_methodology) {
            let methodology = words.remove(behind);
            words.insert(at, methodology);
            at += 1;
        }
        let behind = after_globals(&words, at + 1);
        match words.get(behind).and_then(|word| word.to_str()).filter(|word| RunCommand::takes(word)) {
            Some("pilot") => _ = words.remove(behind),
            // It is refused, for this option is none of it.
            Some(_) => return words,
            None => {}
        }
    }
    let has_command = words.get(at).and_then(|word| word.to_str()).is_some_and(RunCommand::takes);
    if !has_command {
        words.insert(at, "pilot".into());
    }
    words
}

/// Returns the place behind the options that every command takes.
pub(super) fn after_globals(words: &[OsString], mut at: usize) -> usize {
    while let Some(word) = words.get(at).and_then(|word| word.to_str()) {
        at += match word {
            "--json" => 1,
            "-C" | "--directory" => 2,
            word if word.starts_with("--directory=") || word.starts_with("-C") => 1,
            _ => break,
        };
    }
    at
}

fn is_methodology(word: &OsString) -> bool {
    word.to_str().is_none_or(|word| !word.starts_with('-') && !RunCommand::takes(word))
}
