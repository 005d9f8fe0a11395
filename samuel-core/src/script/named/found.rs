//! What the words of a command line were found to name.

use std::path::{Path, PathBuf};

use super::{
    PROJECT_ROOT, WORKSPACE,
    command_words::{
        BY_OPTION, INTERPRETERS, SHELLS, VALUED, base_name, directory_of, has_code, is_option_with,
        last_program_of, may_be_script, module_of, of_option, program_of,
    },
    effort::{Effort, steps_of},
    paths::{from_here, in_project, without_repeats},
    pattern::{self, is_pattern},
    shell_line::{commands, is_line},
    variables::{TOP, Variables, with_known_substitutions},
};
use crate::fs::lexical;

/// What the shell puts something else in the place of.
const EXPANDED: &[char] = &['$', '`', '*', '?', '[', '{', '~', '='];

/// How many words of a command line are looked at, and how many commands.
pub(super) const MAX_WORDS: usize = 1_000;

/// How deep a command line may stand in another, as in `sh -c "bash -c 'sh a.sh'"`.
const MAX_DEPTH: usize = 5;

/// How many patterns of a command line are looked at.
const MAX_PATTERNS: usize = 50;

/// In how many directories the commands of a line are looked for.
const MAX_DIRECTORIES: usize = 16;

/// The longest path that is looked for, in bytes: the system takes no longer one.
const MAX_PATH: usize = 4_096;

/// How many steps it takes to look for a file.
const STEPS_TO_LOOK: usize = 20;

/// What a command line was found to name.
pub(super) struct Found<'a> {
    pub(super) root: &'a Path,
    /// Where its commands may run: in the root, and where `cd` and `-C` lead. Which of
    /// them it is, is not told apart.
    directories: Vec<PathBuf>,
    /// Words that are executed, where they are files.
    pub(super) executed: Vec<String>,
    /// Words that are executed for certain, also where no file is there yet.
    wanted: Vec<String>,
    /// Words that stand for files that are executed.
    patterns: Vec<String>,
    /// All words.
    pub(super) words: Vec<String>,
    /// What the line sets.
    variables: Variables,
    /// Whether the command that is looked at is known to run as it is read.
    is_certain: bool,
    /// Whether something is executed that no word of its command names.
    reads_input: bool,
    /// Whether something is executed that the command line does not tell.
    pub(super) is_unknown: bool,
    /// A program that is started of which only the shell knows which it is.
    pub(super) unknown_program: Option<String>,
    /// How many commands were looked at.
    looked_at: usize,
    /// What is left to be done.
    effort: Effort,
}

