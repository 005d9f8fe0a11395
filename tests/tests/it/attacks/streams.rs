//! What an agent prints, in every way it should not.
//!
//! The program is a script that prints a damaged recording of a real agent.
//! Whatever it prints, the run ends in an outcome of its own, in bounded memory,
//! and the plan is what it was.

use std::{fs, path::Path, time::Duration};

use samuel_core::model::Status;

use crate::attacks::{
    kit::{Dice, Target, copied, ran, times},
    writers::store,
};

/// Every exit code of `run start`.
const DOCUMENTED: [i32; 6] = [0, 1, 3, 4, 5, 78];

/// How much memory a run may take for itself, in KiB.
const DATA: usize = 512 << 10;

const ADAPTERS: [&str; 4] = ["claude", "codex", "gemini", "copilot"];

/// The recordings of an agent.
fn recordings(agent: &str) -> Vec<Vec<u8>> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../crates/samuel-agent/tests/data/agent");
    let entries = fs::read_dir(directory).unwrap().flatten();
    let ours = entries.filter(|entry| entry.file_name().to_string_lossy().starts_with(agent));
    let mut found: Vec<_> = ours.map(|entry| fs::read(entry.path()).unwrap()).collect();
    found.sort();
    assert!(!found.is_empty(), "there is no recording of {agent}");
    found
}

/// Damages a recording in one of many ways.
fn damage(stream: &[u8], others: &[Vec<u8>], dice: &mut Dice) -> Vec<u8> {
    let lines: Vec<&[u8]> = stream.split_inclusive(|byte| *byte == b'\n').collect();
    let (at, line) = (dice.below(stream.len() as u64) as usize, dice.below(lines.len() as u64) as usize);
    let text = String::from_utf8_lossy(stream).into_owned();
    let insert = |what: &[u8]| [&stream[..at], what, &stream[at..]].concat();
    match dice.below(16) {
        0 => stream[..at].to_vec(),
        1 => insert(b"\xff\xfe\xc0\x80\0\x1b]52;c;eA==\x07"),
        2 => insert(&b"x".repeat(2 << 20)),
        3 => [&b"[".repeat(100_000)[..], b"\n", stream].concat(),
        4 => [br#"{"a":"#.repeat(50_000), b"\n".to_vec(), stream.to_vec()].concat(),
        5 => numbers(&text, "-1"),
        6 => numbers(&text, "1e999"),
        7 => numbers(&text, "99999999999999999999999999"),
        8 => numbers(&text, "\"text\""),
        9 => text.replace('\n', "").into_bytes(),
        10 => lines.iter().rev().flat_map(|line| line.to_vec()).collect(),
        11 => [stream, &lines[lines.len() - 1].repeat(200)[..]].concat(),
        12 => lines.iter().enumerate().filter(|(n, _)| *n != line).flat_map(|(_, l)| l.to_vec()).collect(),
        13 => {
            let other: Vec<&[u8]> = others[dice.below(others.len() as u64) as usize]
                .split_inclusive(|byte| *byte == b'\n')
                .collect();
            lines.iter().zip(&other).flat_map(|(a, b)| [*a, *b].concat()).collect()
        }
        14 => stream
            .iter()
            .map(|byte| if dice.below(50) == 0 { dice.below(256) as u8 } else { *byte })
            .collect(),
        _ => text
            .replace("null", "{}")
            .replace("true", "[]")
            .replace("\"type\"", "\"type\":7,\"type\"")
            .into_bytes(),
    }
}

/// Replaces every number behind a colon.
fn numbers(text: &str, number: &str) -> Vec<u8> {
    let mut parts = text.split(':');
    let mut replaced = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        let rest = part.trim_start_matches(|c: char| c.is_ascii_digit() || c == '.');
        replaced.push(':');
        replaced.push_str(if rest.len() < part.len() { number } else { "" });
        replaced.push_str(rest);
    }
    replaced.into_bytes()
}

// Takes about 12 s: each of the 24 streams is a run.
#[test]
fn a_hostile_stream_ends_in_an_outcome_and_leaves_the_plan_alone() {
    let all: Vec<Vec<u8>> = ADAPTERS.iter().flat_map(|agent| recordings(agent)).collect();
    let mut dice = Dice(0xbad_57e4);
    let base = Target::with_tasks(&["one", "two"]);
    for round in 0..times(24, 450) {
        let agent = ADAPTERS[round % ADAPTERS.len()];
        let ours = recordings(agent);
        let target = Target::new();
        copied(&base.path("."), &target.root());
        let recording = &ours[dice.below(ours.len() as u64) as usize];
        target.write("stream", damage(recording, &all, &mut dice));
        let code = [0, 0, 1, 137][dice.below(4) as usize];
        target.program("agent.sh", &format!("#!/bin/sh\ncat > /dev/null\ncat stream\nexit {code}\n"));
        let start = ["run", "start", "--agent", agent, "--agent-command", "./agent.sh", "--yes", "--json"];
        let last = ["--max-iterations", "1", "--pause", "0"];
        let command = target.samuel_after(&format!("ulimit -d {DATA}"), &[&start[..], &last].concat());
        let ran = ran(command, Duration::from_secs(20));
        let what = format!("round {round}, {agent}");
        assert!(!ran.hung, "{what} hangs");
        assert!(!ran.text().contains("panicked at"), "{what}: {}", ran.text());
        let documented = ran.code.is_some_and(|code| DOCUMENTED.contains(&code));
        assert!(documented, "{what} exits {:?}: {}", ran.code, ran.text());
        // Events come line by line, the answer at the end.
        let last = ran.stdout.trim_ascii_end().rsplit(|byte| *byte == b'\n').next().unwrap();
        let answer: serde_json::Value = serde_json::from_slice(last).expect("a document of JSON");
        assert!(answer.get("ok").is_some(), "{what}: {answer}");
        let loaded = store(&target).load().unwrap();
        assert_eq!((loaded.diagnostics.len(), loaded.plan.tasks.len()), (0, 2), "{what}");
        assert!(
            loaded.plan.tasks.iter().all(|task| task.status != Status::Completed),
            "{what} completed a task"
        );
        let progress = &loaded.plan.progress;
        assert!(progress.cost_usd.is_finite() && progress.cost_usd >= 0.0, "{what}: {progress:?}");
    }
}
