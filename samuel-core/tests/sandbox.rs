//! Escapes from the sandbox `bwrap`: each is refused, and is seen where a wall is missing.
//!
//! Where bubblewrap cannot be used, the tests are skipped with the reason.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::ffi::OsString;

use samuel_core::{
    process::{CommandSpec, Supervisor},
    sandbox::{
        Bwrap, Guest, Host, ProbeFinding, ProbeGround, ProbeOutcome, Sandbox, SandboxError, View, probe,
    },
};

/// A bubblewrap that lacks a wall.
#[derive(Debug)]
struct Without {
    bwrap: Bwrap,
    change: fn(&mut Vec<OsString>),
}

impl Sandbox for Without {
    fn name(&self) -> &str {
        "without"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        let wrapped = self.bwrap.wrap(spec)?;
        let mut args = wrapped.arguments().to_vec();
        (self.change)(&mut args);
        let program = wrapped.program().to_owned();
        Ok(wrapped.command(program, args))
    }
}

/// Returns the first process of commands, where it is built: it lies in the directory that this test was built in.
fn guest() -> Guest {
    let program = std::env::current_exe().unwrap();
    let target = program.ancestors().nth(3).unwrap();
    let sockets = std::env::temp_dir().join(format!("samuel-test-{}", rustix::process::getuid().as_raw()));
    Guest::new(target.join("x86_64-unknown-linux-gnu/guest/samuel-guest"), sockets)
}

fn bwrap(view: View) -> Bwrap {
    Bwrap::new(view).guest(guest())
}

/// Says why the tests are skipped, where they are.
fn is_missing() -> bool {
    if !guest().program().is_file() {
        println!("skipped: {} is not there: cargo xtask guest", guest().program().display());
        return true;
    }
    let usable = bwrap(View::new("/")).check();
    usable.inspect_err(|error| println!("skipped: {error}")).is_err()
}

async fn findings(sandbox: impl FnOnce(&ProbeGround) -> Box<dyn Sandbox>) -> Vec<ProbeFinding> {
    let ground = ProbeGround::create().unwrap();
    let sandbox = sandbox(&ground);
    probe(&ground, &*sandbox, &Supervisor::GroupOnly).await.unwrap()
}

/// Returns the names of the probes with an outcome.
fn names(findings: &[ProbeFinding], outcome: ProbeOutcome) -> Vec<&str> {
    findings.iter().filter(|finding| finding.outcome == outcome).map(|finding| finding.name).collect()
}

/// Returns what gets out of a bubblewrap whose arguments were changed.
async fn escapes_without(change: fn(&mut Vec<OsString>)) -> Vec<&'static str> {
    let found = findings(|ground| Box::new(Without { bwrap: bwrap(ground.view()), change })).await;
    found.iter().filter(|one| one.outcome == ProbeOutcome::Broken).map(|one| one.name).collect()
}

#[tokio::test]
async fn nothing_gets_out_of_bwrap() {
    if is_missing() {
        return;
    }
    let found = findings(|ground| Box::new(bwrap(ground.view()))).await;
    assert_eq!(names(&found, ProbeOutcome::Broken), [""; 0], "{found:#?}");
    assert!(found.len() >= 44, "{} probes", found.len());
    assert!(names(&found, ProbeOutcome::Untried).len() <= 2, "{found:#?}");
}

#[tokio::test]
async fn without_a_guest_there_is_no_filter_and_that_is_seen() {
    if is_missing() {
        return;
    }
    let found = findings(|ground| Box::new(Bwrap::new(ground.view()))).await;
    let broken = names(&found, ProbeOutcome::Broken);
    assert!(broken.iter().all(|name| ["vsock", "keyring"].contains(name)), "{found:#?}");
}