impl<'a> Found<'a> {
    pub(super) fn new(root: &'a Path) -> Self {
        let directories = vec![root.to_owned()];
        let (executed, wanted, patterns, words) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        let variables = Variables::default();
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
            unknown_program: None,
            looked_at,
            effort: Effort::default(),
        }
    }

    /// Looks for what a hook executes, which begins in `cwd` and finds the root in its environment.
    pub(super) fn of_hook(root: &'a Path, cwd: &Path) -> Self {
        let mut found = Self::new(root);
        found.directories = vec![cwd.to_owned()];
        for name in [PROJECT_ROOT, WORKSPACE] {
            found.variables.set(name, root.to_str().map(str::to_owned).into_iter().collect());
        }
        found
    }

    /// Returns the files of the project that words name in any of the directories.
    pub(super) fn files(&self, words: &[String]) -> Vec<PathBuf> {
        words.iter().take(MAX_WORDS).flat_map(|word| self.named(word)).collect()
    }

    /// Returns the files that are executed, with those that the patterns stand for.
    pub(super) fn started(&self, patterns: &[PathBuf]) -> Vec<PathBuf> {
        let matches = patterns.iter().flat_map(|pattern| pattern::matches(pattern, self.root));
        let matches = matches.filter_map(|path| in_project(&path, self.root));
        self.files(&self.executed).into_iter().chain(matches).collect()
    }

    /// Returns where the files would stand that do not exist.
    pub(super) fn missing(&self) -> Vec<Vec<PathBuf>> {
        let wanted = self.wanted.iter().take(MAX_WORDS);
        let mut missing: Vec<Vec<PathBuf>> = wanted.filter_map(|word| self.missing_of(word)).collect();
        missing.dedup();
        missing
    }

    /// Returns the patterns of what is executed in each of the directories, relative to the root.
    pub(super) fn patterns(&self) -> Vec<PathBuf> {
        let all = self.patterns.iter().take(MAX_PATTERNS).flat_map(|word| {
            let word = from_here(word);
            let whole = self.directories.iter().map(move |directory| lexical(&directory.join(word)));
            whole.filter_map(|path| path.strip_prefix(self.root).ok().map(Path::to_owned))
        });
        without_repeats(all).into_iter().take(MAX_PATTERNS).collect()
    }

    fn named(&self, word: &str) -> impl Iterator<Item = PathBuf> {
        let word = from_here(word);
        let directories = self.directories.iter().filter(move |_| word.len() <= MAX_PATH);
        directories.filter_map(move |directory| in_project(&directory.join(word), self.root))
    }

    /// Returns where a file would stand of which there is none; nothing where there is one, or
    /// where only the shell knows its name.
    fn missing_of(&self, word: &str) -> Option<Vec<PathBuf>> {
        let word = from_here(word);
        if word.is_empty() || word.len() > MAX_PATH || word.contains(EXPANDED) || word.ends_with('/') {
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
        if directory.len() > MAX_PATH || !self.spend(STEPS_TO_LOOK) {
            return;
        }
        for from in self.directories.clone() {
            let to = lexical(&from.join(from_here(directory)));
            let is_new = to.starts_with(self.root) && !self.directories.contains(&to);
            if is_new && to.as_os_str().len() <= MAX_PATH && self.directories.len() < MAX_DIRECTORIES {
                self.directories.push(to);
            }
        }
    }

    pub(super) fn of_line(line: &str, root: &'a Path) -> Self {
        Self::new(root).with_line(line)
    }

    pub(super) fn with_line(mut self, line: &str) -> Self {
        self.line(line, 0);
        self.with_input()
    }

    pub(super) fn with_words(mut self, words: &[String]) -> Self {
        self.command(words, false, 0);
        self.words.extend(words.iter().take(MAX_WORDS).cloned());
        self.with_input()
    }

    /// Counts all words where an interpreter reads what it executes, as in `cat a.sh | sh`.
    fn with_input(mut self) -> Self {
        if self.reads_input {
            self.executed.extend(self.words.iter().cloned());
            self.patterns.extend(self.words.iter().filter(|word| is_pattern(word)).cloned());
        }
        self
    }

    /// Takes so many steps, if as many are left; if not, what the line executes is unknown.
    fn spend(&mut self, steps: usize) -> bool {
        let is_left = self.effort.spend(steps);
        self.is_unknown |= !is_left;
        is_left
    }

    /// Finds what `$(git rev-parse --show-toplevel)` stands for.
    fn know_top(&mut self) {
        let top = self.root.ancestors().find(|directory| directory.join(".git").exists());
        let top = top.unwrap_or(self.root).to_str().map(str::to_owned);
        self.variables.keep(TOP, top.into_iter().collect());
    }

    fn line(&mut self, line: &str, depth: usize) {
        if !self.spend(steps_of(line)) {
            return;
        }
        let line = with_known_substitutions(line);
        if line.contains(TOP) {
            self.know_top();
        }
        let is_certain = self.is_certain;
        for words in commands(&line).into_iter().take(MAX_WORDS) {
            if self.looked_at > MAX_WORDS || self.effort.is_spent() {
                break;
            }
            self.variables.assign(&words, &mut self.effort);
            let readings = self.variables.readings(&words, &mut self.effort);
            self.is_unknown |= self.effort.is_spent();
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
    pub(super) fn command(&mut self, words: &[String], is_code: bool, depth: usize) {
        self.looked_at += 1;
        if self.looked_at > MAX_WORDS || !self.spend(words.len()) {
            self.is_unknown = true;
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
            let is_line_of_code = is_code && is_line(program);
            if program.contains('/') && self.is_certain && !is_line_of_code {
                self.wanted.push(program.clone());
            }
            self.reads_input |= program.starts_with("$(") || matches!(name, "$" | "eval");
            // What a variable stands for may be an interpreter.
            if from_here(program).starts_with('$') {
                self.executed.extend(words.iter().cloned());
            }
            if is_unknown(program) && !is_line_of_code {
                self.unknown_program.get_or_insert_with(|| program.clone());
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
            let unknown_program = self.unknown_program.clone();
            words.iter().filter(|word| is_line(word)).for_each(|word| self.line(word, depth + 1));
            // An argument may be a line that is executed, as `"$A is done"` is not.
            if !is_code {
                self.unknown_program = unknown_program;
            }
        }
    }

    /// Follows what `find` starts, and counts what it prints among the words.
    fn find(&mut self, words: &[String], depth: usize) {
        self.words.extend(pattern::of_find(words));
        if depth < MAX_DEPTH {
            let is_certain = std::mem::take(&mut self.is_certain);
            let started = pattern::started_by_find(words);
            self.spend(started.iter().map(Vec::len).sum());
            for words in started {
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
        if !self.spend(words.len()) {
            return;
        }
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
                if !self.spend(STEPS_TO_LOOK * self.directories.len()) {
                    return;
                }
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
