//! What a command answers, and how the answer leaves the process.

use std::{ffi::OsString, process::ExitCode};

use clap::error::ErrorKind;
use samuel_core::model::ErrorCode;
use serde::Serialize;
use serde_json::Value;

use crate::{
    args::{Cli, Command, HooksCommand},
    commands,
    failure::Failure,
    host::Host,
    render::{Envelope, safe, safe_lines},
    terminal::{self, Stream, remark},
};

/// What a command that did its work has to say.
#[derive(Clone, Debug, Default)]
pub(crate) struct Reply {
    /// For programs.
    pub(crate) data: Value,
    /// For people: whole lines.
    pub(crate) text: String,
    /// What the user should know beside it.
    pub(crate) warnings: Vec<String>,
    /// What is said beside the text, where it is no warning: whole lines, for people alone.
    pub(crate) beside: String,
    /// Who reads the text.
    pub(crate) reader: Reader,
}

/// Who reads a text on stdout.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Reader {
    /// A person, now or later.
    #[default]
    Person,
    /// A program that needs every character as it is, unless stdout is a
    /// terminal.
    Program,
}

impl Reply {
    /// Creates a reply from data and text.
    pub(crate) fn new(data: impl Serialize, text: impl Into<String>) -> Self {
        let data = serde_json::to_value(data).unwrap_or_default();
        Self { data, text: text.into(), ..Self::default() }
    }

    /// Says that the text is data for another program.
    pub(crate) fn for_a_program(mut self) -> Self {
        self.reader = Reader::Program;
        self
    }

    /// Says something beside the text, in whole lines.
    pub(crate) fn beside(mut self, lines: &str) -> Self {
        self.beside.push_str(lines);
        self
    }

    /// Adds warnings.
    pub(crate) fn warn(mut self, warnings: impl IntoIterator<Item = String>) -> Self {
        self.warnings.extend(warnings);
        self
    }
}

/// What leaves the process: text on both streams, and an exit code.
#[derive(Clone, Debug, Default)]
pub(crate) struct Answer {
    stdout: String,
    reader: Reader,
    stderr: String,
    exit: u8,
}

impl Answer {
    /// Answers with text and success.
    pub(crate) fn plain(stdout: String) -> Self {
        Self { stdout, ..Self::default() }
    }

    /// Carries out a command.
    pub(crate) fn to(name: &str, cli: Cli, host: Host) -> Self {
        // An agent reads what its hook prints in its own format alone, a denial above all.
        let json = cli.global.json && !matches!(cli.command, Command::Hooks(HooksCommand::Bridge(_)));
        Self::of(name, json, commands::run(cli, &host))
    }

    /// Shows what came of a command.
    fn of(command: &str, json: bool, result: Result<Reply, Failure>) -> Self {
        let exit = result.as_ref().err().map_or(0, |failure| failure.exit_code());
        if json {
            let stdout = Envelope::of(command, &result).to_line();
            return Self { stdout, reader: Reader::Program, exit, ..Self::default() };
        }
        match result {
            Ok(reply) => {
                let stderr = reply.beside + &warnings(&reply.warnings);
                Self { stdout: reply.text, reader: reply.reader, stderr, exit }
            }
            Err(failure) => {
                Self { stdout: failure.text.clone(), stderr: described(&failure), exit, ..Self::default() }
            }
        }
    }

    /// Shows what is wrong with a command line, or the help it asks for.
    pub(crate) fn to_usage_error(error: &clap::Error, words: &[OsString]) -> Self {
        let text = error.to_string();
        if matches!(error.kind(), ErrorKind::DisplayHelp | ErrorKind::DisplayVersion) {
            return Self::plain(text);
        }
        let asked = words.iter().skip(1).take_while(|word| *word != "--");
        if asked.clone().any(|word| word == "--json") {
            let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
            let message = lines.next().unwrap_or_default();
            let message = message.strip_prefix("error: ").unwrap_or(message);
            let help: Vec<&str> = lines.collect();
            let failure = Failure::usage(message).advise(help.join(" "));
            return Self::of(&commands::name_of_words(words), true, Err(failure));
        }
        Self { stderr: text, exit: ErrorCode::USAGE.exit_code, ..Self::default() }
    }

    /// Writes the answer and returns the exit code.
    pub(crate) fn give(self) -> ExitCode {
        // First what was asked for, so that what is said of it stands below.
        let written = match self.reader {
            Reader::Person => terminal::show(Stream::Out, &self.stdout),
            Reader::Program => terminal::hand_on(&self.stdout),
        };
        // Without anybody to read what is wrong nothing more can be done.
        let _ = terminal::show(Stream::Err, &self.stderr);
        match written {
            Ok(()) => ExitCode::from(self.exit),
            Err(error) => {
                remark(&format!("error: cannot write to stdout: {error}"));
                ExitCode::from(self.exit.max(1))
            }
        }
    }
}

/// Words a failure for people: once, with causes, place and advice.
pub(crate) fn described(failure: &Failure) -> String {
    if failure.is_declined {
        return format!("{}\n", set_in(&failure.message));
    }
    let mut text = format!("error: {}\n", set_in(&failure.message));
    for cause in &failure.causes {
        text.push_str(&format!("  caused by: {}\n", set_in(cause)));
    }
    for detail in &failure.details {
        text.push_str(&format!("  {}\n", set_in(detail)));
    }
    if let Some(place) = &failure.location {
        let position: String =
            [place.line, place.column].into_iter().flatten().map(|number| format!(":{number}")).collect();
        let place = format!("{}{position}", safe(&place.file.display().to_string()));
        // A fault in a file begins with its place.
        if !failure.message.starts_with(&format!("{place}: ")) {
            text.push_str(&format!("  --> {place}\n"));
        }
    }
    text.push_str(&format!("help: {}\n", set_in(&failure.help)));
    text
}

fn warnings(warnings: &[String]) -> String {
    warnings.iter().map(|warning| format!("warning: {}\n", set_in(warning))).collect()
}

/// Moves in all lines of a text but the first, so that none of them looks like
/// one of Samuel's own.
pub(crate) fn set_in(text: &str) -> String {
    safe_lines(text).replace('\n', "\n    ")
}