#[tokio::test]
async fn every_probe_but_those_that_need_a_right_gets_out_of_no_sandbox() {
    let found = findings(|_| Box::new(Host)).await;
    let broken = names(&found, ProbeOutcome::Broken);
    // By way of process 1 nothing is reached: commands do not look into it.
    for name in [
        "plan-write",
        "plan-create",
        "plan-replace",
        "plan-remove",
        "plan-mode",
        "plan-rename",
        "plan-parent",
        "plan-symlink",
        "plan-hard-link",
        "plan-proc-root",
        "tree-read",
        "tree-write",
        "git-objects-write",
        "git-objects-remove",
        "git-refs",
        "git-hooks",
        "git-config",
        "git-config-read",
        "git-commondir",
        "git-worktree",
        "git-nested",
        "git-attributes",
        "home-read",
        "home-write",
        "environment",
        "signal",
        "tcp",
        "udp",
        "tmp-size",
    ] {
        assert!(broken.contains(&name), "{name}: {found:#?}");
    }
}

#[tokio::test]
async fn a_plan_that_can_be_written_is_seen() {
    if is_missing() {
        return;
    }
    let broken = escapes_without(|args| {
        let samuel = args.iter().position(|arg| arg.to_string_lossy().ends_with("/.samuel")).unwrap();
        *args.get_mut(samuel - 1).unwrap() = "--bind".into();
    })
    .await;
    for name in [
        "plan-write",
        "plan-create",
        "plan-replace",
        "plan-remove",
        "plan-mode",
        "plan-symlink",
        "plan-proc-root",
    ] {
        assert!(broken.contains(&name), "{name}: {broken:?}");
    }
}

#[tokio::test]
async fn a_network_that_is_there_is_seen() {
    if is_missing() {
        return;
    }
    let broken = escapes_without(|args| args.insert(1, "--share-net".into())).await;
    assert!(["tcp", "udp"].iter().all(|name| broken.contains(name)), "{broken:?}");
}

#[tokio::test]
async fn a_work_tree_in_place_of_the_clone_is_seen() {
    if is_missing() {
        return;
    }
    let whole = |ground: &ProbeGround| -> Box<dyn Sandbox> {
        let workspace = ground.origin().parent().unwrap().to_owned();
        Box::new(bwrap(View { workspace, read_only: Vec::new(), ..ground.view() }))
    };
    let found = findings(whole).await;
    let broken = names(&found, ProbeOutcome::Broken);
    for name in [
        "plan-write",
        "plan-rename",
        "plan-parent",
        "plan-hard-link",
        "git-objects-write",
        "git-objects-remove",
        "git-refs",
        "git-hooks",
        "git-config",
        "git-commondir",
        "git-worktree",
        "git-nested",
        "git-attributes",
        "tree-read",
        "tree-write",
    ] {
        assert!(broken.contains(&name), "{name}: {found:#?}");
    }
}

#[tokio::test]
async fn a_missing_wall_is_seen() {
    if is_missing() {
        return;
    }
    fn without(args: &mut Vec<OsString>, name: &str) {
        args.retain(|arg| arg != name);
    }
    // The filter of the guest denies it as well.
    assert_eq!(escapes_without(|args| without(args, "--disable-userns")).await, [""; 0]);
    let broken = escapes_without(|args| {
        without(args, "--as-pid-1");
        let all = args.iter().position(|arg| arg == "--unshare-all").unwrap();
        args.splice(all..=all, ["--unshare-ipc", "--unshare-net", "--unshare-uts"].map(OsString::from));
    })
    .await;
    assert!(broken.contains(&"signal"), "without a namespace of processes: {broken:?}");
    let broken = escapes_without(|args| {
        let root = args.iter().rposition(|arg| arg == "--remount-ro").unwrap();
        args.drain(root..root + 2);
    })
    .await;
    assert_eq!(broken, ["root-write"]);
    let broken = escapes_without(|args| {
        while let Some(size) = args.iter().position(|arg| arg == "--size") {
            args.drain(size..size + 2);
        }
    })
    .await;
    assert_eq!(broken, ["shm-size", "tmp-size"]);
}
