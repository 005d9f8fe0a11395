//! The demonstration.

use std::os::unix::fs::PermissionsExt;

use rustix::process::Signal;
use samuel_core::{history::History, project::Project};

use crate::{
    bench::{Bench, Beside, Ran, wait_for_file},
    containers,
};

#[test]
fn the_demonstration_does_the_whole_job_without_an_identity_or_a_home() {
    let bench = Bench::empty();
    let kept = bench.path("demo");
    let mut command = bench.command(&["demo", "--keep", "demo", "--json"]);
    command.env_remove("HOME");
    let ran = Ran::of(command);
    let document = ran.json();
    assert_eq!((ran.code, &document["data"]["report"]["exit_reason"]), (0, &"completed".into()), "{ran:?}");
    let tasks = document["data"]["tasks"].as_array().unwrap();
    let commits = document["data"]["commits"].as_array().unwrap();
    assert_eq!((tasks.len(), commits.len()), (3, 4));
    for (task, commit) in tasks.iter().zip(commits[..3].iter().rev()) {
        let (sha, short) = (task["commit_sha"].as_str().unwrap(), commit.as_str().unwrap());
        assert!(task["status"] == "completed" && sha.starts_with(short.split(' ').next().unwrap()));
    }
    assert!(kept.join("greet.sh").is_file() && kept.join(".samuel/run/prd.toon").is_file());
    let journal = std::fs::read_to_string(kept.join(".samuel/run/journal.jsonl")).unwrap();
    assert_eq!(journal.matches("\"actor\":\"agent\"").count(), 3);
    let runs = bench.ok(&["-C", "demo", "run", "runs", "--json"]).json();
    let run = runs["data"]["runs"][0]["run"].as_str().unwrap();
    let replay = History::of(&Project::at(&kept).unwrap()).replay(run).unwrap();
    assert!(replay.equal && replay.ended, "{replay}");
}

#[test]
fn the_demonstration_shows_tasks_commits_and_files_and_leaves_nothing() {
    let bench = Bench::empty();
    let ran = bench.ok(&["demo"]);
    for text in [
        "[x] 3  low       simple   Tell people about it",
        "feat: greet by name",
        "  tests/world.sh",
        "--keep DIR",
    ] {
        assert!(ran.stdout.contains(text), "{text} is not in {}", ran.stdout);
    }
    assert!(!ran.stderr.contains("no plan is kept"), "{}", ran.stderr);
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
    assert_eq!(bench.files(), []);
}

#[test]
fn the_demonstration_in_containers_asks_for_an_image_in_its_own_terms() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["demo", "--sandbox", "oci"]).fails(2);
    assert!(ran.stderr.contains("needs an image") && ran.stderr.contains("with --image"), "{ran:?}");
    assert_eq!((ran.stdout.as_str(), bench.files()), ("", vec![]));
}

#[test]
fn a_directory_with_something_in_it_is_not_used() {
    let bench = Bench::empty();
    bench.write("mine.txt", "x");
    let ran = bench.samuel(&["demo", "--keep", "."]).fails(2);
    assert!(ran.stderr.contains("is not empty"), "{ran:?}");
    assert_eq!(bench.files().len(), 1);
}

#[test]
fn a_demonstration_that_is_interrupted_at_its_beginning_leaves_nothing() {
    let bench = Bench::empty();
    // The first call of git, which comes right after the directory is made.
    let git = "#!/bin/sh\ntouch UP; until [ -e GO ]; do sleep 0.05; done\nPATH=${PATH#*:} exec git \"$@\"\n";
    let (up, go) = (bench.path("up"), bench.path("go"));
    let git = git.replace("UP", up.to_str().unwrap()).replace("GO", go.to_str().unwrap());
    let git = bench.write("bin/git", &git);
    std::fs::set_permissions(git, std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", bench.path("bin").display(), std::env::var("PATH").unwrap());
    let said = bench.path("said");
    let mut command = bench.command(&["demo"]);
    command.env("PATH", path).stderr(std::fs::File::create(&said).unwrap());
    let run = Beside::of(&mut command);
    wait_for_file(&up);
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 1);
    run.signal(Signal::INT);
    bench.write("go", "");
    assert_eq!(run.code(), 130);
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
    let said = std::fs::read_to_string(said).unwrap();
    assert!(said.ends_with("help: The directory is removed; see it all with `samuel demo`.\n"), "{said}");
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn the_demonstration_under_bubblewrap_does_the_same() {
    let bench = Bench::empty();
    let ran = bench.samuel(&["demo", "--sandbox", "bwrap", "--json"]);
    let document = ran.json();
    if document["error"]["code"] == "E_SANDBOX_UNAVAILABLE" {
        println!("skipped: {}", document["error"]["message"]);
        return;
    }
    assert_eq!((ran.code, &document["data"]["report"]["exit_reason"]), (0, &"completed".into()), "{ran:?}");
    let tasks = document["data"]["tasks"].as_array().unwrap();
    let commits = document["data"]["commits"].as_array().unwrap();
    assert_eq!((tasks.len(), commits.len()), (3, 4), "its commits are on the branch");
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{ran:?}");
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn the_demonstration_in_containers_does_the_same() {
    let bench = Bench::empty();
    let image = match containers::image() {
        Ok(image) => image,
        Err(why) => return println!("skipped: {why}"),
    };
    let ran = bench.samuel_where(
        "SAMUEL_GUEST",
        containers::guest().to_str().unwrap(),
        &["demo", "--sandbox", "oci", "--image", &image, "--json"],
    );
    let document = ran.json();
    if document["error"]["code"] == "E_SANDBOX_UNAVAILABLE" {
        return println!("skipped: {}", document["error"]["message"]);
    }
    assert_eq!((ran.code, &document["data"]["report"]["exit_reason"]), (0, &"completed".into()), "{ran:?}");
    let tasks = document["data"]["tasks"].as_array().unwrap();
    let commits = document["data"]["commits"].as_array().unwrap();
    assert_eq!((tasks.len(), commits.len()), (3, 4), "its commits are on the branch");
    assert!(tasks.iter().all(|task| task["status"] == "completed"), "{ran:?}");
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
}
