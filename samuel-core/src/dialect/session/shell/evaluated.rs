//! What becomes of a word: data, a program, or code.
//!
//! A quoted value is one argument. Some commands read arguments as a program of their own, or as
//! the name of one, and a value there would be run; such lines are refused.

use super::{
    super::Variable,
    words::{command_of, decides_what_runs, is_assignment},
};
use crate::script::named::command_words::{
    FIRST_CODE, INTERPRETERS, SHELLS, VALUED, base_name, code_letters, last_program_of,
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

    /// Refuses a value that its reader would take for code.
    pub(super) fn of_code(reader: &str, variable: Variable) -> Self {
        let variable = variable.as_str();
        let help = match reader {
            "ssh" => format!(
                "ssh joins its arguments to a line for another shell. Send it as input: `printf '%s\\n' {{{{{variable}}}}} | \
                 ssh host 'read -r value; notify \"$value\"'`."
            ),
            name if FIRST_CODE.contains(&name) => format!(
                "Hand it over by the environment: `T={{{{{variable}}}}} awk '{{gsub(/x/, ENVIRON[\"T\"])}} 1' file`."
            ),
            name if is_interpreter(name) && !SHELLS.contains(&name) => {
                "Hand it over as data: as an argument behind the code, or by the environment.".to_owned()
            }
            _ => format!(
                "Hand it over as data: `sh -c 'printf \"%s\" \"$1\"' sh {{{{{variable}}}}}`, or by the environment."
            ),
        };
        Self { what: format!("{reader} would read the value of {{{{{variable}}}}} as code"), help }
    }
}

/// What becomes of a word of a command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Place {
    /// An argument, or the value of a variable.
    Data,
    /// It decides which program or file is run.
    Program,
    /// Somebody reads it as code.
    Code(String),
}

impl Place {
    fn code_of(name: &str) -> Self {
        Self::Code(name.to_owned())
    }

    /// Says why the value of a variable must not stand there.
    pub(super) fn refuses(&self, variable: Variable) -> Option<Refused> {
        match self {
            Self::Data => None,
            Self::Program => Some(Refused::of_program()),
            // A number means the same to everybody.
            Self::Code(reader) => (!variable.is_number()).then(|| Refused::of_code(reader, variable)),
        }
    }
}

/// Commands that read every argument as code, or as the name of a variable, which bash evaluates.
const EVALUATING: [&str; 21] = [
    "[[",
    "alias",
    "bind",
    "compgen",
    "complete",
    "declare",
    "enable",
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
    "wait",
    "watch",
];
/// Commands that set variables: safe where the name is spelt out.
const SETTING: [&str; 3] = ["export", "local", "readonly"];
/// Commands that read and run the file which their first argument names.
const SOURCES: [&str; 2] = [".", "source"];
/// Programs that give the argument of `-c` to a shell.
const BY_SHELL: [&str; 3] = ["runuser", "script", "su"];
/// Programs that start a command in another place.
const CARRIERS: [&str; 4] = ["docker", "kubectl", "nerdctl", "podman"];
/// The letters of options of ssh that take a value.
const VALUED_BY_SSH: &str = "BbcDEeFIiJLlmOopQRSWw";

