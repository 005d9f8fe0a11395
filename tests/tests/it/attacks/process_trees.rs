//! Trees of processes in every shape that has been seen to outlive a command.
//!
//! Each tree is generated: processes in their own sessions and groups, orphans,
//! those that ignore signals, stop themselves, clean their environment, close
//! or hold the output. It ends by itself, at its timeout or because it is cancelled, and
//! nothing of it survives.

use std::{
    fmt::Write as _,
    fs,
    path::Path,
    time::{Duration, Instant},
};

use samuel_core::process::{CommandSpec, Containment, Supervisor, spawn};

use crate::attacks::kit::{Dice, HANG, SAMUEL, containments, end, survivors, times};

/// How many processes a tree has at most, beside those that only sleep.
const MAX_NODES: usize = 12;

/// How many trees are there at once.
const AT_ONCE: usize = 10;

/// How a command with such a tree ends.
#[derive(Clone, Copy, Debug)]
enum Way {
    Exit,
    Timeout,
    Cancel,
    Kill,
}

/// Writes the scripts of a tree; `node-0.sh` is its root, which says `up` once
/// it has started all its children.
fn write_tree(dir: &Path, dice: &mut Dice, token: &str, way: Way) {
    let mut waiting = vec![0_usize];
    let mut count = 1;
    while let Some(node) = waiting.pop() {
        let mut script = String::new();
        if dice.below(2) == 0 {
            script += "trap '' TERM HUP INT\n";
        }
        if dice.below(4) == 0 {
            script += "set -m\n";
        }
        let children = dice.below(4);
        for _ in 0..children {
            if count == MAX_NODES {
                break;
            }
            writeln!(script, "{}", start_of(&format!("node-{count}.sh {token}"), dice)).unwrap();
            waiting.push(count);
            count += 1;
        }
        for _ in 0..dice.below(3) {
            writeln!(script, "{}", start_of_sleep(token, dice)).unwrap();
        }
        script += match (node, way, dice.below(4)) {
            (0, Way::Exit, _) => "echo up\nexit 0\n",
            (0, ..) => "echo up\nsleep 1000\nsleep 1000\n",
            (_, _, 0) => "kill -STOP $$\n",
            (_, _, 1) => "exit 0\n",
            (_, _, 2) => "wait\nwhile :; do sleep 1000; done\n",
            _ => "exec sleep 1000\n",
        };
        let script = script.replace("sleep 1000", &format!("sleep {token}"));
        fs::write(dir.join(format!("node-{node}.sh")), script).unwrap();
    }
}

/// Starts a script as a child, by one of the ways to leave one's parent.
fn start_of(script: &str, dice: &mut Dice) -> String {
    match dice.below(8) {
        0 => format!("setsid sh {script} &"),
        1 => format!("(sh {script} &)"),
        2 => format!("(setsid sh -c 'sh {script} & exit 0' &)"),
        3 => format!("env -i setsid sh {script} &"),
        4 => format!("sh {script} 0<&- 1>&- 2>&- &"),
        5 => format!("nohup sh {script} > /dev/null 2>&1 &"),
        6 => format!("(env -i sh {script} > /dev/null 2>&1 0<&- &)"),
        _ => format!("sh {script} &"),
    }
}

/// Starts a process that only sleeps, holding the output or not.
fn start_of_sleep(token: &str, dice: &mut Dice) -> String {
    match dice.below(4) {
        0 => format!("setsid sleep {token} &"),
        1 => format!("sleep {token} > /dev/null 2>&1 &"),
        2 => format!("(env -i setsid sleep {token} 0<&- 1>&- 2>&- &)"),
        _ => format!("sleep {token} &"),
    }
}

async fn grow_and_end(seed: u64, containment: Containment) {
    let mut dice = Dice(seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1);
    let token = format!("8{seed:06}.{:07}", std::process::id());
    let way = match dice.below(4) {
        0 => Way::Exit,
        1 => Way::Timeout,
        2 => Way::Cancel,
        _ => Way::Kill,
    };
    let dir = tempfile::tempdir().unwrap();
    write_tree(dir.path(), &mut dice, &token, way);
    let timeout =
        if matches!(way, Way::Timeout) { Duration::from_millis(900) } else { Duration::from_secs(60) };
    let spec = CommandSpec::new("sh", dir.path())
        .args(["node-0.sh", &token])
        .env("PATH", std::env::var_os("PATH").unwrap())
        .timeout(timeout)
        .grace(Duration::from_millis(50))
        .containment(containment);
    let mut running = spawn(spec, &Supervisor::Helper(SAMUEL.into())).await.unwrap();
    while let Some(line) = running.next_line().await {
        if line.text == "up" {
            break;
        }
    }
    let begun = Instant::now();
    match way {
        Way::Cancel => running.terminate(Duration::from_millis(20)),
        Way::Kill => running.kill(),
        Way::Exit | Way::Timeout => {}
    }
    let output = running.wait().await.unwrap();
    assert!(begun.elapsed() < HANG, "tree {seed}, {way:?}: it took {:?}", begun.elapsed());
    let left = survivors(&token);
    end(&left);
    assert!(left.is_empty(), "tree {seed}, {way:?}, {containment:?}: {left:?} survived {output:?}");
}

#[test]
fn none_survives_the_end_of_its_command() {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    let containments = containments();
    let seeds: Vec<u64> = (1..=times(40, 230) as u64).collect();
    for batch in seeds.chunks(AT_ONCE) {
        let trees: Vec<_> = batch
            .iter()
            .map(|seed| {
                let turn = usize::try_from(*seed).unwrap() % containments.len();
                let containment = *containments.get(turn).unwrap();
                runtime.spawn(grow_and_end(*seed, containment))
            })
            .collect();
        for tree in trees {
            runtime.block_on(tree).unwrap();
        }
    }
}
