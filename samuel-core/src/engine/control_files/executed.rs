//! The files of a project that a command line executes.
//!
//! What a command only reads is the work: `grep -q done notes.md` decides nothing by
//! itself, and the agent has to change notes.md. A file counts where it is the command's
//! program, the script that an interpreter is given, or whatever can be executed.

use std::path::{Path, PathBuf};

use super::{
    command_words::{
        BY_OPTION, INTERPRETERS, SHELLS, VALUED, base_name, directory_of, has_code, is_option_with,
        last_program_of, may_be_script, module_of, of_option, program_of, settings,
    },
    paths::{can_be_executed, from_here, in_project, lexical, without_repeats},
    pattern::{self, is_pattern},
    shell_line::{commands, is_line},
    variables::{TOP, Variables, with_known_substitutions},
};

/// What the shell puts something else in the place of.
const EXPANDED: &[char] = &['$', '`', '*', '?', '[', '{', '~', '='];

/// How many words of a command line are looked at, and how many commands.
const MAX_WORDS: usize = 1_000;

/// How deep a command line may stand in another, as in `sh -c "bash -c 'sh a.sh'"`.
const MAX_DEPTH: usize = 5;

/// How many patterns of a command line are looked at.
const MAX_PATTERNS: usize = 50;

/// In how many directories the commands of a line are looked for.
const MAX_DIRECTORIES: usize = 16;

/// Returns the files of the project that a shell command executes, or that it names and
/// that can be executed.
pub(super) fn in_shell_command(command: &str, root: &Path) -> Vec<PathBuf> {
    let found = Found::of_line(command, root);
    let able = found.files(&found.words).into_iter().filter(|path| can_be_executed(path, root));
    without_repeats(found.started().into_iter().chain(able))
}

/// Returns the files of the project that a shell command starts as programs or
/// scripts, and none that it only names.
pub(super) fn started_by_shell(command: &str, root: &Path) -> Vec<PathBuf> {
    let found = Found::of_line(command, root);
    without_repeats(found.started())
}

/// Returns the patterns of what a shell command executes, relative to the root.
pub(super) fn patterns_of_shell(command: &str, root: &Path) -> Vec<PathBuf> {
    Found::of_line(command, root).patterns()
}

/// Says whether a shell command executes a script of which only the shell knows which it is.
pub(super) fn is_unknown_in_shell(command: &str, root: &Path) -> bool {
    Found::of_line(command, root).is_unknown
}

/// Returns the files of the project that a program's command line executes, or that it
/// names and that can be executed: the program itself only where it is given as a path,
/// since one by its name is not looked for in the project. A file that is given as
/// settings or configuration counts too: agents run what stands in theirs. Of a word that
/// is a command line itself, as in `bash -c 'sh a.sh >> log'`, only what it executes counts.
pub(in crate::engine) fn in_command_line(words: &[String], root: &Path) -> Vec<PathBuf> {
    let mut found = Found::new(root);
    found.command(words, false, 0);
    let operands = words.iter().skip(1).filter(|word| !is_line(word)).cloned();
    // The value of an option may stand in the same word.
    let operands = operands.flat_map(|word| {
        let value = word.split_once('=').map(|(_, value)| value.to_owned());
        std::iter::once(word).chain(value)
    });
    let operands: Vec<String> = operands.collect();
    let able = found.files(&operands).into_iter().filter(|path| can_be_executed(path, root));
    let program = words.first().is_some_and(|program| program.contains('/')).then(|| words.first().cloned());
    let executed: Vec<String> =
        program.flatten().into_iter().chain(found.executed.iter().cloned()).chain(settings(words)).collect();
    without_repeats(found.files(&executed).into_iter().chain(able))
}

/// Returns the files of the project that words name.
pub(in crate::engine) fn in_words(words: &[String], root: &Path) -> Vec<PathBuf> {
    let words = words.iter().take(MAX_WORDS);
    words.filter_map(|word| in_project(Path::new(word), root)).collect()
}

