//! Variables in a shell's line, as data.
//!
//! A value is never part of the line's text. Each `{{variable}}` becomes a quoted reference to an
//! environment variable, such as `"${SAMUEL_VAR_TASK_ID}"`, whose expansion no shell reads as
//! code. What quotes the reference needs depends on where it stands, so [`ShellText::read`] follows
//! the line's quoting: in single quotes they are closed before it and opened again behind it, in a
//! here-document with a quoted delimiter that delimiter and the text are quoted in another way.
//!
//! Where a shell would take the value for code after all, or where shells disagree on what is
//! quoted, the line is refused: as the name of a command, in `eval` or `bash -c`, as input of a
//! shell, in arithmetic unless it is a number, within `${..}`. The same goes for `$(..)` and for
//! the line's own variables that hold such a value. What a command does with the data that it is
//! given is its own.

mod evaluated;
mod scanner;
mod words;

pub(super) use evaluated::Refused;

use std::collections::BTreeSet;

use super::{
    Variable,
    template::{self, Values},
};

/// The most bytes of a value that go through the environment. Systems bound one variable to
/// 128 KiB and all of them to little more.
const MAX_IN_ENV: usize = 64 << 10;

/// The longest line with variables, in bytes. Systems start none that is twice as long.
const MAX_LINE: usize = 64 << 10;

/// A shell's line whose variables are references to its environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ShellText {
    text: String,
    variables: BTreeSet<Variable>,
}

/// A line with what it needs to run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ReadyLine {
    /// The line for `sh -c`.
    pub(super) text: String,
    /// The environment variables with the values.
    pub(super) env: Vec<(String, String)>,
    /// Values that are too long for the environment, one after the other.
    pub(super) stdin: String,
}

/// Says why an environment variable must not hold a value: it decides which programs are run.
pub(super) fn refused_in_env(name: &str) -> Option<Refused> {
    words::decides_what_runs(&format!("{name}=")).then(Refused::of_program)
}

/// Says why a word of a list must not hold a variable. `before` are the words before it, `current`
/// what stands before the variable in it.
pub(super) fn refused_in_list(before: &[String], current: &str, variable: Variable) -> Option<Refused> {
    // A list has no settings of a shell before its program.
    if before.is_empty() {
        return Some(Refused::of_program());
    }
    evaluated::place(before, current).refuses(variable)
}

impl ShellText {
    /// Reads a line. `known` finds a variable by its name, or says why there is none and what to do.
    pub(super) fn read(
        text: &str,
        known: impl Fn(&str) -> Result<Variable, (String, String)>,
    ) -> Result<Self, Refused> {
        // A line without variables is its shell's own affair.
        if !template::is_in(text) {
            return Ok(Self { text: text.to_owned(), variables: BTreeSet::new() });
        }
        if text.len() > MAX_LINE {
            return Err(Refused {
                what: format!("a command with variables is longer than {} KiB", MAX_LINE >> 10),
                help: "Move it into a script, and give that the variables as arguments.".to_owned(),
            });
        }
        let (text, variables) = scanner::Scanner::new(text, known).scan()?;
        Ok(Self { text, variables })
    }

    /// Puts the line together with the values of its variables.
    ///
    /// A value that is too long for the environment is fed to the shell, which reads it into a
    /// variable of the same name before anything else; what the shell starts does not see that one.
    pub(super) fn with(&self, values: &Values) -> ReadyLine {
        let mut ready = ReadyLine { text: String::new(), env: Vec::new(), stdin: String::new() };
        for variable in &self.variables {
            let value = template::value_of(values, *variable);
            let name = variable.env_name();
            if value.len() <= MAX_IN_ENV {
                ready.env.push((name.to_owned(), value));
                continue;
            }
            // The letter keeps the line ends of the value, which a substitution would cut off.
            let count = value.len();
            ready.text.push_str(&format!(
                "{name}=$(head -c {count} && printf x) || exit 127; {name}=${{{name}%x}}\n"
            ));
            ready.stdin.push_str(&value);
        }
        ready.text.push_str(&self.text);
        ready
    }
}

#[cfg(test)]
mod tests;