/// Says what becomes of a word. `before` are the words before it, `current` is what stands before
/// the variable in it.
pub(super) fn place(before: &[String], current: &str) -> Place {
    let Some(command) = command_of(before) else { return Place::Data };
    let at = last_program_of(command);
    if at == command.len() {
        let is_setting = is_assignment(current) && !decides_what_runs(current);
        return if is_setting { Place::Data } else { Place::Program };
    }
    // Beyond the words there are it is the value of an option.
    let Some((program, after)) = command.get(at..).and_then(<[_]>::split_first) else { return Place::Data };
    let name = base_name(program);
    let last = after.last().map(String::as_str).unwrap_or_default();
    let is_code = match name {
        name if EVALUATING.contains(&name) => true,
        name if SETTING.contains(&name) => !is_assignment(current) || decides_what_runs(current),
        "[" | "test" | "printf" => ["-v", "-R"].contains(&last),
        name if BY_SHELL.contains(&name) => {
            gives_code(last) || gives_code(current) || current.starts_with("--command=")
        }
        _ => false,
    };
    if is_code {
        return Place::code_of(name);
    }
    if SOURCES.contains(&name) {
        return if after.is_empty() { Place::Program } else { Place::Data };
    }
    if FIRST_CODE.contains(&name) {
        return of_first_code(name, after, current);
    }
    if is_interpreter(name) {
        return of_interpreter(name, after, current).place;
    }
    if name == "find"
        && let Some(exec) =
            after.iter().rposition(|word| word.starts_with("-exec") || word.starts_with("-ok"))
        && let Some(command) = after.get(exec + 1..)
        && !command.iter().any(|word| word == ";" || word == "+")
    {
        return place(command, current);
    }
    // What is started in another place, such as a container, is named by a later word.
    let later = after.iter().enumerate().find_map(|(place, word)| {
        let (name, after) = (base_name(word), after.get(place + 1..).unwrap_or_default());
        let found = is_interpreter(name).then(|| of_interpreter(name, after, current).place);
        found.filter(|place| matches!(place, Place::Code(_)))
    });
    later.unwrap_or(Place::Data)
}

/// Says which interpreter a command gives its standard input to as code.
pub(super) fn reads_code_from_input(words: &[String]) -> Option<String> {
    let command = command_of(words)?;
    let (program, after) = command.get(last_program_of(command)..)?.split_first()?;
    let name = base_name(program);
    let reads = match name {
        name if SOURCES.contains(&name) => after.first().is_some_and(|file| is_standard_input(file)),
        "su" => !after.iter().any(|word| gives_code(word)),
        "ssh" => {
            let mut words = after.iter();
            while let Some(option) = words.as_slice().first().filter(|word| word.starts_with('-')) {
                words.next();
                if option.len() == 2 && option.ends_with(|letter| VALUED_BY_SSH.contains(letter)) {
                    words.next();
                }
            }
            words.next();
            let remote: Vec<String> =
                words.flat_map(|word| word.split_whitespace()).map(str::to_owned).collect();
            if !remote.is_empty() {
                return reads_code_from_input(&remote);
            }
            true
        }
        name if CARRIERS.contains(&name) => {
            let starts = |place: usize| after.get(place..).and_then(reads_code_from_input);
            return (0..after.len())
                .filter(|place| after.get(*place).is_some_and(|word| is_interpreter(base_name(word))))
                .find_map(starts);
        }
        name => is_interpreter(name) && of_interpreter(name, after, "").reads_input,
    };
    reads.then(|| name.to_owned())
}

fn is_standard_input(file: &str) -> bool {
    ["/dev/stdin", "/dev/fd/0", "/proc/self/fd/0"].contains(&file)
}

fn is_interpreter(name: &str) -> bool {
    INTERPRETERS.contains(&name)
}

/// Returns the letters of a word of one-letter options.
fn letters_of(word: &str) -> Option<&str> {
    word.strip_prefix(['-', '+']).filter(|letters| !letters.starts_with('-') && !letters.is_empty())
}

/// Says whether a word has the option `-c`, alone or among others.
fn gives_code(word: &str) -> bool {
    word == "--command" || (word.starts_with('-') && letters_of(word).is_some_and(|word| word.contains('c')))
}

/// What an interpreter makes of its next word, and of its standard input.
struct Interpreted {
    place: Place,
    reads_input: bool,
}

