//! Asking a program of a sandbox something, with an end to the wait.

use std::{
    process::{Child, Command, Output, Stdio},
    sync::mpsc,
    time::Duration,
};

use rustix::process::{Pid, Signal, kill_process};

/// Runs a command to its end, and returns what it printed or the last line of what it said was wrong.
pub(super) fn asked(command: &mut Command, patience: Duration) -> Result<String, String> {
    let output = output_of(command, patience)?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(last_words(&output)),
    }
}

/// Runs a command to its end in the root directory, without input.
pub(super) fn output_of(command: &mut Command, patience: Duration) -> Result<Output, String> {
    let command = command.current_dir("/").stdin(Stdio::null());
    let started = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let child = started.map_err(|error| error.to_string())?;
    let pid = child.id();
    let (sender, ended) = mpsc::channel();
    std::thread::spawn(move || sender.send(Child::wait_with_output(child)));
    let Ok(output) = ended.recv_timeout(patience) else {
        if let Some(pid) = i32::try_from(pid).ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        return Err(format!("it gave no answer within {} seconds", patience.as_secs()));
    };
    output.map_err(|error| error.to_string())
}

/// Returns the last line of what a command said was wrong.
pub(super) fn last_words(output: &Output) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    told.lines().last().unwrap_or("it failed without a word").trim().to_owned()
}

/// Returns the last lines of what a command said was wrong, in one: a tool that runs others says so last, and why before.
pub(super) fn last_lines(output: &Output, count: usize) -> String {
    let told = String::from_utf8_lossy(&output.stderr);
    let lines: Vec<&str> = told.lines().map(str::trim).filter(|line| !line.is_empty()).collect();
    match lines.get(lines.len().saturating_sub(count)..) {
        Some(last) if !last.is_empty() => last.join(" | "),
        _ => last_words(output),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_told_in_one() {
        let told = |script: &str| {
            let output = output_of(Command::new("/bin/sh").args(["-c", script]), Duration::from_secs(20));
            last_lines(&output.expect("it ends"), 2)
        };
        assert_eq!(told("printf 'one\\ntwo\\n\\nthree\\n' >&2"), "two | three");
        assert_eq!(told("echo one >&2"), "one");
        assert_eq!(told("true"), "it failed without a word");
    }
}
