//! Processes of this machine, as tests look for them: by a word that stands in their arguments.

use std::{
    fs,
    path::PathBuf,
    thread,
    time::{Duration, Instant},
};

/// Says whether a process has a word as one of its arguments.
pub fn has_process(word: &str) -> bool {
    process_with(|arguments| arguments.iter().any(|argument| argument == word)).is_some()
}

/// Returns the number of a process whose arguments, the program before them, are as asked.
///
/// # Panics
/// Panics where there is no `/proc`.
pub fn process_with(is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
    let processes = fs::read_dir("/proc").expect("Linux").flatten();
    let mut numbers = processes.filter_map(|process| process.file_name().to_str()?.parse().ok());
    numbers.find(|number| is_it(&arguments_of(*number)))
}

/// Returns the number of the nearest process above another one whose arguments are as asked.
pub fn process_above(number: u32, is_it: impl Fn(&[String]) -> bool) -> Option<u32> {
    let mut above = parent_of(number);
    while let Some(number) = above.filter(|number| *number > 1) {
        if is_it(&arguments_of(number)) {
            return Some(number);
        }
        above = parent_of(number);
    }
    None
}

fn arguments_of(number: u32) -> Vec<String> {
    let line = fs::read(PathBuf::from(format!("/proc/{number}/cmdline"))).unwrap_or_default();
    let words = line.split(|byte| *byte == 0).filter(|word| !word.is_empty());
    words.map(|word| String::from_utf8_lossy(word).into_owned()).collect()
}

fn parent_of(number: u32) -> Option<u32> {
    let stat = fs::read_to_string(format!("/proc/{number}/stat")).ok()?;
    stat.rsplit(") ").next()?.split(' ').nth(1)?.parse().ok()
}

/// Waits for something, for a while, and says whether it came.
pub fn within(limit: Duration, mut holds: impl FnMut() -> bool) -> bool {
    let end = Instant::now() + limit;
    while Instant::now() < end {
        if holds() {
            return true;
        }
        // Whoever is waited for needs the processor.
        thread::sleep(Duration::from_millis(5));
    }
    holds()
}