/// Says what an interpreter makes of the word behind some.
fn of_interpreter(name: &str, after: &[String], current: &str) -> Interpreted {
    let data = |reads_input| Interpreted { place: Place::Data, reads_input };
    let code = || Interpreted { place: Place::code_of(name), reads_input: false };
    let program = || Interpreted { place: Place::Program, reads_input: false };
    let is_shell = SHELLS.contains(&name);
    let code_letter =
        |letter: char| if is_shell { letter == 'c' } else { code_letters(name).contains(letter) };
    let (mut has_code, mut is_input, mut may_be_option) = (false, false, true);
    let mut words = after.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let is_last_option = word == "-" || word == "--";
        if word == "-" && !is_shell {
            return data(!has_code);
        }
        if is_last_option {
            may_be_option = false;
            if words.next().is_some() {
                return data(is_input && !has_code);
            }
            break;
        }
        if ["deno", "bun"].contains(&name) && ["run", "test", "bench", "eval", "x"].contains(&word) {
            if word == "eval" {
                return code();
            }
            continue;
        }
        if !word.starts_with(['-', '+']) {
            return data((is_input || is_standard_input(word)) && !has_code);
        }
        if name == "pwsh" && word.to_ascii_lowercase().starts_with("-c") {
            return code();
        }
        let letters = letters_of(word).unwrap_or_default();
        let takes_value = if is_shell {
            has_code |= gives_code(word);
            is_input |= letters.contains('s');
            letters.contains(['o', 'O']) || VALUED.contains(&word)
        } else if matches!(word, "--eval" | "--print") || letters.ends_with(code_letter) {
            has_code = true;
            if words.next().is_none() {
                return code();
            }
            false
        } else {
            has_code |= letters.split(['W', 'X', 'I', 'M']).next().is_some_and(|it| it.contains(code_letter));
            has_code |= word.starts_with("--eval=") || word.starts_with("--print=");
            VALUED.contains(&word)
        };
        if takes_value && words.next().is_none() {
            return program();
        }
    }
    if may_be_option && current.starts_with(['-', '+']) {
        let is_code =
            letters_of(current).is_some_and(|it| it.contains(code_letter)) || current.starts_with("--eval=");
        return match (is_code, has_code && !is_shell) {
            (true, _) => code(),
            (false, true) => data(false),
            (false, false) => program(),
        };
    }
    match (has_code, is_shell) {
        (true, true) => code(),
        (true, false) => data(false),
        (false, _) if is_input => data(true),
        (false, _) => Interpreted { place: Place::Program, reads_input: true },
    }
}

/// Says what awk or sed makes of the word behind some.
fn of_first_code(name: &str, after: &[String], current: &str) -> Place {
    let is_sed = name.ends_with("sed");
    let (codes, valued) = if is_sed { ("ef", "l") } else { ("efE", "FvliW") };
    let is_long_code = |word: &str| {
        ["--expression", "--source", "--file", "--exec"].iter().any(|long| word.starts_with(long))
    };
    let is_long_valued = |word: &str| {
        ["--assign", "--field-separator", "--include", "--load", "--line-length"].contains(&word)
    };
    // What the first letter with a value says, and whether that is the next word.
    let told = |letters: &str| {
        let ends =
            |letter: char| codes.contains(letter) || valued.contains(letter) || (is_sed && letter == 'i');
        let at = letters.find(ends)?;
        let (letter, value) = letters.get(at..).map(|rest| rest.split_at(1))?;
        // A suffix of sed's -i is never a word of its own.
        Some((codes.contains(letter), value.is_empty() && !(is_sed && letter == "i")))
    };
    let mut has_code = false;
    let mut words = after.iter().map(String::as_str);
    while let Some(word) = words.next() {
        let (is_code, takes_next) = match letters_of(word).filter(|_| word.starts_with('-')) {
            _ if word == "--" => {
                let is_first = words.next().is_none() && !has_code;
                return if is_first { Place::code_of(name) } else { Place::Data };
            }
            Some(letters) => told(letters).unwrap_or_default(),
            None if word.starts_with("--") => {
                let is_code = is_long_code(word);
                (is_code, (is_code || is_long_valued(word)) && !word.contains('='))
            }
            None if is_sed => {
                // Options may follow it.
                has_code = true;
                continue;
            }
            None => return Place::Data,
        };
        has_code |= is_code;
        if takes_next && words.next().is_none() {
            return if is_code { Place::code_of(name) } else { Place::Data };
        }
    }
    let is_code = match letters_of(current).filter(|_| current.starts_with('-')) {
        Some(letters) => told(letters).is_none_or(|(is_code, _)| is_code),
        None if current.starts_with("--") => is_long_code(current),
        None => !has_code,
    };
    if is_code { Place::code_of(name) } else { Place::Data }
}
