//! Arguments that are read as code.
//!
//! A quoted value is one argument. Some commands read arguments as a program of their own, and
//! a value there would be run; such lines are refused.

use super::{
    super::Variable,
    words::{base_name, is_assignment, names_a_program},
};

/// Why a line is refused, and what to do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in super::super) struct Refused {
    pub(in super::super) what: String,
    pub(in super::super) help: String,
}

impl Refused {
    /// Refuses a value that would decide which program is run.
    pub(super) fn of_program() -> Self {
        Self {
            what: "a variable decides which program or file is run".to_owned(),
            help: "Name the program, and give it the variable as an argument.".to_owned(),
        }
    }
}

/// Shells, and what else reads the argument of `-c` as a shell's line.
const SHELLS: [&str; 12] =
    ["ash", "bash", "busybox", "dash", "fish", "flock", "ksh", "mksh", "script", "sh", "su", "zsh"];
/// Commands that read every argument as code, or as the name of a variable, which bash evaluates.
const EVALUATING: [&str; 17] = [
    "[[",
    "alias",
    "declare",
    "eval",
    "function",
    "getopts",
    "let",
    "mapfile",
    "parallel",
    "read",
    "readarray",
    "ssh",
    "trap",
    "typeset",
    "unset",
    "watch",
    "wait",
];
/// Commands that set variables: safe where the name is spelt out.
const SETTING: [&str; 3] = ["export", "local", "readonly"];
/// Interpreters, each with what precedes code on their command lines.
const INTERPRETERS: [(&str, &[&str]); 9] = [
    ("python", &["c"]),
    ("perl", &["e", "E"]),
    ("ruby", &["e"]),
    ("node", &["e", "p", "-eval", "-print"]),
    ("deno", &["eval"]),
    ("php", &["r"]),
    ("lua", &["e"]),
    ("osascript", &["e"]),
    ("pwsh", &["c", "Command", "command"]),
];
/// Commands whose first argument is a program.
const PROGRAM_FIRST: [&str; 6] = ["awk", "gawk", "mawk", "nawk", "sed", "gsed"];

/// Says why a word must not hold the value of a variable: whoever gets it would read it as code.
/// `before` are the words before it, `current` what stands before the variable in it.
pub(super) fn evaluated(before: &[String], current: &str, variable: Variable) -> Option<Refused> {
    let last = before.last().map(String::as_str).unwrap_or_default();
    let reader = before.iter().enumerate().find_map(|(place, word)| {
        let name = base_name(word);
        let after = before.get(place + 1..).unwrap_or_default();
        let earlier = before.get(..place).unwrap_or_default();
        let is_run = names_a_program(earlier) || earlier.last().is_some_and(|word| word.starts_with("-exec"));
        reads_code(name, is_run, after, last, current).then_some(name)
    })?;
    let variable = variable.as_str();
    Some(Refused {
        what: format!("{reader} would read the value of {{{{{variable}}}}} as code"),
        help: format!(
            "Hand it over as data: `sh -c 'printf \"%s\" \"$1\"' sh {{{{{variable}}}}}`, or by the environment."
        ),
    })
}

/// Says whether a command reads the word behind some as code. `is_run` is whether it stands where
/// the name of a command does.
fn reads_code(name: &str, is_run: bool, after: &[String], last: &str, current: &str) -> bool {
    let is_first = || after.iter().all(|word| word.starts_with('-')) && !current.starts_with('-');
    let flagged = |codes: &[&str]| {
        let is_flag = |word: &str| {
            codes.iter().any(|code| match (word.strip_prefix('-'), code.len()) {
                (Some(flags), 1) => !flags.starts_with('-') && flags.ends_with(code),
                (Some(flags), _) => flags == *code,
                (None, _) => word == *code,
            })
        };
        let joined =
            codes.iter().any(|code| current.strip_prefix('-').is_some_and(|word| word.starts_with(code)));
        is_flag(last) || joined
    };
    if EVALUATING.contains(&name) {
        return is_run;
    }
    if SETTING.contains(&name) {
        return is_run && !is_assignment(current);
    }
    if SHELLS.contains(&name) {
        return flagged(&["c"]);
    }
    if PROGRAM_FIRST.contains(&name) {
        return (is_run && is_first()) || flagged(&["e", "-expression", "-source"]);
    }
    match name {
        "[" | "test" | "printf" => is_run && ["-v", "-R"].contains(&last),
        _ => {
            INTERPRETERS.iter().any(|(interpreter, codes)| is_version_of(name, interpreter) && flagged(codes))
        }
    }
}

/// Says whether a command reads code from its standard input where it is given none otherwise.
pub(super) fn reads_code_from_input(words: &[String]) -> Option<&str> {
    words.iter().map(|word| base_name(word)).find(|name| {
        SHELLS.contains(name)
            || *name == "ssh"
            || INTERPRETERS.iter().any(|(interpreter, _)| is_version_of(name, interpreter))
    })
}

/// Says whether a name is an interpreter's, with or without a version: `python3.12`.
fn is_version_of(name: &str, interpreter: &str) -> bool {
    name.strip_prefix(interpreter).is_some_and(|rest| rest.chars().all(|c| c.is_ascii_digit() || c == '.'))
}