/// Returns where files would stand that a shell command executes and that do not exist, for
/// each of them a place in every directory in which the command may look for it.
pub(super) fn missing_of_shell(command: &str, root: &Path) -> Vec<Vec<PathBuf>> {
    let found = Found::of_line(command, root);
    let mut missing: Vec<Vec<PathBuf>> =
        found.wanted.iter().take(MAX_WORDS).filter_map(|word| found.missing(word)).collect();
    missing.dedup();
    missing
}

/// What a command line was found to name.
struct Found<'a> {
    root: &'a Path,
    /// Where its commands may run: in the root, and where `cd` and `-C` lead. Which of
    /// them it is, is not told apart.
    directories: Vec<PathBuf>,
    /// Words that are executed, where they are files.
    executed: Vec<String>,
    /// Words that are executed for certain, also where no file is there yet.
    wanted: Vec<String>,
    /// Words that stand for files that are executed.
    patterns: Vec<String>,
    /// All words.
    words: Vec<String>,
    /// What the line sets.
    variables: Variables,
    /// Whether the command that is looked at is known to run as it is read.
    is_certain: bool,
    /// Whether something is executed that no word of its command names.
    reads_input: bool,
    /// Whether something is executed that the command line does not tell.
    is_unknown: bool,
    /// How many commands were looked at.
    looked_at: usize,
}

impl<'a> Found<'a> {
    fn new(root: &'a Path) -> Self {
        let directories = vec![root.to_owned()];
        let (executed, wanted, patterns, words) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let mut variables = Variables::default();
        let top = root.ancestors().find(|directory| directory.join(".git").exists()).unwrap_or(root);
        variables.set(TOP, top.to_str().map(str::to_owned).into_iter().collect());
        let (is_certain, reads_input, is_unknown, looked_at) = (true, false, false, 0);
        Self {
            root,
            directories,
            executed,
            wanted,
            patterns,
            words,
            variables,
            is_certain,
            reads_input,
            is_unknown,
            looked_at,
        }
    }

    /// Returns the files of the project that words name in any of the directories.
    fn files(&self, words: &[String]) -> Vec<PathBuf> {
        words.iter().take(MAX_WORDS).flat_map(|word| self.named(word)).collect()
    }

    /// Returns the files that are executed.
    fn started(&self) -> Vec<PathBuf> {
        let matches = self.patterns().into_iter().flat_map(|pattern| pattern::matches(&pattern, self.root));
        let matches = matches.filter_map(|path| in_project(&path, self.root));
        self.files(&self.executed).into_iter().chain(matches).collect()
    }

    /// Returns the patterns of what is executed in each of the directories, relative to the root.
    fn patterns(&self) -> Vec<PathBuf> {
        let all = self.patterns.iter().take(MAX_PATTERNS).flat_map(|word| {
            let word = from_here(word);
            let whole = self.directories.iter().map(move |directory| lexical(&directory.join(word)));
            whole.filter_map(|path| path.strip_prefix(self.root).ok().map(Path::to_owned))
        });
        without_repeats(all).into_iter().take(MAX_PATTERNS).collect()
    }

    fn named(&self, word: &str) -> impl Iterator<Item = PathBuf> {
        let word = from_here(word);
        self.directories.iter().filter_map(move |directory| in_project(&directory.join(word), self.root))
    }

    /// Returns where a file would stand of which there is none; nothing where there is one, or
    /// where only the shell knows its name.
    fn missing(&self, word: &str) -> Option<Vec<PathBuf>> {
        let word = from_here(word);
        if word.is_empty() || word.contains(EXPANDED) || word.ends_with('/') {
            return None;
        }
        let place = |directory: &PathBuf| {
            let path = lexical(&directory.join(word));
            (path.starts_with(self.root) && directory.is_dir()).then_some(path)
        };
        let places = without_repeats(self.directories.iter().filter_map(place));
        let is_missing = !places.is_empty() && places.iter().all(|path| path.symlink_metadata().is_err());
        is_missing.then_some(places)
    }

    /// Counts a directory among those in which commands may run.
    fn enter(&mut self, directory: &str) {
        for from in self.directories.clone() {
            let to = lexical(&from.join(from_here(directory)));
            let is_new = to.starts_with(self.root) && !self.directories.contains(&to);
            if is_new && self.directories.len() < MAX_DIRECTORIES {
                self.directories.push(to);
            }
        }
    }

