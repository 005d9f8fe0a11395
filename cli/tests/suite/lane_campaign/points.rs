//! Samuel is killed between each two steps of a landing, and started again once somebody has committed on the branch.
//!
//! A git in front of that of the system kills it at a call by which a step is known, before or after the call is made.
//! A landing that was not written down, one that is looked for at the head of the branch alone, and a branch that is
//! removed before its work has landed each fail one of these; whose claim it is, the tests at the end hold.

use std::{
    env, fs,
    io::{BufRead as _, BufReader},
    path::{Path, PathBuf},
    process::{Child, Stdio},
};

use serde_json::{Value, json};

use super::{plans::Manner, play::Play};
use crate::{
    bench::{wait_for_file, wait_until},
    lane_ground::{Ground, commits_on, task, told},
};

/// Whether Samuel is killed before git does what it is called for, or after.
#[derive(Clone, Copy, Debug)]
enum When {
    Before,
    After,
}

/// A step of a landing, by a pattern of the arguments of the git that makes it.
#[derive(Clone, Copy, Debug)]
enum Step {
    Merging,
    Checking,
    Moving,
    Removing,
}

impl Step {
    fn pattern(self, into: &str) -> String {
        match (self, into) {
            (Self::Merging, _) => "*' merge-tree '*".to_owned(),
            // What is about to be checked is kept from then on, in place of what was checked before.
            (Self::Checking, _) => {
                "*' update-ref --no-deref refs/samuel/base/'*'-queue/1 '*' '[0-9a-f]*".to_owned()
            }
            // Where it is checked out, that is what moves it.
            (Self::Moving, "main") => "*' merge '*'--ff-only '*".to_owned(),
            (Self::Moving, into) => format!("*' update-ref '*' refs/heads/{into} '*"),
            (Self::Removing, _) => "*' update-ref --stdin '*".to_owned(),
        }
    }
}

const SQUASHED: Manner = Manner { merge: "squash", into: "trunk" };
const REBASED: Manner = Manner { merge: "rebase", ..SQUASHED };
const MERGED: Manner = Manner { merge: "merge", ..SQUASHED };
const CHECKED_OUT: Manner = Manner { into: "main", ..MERGED };

