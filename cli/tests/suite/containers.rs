//! Commands whose agents and checks run in containers, as a person meets them: a project, a samuel.toml, podman.
//!
//! The image holds busybox and what the program under test is linked with. Where there is no podman, or the guest is
//! not built (`cargo xtask guest`), the tests are skipped with the reason.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::OnceLock,
};

use crate::bench::{Bench, Ran, SAMUEL, says};

/// The name of the image.
const IMAGE: &str = "localhost/samuel-test-agents";
/// Makes the image of what lies in a directory: `$1` is busybox, `$2` the program under test.
const MAKE: &str = "set -e; mkdir -p bin etc tmp usr run proc sys dev; cp \"$1\" bin/busybox; \
                    for name in $(\"$1\" --list); do test $name = busybox || ln -s busybox bin/$name; done; \
                    ldd \"$2\" | grep -o '/[^ ]*' | while read -r library; do mkdir -p \".${library%/*}\"; cp -L \"$library\" \".$library\"; done; \
                    echo root:x:0:0::/root:/bin/sh > etc/passwd; tar -c . | podman import - \"$3\" >&2";

/// Returns the reference that pins the image, which is made where it is missing; or why that cannot be.
pub(crate) fn image() -> Result<String, String> {
    static MADE: OnceLock<Result<String, String>> = OnceLock::new();
    MADE.get_or_init(|| match digest() {
        Some(digest) => Ok(digest),
        None => made(),
    })
    .clone()
    .map(|digest| format!("{IMAGE}@{digest}"))
}

fn digest() -> Option<String> {
    let asked = podman(&["image", "inspect", "--format", "{{.Digest}}", IMAGE]);
    asked.filter(|text| text.starts_with("sha256:"))
}

