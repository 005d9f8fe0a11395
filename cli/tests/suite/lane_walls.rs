//! Lanes whose agents work in a sandbox, each in a clone of its own. A sandbox that cannot be used here is skipped with the
//! reason.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use crate::{
    bench::{Bench, Ran},
    containers::Wall,
};

/// What an agent does: it leaves a line in a file for each thing that it could do and should not.
const WORK: &str = "cat > /dev/null; cd \"$SAMUEL_WORKSPACE\"; id=$SAMUEL_TASK_ID; read -r P < .git/objects/info/alternates; P=${P%/.git/objects}; : > tried-$id; \
                    test \"$(ls ../.. | wc -l)\" -eq 1 || echo others >> tried-$id; \
                    { echo x > \"$P/.git/objects/planted\"; } 2>/dev/null && echo repository >> tried-$id; \
                    cat \"$P/.samuel/run/prd.toon\" > /dev/null 2>&1 && echo plan >> tried-$id; \
                    test ! -e \"$P/.samuel/run/cache\" || echo contexts >> tried-$id; \
                    test -f .prepared || echo setup >> tried-$id; \
                    echo $id > made-$id; \"$SAMUEL_BINARY\" run done $id";

/// A project with two tasks, whose agents and checks run in a sandbox; or the reason why none can. Workers work in clones,
/// also if one loop works in place.
fn bench(wall: &Wall) -> Option<Bench> {
    let bench = Bench::with_tasks(&["First", "Second"]);
    let text = format!(
        "version = \"2\"\n[methodology.ralph]\nsandbox = \"{}\"\nquality_checks = [\"ls made-*\"]\n\
         [methodology.ralph.parallel]\nsetup = [\"touch .prepared\"]\n[sandbox]\nworkspace = \"in-place\"\n{}\n",
        wall.sandbox, wall.keys
    );
    bench.write("samuel.toml", &text);
    bench.write(".gitignore", ".prepared\n");
    bench.make_repository(&["samuel.toml", ".gitignore"]);
    let ran = ran(&bench, wall, &["run", "start", "--dry-run", "--jobs", "2", "--agent-command", "true"]);
    if ran.stderr.contains("cannot be used") {
        println!("skipped: {}: {}", wall.name, ran.stderr.lines().next().unwrap_or_default());
        return None;
    }
    Some(bench)
}

fn ran(bench: &Bench, wall: &Wall, args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.envs(wall.env().iter().cloned());
    Ran::of(command)
}

// Takes about 14 s: two lanes in each sandbox, each with setup, agent and checks; docker is tried with `SAMUEL_LONG=1`.
#[test]
fn workers_see_only_their_clone_in_every_sandbox() {
    for wall in Wall::usual() {
        let Some(bench) = bench(&wall) else { continue };
        let ran = ran(&bench, &wall, &[&bench.start_args(WORK)[..], &["--jobs", "2", "--json"]].concat());
        assert_eq!(ran.code, 0, "{}: {ran:?}", wall.name);
        let (_, document) = ran.events();
        let into = document["data"]["report"]["into"].as_str().unwrap();
        for id in ["1", "2"] {
            assert_eq!(bench.status(id), "completed");
            assert_eq!(bench.git(&["show", &format!("{into}:made-{id}")]), id);
            assert_eq!(bench.git(&["show", &format!("{into}:tried-{id}")]), "", "{}", wall.name);
        }
        let trailers = "--format=%(trailers:key=Samuel-Task,valueonly,separator=%x2C)";
        let landed = bench.git(&["log", "--first-parent", trailers, into]);
        let mut landed: Vec<&str> = landed.lines().filter(|line| !line.is_empty()).collect();
        landed.sort_unstable();
        assert_eq!(landed, ["1", "2"], "{}", wall.name);
        assert_eq!(bench.git(&["status", "--porcelain", "--", ".", ":!.samuel"]), "");
        assert_eq!(wall.containers(&bench), "", "{}", wall.name);
    }
}