    fn of_line(line: &str, root: &'a Path) -> Self {
        let mut found = Self::new(root);
        found.line(line, 0);
        found.with_input()
    }

    /// Counts all words where an interpreter reads what it executes, as in `cat a.sh | sh`.
    fn with_input(mut self) -> Self {
        if self.reads_input {
            self.executed.extend(self.words.iter().cloned());
            self.patterns.extend(self.words.iter().filter(|word| is_pattern(word)).cloned());
        }
        self
    }

    fn line(&mut self, line: &str, depth: usize) {
        let line = with_known_substitutions(line);
        let is_certain = self.is_certain;
        for words in commands(&line).into_iter().take(MAX_WORDS) {
            if self.looked_at > MAX_WORDS {
                break;
            }
            self.variables.assign(&words);
            let readings = self.variables.readings(&words);
            self.is_certain = is_certain && readings.is_certain;
            for words in readings.commands {
                self.command(&words, false, depth);
                let left = MAX_WORDS.saturating_sub(self.words.len());
                // Of `find`, what it comes upon counts, and not how it is asked.
                let is_find =
                    words.get(program_of(&words)).is_some_and(|program| base_name(program) == "find");
                self.words.extend(words.into_iter().filter(|word| !is_find || !is_pattern(word)).take(left));
            }
        }
        self.is_certain = is_certain;
    }

    /// Goes through the words of a command. With `is_code` its first is the code of a shell, as in
    /// `sh -c 'mkdir -p a && ./b'`, which is no name of a program where it is a line.
    fn command(&mut self, words: &[String], is_code: bool, depth: usize) {
        self.looked_at += 1;
        if self.looked_at > MAX_WORDS {
            return;
        }
        let words = words.get(..MAX_WORDS).unwrap_or(words);
        let own = last_program_of(words);
        let name = words.get(own).map_or("", |program| base_name(program));
        if let Some(program) = words.get(own) {
            if program.contains(['/', '.']) {
                self.executed.push(program.clone());
                self.patterns.extend(is_pattern(program).then(|| program.clone()));
            }
            if program.contains('/') && self.is_certain && !(is_code && is_line(program)) {
                self.wanted.push(program.clone());
            }
            self.reads_input |= program.starts_with("$(") || matches!(name, "$" | "eval");
            // What a variable stands for may be an interpreter.
            if from_here(program).starts_with('$') {
                self.executed.extend(words.iter().cloned());
            }
        }
        if matches!(name, "cd" | "pushd") {
            let directory = words.iter().skip(own + 1).find(|word| !word.starts_with('-'));
            directory.into_iter().for_each(|directory| self.enter(directory));
        }
        for (at, word) in words.iter().enumerate() {
            directory_of(word, words.get(at + 1)).into_iter().for_each(|directory| self.enter(directory));
        }
        if name == "find" {
            self.find(words.get(own + 1..).unwrap_or_default(), depth);
        }
        let before = own.checked_sub(1).and_then(|at| words.get(at));
        if before.is_some_and(|word| word == "-m") && words.iter().take(own).any(|word| word == "uv") {
            self.module(module_of("uv", "-m", words.get(own)));
        }
        let mut scripts = Vec::new();
        if matches!(name, "." | "source") {
            scripts.extend(words.get(own + 1).cloned());
        }
        if BY_OPTION.contains(&name) {
            scripts.extend(of_option(words.get(own..).unwrap_or_default()));
        }
        self.wanted.extend(scripts.iter().filter(|_| self.is_certain).cloned());
        self.patterns.extend(scripts.iter().filter(|word| is_pattern(word)).cloned());
        self.executed.extend(scripts);
        // Whatever stands before an interpreter may start it: `uv run python a.py`.
        for (at, _) in words.iter().enumerate().filter(|(_, word)| INTERPRETERS.contains(&base_name(word))) {
            self.script(words.get(at..).unwrap_or_default(), at == own, depth);
        }
        if depth < MAX_DEPTH {
            words.iter().filter(|word| is_line(word)).for_each(|word| self.line(word, depth + 1));
        }
    }