/// A git that kills the Samuel whose number is in `pid`, once.
fn killing(directory: &Path, pattern: &str, when: When) -> PathBuf {
    let programs = directory.join("programs");
    fs::create_dir_all(&programs).unwrap();
    let (here, path) = (directory.display(), env::var("PATH").unwrap());
    let script = format!(
        "#!/bin/sh\nPATH='{path}'; export PATH\n\
         ends() {{ while ! test -s {here}/pid; do sleep 0.01; done; kill -9 $(cat {here}/pid); sleep 1; exit 1; }}\n\
         case \" $* \" in {pattern}) if mkdir {here}/once 2>/dev/null; then\n\
         case {when:?} in Before) ends;; After) git \"$@\" >/dev/null 2>&1; ends;; esac; fi;; esac\n\
         exec git \"$@\"\n"
    );
    let git = programs.join("git");
    fs::write(&git, script).unwrap();
    fs::set_permissions(&git, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    programs
}

/// Kills Samuel at a point, has somebody commit, and holds what must hold once the plan is done.
fn killed_at(step: Step, when: When, manner: Manner) {
    let tasks = vec![task("1", &[], &[]), task("2", &[], &[]), task("3", &["1"], &[])];
    let ground = Ground::with_tasks(tasks).agents(|lanes| lanes.forgetting("2").conflicting("1", "2"));
    let mut play = Play::begun(0, ground, manner, None);
    let ground = &play.ground;
    let programs = killing(&ground.bench.tmp(), &step.pattern(manner.into), when);
    // Somebody commits while the first is worked on, so that what it comes to has to be checked.
    let moves = match manner.into {
        "main" => String::new(),
        into => format!(
            "if mkdir {notes}/moved 2>/dev/null; then (cd {root}; {commits}); fi\n",
            notes = ground.notes().display(),
            root = ground.bench.root().display(),
            commits = commits_on(into, "early")
        ),
    };
    let agent = moves + &ground.lanes.command();
    let args = [&ground.bench.start_args(&agent)[..], &["--jobs", "2", "--into", manner.into]].concat();
    let mut command = ground.bench.command(&args);
    command.env("PATH", format!("{}:{}", programs.display(), env::var("PATH").unwrap()));
    let mut run = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    fs::write(ground.bench.tmp().join("pid"), run.id().to_string()).unwrap();
    let name = format!("{when:?} {step:?}, {manner:?}");
    assert_eq!(run.wait().unwrap().code(), None, "{name}: it was to be killed");
    play.look(&name);
    play.push();
    let ran = play.ground.start(2, &["--into", manner.into]);
    assert_eq!(ran.code, 0, "{name}: {ran:?}");
    play.look(&name);
    play.holds();
}

/// How many points of each test are played by default: the first ones. `SAMUEL_LONG=1` plays all.
const IN_SHORT: usize = 2;

fn killed_at_each(points: &[(Step, When, Manner)]) {
    let count = if env::var_os("SAMUEL_LONG").is_some() { points.len() } else { IN_SHORT };
    for (step, when, manner) in points.iter().take(count) {
        killed_at(*step, *when, *manner);
    }
}

// Takes about 12 s: each of the two points starts a run with two lanes twice.
#[test]
fn whenever_samuel_is_killed_in_a_landing_of_plain_commits_each_lands_once() {
    killed_at_each(&[
        (Step::Checking, When::Before, SQUASHED),
        // A landing that was not written down lands a second time, and so does one that is looked for at the head alone.
        (Step::Moving, When::After, SQUASHED),
        (Step::Merging, When::Before, SQUASHED),
        (Step::Merging, When::After, SQUASHED),
        (Step::Checking, When::After, SQUASHED),
        (Step::Moving, When::Before, SQUASHED),
        (Step::Moving, When::After, REBASED),
    ]);
}

// Takes about 11 s: each of the two points starts a run with two lanes twice.
#[test]
fn whenever_samuel_is_killed_in_a_landing_of_merges_each_lands_once_and_its_branch_stays_until_then() {
    killed_at_each(&[
        // A branch that was removed before its work landed leaves commits on no branch.
        (Step::Removing, When::After, MERGED),
        (Step::Moving, When::After, CHECKED_OUT),
        (Step::Moving, When::Before, MERGED),
        (Step::Moving, When::After, MERGED),
        (Step::Removing, When::Before, MERGED),
        (Step::Moving, When::Before, CHECKED_OUT),
    ]);
}

/// A run whose queue checks the first attempt at a task, and goes on with that once `go` is there; the second attempt is
/// at work until `go-2` is. Somebody has dropped the first one.
fn dropped_while_it_is_checked(check: &str) -> (Ground, Child) {
    let ground = Ground::with(&["1"]);
    let notes = ground.notes().display().to_string();
    let waits = format!(
        "case $PWD in */queue.clone/*) touch {notes}/checking; while ! test -e {notes}/go; do sleep 0.02; done; \
         echo checked >> {notes}/checks; {check};; esac"
    );
    ground.bench.configure(&format!("quality_checks = [{}]", json!(waits)));
    ground.bench.git(&["commit", "--quiet", "--all", "--message", "Check"]);
    ground.bench.git(&["branch", "trunk"]);
    let agent = format!(
        "cat > /dev/null; if mkdir {notes}/call-1 2>/dev/null; then (cd {root}; {commits}); echo old > made; \
         else mkdir {notes}/call-2 || mkdir {notes}/call-3; while ! test -e {notes}/go-2; do sleep 0.02; done; \
         echo new > made; fi; $SAMUEL_BINARY run done 1",
        root = ground.bench.root().display(),
        commits = commits_on("trunk", "theirs")
    );
    let args = [&ground.bench.start_args(&agent)[..], &["--jobs", "2", "--into", "trunk", "--json"]].concat();
    let run = ground.bench.command(&args).stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    wait_for_file(&ground.notes().join("checking"));
    ground.bench.ok(&["run", "queue", "drop", "1"]);
    wait_for_file(&ground.notes().join("call-2"));
    (ground, run)
}

/// Reads the events of a run to its end, which must be well, and does something at each.
fn to_its_end(mut run: Child, mut at: impl FnMut(&Value)) -> Vec<Value> {
    let lines = BufReader::new(run.stdout.take().unwrap()).lines().map(Result::unwrap);
    let events: Vec<Value> =
        lines.map(|line| serde_json::from_str(&line).unwrap()).inspect(|event| at(event)).collect();
    assert_eq!(run.wait().unwrap().code(), Some(0), "{events:#?}");
    events
}

#[test]
fn what_became_of_work_that_was_dropped_meanwhile_says_nothing_of_the_next_attempt() {
    let (ground, run) = dropped_while_it_is_checked("! grep -q old made");
    let notes = ground.notes();
    // The work fails twice, which is what sends work back.
    fs::write(notes.join("go"), "").unwrap();
    let checks = || fs::read_to_string(notes.join("checks")).unwrap_or_default().lines().count();
    wait_until("it has failed twice", || checks() == 2);
    fs::write(notes.join("go-2"), "").unwrap();
    let events = to_its_end(run, |_| ());
    assert!(!notes.join("call-3").exists(), "the second attempt was left alone: {events:#?}");
    assert_eq!(told(&events, "task_returned").len(), 0, "{events:#?}");
    assert_eq!(ground.sh("git show trunk:made"), "new");
    assert_eq!(ground.landed("trunk"), ["1"]);
}

#[test]
fn work_that_was_dropped_and_handed_in_anew_while_it_was_checked_lands_as_it_is_now() {
    let (ground, run) = dropped_while_it_is_checked("true");
    let notes = ground.notes();
    fs::write(notes.join("go-2"), "").unwrap();
    let mut submitted = 0;
    let events = to_its_end(run, |event| {
        submitted += u32::from(event["event"] == "task_submitted");
        if submitted == 2 {
            fs::write(notes.join("go"), "").unwrap();
        }
    });
    assert_eq!(told(&events, "task_landed").len(), 1, "{events:#?}");
    assert_eq!(ground.sh("git show trunk:made"), "new");
    assert_eq!(ground.landed("trunk"), ["1"]);
}
