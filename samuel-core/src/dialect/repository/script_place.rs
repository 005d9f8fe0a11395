//! Where the program of a hook's command is.

use std::path::{Path, PathBuf};

use crate::{
    config::shorten,
    fs::{FileError, LastLink, PathKind, Place, Root},
    script::CommandLine,
};

/// Programs that are given a script to run.
const INTERPRETERS: [&str; 12] =
    ["sh", "bash", "dash", "zsh", "python", "python3", "node", "deno", "bun", "ruby", "perl", "env"];

/// What is wrong with the place of a command's program or script.
pub(super) struct Misplaced {
    /// The path as it stands in the command.
    pub(super) path: PathBuf,
    /// What is wrong, and what to do about it.
    pub(super) what: String,
    pub(super) help: String,
    /// Whether the hook cannot be used: it leads out of the repository.
    pub(super) leads_out: bool,
}

/// Looks at the program that a command starts, and at the script that it gives an interpreter, where these
/// are named by a path. What only a shell knows is left to the start.
pub(super) fn problem(line: &CommandLine, root: &Root) -> Option<Misplaced> {
    let words = words(line);
    let program = words.first()?;
    if program.contains('/') {
        let found = look(program, root);
        return wrong(program, &found).or_else(|| not_executable(program, &found));
    }
    let script = words.iter().skip(1).find(|word| !word.starts_with('-'))?;
    let is_script = INTERPRETERS.contains(&program.as_str()) && script.contains('/');
    is_script.then(|| wrong(script, &look(script, root)))?
}

/// Looks once at what is at a path.
fn look(path: &str, root: &Root) -> Result<Place, FileError> {
    root.walk(Path::new(path), LastLink::Follow)
}

/// Returns the words of a command, of a shell's line those that stand for themselves.
fn words(line: &CommandLine) -> Vec<String> {
    match line {
        CommandLine::Words(words) => words.iter().map(|word| word.to_string_lossy().into_owned()).collect(),
        CommandLine::Shell(text) => {
            let first = text.trim_start().lines().next().unwrap_or_default();
            let is_plain = |word: &&str| !word.contains(|c: char| "$`'\"\\;&|<>(){}*?[]#~=".contains(c));
            first.split_whitespace().take_while(is_plain).map(str::to_owned).collect()
        }
    }
}

/// Says why what was found is no file of the repository.
fn wrong(path: &str, found: &Result<Place, FileError>) -> Option<Misplaced> {
    let what = match found {
        Ok(place) if place.kind() == Some(PathKind::File) => return None,
        Err(inside @ (FileError::Outside { .. } | FileError::Elsewhere { .. })) => {
            return Some(Misplaced {
                path: path.into(),
                what: format!("\"{}\" is not a file of the repository: {inside}", shorten(path)),
                help: "Put the script into the repository, such as below scripts/hooks/. Programs of the system \
                       are named without a path."
                    .to_owned(),
                leads_out: true,
            });
        }
        Ok(place) if place.kind().is_some() => format!("\"{}\" is not a file", shorten(path)),
        Err(error) if !error.is_not_found() => {
            let what = format!("\"{}\" cannot be looked at: {error}", shorten(path));
            let help = "Check the permissions of the directories above it, and where links lead.".to_owned();
            return Some(Misplaced { path: path.into(), what, help, leads_out: false });
        }
        _ => format!("\"{}\" does not exist", shorten(path)),
    };
    let help =
        "Add the script before a run begins, or correct the command. Paths start at the repository's root.";
    Some(Misplaced { path: path.into(), what, help: help.to_owned(), leads_out: false })
}

fn not_executable(path: &str, found: &Result<Place, FileError>) -> Option<Misplaced> {
    let mode = found.as_ref().ok()?.found?.st_mode;
    (mode & 0o111 == 0).then(|| Misplaced {
        path: path.into(),
        what: format!("\"{}\" cannot be executed", shorten(path)),
        help: format!("Run `chmod +x {path}`, or name what runs it, as in `sh {path}`."),
        leads_out: false,
    })
}
