//! The words of a command that certainly name a file which it starts, so that another file can
//! be put in their place.

use std::{
    ops::Range,
    path::{Path, PathBuf},
};

use super::{
    PROJECT_ROOT, WORKSPACE,
    command_words::{
        BY_OPTION, INTERPRETERS, SHELLS, VALUED, base_name, directory_of, has_code, is_option_with,
        last_program_of, may_be_script,
    },
    shell_line::{Word, placed_commands},
};

/// What a shell gives a meaning of its own, outside of quotes.
const SPECIAL: &[char] = &[
    '$', '`', '\\', '"', '\'', '*', '?', '[', ']', '{', '}', '~', '!', '#', '|', '&', ';', '<', '>', '(', ')',
];

/// What makes it uncertain that words which look like a command are one.
const UNCERTAIN: &[&str] = &["<<", "=(", "()", "PWD=", "SAMUEL_PROJECT_ROOT=", "SAMUEL_WORKSPACE="];

/// A place in a shell's line where a file is named that is started.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Place {
    /// The word, with its quotes.
    pub(crate) span: Range<usize>,
    /// The file, whether it exists or not.
    pub(crate) path: PathBuf,
}

/// What a command starts by one of its words.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// This word is a file.
    File(usize),
    /// This word is a line for a shell.
    Code(usize),
}

/// Returns the words by which a command certainly starts something that they name.
pub(crate) fn starts(words: &[String]) -> Vec<Start> {
    let own = last_program_of(words);
    let Some(program) = words.get(own) else { return Vec::new() };
    let name = base_name(program);
    let mut starts: Vec<Start> = program.contains('/').then_some(Start::File(own)).into_iter().collect();
    let after = |at: usize| (at + 1 < words.len()).then_some(Start::File(at + 1));
    if matches!(name, "." | "source") {
        starts.extend(after(own));
    } else if BY_OPTION.contains(&name) {
        let is_file = |word: &str| matches!(word, "-f" | "--file" | "--makefile" | "--justfile");
        let options = words.iter().enumerate().skip(own + 1).filter(|(_, word)| is_file(word));
        starts.extend(options.filter_map(|(at, _)| after(at)));
    } else if INTERPRETERS.contains(&name) {
        starts.extend(script_of(words, own));
    }
    starts
}

/// Returns the script, or the code, that an interpreter is given.
fn script_of(words: &[String], own: usize) -> Option<Start> {
    let name = base_name(words.get(own)?);
    let is_shell = SHELLS.contains(&name);
    let mut rest = words.iter().enumerate().skip(own + 1);
    while let Some((at, word)) = rest.next() {
        if is_shell && is_option_with(word, "c") {
            return (at + 1 < words.len()).then_some(Start::Code(at + 1));
        }
        if has_code(name, word) {
            return None;
        }
        if (is_shell && is_option_with(word, "o")) || VALUED.contains(&word.as_str()) {
            rest.next();
        } else if !word.starts_with(['-', '+']) && may_be_script(name, word) {
            return Some(Start::File(at));
        }
    }
    None
}

/// Returns the places of a shell's line that name a file which is started: words without anything
/// that the shell would expand but a leading `$PWD`, `$SAMUEL_PROJECT_ROOT` or `$SAMUEL_WORKSPACE`, and not after the
/// line has gone elsewhere than by a first `cd DIRECTORY &&`.
pub(crate) fn started_places(line: &str, root: &Path, cwd: &Path) -> Vec<Place> {
    if UNCERTAIN.iter().any(|mark| line.contains(mark)) {
        return Vec::new();
    }
    let commands = placed_commands(line);
    if commands.iter().flatten().any(|word| word.text == "case") {
        return Vec::new();
    }
    let (here, commands) = match entered(line, &commands, root, cwd) {
        Some(here) => (Some(here), commands.get(1..).unwrap_or_default()),
        None => (Some(cwd.to_owned()), &*commands),
    };
    let goes_elsewhere = |words: &Vec<Word>| {
        words.iter().enumerate().any(|(at, word)| {
            let directory = directory_of(&word.text, words.get(at + 1).map(|next| &next.text));
            directory.is_some() || matches!(&*word.text, "cd" | "pushd" | "popd")
        })
    };
    let here = here.filter(|_| !commands.iter().any(goes_elsewhere));
    let places = commands.iter().flat_map(|words| {
        let texts: Vec<String> = words.iter().map(|word| word.text.clone()).collect();
        let files = starts(&texts).into_iter().filter_map(|start| match start {
            Start::File(at) => words.get(at),
            Start::Code(_) => None,
        });
        let place = |word: &Word| {
            let path = path_of(line.get(word.span.clone())?, root, here.as_deref())?;
            Some(Place { span: word.span.clone(), path })
        };
        files.filter_map(place).collect::<Vec<_>>()
    });
    places.collect()
}