    /// Follows what `find` starts, and counts what it prints among the words.
    fn find(&mut self, words: &[String], depth: usize) {
        self.words.extend(pattern::of_find(words));
        if depth < MAX_DEPTH {
            let is_certain = std::mem::take(&mut self.is_certain);
            for words in pattern::started_by_find(words) {
                self.command(&words, false, depth + 1);
            }
            self.is_certain = is_certain;
        }
    }

    /// Counts a Python module as executed, by its path without its ending.
    fn module(&mut self, path: Option<String>) {
        let files = path.into_iter().flat_map(|path| [format!("{path}.py"), format!("{path}/__main__.py")]);
        self.executed.extend(files);
    }

    /// Sets what the code of a shell is given: `$0`, `$1` and so on, `$@`.
    fn set_arguments(&mut self, words: &[String]) {
        for (at, word) in words.iter().enumerate().take(10) {
            self.variables.set(&at.to_string(), vec![word.clone()]);
        }
        for all in ["@", "*"] {
            self.variables.set(all, words.iter().skip(1).cloned().collect());
        }
    }

    /// Finds the script among the words of an interpreter, which is the first.
    fn script(&mut self, words: &[String], is_program: bool, depth: usize) {
        let interpreter = words.first().map_or("", |word| base_name(word));
        let (mut has_operand, mut has_script) = (false, false);
        // Of a runner of tests, as `node --test` is one, the tests are the work.
        let runs_tests = words.iter().any(|word| word == "--test");
        let mut rest = words.iter().enumerate().skip(1);
        while let Some((at, word)) = rest.next() {
            if SHELLS.contains(&interpreter) && is_option_with(word, "c") {
                let code = words.get(at + 1..).unwrap_or_default();
                self.set_arguments(code.get(1..).unwrap_or_default());
                self.is_unknown |= code.first().is_some_and(|code| !is_line(code) && is_unknown(code));
                if depth < MAX_DEPTH {
                    self.command(code, true, depth + 1);
                }
                return;
            }
            let is_of_set = SHELLS.contains(&interpreter) && is_option_with(word, "o");
            if is_of_set || (VALUED.contains(&word.as_str()) && !(interpreter == "php" && word == "-r")) {
                self.executed.extend(rest.next().map(|(_, value)| value.clone()));
            } else if has_code(interpreter, word) {
                self.module(module_of(interpreter, word, words.get(at + 1)));
                return;
            } else if word.starts_with(['-', '+']) {
                // `--import=./a.mjs`
                self.executed.extend(word.split_once('=').map(|(_, value)| value.to_owned()));
            } else {
                if is_program && !has_operand {
                    self.is_unknown |= is_unknown(word);
                    self.reads_input |= word.contains("{}");
                    self.patterns.extend((is_pattern(word) && !runs_tests).then(|| word.clone()));
                }
                // The first that may be one is the script, and what follows are its arguments.
                if is_program && !has_script && may_be_script(interpreter, word) {
                    self.wanted.extend(self.is_certain.then(|| word.clone()));
                    has_script = true;
                }
                has_operand = true;
                self.reads_input |= is_program && from_here(word).starts_with('$');
                if self.named(word).next().is_some() {
                    self.executed.push(word.clone());
                    return;
                }
            }
        }
        self.reads_input |= is_program && !has_operand;
    }
}