fn podman(arguments: &[&str]) -> Option<String> {
    let output = Command::new("podman").args(arguments).stdin(Stdio::null()).output().ok()?;
    Some(String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

fn made() -> Result<String, String> {
    let busybox = ["/usr/bin/busybox", "/bin/busybox"].into_iter().find(|path| Path::new(path).exists());
    let busybox = busybox.ok_or("busybox-static is not installed")?;
    podman(&["--version"]).ok_or("podman is not installed")?;
    let root = tempfile::tempdir().unwrap();
    let ran =
        Command::new("sh").args(["-c", MAKE, "sh", busybox, SAMUEL, IMAGE]).current_dir(root.path()).output();
    let ran = ran.map_err(|error| error.to_string())?;
    digest().ok_or_else(|| format!("no image can be imported: {}", String::from_utf8_lossy(&ran.stderr)))
}

/// Returns where the guest is, if it is built: it lies in the directory that this test was built in.
pub(crate) fn guest() -> PathBuf {
    let program = std::env::current_exe().unwrap();
    program.ancestors().nth(3).unwrap().join("x86_64-unknown-linux-gnu/guest/samuel-guest")
}

/// A project whose agents run in containers, in which nothing of it has run yet.
fn bench(titles: &[&str], keys: &str) -> Bench {
    let bench = Bench::with_tasks(titles);
    configure(&bench, keys);
    bench.make_repository(&["samuel.toml"]);
    bench
}

fn configure(bench: &Bench, keys: &str) {
    let text = format!("version = \"2\"\n[methodology.ralph]\nsandbox = \"oci\"\n\n[sandbox]\n{keys}\n");
    bench.write("samuel.toml", &text);
}

/// Runs the command with the guest that was built, and more variables.
fn ran(bench: &Bench, more: &[(&str, &str)], args: &[&str]) -> Ran {
    let mut command = bench.command(args);
    command.env("SAMUEL_GUEST", guest()).envs(more.iter().copied());
    Ran::of(command)
}

/// Returns a project that can be worked on in containers, or says why there is none.
fn usable(titles: &[&str]) -> Option<Bench> {
    let image = image().inspect_err(|why| println!("skipped: {why}")).ok()?;
    let bench = bench(titles, &format!("image = \"{image}\""));
    let checked = ran(&bench, &[], &["run", "start", "--dry-run", "--agent-command", "true"]);
    if checked.stderr.contains("sandbox \"oci\" cannot be used") {
        println!("skipped: {}", checked.stderr.lines().next().unwrap_or_default());
        return None;
    }
    Some(bench)
}

#[test]
fn an_agent_in_a_container_records_its_tasks_and_asks() {
    // By its name it is called where it is on PATH, else by its path.
    for by_name in [false, true] {
        let Some(bench) = usable(&["One", "Two", "Three"]) else { return };
        let programs = bench.tmp().join("programs");
        fs::create_dir(&programs).unwrap();
        let path = format!("{}:{}", programs.display(), std::env::var("PATH").unwrap());
        let mut more = Vec::new();
        if by_name {
            std::os::unix::fs::symlink(SAMUEL, programs.join("samuel")).unwrap();
            more.push(("PATH", path.as_str()));
        }
        let agent = "S=\"$SAMUEL_BINARY\"; echo \"$S\" > called; $S run tasks > tasks 2>&1; $S run show \"$SAMUEL_TASK_ID\" > shown 2>&1; \
                     $S run enqueue Four > added 2>&1; $S run ask 3 'Which one?' > asked 2>&1; \
                     $S run edit 2 --title Other > edited 2>&1; \
                     SAMUEL_TOKEN=00 $S run done 2 > forged 2>&1; \
                     { echo x >> \"$SAMUEL_PROJECT_ROOT/.samuel/run/prd.toon\"; } 2> /dev/null; \
                     $S run done \"$SAMUEL_TASK_ID\" > done 2>&1";
        let started =
            ran(&bench, &more, &[&bench.start_args(agent)[..], &["--max-iterations", "1"]].concat());
        let told =
            |name: &str| fs::read_to_string(bench.path(name)).unwrap_or_else(|_| format!("{started:?}"));
        assert_eq!(told("called").trim(), if by_name { "samuel" } else { SAMUEL });
        says(&told("tasks"), &["One", "Two", "Three"]);
        says(&told("shown"), &["One"]);
        says(&told("done"), &["1 is completed"]);
        says(&told("edited"), &["error: "]);
        says(&told("forged"), &["the token is none that is in use"]);
        let stands = ["1", "2", "3", "4"].map(|id| bench.status(id));
        assert_eq!(stands, ["completed", "pending", "blocked", "pending"], "{} {started:?}", told("asked"));
        assert!(!bench.read(".samuel/run/prd.toon").ends_with("x\n"), "the file itself is out of reach");
    }
}

#[test]
fn what_containers_cannot_be_made_of_is_refused_with_its_place_and_nothing_starts() {
    let Ok(image) = image().inspect_err(|why| println!("skipped: {why}")) else { return };
    let bench = bench(&["First"], "");
    let none = format!("image = \"localhost/none@sha256:{}\"", "0".repeat(64));
    let with = |keys: &str| format!("image = \"{image}\"\n{keys}");
    let socket = bench.tmp().join("engine.sock");
    let _listener = std::os::unix::net::UnixListener::bind(&socket).unwrap();
    let (socket, holder) = (socket.display().to_string(), bench.tmp().display().to_string());
    let home = bench.tmp().parent().unwrap().join("home");
    fs::create_dir_all(home.join(".local/state/samuel")).unwrap();
    let (home, state) = (home.display().to_string(), home.join(".local/state").display().to_string());
    let mounts = |path: &str| with(&format!("mounts = [\"{path}\"]"));
    for (keys, expected) in [
        (String::new(), "samuel.toml:3:1: methodology.ralph.sandbox: the sandbox oci needs an image"),
        (
            "image = \"agents:latest\"".to_owned(),
            "samuel.toml:6:1: sandbox.image: `agents:latest` is not pinned",
        ),
        (none, "samuel.toml:6:1: sandbox.image: podman "),
        (with("egress = [\"http://x\"]"), "samuel.toml:7:1: sandbox.egress: `http://x` is no host"),
        (with("check_egress = [\"a b\"]"), "samuel.toml:7:1: sandbox.check_egress: `a b` is no host"),
        (with("memory = \"lots\""), "samuel.toml:7:1: sandbox.memory: `lots` is no amount of memory"),
        (with("pids = 3"), "samuel.toml:7:8: sandbox.pids"),
        (with("imgae = \"x\""), "samuel.toml:7:1: sandbox.imgae"),
        (with("workspace = \"in-place\""), "samuel.toml:7:1: sandbox.workspace: a sandbox keeps agents out"),
        (
            with("pids = 4294967295"),
            "samuel.toml:7:1: sandbox.pids: 4294967295 is more than the 4194304 processes",
        ),
        (with("gateway.openai = {}"), "samuel.toml:7:1: sandbox.gateway: openai: its key is in no variable"),
        (mounts("/"), "samuel.toml:7:1: sandbox.mounts: `/` holds all of your files"),
        (mounts("/nowhere/x"), "samuel.toml:7:1: sandbox.mounts: `/nowhere/x` does not exist"),
        (mounts(&home), "holds all of your files"),
        (mounts(&socket), "is a socket"),
        (mounts(&holder), "holds the socket"),
        (mounts(&state), "leads to what Samuel keeps from agents"),
    ] {
        configure(&bench, &keys);
        let refused = ran(&bench, &[], &bench.start_args("touch ../ran"));
        assert!(refused.code != 0 && refused.stderr.contains(expected), "{keys}: {refused:?}");
        assert!(refused.stderr.contains("help: "), "{keys}: {refused:?}");
    }
    configure(&bench, &with(""));
    for (name, value, expected) in [
        ("SAMUEL_RUNTIME", "dokcer", "SAMUEL_RUNTIME is \"dokcer\", which is neither podman nor docker"),
        ("SAMUEL_GUEST", SAMUEL, "is linked dynamically"),
        ("SAMUEL_GUEST", "/no/such/guest", "cargo xtask guest"),
    ] {
        let refused = ran(&bench, &[(name, value)], &bench.start_args("touch ../ran"));
        assert!(refused.code != 0 && refused.stderr.contains(expected), "{name}={value}: {refused:?}");
        let document = ran(&bench, &[(name, value)], &["run", "sandbox", "check", "--json"]).json();
        assert_eq!(document["error"]["code"], "E_SANDBOX_UNAVAILABLE", "{document}");
    }
    assert!(!bench.path("../ran").exists() && !bench.path("ran").exists());
    assert_eq!(bench.status("1"), "pending");
}
