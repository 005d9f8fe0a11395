//! Fetching a plugin by git, which is a program like any other.

use std::fs;

use crate::attacks::kit::{HANG, Target, marked, program, ran, wait_for};

#[test]
fn only_transports_without_a_program_of_their_own_are_fetched() {
    let target = Target::new();
    let bin = target.home().join("bin");
    program(&bin.join("git"), format!("#!/bin/sh\n: > '{}'\n", target.mark("git").display()));
    let sources = [
        "git+fd::3",
        "fd::3",
        "git+ext::sh -c id",
        "ext::sh -c id",
        "git+file::/x",
        "git+foo://x",
        "git+--upload-pack=id",
    ];
    for source in sources {
        let mut command = target.samuel(&["install", "--yes", "--json", "--", source]);
        command.env("PATH", &bin);
        let ran = ran(command, HANG);
        let text = ran.text();
        assert!(
            text.contains("\"E_PLUGIN_SOURCE\"") && text.contains("would run another program"),
            "{source}: {text}"
        );
        assert_eq!(target.marks(), [""; 0], "{source}");
    }
}

#[test]
fn what_git_starts_ends_with_it_and_knows_no_secret() {
    let target = Target::new();
    let bin = target.home().join("bin");
    let text = format!(
        "#!/bin/sh\nenv > '{}'\nsetsid sleep 300 &\n(trap '' TERM; sleep 300) &\nexit 1\n",
        target.mark("env").display()
    );
    program(&bin.join("git"), text);
    let mut command = target.samuel(&["install", "--yes", "https://example.org/plugin.git"]);
    command
        .env("PATH", format!("{}:{}", bin.display(), std::env::var("PATH").unwrap()))
        .env("SECRET_TOKEN", "secret")
        .env("GIT_SSH_COMMAND", "touch stolen")
        .env("GIT_EXEC_PATH", "/nowhere");
    let ran = ran(command, HANG * 2);
    assert!(!ran.hung && ran.code != Some(0), "{}", ran.text());
    let env = fs::read_to_string(target.mark("env")).unwrap();
    for name in ["SECRET_TOKEN", "touch stolen", "GIT_EXEC_PATH"] {
        assert!(!env.contains(name), "{env}");
    }
    let home = format!("HOME={}", target.home().display());
    wait_for("what git started to end", || marked(&home).is_empty());
}
