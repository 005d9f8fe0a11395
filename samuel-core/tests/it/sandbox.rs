//! Escapes from the sandbox `bwrap`: each is refused, and is seen where a wall is missing.
//!
//! Where bubblewrap cannot be used, the tests are skipped with the reason.
#![allow(clippy::print_stdout, reason = "tests")]

use std::{
    ffi::OsString,
    fs::{self, File, OpenOptions},
    io::{Read as _, Write as _},
    net::TcpListener,
    os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _},
    path::{Path, PathBuf},
    process::{Command, Output},
    thread,
    time::Duration,
};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use samuel_core::{
    egress::EgressPolicy,
    process::{CommandOutput, CommandSpec, ExitStatus, Supervisor, run},
    sandbox::{Bwrap, Guest, Host, ProbeFinding, ProbeGround, ProbeOutcome, Reach, Sandbox, View, probe},
    testing::Weakened,
};

use tokio_util::sync::CancellationToken;

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

/// Runs a command to its end.
async fn ran(spec: CommandSpec) -> CommandOutput {
    let spec = spec.merge_stderr(true).timeout(Duration::from_secs(60));
    run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await.unwrap()
}

fn hosts(listed: &str) -> EgressPolicy {
    EgressPolicy::parse([listed]).unwrap()
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
    let found = findings(|ground| Box::new(Weakened::new(bwrap(ground.view()), change))).await;
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
        "plan-read",
        "records-read",
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
        // The whole directory in place of one file, and to be written.
        let is_shown = |arg: &OsString| arg.to_string_lossy().ends_with("/.samuel/shown");
        let shown = args.iter().position(is_shown).unwrap();
        let samuel = Path::new(args.get(shown).unwrap()).ancestors().nth(1).unwrap().to_owned();
        let bind = ["--bind".into(), samuel.clone().into(), samuel.into()];
        drop(args.splice(shown - 1..=shown + 1, bind));
    })
    .await;
    for name in [
        "plan-read",
        "records-read",
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
async fn settings_of_the_kernel_are_closed_to_who_is_root_outside() {
    if is_missing() {
        return;
    }
    if !rustix::process::geteuid().is_root() {
        return println!("skipped: they are closed to this user anyway");
    }
    let broken = escapes_without(|args| {
        while let Some(at) = args.iter().position(|arg| arg == "/proc/sys") {
            args.drain(at - 1..at + 2);
        }
    })
    .await;
    assert_eq!(broken, ["sysctl-write"]);
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

/// What a test that is started a second time, as another user, finds its directory by.
const CHILD: &str = "SAMUEL_TEST_CHILD";
/// The user and group of nobody.
const NOBODY: &str = "65534";

#[test]
fn a_user_has_no_more_processes_under_bwrap_than_it_was_given() {
    if is_missing() {
        return;
    }
    let directory = tempfile::Builder::new().prefix("samuel-bwrap-").tempdir_in("/tmp").unwrap();
    for name in ["", "work", "s"] {
        let place = directory.path().join(name);
        fs::create_dir_all(&place).unwrap();
        fs::set_permissions(&place, fs::Permissions::from_mode(0o777)).unwrap();
    }
    fs::copy(guest().program(), directory.path().join("guest")).unwrap();
    let itself = ["--exact", "sandbox::a_forking_user", "--nocapture"];
    let program = std::env::current_exe().unwrap();
    let mut command = match rustix::process::geteuid().is_root() {
        false => Command::new(program),
        true => {
            // A copy, since the directory that it was built in may be root's alone.
            let copy = directory.path().join("test");
            fs::copy(program, &copy).unwrap();
            let mut setpriv = Command::new("setpriv");
            setpriv.args(["--reuid", NOBODY, "--regid", NOBODY, "--clear-groups"]).arg(copy);
            setpriv
        }
    };
    let ran = command.args(itself).env(CHILD, directory.path()).current_dir("/").output().unwrap();
    let told = said(&ran);
    if let Some(why) = told.lines().find(|line| line.starts_with("skipped: ")) {
        println!("{why}");
        return;
    }
    assert!(ran.status.success() && told.contains("held up"), "{told}");
}

/// Not a test of its own: what the one above starts as a user who is not root.
#[tokio::test]
async fn a_forking_user() {
    let Some(directory) = std::env::var_os(CHILD).map(PathBuf::from) else { return };
    let first = Guest::new(directory.join("guest"), directory.join("s/own"));
    let bwrap = Bwrap::new(View::new(directory.join("work"))).guest(first).pids(40);
    if let Err(error) = bwrap.check() {
        return println!("skipped: {error}");
    }
    let unheld = bwrap.unheld();
    if let Some(pids) = unheld.iter().find(|limit| limit.key == "pids") {
        return println!("skipped: {pids}");
    }
    assert_eq!(unheld.iter().map(|limit| limit.key).collect::<Vec<_>>(), ["memory"]);
    let line = "n=0; while test $n -lt 100; do sleep 5 & n=$((n+1)); done";
    let spec = CommandSpec::shell(line, directory.join("work")).env("LC_ALL", "C");
    let told = ran(bwrap.wrap(spec).unwrap()).await.stdout.text();
    assert!(told.contains("fork") || told.contains("Resource temporarily unavailable"), "{told}");
    println!("held up");
}

#[tokio::test]
async fn an_agent_and_a_check_reach_the_hosts_that_are_listed_for_each_and_no_other() {
    if is_missing() {
        return;
    }
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = host.local_addr().unwrap().port();
    thread::spawn(move || {
        for stream in host.incoming() {
            let mut stream = stream.unwrap();
            let _ = stream.read_exact(&mut [0; 5]);
            let _ = stream.write_all(b"from the host");
        }
    });
    let (work, outside) = (tempfile::tempdir().unwrap(), format!("127.0.0.1:{port}"));
    let reach = Reach { egress: hosts(&outside), check_egress: hosts("a.example"), ..Reach::default() };
    let agents = bwrap(View::new(work.path())).reach(reach);
    let reach = Reach { egress: hosts("a.example"), check_egress: hosts(&outside), ..Reach::default() };
    let checks = bwrap(View::new(work.path())).reach(reach);
    let asks = |host: &str| {
        let line = format!(
            "exec bash -c 'exec 3<> /dev/tcp/127.0.0.1/${{HTTPS_PROXY##*:}} || exit 9; printf \"CONNECT {host} HTTP/1.1\\r\\n\\r\\nhello\" >&3; cat <&3'"
        );
        CommandSpec::shell(line, work.path())
    };
    for (sandbox, reaches, does_not) in
        [(&agents, Bwrap::wrap as Wrap, Bwrap::wrap_check as Wrap), (&checks, Bwrap::wrap_check, Bwrap::wrap)]
    {
        let told = ran(reaches(sandbox, asks(&outside)).unwrap()).await.stdout.text();
        assert!(told.ends_with("from the host"), "{told}");
        assert_eq!(sandbox.notices(), [""; 0]);
        for (wrap, host) in
            [(reaches, "b.example:443"), (reaches, "127.0.0.1:22"), (does_not, outside.as_str())]
        {
            let told = ran(wrap(sandbox, asks(host)).unwrap()).await.stdout.text();
            assert!(told.starts_with("HTTP/1.1 403 "), "{host}: {told}");
        }
        assert_eq!(sandbox.notices().len(), 3);
        let direct = CommandSpec::shell(
            format!("exec bash -c 'exec 3<> /dev/tcp/{}/{port}'", "127.0.0.1"),
            work.path(),
        );
        assert_ne!(ran(reaches(sandbox, direct).unwrap()).await.status, ExitStatus::Exited(0));
    }
}

/// How a command is wrapped: as that of an agent, or of a check.
type Wrap = fn(&Bwrap, CommandSpec) -> Result<CommandSpec, samuel_core::sandbox::SandboxError>;

/// Hands itself files over until the system lets it hand over no more, says so, and leaves them on their way until it is
/// told to go on.
const FILES_ON_THEIR_WAY: &str = r#"exec perl -MSocket -e '
    my ($word, $rights) = ("x", pack("Qii i253 x4", 16 + 4 * 253, 1, 1, (0) x 253));
    my $parts = pack("PQ", $word, 1);
    my $message = pack("Q L x4 P Q P Q i x4", 0, 0, $parts, 1, $rights, length $rights, 0);
    my (@pairs, $is_full);
    until ($is_full) {
        socketpair(my $one, my $other, AF_UNIX, SOCK_STREAM, 0) or die "socketpair: $!\n";
        push @pairs, $one, $other;
        1 while syscall(46, fileno $one, $message, 0x40) >= 0;
        ($is_full, my $has_room) = ($! == 109, $! == 11);
        $is_full or $has_room or die "sendmsg: $!\n";
    }
    open my $full, ">", "full"; print $full "."; close $full;
    open my $go, "<", "go"; getc $go;'"#;

#[tokio::test(flavor = "multi_thread")]
async fn files_that_one_sandbox_has_on_their_way_keep_no_other_from_its_ports() {
    if is_missing() {
        return;
    }
    if !cfg!(target_arch = "x86_64") {
        return println!("skipped: calls of the system have other numbers here");
    }
    let (one, other) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let open_both_ways = |name: &str| {
        let path = one.path().join(name);
        assert!(Command::new("mkfifo").arg(&path).status().unwrap().success());
        let nonblocking = rustix::fs::OFlags::NONBLOCK.bits().cast_signed();
        OpenOptions::new().read(true).write(true).custom_flags(nonblocking).open(path).unwrap()
    };
    let (full, mut go) = (open_both_ways("full"), open_both_ways("go"));
    let holding = bwrap(View::new(one.path())).wrap(CommandSpec::shell(FILES_ON_THEIR_WAY, one.path()));
    let holding = tokio::spawn(ran(holding.unwrap()));
    let patience = Timespec { tv_sec: 30, tv_nsec: 0 };
    let found =
        tokio::task::block_in_place(|| poll(&mut [PollFd::new(&full, PollFlags::IN)], Some(&patience)));
    let reach = Reach { egress: hosts("a.example"), ..Reach::default() };
    let reaching = bwrap(View::new(other.path())).reach(reach);
    let told =
        ran(reaching.wrap(CommandSpec::shell("ulimit -n -H; echo started", other.path())).unwrap()).await;
    go.write_all(b".").unwrap();
    let held = holding.await.unwrap();
    assert_eq!((found, held.status), (Ok(1), ExitStatus::Exited(0)), "{}", held.stdout.text());
    assert!(told.stdout.text().ends_with("started\n"), "{}", told.stdout.text());
}

/// How many files the child has that the next test starts, and how many connections its sandbox asks for: few enough
/// that a few files which the child inherits do no harm.
const FEW_FILES: &str = "128";
const CONNECTIONS: usize = 50;

#[test]
fn a_sandbox_that_asks_for_many_connections_leaves_files_to_samuel() {
    if is_missing() {
        return;
    }
    let host = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = host.local_addr().unwrap();
    thread::spawn(move || {
        for mut stream in host.incoming().flatten() {
            thread::spawn(move || stream.read_to_end(&mut Vec::new()));
        }
    });
    let work = tempfile::tempdir().unwrap();
    let limited = Command::new("sh")
        .args(["-c", "ulimit -n \"$0\" && exec \"$@\"", FEW_FILES])
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "sandbox::a_samuel_with_few_files", "--nocapture"])
        .env(CHILD, format!("{address} {}", work.path().display()))
        .output()
        .unwrap();
    assert!(limited.status.success() && said(&limited).contains("held up"), "{}", said(&limited));
}

