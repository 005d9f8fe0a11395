//! The programs that a command line starts for certain, as it names them.

use super::{command_words::program_of, shell_line::commands};

/// What the shell does itself.
const OF_SHELL: &[&str] = &[
    ":", "[", "[[", "]]", "}", "break", "builtin", "continue", "declare", "done", "echo", "esac", "exit",
    "false", "fi", "for", "getopts", "in", "jobs", "let", "local", "printf", "pwd", "read", "readonly",
    "return", "select", "set", "shift", "shopt", "test", "times", "trap", "true", "typeset", "ulimit",
    "umask", "unset", "wait",
];

/// Words after which the same name may stand for something else, or may not be started at all.
const ENDS: &[&str] = &[
    ".", "alias", "busybox", "case", "chroot", "command", "elif", "eval", "export", "function", "hash", "if",
    "source", "type", "unalias", "until", "which", "while",
];

/// Where a line is no longer read: what follows is text, or is expanded.
const CUTS: &[&str] = &["<<", "(", "`", "#"];

/// How many commands of a line are looked at.
const MAX_COMMANDS: usize = 100;

/// Returns the programs that a shell command starts in any case, in order: names, and paths
/// from where it begins. Of one that is not certain nothing is said, as in `a || b`.
pub(crate) fn programs_of_shell(line: &str) -> Vec<String> {
    let mut programs = Vec::new();
    if line.contains("||") || line.contains("()") {
        return programs;
    }
    let cut = CUTS.iter().filter_map(|mark| line.find(mark)).min();
    let certain = cut.and_then(|cut| line.get(..cut)).map(|before| {
        // The word that was cut is not known.
        before.trim_end_matches(|char: char| !char.is_whitespace())
    });
    let mut has_moved = false;
    for words in commands(certain.unwrap_or(line)).into_iter().take(MAX_COMMANDS) {
        let first = words.first().map_or("", String::as_str);
        if ENDS.contains(&first) || words.iter().any(|word| word.starts_with("PATH=")) {
            break;
        }
        if matches!(first, "cd" | "pushd" | "popd") {
            has_moved = true;
            continue;
        }
        let Some(program) = words.get(program_of(&words)).filter(|program| is_plain(program)) else {
            continue;
        };
        let is_elsewhere = program.contains('/') && (has_moved || words.iter().any(|word| word == "env"));
        if !OF_SHELL.contains(&program.as_str()) && !is_elsewhere && !programs.contains(program) {
            programs.push(program.clone());
        }
    }
    programs
}

fn is_plain(word: &str) -> bool {
    let begins = word.starts_with(|char: char| char.is_alphanumeric() || "./_".contains(char));
    begins && word.chars().all(|char| char.is_alphanumeric() || "./_+-".contains(char))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_started_for_certain_is_a_program_of_a_line() {
        for (line, expected) in [
            ("cargo test --all", "cargo"),
            ("npx --yes lint; uv run ./b", "npx uv"),
            ("set -e; mkdir -p a && ./b; X=1 timeout 60 c | tee log", "mkdir ./b c tee"),
            ("cd ci && ./b; make", "make"),
            ("env -C ci ./b", ""),
            ("echo $(date) rest", ""),
            ("for f in a b; do lint $f; done", "lint"),
            ("build; . venv/bin/activate && pytest", "build"),
            ("build && PATH=bin:$PATH lint; lint", "build"),
            ("command -v lint && lint", ""),
            ("if lint; then exit 1; fi", ""),
            ("lint || true", ""),
            ("f() { lint; }; f", ""),
            ("make # what stands here is no program; none", "make"),
            ("cat <<END\nlint\nEND", "cat"),
            ("$TOOL x; ~/lint; *.sh; 'a b' c", ""),
        ] {
            assert_eq!(programs_of_shell(line).join(" "), expected, "{line}");
        }
    }
}
