//! Escapes from the sandbox `bwrap`: each is refused, and is seen where a wall is missing.
//!
//! Where bubblewrap cannot be used, the tests are skipped with the reason.
#![cfg(target_os = "linux")]
#![allow(clippy::unwrap_used, clippy::print_stdout, reason = "tests")]

use std::ffi::OsString;

use samuel_core::{
    process::{CommandSpec, Supervisor},
    sandbox::{Bwrap, Host, ProbeFinding, ProbeGround, ProbeOutcome, Sandbox, SandboxError, View, probe},
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
        let (cwd, env) = (
            spec.cwd().to_owned(),
            spec.variables().map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>(),
        );
        let wrapped = self.bwrap.wrap(spec)?;
        let mut args = wrapped.arguments().to_vec();
        (self.change)(&mut args);
        Ok(CommandSpec::new(wrapped.program(), cwd).args(args).envs(env).merge_stderr(true))
    }
}

/// Says why the tests are skipped, where they are.
fn is_missing() -> bool {
    let usable = Bwrap::new(View::new("/")).check();
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
    let found = findings(|ground| Box::new(Without { bwrap: Bwrap::new(ground.view()), change })).await;
    found.iter().filter(|one| one.outcome == ProbeOutcome::Broken).map(|one| one.name).collect()
}

#[tokio::test]
async fn nothing_gets_out_of_bwrap() {
    if is_missing() {
        return;
    }
    let found = findings(|ground| Box::new(Bwrap::new(ground.view()))).await;
    assert_eq!(names(&found, ProbeOutcome::Broken), [""; 0], "{found:#?}");
    assert!(found.len() >= 40, "{} probes", found.len());
    assert!(names(&found, ProbeOutcome::Untried).len() <= 2, "{found:#?}");
}

#[tokio::test]
async fn every_probe_but_those_that_need_a_right_gets_out_of_no_sandbox() {
    let found = findings(|_| Box::new(Host)).await;
    let broken = names(&found, ProbeOutcome::Broken);
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
        "plan-proc-one",
    ] {
        assert!(broken.contains(&name), "{name}: {broken:?}");
    }
}

#[tokio::test]
async fn a_network_that_is_there_is_seen() {
    if is_missing() {
        return;
    }
    let broken = escapes_without(|args| args.insert(args.len() - 6, "--share-net".into())).await;
    assert!(["tcp", "udp"].iter().all(|name| broken.contains(name)), "{broken:?}");
}

#[tokio::test]
async fn a_work_tree_in_place_of_the_clone_is_seen() {
    if is_missing() {
        return;
    }
    let whole = |ground: &ProbeGround| -> Box<dyn Sandbox> {
        let workspace = ground.origin().parent().unwrap().to_owned();
        Box::new(Bwrap::new(View { workspace, read_only: Vec::new(), ..ground.view() }))
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
    assert_eq!(escapes_without(|args| without(args, "--disable-userns")).await, ["userns"]);
    let broken = escapes_without(|args| {
        let all = args.iter().position(|arg| arg == "--unshare-all").unwrap();
        args.splice(all..=all, ["--unshare-ipc", "--unshare-net", "--unshare-uts"].map(OsString::from));
    })
    .await;
    assert!(broken.contains(&"signal"), "without a namespace of processes: {broken:?}");
    let broken = escapes_without(|args| {
        let root = args.iter().position(|arg| arg == "--remount-ro").unwrap();
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
    assert_eq!(broken, ["tmp-size"]);
}