/// Returns where a line goes on that begins with `cd DIRECTORY &&`.
fn entered(line: &str, commands: &[Vec<Word>], root: &Path, cwd: &Path) -> Option<PathBuf> {
    let [first, second, ..] = commands else { return None };
    let [cd, directory] = &**first else { return None };
    let between = line.get(directory.span.end..second.first()?.span.start)?;
    let is_entered = cd.text == "cd" && between.trim() == "&&" && !directory.text.starts_with('-');
    is_entered.then(|| path_of(line.get(directory.span.clone())?, root, Some(cwd))).flatten()
}

/// Returns the path that a word stands for, as it is written; nothing where the shell would make
/// something else of it.
fn path_of(raw: &str, root: &Path, here: Option<&Path>) -> Option<PathBuf> {
    let quoted = |quote: char| raw.strip_prefix(quote)?.strip_suffix(quote);
    let (text, has_variables) = match (quoted('"'), quoted('\'')) {
        (Some(text), _) => (text, true),
        (_, Some(text)) => (text, false),
        _ => (raw, true),
    };
    let of_variable = |name: &str| {
        let forms = [
            format!("${name}/"),
            format!("${{{name}}}/"),
            format!("\"${name}\"/"),
            format!("\"${{{name}}}\"/"),
        ];
        forms.iter().filter(|_| has_variables).find_map(|form| text.strip_prefix(form.as_str()))
    };
    let of_root = of_variable(PROJECT_ROOT).or_else(|| of_variable(WORKSPACE));
    let (from, rest) = match (of_root, of_variable("PWD")) {
        (Some(rest), _) => (Some(root), rest),
        (_, Some(rest)) => (here, rest),
        _ if text.starts_with('/') => (Some(root), text),
        _ => (here, text),
    };
    let is_plain = !rest.is_empty()
        && !rest.contains(SPECIAL)
        && (text.len() < raw.len() || !rest.contains(char::is_whitespace));
    is_plain.then(|| from.map(|from| from.join(rest))).flatten()
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "a test fails by a panic")]

    use super::*;

    fn placed(line: &str) -> String {
        let places = started_places(line, Path::new("/p"), Path::new("/p/w"));
        let shown = |place: &Place| format!("{}={}", &line[place.span.clone()], place.path.display());
        places.iter().map(shown).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn a_word_that_names_a_started_file_has_its_place() {
        for (line, expected) in [
            ("./a.sh ./b.sh", "./a.sh=/p/w/./a.sh"),
            ("set -e; sh ci/a.sh x | tee ./log", "ci/a.sh=/p/w/ci/a.sh"),
            ("X=1 timeout 9 bash -eu 'a b.sh' && . ./c", "'a b.sh'=/p/w/a b.sh ./c=/p/w/./c"),
            ("\"$SAMUEL_PROJECT_ROOT/a.sh\" x", "\"$SAMUEL_PROJECT_ROOT/a.sh\"=/p/a.sh"),
            (
                "\"$SAMUEL_PROJECT_ROOT\"/a.sh; ${PWD}/b",
                "\"$SAMUEL_PROJECT_ROOT\"/a.sh=/p/a.sh ${PWD}/b=/p/w/b",
            ),
            ("sh $SAMUEL_WORKSPACE/a.sh", "$SAMUEL_WORKSPACE/a.sh=/p/a.sh"),
            ("sh /p/a.sh > a.sh", "/p/a.sh=/p/a.sh"),
            ("cd ci && ./a.sh; sh b", "./a.sh=/p/w/ci/./a.sh b=/p/w/ci/b"),
            ("python3 -W ignore a.py ./b.py; make -f x.mk", "a.py=/p/w/a.py x.mk=/p/w/x.mk"),
            ("if ./a.sh; then exit 1; fi", "./a.sh=/p/w/./a.sh"),
        ] {
            assert_eq!(placed(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_not_certain_has_no_place() {
        for line in [
            "$X/a.sh; sh $A; ./*.sh; ~/a.sh; sh ./a\\ b.sh; sh 'a'b",
            "cd a; ./b.sh",
            "cd a || ./b.sh",
            "./b.sh && cd a && ./b.sh",
            "env -C ci ./b.sh",
            "cat <<END\n./a.sh\nEND",
            "case x in ./a.sh) ;; esac",
            "PWD=/x; $PWD/a.sh",
            "sh -c './a.sh'; python -c ./a.py; python -m a.b",
            "cat ./a.sh; npm test; bash -o pipefail -c x ./y",
        ] {
            assert_eq!(placed(line), "", "{line}");
        }
    }

    #[test]
    fn the_code_of_a_shell_is_told_from_its_script() {
        let starts = |line: &str| {
            let words: Vec<String> = line.split(' ').map(str::to_owned).collect();
            starts(&words)
        };
        assert_eq!(starts("./a sh"), [Start::File(0)]);
        assert_eq!(starts("env A=1 bash -ec x y"), [Start::Code(4)]);
        assert_eq!(starts("uv run python a.py"), [Start::File(3)]);
        assert_eq!(starts("/bin/sh ./a"), [Start::File(0), Start::File(1)]);
        assert_eq!(starts(""), []);
    }
}
