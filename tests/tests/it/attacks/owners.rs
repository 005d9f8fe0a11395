//! Projects and files of other users.

use std::{fs, path::Path, process::Command};

use crate::attacks::{
    kit::{HANG, Target, ran},
    looking::Origin,
};

/// Says whether these tests can be made, and why not.
fn can_give_away() -> bool {
    let can = rustix::process::geteuid().is_root();
    if !can {
        println!("skipped: what belongs to another user, since only root gives files away");
    }
    can
}

/// Gives a file, or a directory with all in it, to another user.
fn give_away(path: &Path) {
    let status = Command::new("chown").args(["-R", "4242"]).arg(path).status();
    assert!(status.unwrap().success());
}

#[test]
fn a_project_of_another_user_is_refused_until_it_is_trusted() {
    if !can_give_away() {
        return;
    }
    let target = Origin::new().clone();
    give_away(&target.root());
    let verbs: &[&[&str]] = &[
        &["run", "prompt"],
        &["run", "vars"],
        &["run", "start", "--yes"],
        &["run", "start", "--dry-run"],
        &["sync", "--dry-run"],
        &["init"],
        &["run", "status"],
        &["install", "nothing"],
    ];
    for verb in verbs {
        let ran = target.run(&[verb, ["--json"].as_slice()].concat());
        let text = ran.text();
        assert_eq!(ran.code, Some(78), "{verb:?}: {text}");
        assert!(text.contains("\"E_PROJECT_OWNER\""), "{verb:?}: {text}");
        let help = format!("git config --global --add safe.directory {}", target.root().display());
        assert!(text.contains(&help), "{verb:?}: {text}");
    }
    let doctor = target.run(&["doctor"]).ends(1);
    assert!(doctor.text().contains("is owned by user 4242"), "{}", doctor.text());

    // What the repository itself says has no weight.
    git_config(&target.path(".git/config"));
    assert_eq!(target.run(&["run", "prompt"]).code, Some(78));
    let mut command = target.samuel(&["run", "prompt"]);
    command.env("SUDO_UID", "4242");
    assert_eq!(ran(command, HANG).code, Some(0));
    git_config(&target.home().join(".gitconfig"));
    for verb in [&["run", "prompt"], &["run", "vars"], &["run", "status"]] {
        let ran = target.run(verb);
        assert_eq!(ran.code, Some(0), "{verb:?}: {}", ran.text());
    }
}

fn git_config(path: &Path) {
    let old = fs::read_to_string(path).unwrap_or_default();
    fs::write(path, format!("{old}[safe]\n\tdirectory = *\n")).unwrap();
}

#[test]
fn a_configuration_that_another_user_put_into_a_project_is_refused() {
    if !can_give_away() {
        return;
    }
    for name in ["samuel.toml", "samuel.lock", ".samuel"] {
        let target = Target::with_tasks(&["One"]);
        if name == "samuel.lock" {
            target.write(name, "");
        }
        assert_eq!(target.run(&["run", "status"]).code, Some(0), "{name}");
        give_away(&target.path(name));
        let verbs =
            [&["run", "status"][..], &["run", "start", "--yes"], &["run", "prompt", "--yes"], &["verify"]];
        for verb in verbs {
            let ran = target.run(verb);
            assert_eq!(ran.code, Some(78), "{name}, {verb:?}: {}", ran.text());
            assert!(
                ran.text().contains(&format!("{name} is owned by user 4242")),
                "{verb:?}: {}",
                ran.text()
            );
        }
        git_config(&target.home().join(".gitconfig"));
        assert_eq!(target.run(&["run", "status"]).code, Some(0), "{name}");
    }
}