/// Says whether only the shell knows what a word is: not an argument, which is known where it
/// is given, and not a file of the user, which is none of the project.
fn is_unknown(word: &str) -> bool {
    let word = from_here(word);
    let is_known = |char: char| char.is_ascii_digit() || matches!(char, '@' | '*');
    let is_argument = word.strip_prefix('$').is_some_and(|name| name.starts_with(is_known));
    let is_of_user = ["$HOME", "${HOME}"].iter().any(|home| word.starts_with(home));
    word.contains(['$', '`']) && !is_argument && !is_of_user
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{fs, os::unix::fs::PermissionsExt as _};

    use super::*;

    /// A project's root, which goes with the first.
    struct Files(
        #[expect(dead_code, reason = "it is removed when it is dropped")] tempfile::TempDir,
        PathBuf,
    );

    impl Files {
        fn new() -> Self {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().canonicalize().unwrap();
            fs::create_dir_all(root.join("ci/deep")).unwrap();
            for file in [
                "check.sh",
                "ci/check.sh",
                "ci/only.sh",
                "ci/with space.py",
                "*",
                "claude",
                "data",
                "ci/agent.json",
            ] {
                fs::write(root.join(file), "exit 1").unwrap();
            }
            fs::write(root.join("shebang"), "#!/bin/sh\n").unwrap();
            fs::write(root.join("able"), "").unwrap();
            fs::set_permissions(root.join("able"), fs::Permissions::from_mode(0o755)).unwrap();
            Self(dir, root)
        }

        fn shown(&self, found: Vec<PathBuf>) -> String {
            let found = found.iter().map(|path| path.strip_prefix(&self.1).unwrap().display().to_string());
            found.collect::<Vec<_>>().join(" ")
        }
    }

    #[test]
    fn a_file_that_a_check_runs_is_found_however_it_is_run() {
        let files = Files::new();
        let whole = format!("sh {}/check.sh", files.1.display());
        for (command, expected) in [
            ("./check.sh", "check.sh"),
            ("cd . && sh ./ci/deep/../check.sh; true", "ci/deep/../check.sh"),
            ("cd ci && ./only.sh", "ci/only.sh"),
            ("(cd ci/deep; cd ..; sh ./only.sh)", "ci/only.sh"),
            ("env -C ci ./only.sh", "ci/only.sh"),
            ("env --chdir=ci sh only.sh data", "ci/only.sh"),
            ("make -sC ci -f only.sh data", "ci/only.sh"),
            ("make --directory=ci --file=only.sh", "ci/only.sh"),
            ("sh $PWD/ci/check.sh data", "ci/check.sh"),
            ("$PWD/ci/check.sh data", "ci/check.sh"),
            ("sh $(pwd)/ci/check.sh", "ci/check.sh"),
            ("cd \"$PWD\"/ci; sh only.sh", "ci/only.sh"),
            ("bash -euo pipefail ci/check.sh", "ci/check.sh"),
            ("python 'ci/with space.py' --all", "ci/with space.py"),
            ("python3.12 -W ignore ci/with\\ space.py data", "ci/with space.py"),
            (&whole, "check.sh"),
            ("bash -c 'set -e; sh ci/check.sh'", "ci/check.sh"),
            ("sh -c \"bash -ec 'sh ci/check.sh'\"", "ci/check.sh"),
            ("sh -c ./check.sh", "check.sh"),
            ("timeout -k 5 60 sh -e -o pipefail ci/check.sh data | tee check.sh", "ci/check.sh"),
            ("X=1 nice -n 5 ./check.sh && env -u A B=2 . ci/check.sh", "check.sh ci/check.sh"),
            ("if ! sh check.sh; then exit 1; fi", "check.sh"),
            ("uv run python ci/check.sh", "ci/check.sh"),
            ("node -r ./check.sh ci/check.sh data", "check.sh ci/check.sh"),
            ("cat ci/check.sh | sh", "ci/check.sh"),
            ("sh < ci/check.sh", "ci/check.sh"),
            ("sh -c \"$(cat ci/check.sh)\"", "ci/check.sh"),
            ("eval \"$(cat ci/check.sh)\"", "ci/check.sh"),
            ("$RUNNER ci/check.sh", "ci/check.sh"),
            ("make -f ci/check.sh", "ci/check.sh"),
            ("awk -fci/check.sh data", "ci/check.sh"),
            ("runner able shebang data", "able shebang"),
            ("sh ci/check.sh > check.sh 2>>'check.sh'; grep '>' ci/check.sh", "ci/check.sh"),
            ("sh 'check.sh", "check.sh"),
        ] {
            assert_eq!(files.shown(in_shell_command(command, &files.1)), expected, "{command}");
        }
    }

    #[test]
    fn a_file_that_a_check_reaches_by_what_its_line_sets_is_found() {
        let files = Files::new();
        for (command, expected) in [
            ("CHECK=ci/check.sh; sh $CHECK", "ci/check.sh"),
            ("export D=ci; sh ${D}/check.sh", "ci/check.sh"),
            ("D=ci; $D/check.sh", "ci/check.sh"),
            ("D=$(pwd)/ci; F=$D/check.sh; sh \"$F\"", "ci/check.sh"),
            ("CHECK=ci/check.sh sh -c 'sh $CHECK'", "ci/check.sh"),
            ("env CHECK=ci/check.sh bash -c 'sh \"$CHECK\"'", "ci/check.sh"),
            ("RUN='sh ci/check.sh'; $RUN", "ci/check.sh"),
            ("if true; then F=check.sh; else F=ci/only.sh; fi; sh $F", "check.sh ci/only.sh"),
            ("A=check.sh; sh -c 'A=ci/check.sh; sh $A'", "check.sh ci/check.sh"),
            ("sh -c 'sh $1' x ci/check.sh", "ci/check.sh"),
            ("sh ${CHECK:-ci/check.sh}", "ci/check.sh"),
            ("A=data; sh check.sh $A", "check.sh"),
        ] {
            assert_eq!(files.shown(in_shell_command(command, &files.1)), expected, "{command}");
        }
        for (command, expected) in [
            ("for f in ci/*.sh; do sh $f || exit 1; done", "ci/check.sh ci/only.sh"),
            ("sh ci/check.s?", "ci/check.sh"),
            ("cd ci; ./on*.sh", "ci/only.sh"),
            ("bash -c \"bash ci/{check,check}.sh\"", "ci/check.sh"),
            ("cat ci/o*.sh | sh", "ci/only.sh"),
            ("find ci -name 'c*.sh' -exec sh {} \\;", "ci/check.sh"),
            ("find ci -type f -name 'c*.sh' -exec sh -c 'sh $1' x {} +", "ci/check.sh"),
            ("find . -name \"only*\" -print0 | xargs -0 -n1 sh", "ci/only.sh"),
            ("find ci -name 'c*' | xargs -I{} sh {}", "ci/check.sh"),
            ("find ci/check.sh -exec {} \\;", "ci/check.sh"),
            ("uv run ci/check.sh data", "ci/check.sh"),
            ("npx --yes -p data ./check.sh; uvx data", "check.sh"),
            ("poetry run python ci/check.sh", "ci/check.sh"),
            ("ls ci/*.sh; grep hi ci/*; shellcheck ci/*.sh; node --test ci/*.sh; bun test ci/*.sh", ""),
            ("find . -name '*.sh' | xargs grep hi; find ci -exec cat {} +", ""),
        ] {
            assert_eq!(files.shown(in_shell_command(command, &files.1)), expected, "{command}");
        }
        fs::create_dir(files.1.join("ci/pack")).unwrap();
        fs::write(files.1.join("ci/pack/__main__.py"), "").unwrap();
        fs::write(files.1.join("ci/mod.py"), "").unwrap();
        fs::create_dir(files.1.join(".git")).unwrap();
        for (command, expected) in [
            ("cd $(git rev-parse --show-toplevel)/ci && sh only.sh", "ci/only.sh"),
            ("sh \"`git rev-parse --show-toplevel`/ci/check.sh\"", "ci/check.sh"),
            ("cd ci && python3 -m mod", "ci/mod.py"),
            ("python -sm ci.mod data", "ci/mod.py"),
            ("uv run -m ci.pack", "ci/pack/__main__.py"),
            ("uv run --with data python -mci.pack", "ci/pack/__main__.py"),
            ("python -m pytest ci/mod.py; python -c ci.mod", ""),
        ] {
            assert_eq!(files.shown(in_shell_command(command, &files.1)), expected, "{command}");
        }
        for (command, expected) in [
            ("F=new.sh; sh $F", "new.sh"),
            ("F=check; sh $F.sh; F=new; sh ci/$F.sh", ""),
            ("F=new.sh; grep hi $F", ""),
        ] {
            let found: Vec<PathBuf> = missing_of_shell(command, &files.1).concat();
            assert_eq!(files.shown(found), expected, "{command}");
        }
    }

    #[test]
    fn a_file_that_a_check_would_execute_is_missed_and_one_that_it_would_read_is_not() {
        let files = Files::new();
        for (command, expected) in [
            ("sh new.sh", "new.sh"),
            ("./new && true", "new"),
            ("cd ci && sh new.sh", "new.sh ci/new.sh"),
            ("cd ci && sh only.sh", ""),
            ("env -C ci ./new", "new ci/new"),
            ("sh $PWD/new.sh", "new.sh"),
            ("timeout 9 bash -euo pipefail ci/new --all", "ci/new"),
            ("python3 new.py check.sh", "new.py"),
            ("sh -c 'sh new.sh'; bash -ec ./new", "new.sh new"),
            ("sh -c 'mkdir -p ci && cp check.sh ci/new && ./ci/new'", "ci/new"),
            (". ./new; source ci/new", "new ci/new"),
            ("make -f new.mk; sh < new.sh", "new.mk new.sh"),
            ("grep -q hi new.txt; test -f new.txt; test -x ./new.txt", ""),
            ("cat new.txt | sort > new.sh; cargo test new", ""),
            ("deno test; java com.example.Main; bun run lint; make new", ""),
            ("sh $NEW; sh ~/new.sh; sh ../new.sh; ./*.sh; sh /new.sh", ""),
            ("python -m pytest new.py; sh -c 'true' new.sh; bash -s < /dev/null", ""),
        ] {
            let found: Vec<PathBuf> = missing_of_shell(command, &files.1).concat();
            assert_eq!(files.shown(found), expected, "{command}");
        }
    }

    #[test]
    fn a_script_that_only_the_shell_knows_is_unknown() {
        let files = Files::new();
        for (command, expected) in [
            ("sh $CHECK", true),
            ("python \"$(cat name)\"", true),
            ("for f in $(ls ci); do sh ci/$f; done", true),
            ("ls | while read f; do sh $f; done", true),
            ("sh -c \"$CODE\"", true),
            ("sh -c 'set -e; sh `cat name`'", true),
            ("make test; cargo test; npm test; pytest $ARGS", false),
            ("test -f x && sh y.sh", false),
            ("sh -c 'mkdir -p build && ./build/t'", false),
            ("F=check.sh; sh $F $1; sh $PWD/ci/check.sh", false),
            ("sh $HOME/check.sh; python \"$@\"; $CARGO test", false),
            ("python -m pytest $X; sh ci/check.sh $X", false),
            ("cd $(git rev-parse --show-toplevel) && sh check.sh", false),
        ] {
            assert_eq!(is_unknown_in_shell(command, &files.1), expected, "{command}");
        }
    }

    #[test]
    fn a_file_that_a_check_only_reads_or_writes_is_the_work() {
        let files = Files::new();
        for command in [
            "grep -q hi data",
            "test -f data && test -s ./data",
            "timeout 60 grep -q hi data",
            "sh -c 'grep -q hi data'",
            "env A=1 nice wc -l < data > check.sh",
            "python -m pytest data",
            "python -c 'import sys' data",
            "perl -ne 'exit 1' data",
            "diff data ci/agent.json",
            "cargo test ci ci/deep /bin/sh ../etc missing.sh",
            "make data",
        ] {
            assert_eq!(files.shown(in_shell_command(command, &files.1)), "", "{command}");
        }
        assert_eq!(files.shown(started_by_shell("sh check.sh shebang able", &files.1)), "check.sh");
    }

    #[test]
    fn of_an_agents_words_its_program_scripts_and_settings_count() {
        let files = Files::new();
        let line = "set -e; X=1 exec sh ci/check.sh | tee check.sh; cat check.sh > ci/check.sh";
        for (words, expected) in [
            (&["sh", "check.sh", "data"][..], "check.sh"),
            (&["./check.sh", "ci", "data"], "check.sh"),
            (&["claude", "--settings=ci/agent.json", "--log", "data"], "ci/agent.json"),
            (&["claude", "--mcp-config", "ci/agent.json"], "ci/agent.json"),
            (&["claude", "--hook=shebang"], "shebang"),
            (&["claude", "-p"], ""),
            (&["env", "A=1", "timeout", "60", "sh", "check.sh"], "check.sh"),
            (&["sh", "-c", line], "ci/check.sh"),
            (&["sh", "-c", "cat > check.sh; echo >> ci/check.sh"], ""),
        ] {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            assert_eq!(files.shown(in_command_line(&words, &files.1)), expected, "{words:?}");
        }
    }
}
