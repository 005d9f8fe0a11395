//! Files of a project, damaged in any way, under every command that reads them.
//!
//! No damage makes a command panic, hang or end with a code of its own, and none
//! makes a command that writes lose a task that could be read before it.

use std::{collections::BTreeSet, fs, path::PathBuf};

use crate::attacks::kit::{Dice, Target, all_below, times};

/// Every exit code that the documentation names.
const DOCUMENTED: [i32; 9] = [0, 1, 2, 3, 4, 5, 75, 78, 130];

const COMMANDS: [&[&str]; 9] = [
    &["run", "status"],
    &["run", "tasks"],
    &["run", "prompt"],
    &["run", "vars"],
    &["run", "start", "--dry-run"],
    &["doctor"],
    &["run", "done", "2"],
    &["run", "enqueue", "One more"],
    &["doctor", "--fix", "--yes"],
];

/// A project that has worked: one of its tasks is done.
fn project() -> Target {
    let target = Target::with_tasks(&["one", "two, \"quoted\"", "three"]);
    target.write("script.toml", "[[calls]]\nrepeat = true\nsteps = [{ done = {} }]\n");
    let agent =
        ["--agent", "scripted", "--agent-command", "script.toml", "--max-iterations", "1", "--pause", "0"];
    let ran = target.run(&[&["run", "start", "--yes"], &agent[..]].concat());
    assert!(matches!(ran.code, Some(0 | 4)), "{}", ran.text());
    target.write("samuel.lock", "version = 1\n");
    target
}

/// The files that a project and its run are made of.
fn files(target: &Target) -> Vec<(PathBuf, Vec<u8>)> {
    let paths = all_below(&target.root()).into_iter().filter(|path| !path.is_dir());
    let mut found: Vec<_> = paths.map(|path| (path.clone(), fs::read(path).unwrap())).collect();
    found.sort();
    found
}

/// Puts the files back as they were, and removes what came to them.
fn put_back(target: &Target, files: &[(PathBuf, Vec<u8>)]) {
    fs::remove_dir_all(target.path(".samuel")).unwrap();
    for (path, bytes) in files {
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

/// Damages a file in one of a dozen ways.
fn damage(bytes: &[u8], others: &[(PathBuf, Vec<u8>)], dice: &mut Dice) -> Vec<u8> {
    let mut damaged = bytes.to_vec();
    let length = bytes.len().max(1) as u64;
    let at = dice.below(length) as usize;
    let lines: Vec<&[u8]> = bytes.split_inclusive(|byte| *byte == b'\n').collect();
    let line = dice.below(lines.len().max(1) as u64) as usize;
    match dice.below(13) {
        0 => flip(&mut damaged, dice),
        1 => (0..20).for_each(|_| flip(&mut damaged, dice)),
        2 => damaged.truncate(at),
        3 => damaged.clear(),
        4 => damaged.splice(at.min(bytes.len())..at.min(bytes.len()), [0; 64]).for_each(drop),
        5 => damaged.fill(0),
        6 => {
            damaged =
                lines.iter().enumerate().filter(|(n, _)| *n != line).flat_map(|(_, l)| l.to_vec()).collect()
        }
        7 => damaged.extend_from_slice(&bytes[at.min(bytes.len())..]),
        8 => damaged.splice(at.min(bytes.len())..at.min(bytes.len()), *b"\xff\xfe\xc0\x80").for_each(drop),
        9 => damaged = replace_digits(bytes, b"99999999999999999999999999"),
        10 => damaged = replace_digits(bytes, b"-1e308"),
        11 => damaged = others[dice.below(others.len() as u64) as usize].1.clone(),
        _ => damaged = bytes.iter().rev().copied().collect(),
    }
    damaged
}

fn flip(bytes: &mut [u8], dice: &mut Dice) {
    let at = dice.below(bytes.len().max(1) as u64) as usize;
    if let Some(byte) = bytes.get_mut(at) {
        *byte ^= 1 << dice.below(8);
    }
}

/// Replaces every number.
fn replace_digits(bytes: &[u8], number: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::new();
    for run in bytes.chunk_by(|a, b| a.is_ascii_digit() == b.is_ascii_digit()) {
        replaced.extend_from_slice(if run.first().is_some_and(u8::is_ascii_digit) { number } else { run });
    }
    replaced
}

/// The tasks that can be read, where any can.
fn readable(target: &Target) -> Option<BTreeSet<String>> {
    let loaded = target.project().ok()?.plan_store().load().ok()?;
    Some(loaded.plan.tasks.iter().map(|task| task.title.clone()).collect())
}

// Takes about 9 s: after each of the 10 damages nine commands are run.
#[test]
fn no_damage_makes_a_command_panic_hang_or_lose_a_task() {
    let target = project();
    let whole = files(&target);
    // The plan is what there is to lose: every other time it is the one.
    let plan = whole.iter().position(|(path, _)| path.ends_with("prd.toon")).unwrap();
    let mut dice = Dice(0xfee1_dead);
    for round in 0..times(10, 740) {
        let at = if round % 2 == 0 { plan } else { dice.below(whole.len() as u64) as usize };
        let (path, bytes) = &whole[at];
        put_back(&target, &whole);
        fs::write(path, damage(bytes, &whole, &mut dice)).unwrap();
        let name = path.strip_prefix(target.root()).unwrap().display();
        for args in COMMANDS {
            let before = readable(&target);
            let ran = target.run(args);
            assert!(!ran.hung, "round {round}, {name}: {args:?} hangs");
            assert!(!ran.text().contains("panicked at"), "round {round}, {name}: {args:?}: {}", ran.text());
            let documented = ran.code.is_some_and(|code| DOCUMENTED.contains(&code));
            assert!(documented, "round {round}, {name}: {args:?} exits {:?}: {}", ran.code, ran.text());
            if let Some(before) = before {
                let after = readable(&target);
                let kept = after.as_ref().is_some_and(|after| before.is_subset(after));
                assert!(kept, "round {round}, {name}: {args:?} made {after:?} of {before:?}");
            }
        }
    }
}
