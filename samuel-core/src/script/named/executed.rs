//! The files of a project that a command line executes.
//!
//! What a command only reads is the work: `grep -q done notes.md` decides nothing by
//! itself, and the agent has to change notes.md. A file counts where it is the command's
//! program, the script that an interpreter is given, or whatever can be executed.

use std::path::{Path, PathBuf};

use super::{
    command_words::settings,
    found::{Found, MAX_WORDS},
    paths::{can_be_executed, in_project, without_repeats},
    shell_line::is_line,
};

/// What a shell command executes of a project.
#[derive(Debug)]
pub(crate) struct Executed {
    /// The files that it starts, or that it names and that can be executed.
    pub(crate) files: Vec<PathBuf>,
    /// Those of them that it starts as programs or scripts, and does not only name.
    pub(crate) started: Vec<PathBuf>,
    /// Where files would stand that it executes and that do not exist: for each of them a
    /// place in every directory in which the command may look for it.
    pub(crate) missing: Vec<Vec<PathBuf>>,
    /// The patterns of what it executes, relative to the root.
    pub(crate) patterns: Vec<PathBuf>,
    /// Whether it also executes a script of which only the shell knows which it is.
    pub(crate) is_unknown: bool,
    /// A program that it starts of which only the shell knows which it is, as it is written.
    pub(crate) unknown_program: Option<String>,
}

impl Executed {
    /// Reads a shell command, once for everything: patterns are looked up in directories. Blocks.
    pub(crate) fn by_shell(command: &str, root: &Path) -> Self {
        Self::of(&Found::of_line(command, root))
    }

    /// Reads a shell command of a hook, which begins in `cwd` and knows the project's root. Blocks.
    pub(crate) fn by_hook(command: &str, root: &Path, cwd: &Path) -> Self {
        Self::of(&Found::of_hook(root, cwd).with_line(command))
    }

    /// Reads the words of a command that no shell reads, of a hook. Blocks.
    pub(crate) fn by_words(words: &[String], root: &Path, cwd: &Path) -> Self {
        Self::of(&Found::of_hook(root, cwd).with_words(words))
    }

    fn of(found: &Found<'_>) -> Self {
        let root = found.root;
        let patterns = found.patterns();
        let started = without_repeats(found.started(&patterns));
        let named = found.files(&found.words).into_iter().filter(|path| !started.contains(path));
        let able = named.filter(|path| can_be_executed(path, root));
        let files = without_repeats(started.iter().cloned().chain(able));
        Self {
            files,
            started,
            missing: found.missing(),
            patterns,
            is_unknown: found.is_unknown,
            unknown_program: found.unknown_program.clone(),
        }
    }

    /// Returns the files, and the places of those that do not exist.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &PathBuf> {
        self.files.iter().chain(self.missing.iter().flatten())
    }
}

/// Returns the files of the project that a program's command line executes, or that it
/// names and that can be executed: the program itself only where it is given as a path,
/// since one by its name is not looked for in the project. A file that is given as
/// settings or configuration counts too: agents run what stands in theirs. Of a word that
/// is a command line itself, as in `bash -c 'sh a.sh >> log'`, only what it executes counts.
pub(crate) fn in_command_line(words: &[String], root: &Path) -> Vec<PathBuf> {
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
pub(crate) fn in_words(words: &[String], root: &Path) -> Vec<PathBuf> {
    let words = words.iter().take(MAX_WORDS);
    words.filter_map(|word| in_project(Path::new(word), root)).collect()
}