fn said(output: &Output) -> String {
    format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr))
}

/// Not a test of its own: what the one above starts.
#[tokio::test]
async fn a_samuel_with_few_files() {
    let Ok(given) = std::env::var(CHILD) else { return };
    let Some((host, work)) = given.split_once(' ') else { return };
    let reaching = bwrap(View::new(work)).reach(Reach { egress: hosts(host), ..Reach::default() });
    let line = format!(
        r#"exec perl -MIO::Socket::INET -e 'my ($port) = $ENV{{HTTPS_PROXY}} =~ /(\d+)$/;
        my @all = map {{ IO::Socket::INET->new(PeerAddr => "127.0.0.1", PeerPort => $port) or die "$!\n" }} 1 .. {CONNECTIONS};
        print $_ "CONNECT {host} HTTP/1.1\r\n\r\n" for @all;
        my $reached = 0;
        for (@all) {{ $reached++ if <$_> =~ / 200 /; close $_ }}
        print "reached $reached\n"'"#
    );
    let reached = tokio::spawn(ran(reaching.wrap(CommandSpec::shell(line, work)).unwrap()));
    while !reached.is_finished() {
        let files: Result<Vec<File>, _> = (0..20).map(|_| File::open(Path::new("/dev/null"))).collect();
        files.unwrap();
        tokio::task::yield_now().await;
    }
    let told = reached.await.unwrap().stdout.text();
    assert_eq!(told, format!("reached {CONNECTIONS}\n"));
    println!("held up");
}
