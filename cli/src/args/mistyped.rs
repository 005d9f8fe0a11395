//! What was meant by a word that is no command.

use std::ffi::OsString;

use clap::{
    CommandFactory as _,
    error::{ContextKind, ContextValue, ErrorKind},
};

use super::{Cli, RunCommand, discover_only::after_globals};

/// How alike two words must be for one to be suggested, from 0 to 1.
const LIKENESS: f64 = 0.85;

/// Returns the command of `run` that a word is like, of those that this version has.
pub(crate) fn nearest_command(word: &str) -> Option<String> {
    let alike = |name: String| (strsim::jaro_winkler(word, &name), name);
    let best = RunCommand::names().map(alike).max_by(|(a, _), (b, _)| a.total_cmp(b));
    best.filter(|(likeness, _)| *likeness >= LIKENESS).map(|(_, command)| command)
}

/// Says in an error about a command line which command was meant, where it names one of `run` without
/// that, or misspells one in the place of a methodology and goes on with what that takes.
pub(crate) fn with_command_meant(mut error: clap::Error, words: &[OsString]) -> clap::Error {
    let at = after_globals(words, 1);
    let word = |at: usize| words.get(at).and_then(|word| word.to_str());
    match (error.kind(), word(at)) {
        (ErrorKind::InvalidSubcommand, Some(named)) => {
            if RunCommand::names().any(|name| name == named) {
                suggest(&mut error, format!("run {named}"));
            }
            error
        }
        (ErrorKind::UnknownArgument, Some("run" | "auto")) => {
            let named = word(after_globals(words, at + 1));
            let named = named.filter(|word| !word.starts_with('-') && !RunCommand::takes(word));
            match named.and_then(|named| Some((named, nearest_command(named)?))) {
                Some((named, command)) => unknown(&error, named, command),
                None => error,
            }
        }
        _ => error,
    }
}

/// Makes an error of a word that is no command of `run`.
fn unknown(error: &clap::Error, named: &str, command: String) -> clap::Error {
    let mut unknown = clap::Error::new(ErrorKind::InvalidSubcommand).with_cmd(&Cli::command());
    unknown.insert(ContextKind::InvalidSubcommand, ContextValue::String(named.to_owned()));
    suggest(&mut unknown, command);
    if let Some(usage) = error.get(ContextKind::Usage) {
        unknown.insert(ContextKind::Usage, usage.clone());
    }
    unknown
}

fn suggest(error: &mut clap::Error, command: String) {
    error.insert(ContextKind::SuggestedSubcommand, ContextValue::Strings(vec![command]));
}
