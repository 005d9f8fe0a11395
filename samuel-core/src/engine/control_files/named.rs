//! The files of a project that a command line names.

use std::path::{Component, Path, PathBuf};

/// How many words of a command line are looked at.
const MAX_WORDS: usize = 1_000;

/// Programs whose first operand is a script.
const INTERPRETERS: &[&str] = &[
    "sh", "bash", "dash", "zsh", "ksh", "fish", "source", ".", "exec", "python", "python3", "node", "deno",
    "bun", "ruby", "perl", "php", "lua",
];

/// Returns the files of the project that the words of a shell command name:
/// `./check.sh` and the second word of `sh ci/check.sh`. What a word stands for,
/// such as a pattern or a directory, is none, nor is a file that output goes to.
pub(super) fn in_shell_command(command: &str, root: &Path) -> Vec<PathBuf> {
    // Where one command ends and the next begins is the shell's.
    let apart: String =
        without_targets(command).chars().map(|c| if ";&|()<>`".contains(c) { ' ' } else { c }).collect();
    let words = shlex::split(&apart).unwrap_or_else(|| {
        apart.split_whitespace().map(|word| word.trim_matches(['"', '\'']).to_owned()).collect()
    });
    // What is quoted as one word may be a command line of its own: `bash -c 'sh a.sh'`.
    let inner = words.iter().filter(|word| word.contains(char::is_whitespace));
    let inner = inner.flat_map(|line| line.split_whitespace()).map(str::to_owned);
    in_words(&words.iter().cloned().chain(inner).collect::<Vec<_>>(), root)
}

/// Returns the files of the project that the words of a program's command line
/// name: the program itself only where it is given as a path, since one by its name
/// is not looked for in the project. Of a word that is a command line itself, as in
/// `bash -c 'sh a.sh >> log'`, only the scripts that it starts count: an agent's other
/// files are its work.
pub(in crate::engine) fn in_command_line(words: &[String], root: &Path) -> Vec<PathBuf> {
    let on_path = words.first().is_some_and(|program| !program.contains('/'));
    let lines = words.iter().filter(|word| word.contains(char::is_whitespace));
    let scripts = lines.flat_map(|line| scripts_in(line)).map(str::to_owned);
    let words = words.iter().skip(usize::from(on_path));
    // The value of an option may stand in the same word: `--settings=ci/agent.json`.
    let values = words.clone().filter_map(|word| word.split_once('=').map(|(_, value)| value.to_owned()));
    in_words(&words.cloned().chain(values).chain(scripts).collect::<Vec<_>>(), root)
}

/// Returns the files of the project that a shell command starts as programs or
/// scripts: fewer than it names, and none that a check only writes to.
pub(super) fn started_by_shell(command: &str, root: &Path) -> Vec<PathBuf> {
    in_words(&scripts_in(command).map(str::to_owned).collect::<Vec<_>>(), root)
}

/// Returns the words of a shell's text that are started as programs or scripts.
fn scripts_in(text: &str) -> impl Iterator<Item = &str> {
    text.split([';', '&', '|', '\n', '(', ')', '`']).filter_map(|command| {
        let command = command.split(['<', '>']).next().unwrap_or_default();
        let is_operand = |word: &&str| !word.starts_with('-') && !word.contains('=');
        let words = command.split_whitespace().map(|word| word.trim_matches(['"', '\''])).filter(is_operand);
        let words: Vec<&str> = words.collect();
        let is_interpreter = |word: &&str| INTERPRETERS.contains(&word.rsplit('/').next().unwrap_or(word));
        // Others may stand before it: `timeout 60 sh check.sh`.
        match words.iter().rposition(is_interpreter) {
            Some(interpreter) => words.get(interpreter + 1).copied(),
            None => words.first().copied().filter(|program| program.contains(['/', '.'])),
        }
    })
}

/// Leaves out where the output of a command goes: `> log` outside of quotes.
fn without_targets(command: &str) -> String {
    let mut kept = String::with_capacity(command.len());
    let (mut chars, mut quote) = (command.chars().peekable(), None);
    while let Some(char) = chars.next() {
        match (char, quote) {
            ('\\', _) => {
                kept.push(char);
                kept.extend(chars.next());
                continue;
            }
            ('"' | '\'', None) => quote = Some(char),
            (_, Some(open)) if char == open => quote = None,
            ('>', None) => {
                while chars.next_if(|next| matches!(next, '>' | '|' | '&') || next.is_whitespace()).is_some()
                {
                }
                while chars.next_if(|next| !next.is_whitespace() && !";&|()<>`".contains(*next)).is_some() {}
                kept.push(' ');
                continue;
            }
            _ => {}
        }
        kept.push(char);
    }
    kept
}

/// Returns the files of the project that words name.
pub(in crate::engine) fn in_words(words: &[String], root: &Path) -> Vec<PathBuf> {
    let words = words.iter().take(MAX_WORDS);
    let is_file = |path: &PathBuf| std::fs::metadata(path).is_ok_and(|found| found.is_file());
    let stays_inside = |path: &PathBuf| path.starts_with(root);
    let named = words.map(|word| lexical(&root.join(word)));
    named.filter(stays_inside).filter(is_file).collect()
}

/// Leaves `.` and `..` out of a path, without looking at the disk.
fn lexical(path: &Path) -> PathBuf {
    let mut plain = PathBuf::new();
    for part in path.components() {
        match part {
            Component::CurDir => {}
            Component::ParentDir => _ = plain.pop(),
            part => plain.push(part),
        }
    }
    plain
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn files_are_found_however_a_command_names_them() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("ci/deep")).unwrap();
        for script in ["check.sh", "ci/check.sh", "ci/with space.py", "*", "claude"] {
            fs::write(root.join(script), "exit 1").unwrap();
        }
        let shown = |found: Vec<PathBuf>| {
            let found = found.into_iter();
            found.map(|path| path.strip_prefix(&root).unwrap().display().to_string()).collect::<Vec<_>>()
        };
        let named = |command: &str| shown(in_shell_command(command, &root));
        assert_eq!(named("./check.sh"), ["check.sh"]);
        assert_eq!(named("cd . && sh ci/deep/../check.sh; true"), ["ci/check.sh"]);
        assert_eq!(named("python 'ci/with space.py' --all"), ["ci/with space.py"]);
        assert_eq!(named(&format!("sh {}/check.sh", root.display())), ["check.sh"]);
        assert_eq!(named("bash -c 'set -e; sh ci/check.sh'"), ["ci/check.sh"]);
        assert_eq!(
            named("sh ci/check.sh > check.sh 2>>'check.sh'; grep '>' ci/check.sh"),
            ["ci/check.sh"; 2]
        );
        let started = |command: &str| shown(started_by_shell(command, &root));
        assert_eq!(started("timeout 60 sh -e ci/check.sh check.sh | tee check.sh"), ["ci/check.sh"]);
        assert_eq!(started("X=1 ./check.sh && bash -c 'sh ci/check.sh'"), ["check.sh", "ci/check.sh"]);
        assert_eq!(named("cargo test ci ci/deep /bin/sh ../etc missing.sh"), [""; 0]);
        assert_eq!(named("sh 'check.sh"), ["check.sh"], "the shell may read what shlex does not");

        let of_agent = |words: &[&str]| {
            let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
            shown(in_command_line(&words, &root))
        };
        assert_eq!(of_agent(&["sh", "check.sh"]), ["check.sh"]);
        assert_eq!(of_agent(&["./check.sh", "ci"]), ["check.sh"]);
        assert_eq!(of_agent(&["claude", "--settings=ci/check.sh"]), ["ci/check.sh"]);
        assert_eq!(of_agent(&["claude", "-p"]), [""; 0], "a program is looked for on PATH alone");
        let line = "set -e; X=1 exec sh ci/check.sh | tee check.sh; cat check.sh > ci/check.sh";
        assert_eq!(of_agent(&["sh", "-c", line]), ["ci/check.sh"]);
        assert_eq!(of_agent(&["sh", "-c", "cat > check.sh; echo >> ci/check.sh"]), [""; 0]);
    }
}
