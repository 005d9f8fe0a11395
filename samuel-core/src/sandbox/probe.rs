//! What a sandbox holds, tried out from within.
//!
//! [`probe`](probe()) runs commands in a sandbox that try to get out of it: at a plan, a repository, a home
//! and a process that [`ProbeGround`] makes for the purpose. Whether one did is seen from outside.

use std::{
    collections::BTreeMap,
    ffi::OsString,
    fmt, fs, io,
    net::{TcpListener, UdpSocket},
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    time::Duration,
};

use serde::Serialize;
use tokio_util::sync::CancellationToken;

use super::{Sandbox, SandboxError, View};
use crate::process::{self, CommandSpec, End, ExitStatus, Supervisor};

/// How long one probe may take.
const PATIENCE: Duration = Duration::from_secs(20);
/// The size of `/tmp` while probes run, in bytes; one of them fills it.
const TMP_BYTES: u64 = 8 << 20;

/// Something that a sandbox keeps a command from.
struct Probe {
    name: &'static str,
    promise: &'static str,
    /// Exits with 0 where it got out. Where that cannot be told from within, it exits with another code.
    script: &'static str,
}

/// A table of probes.
macro_rules! probes {
    ($($name:literal, $promise:literal, $script:literal;)+) => {
        const PROBES: &[Probe] = &[$(Probe { name: $name, promise: $promise, script: $script },)+];
    };
}

probes! {
    "plan-write", "the plan cannot be written", r#"echo x >> "$PLAN""#;
    "plan-read", "the plan cannot be read", r#"cat "$ORIGIN/.samuel/run/prd.toon" > /dev/null"#;
    "records-read", "no record of a run can be read", r#"cat "$ORIGIN/.samuel/run/logs/run/inputs.jsonl" > /dev/null"#;
    "plan-create", "no file can be made in .samuel", r#"echo x > "$ORIGIN/.samuel/planted"; exit 1"#;
    "plan-replace", "the plan cannot be replaced", r#"echo x > new && mv -f new "$PLAN""#;
    "plan-remove", "the plan cannot be removed", r#"rm -f "$PLAN""#;
    "plan-mode", "the plan's mode cannot be changed", r#"chmod 0777 "$PLAN""#;
    "plan-rename", ".samuel cannot be renamed", r#"mv "$ORIGIN/.samuel" "$ORIGIN/moved"; exit 1"#;
    "plan-parent", "the directory that holds .samuel cannot be renamed", r#"mv "$ORIGIN" "$ORIGIN.moved"; exit 1"#;
    "plan-symlink", "no symbolic link leads to the plan", r#"ln -s "$PLAN" soft && echo x >> soft"#;
    "plan-hard-link", "no hard link leads to the plan", r#"ln "$PLAN" hard && echo x >> hard"#;
    "plan-proc-root", "/proc/self/root leads to no other tree", r#"echo x >> "/proc/self/root$PLAN""#;
    "plan-proc-one", "/proc/1/root leads to no other tree", r#"echo x >> "/proc/1/root$PLAN""#;
    "tree-read", "your files cannot be read", r#"cat "$ORIGIN/.env" > /dev/null"#;
    "tree-write", "your work tree cannot be written", r#"echo x >> "$ORIGIN/.env"; exit 1"#;
    "git-objects-write", "your objects cannot be written", r#"echo x > "$ORIGIN/.git/objects/planted""#;
    "git-objects-remove", "your objects cannot be removed", r#"rm "$ORIGIN/.git/objects/kept""#;
    "git-refs", "your branches cannot be moved", r#"mkdir -p "$ORIGIN/.git/refs/heads"; echo x > "$ORIGIN/.git/refs/heads/main"; exit 1"#;
    "git-hooks", "no hook can be planted", r#"mkdir -p "$ORIGIN/.git/hooks"; echo x > "$ORIGIN/.git/hooks/post-checkout"; exit 1"#;
    "git-config", "your git configuration cannot be changed", r#"echo x >> "$ORIGIN/.git/config"; exit 1"#;
    "git-config-read", "your git configuration cannot be read", r#"cat "$ORIGIN/.git/config" > /dev/null"#;
    "git-commondir", "your repository cannot be led elsewhere", r#"echo /tmp > "$ORIGIN/.git/commondir"; exit 1"#;
    "git-worktree", "no config.worktree can be planted", r#"echo x > "$ORIGIN/.git/config.worktree"; exit 1"#;
    "git-nested", "no repository can be planted in your tree", r#"mkdir -p "$ORIGIN/sub/.git"; echo x > "$ORIGIN/sub/.git/config"; exit 1"#;
    "git-attributes", "no filter can be planted", r#"echo '* filter=x' > "$ORIGIN/.gitattributes"; exit 1"#;
    "home-read", "your home cannot be read", r#"cat "$THE_HOME/.ssh/id" > /dev/null"#;
    "home-write", "your home cannot be written", r#"echo x >> "$THE_HOME/.profile"; exit 1"#;
    "system-write", "the system's programs cannot be written", r#"echo x > "/usr/bin/samuel-probe-$$" && rm "/usr/bin/samuel-probe-$$""#;
    "root-write", "nothing can be written beside the workspace", r#"echo x > "/samuel-probe-$$" && rm "/samuel-probe-$$""#;
    "sysctl-write", "no setting of the kernel can be written", r#"for name in kernel/core_pattern kernel/modprobe vm/drop_caches; do { : >> "/proc/sys/$name"; } && exit 0; done; exit 1"#;
    "sysrq", "no request can be made of the kernel", r#": >> /proc/sysrq-trigger"#;
    "environment", "no environment of another process can be read", r#"cat /proc/[0-9]*/environ 2> /dev/null | grep -q "$NEEDLE_1$NEEDLE_2""#;
    "signal", "no process outside can be signalled", r#"kill -0 "$OTHER_PID""#;
    "ptrace", "no process outside can be traced", r#"test "$(uname -m)" = x86_64 || exit 127; perl -e 'exit(syscall(101, 0x4206, $ENV{OTHER_PID} + 0, 0, 0) == 0 ? 0 : 1)'"#;
    "mount", "nothing can be mounted", r#"mkdir -p m && mount -t tmpfs none m && umount m"#;
    "remount", "nothing becomes writable by a remount", r#"mount -o remount,rw,bind "$PLAN""#;
    "umount", "no mount can be taken away", r#"umount -l "$PLAN""#;
    "setns", "no namespace can be entered", r#"nsenter --target 1 --net true"#;
    "userns", "no user namespace can be made", r#"unshare --user true"#;
    "network-devices", "there is no network device but the loopback", r#"test "$(grep -c : /proc/net/dev)" -gt 1"#;
    "tcp", "no port of the host can be reached", r#"bash -c 'exec 3<> "/dev/tcp/127.0.0.1/$TCP_PORT"'"#;
    "udp", "no datagram reaches the host", r#"command -v bash > /dev/null || { echo 'bash: not found'; exit 127; }; bash -c 'echo x > "/dev/udp/127.0.0.1/$UDP_PORT"'; exit 1"#;
    "dns", "no name can be resolved by a server", r#"perl -MSocket -e 'socket(S, PF_INET, SOCK_DGRAM, 17) or exit 1; connect(S, sockaddr_in(53, inet_aton("192.0.2.1"))) or exit 1; exit 0'"#;
    "raw-socket", "no raw socket can be opened", r#"perl -MSocket -e 'exit(socket(S, PF_INET, SOCK_RAW, 1) ? 0 : 1)'"#;
    "vsock", "no socket leads to the machine below", r#"perl -e 'use Socket; exit(socket(S, 40, SOCK_STREAM, 0) ? 0 : 1)'"#;
    "keyring", "no key of the kernel's can be read", r#"test "$(uname -m)" = x86_64 || exit 127; perl -e 'exit(syscall(250, 0, -3, 0) >= 0 ? 0 : 1)'"#;
    "shm-size", "/dev/shm has an end", r#"dd if=/dev/zero of=/dev/shm/samuel-probe-fill bs=1M count=70 2>&1; code=$?; rm -f /dev/shm/samuel-probe-fill; exit $code"#;
    "tmp-size", "/tmp has an end", r#"dd if=/dev/zero of=/tmp/samuel-probe-fill bs=1M count=9 2>&1; code=$?; rm -f /tmp/samuel-probe-fill; exit $code"#;
}

/// What came of a probe.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum ProbeOutcome {
    /// The promise held.
    Held,
    /// The command got out.
    Broken,
    /// The probe could not be made, such as without a program that it takes.
    Untried,
}

impl fmt::Display for ProbeOutcome {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(match self {
            Self::Held => "held",
            Self::Broken => "BROKEN",
            Self::Untried => "untried",
        })
    }
}

/// A promise, and what was found.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProbeFinding {
    /// The name of the probe.
    pub name: &'static str,
    /// What the sandbox is to hold.
    pub promise: &'static str,
    /// Whether it does.
    pub outcome: ProbeOutcome,
    /// What was seen, such as the words in which it was refused.
    pub finding: String,
}

/// What probes try to get at: a project with a plan and a repository, a home, a process, two ports.
#[derive(Debug)]
pub struct ProbeGround {
    directory: tempfile::TempDir,
    tcp: TcpListener,
    udp: UdpSocket,
    needle: [String; 2],
}

impl ProbeGround {
    /// Makes it in a new directory, which goes with it.
    ///
    /// # Errors
    /// Returns an error where that cannot be made.
    pub fn create() -> io::Result<Self> {
        let directory = tempfile::Builder::new().prefix("samuel-probe-").tempdir()?;
        let root = directory.path().canonicalize()?;
        for (name, text) in [
            ("origin/.samuel/shown", "the task\n"),
            ("origin/.samuel/run/prd.toon", "the plan\n"),
            ("origin/.samuel/run/logs/run/inputs.jsonl", "a record\n"),
            ("origin/.env", "TOKEN=1\n"),
            ("origin/.git/HEAD", "ref: refs/heads/main\n"),
            ("origin/.git/config", "[remote \"origin\"]\n"),
            ("origin/.git/objects/kept", "an object\n"),
            ("origin/.git/refs/heads/main", "a commit\n"),
            ("origin/.git/hooks/README", "none\n"),
            ("home/.ssh/id", "a key\n"),
            ("home/.profile", "true\n"),
            ("work/README", "the clone\n"),
        ] {
            let path = root.join(name);
            if let Some(parent) = path.parent() {
                fs::create_dir_all(parent)?;
            }
            fs::write(path, text)?;
        }
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0")?, UdpSocket::bind("127.0.0.1:0")?);
        udp.set_nonblocking(true)?;
        let needle = [format!("needle-{}-", std::process::id()), "in-the-haystack".to_owned()];
        Ok(Self { directory, tcp, udp, needle })
    }

    /// Returns a directory of it.
    fn path(&self, name: &str) -> PathBuf {
        let root = self.directory.path();
        root.canonicalize().unwrap_or_else(|_| root.to_owned()).join(name)
    }

    /// Returns what a sandbox would show of it, as a run shows a clone of a project.
    pub fn view(&self) -> View {
        View {
            read_only: [".samuel/shown", ".git/objects"].map(|name| self.path("origin").join(name)).to_vec(),
            home: Some(self.path("home")),
            tmp_bytes: TMP_BYTES,
            ..View::new(self.path("work"))
        }
    }

    /// Returns the directory that holds the plan and the repository.
    pub fn origin(&self) -> PathBuf {
        self.path("origin")
    }

    /// Returns all that must stay as it is, by path: contents and mode.
    fn state(&self) -> BTreeMap<PathBuf, (Vec<u8>, u32)> {
        let mut found = BTreeMap::new();
        let mut waiting = vec![self.path("")];
        while let Some(directory) = waiting.pop() {
            for entry in fs::read_dir(&directory).into_iter().flatten().flatten() {
                let path = entry.path();
                match entry.file_type() {
                    Ok(kind) if kind.is_dir() && path != self.path("work") => waiting.push(path),
                    Ok(kind) if kind.is_file() => {
                        let mode =
                            fs::metadata(&path).map(|found| found.permissions().mode()).unwrap_or_default();
                        found.insert(path.clone(), (fs::read(&path).unwrap_or_default(), mode));
                    }
                    _ => {}
                }
            }
        }
        found
    }

    fn variables(&self, other: u32) -> Vec<(OsString, OsString)> {
        let port = |address: io::Result<std::net::SocketAddr>| {
            address.map_or(0, |address| address.port()).to_string()
        };
        let [first, second] = self.needle.clone();
        let origin = self.origin();
        let paths = [
            ("ORIGIN", origin.clone()),
            ("PLAN", origin.join(".samuel/shown")),
            ("THE_HOME", self.path("home")),
        ];
        let texts = [
            ("PATH", "/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin".to_owned()),
            ("LC_ALL", "C".to_owned()),
            ("NEEDLE_1", first),
            ("NEEDLE_2", second),
            ("OTHER_PID", other.to_string()),
            ("TCP_PORT", port(self.tcp.local_addr())),
            ("UDP_PORT", port(self.udp.local_addr())),
        ];
        let paths = paths.into_iter().map(|(name, path)| (name.into(), path.into()));
        paths.chain(texts.into_iter().map(|(name, text)| (name.into(), text.into()))).collect()
    }
}

/// Tries to get out of a sandbox, which shows the [view](ProbeGround::view) of the ground: one probe after the
/// other, each with a deadline of 20 s.
///
/// # Errors
/// Returns a [`SandboxError`] where no command can run in the sandbox, and [`SandboxError::Unusable`] where the
/// ground cannot be held.
pub async fn probe(
    ground: &ProbeGround,
    sandbox: &dyn Sandbox,
    supervisor: &Supervisor,
) -> Result<Vec<ProbeFinding>, SandboxError> {
    sandbox.check()?;
    let failed = |problem: String| SandboxError::Unusable { name: sandbox.name().to_owned(), problem };
    let cancel = CancellationToken::new();
    let other = CommandSpec::new("/bin/sleep", "/").arg("600").env("SECRET", ground.needle.concat());
    let other =
        process::spawn(other, &Supervisor::GroupOnly).await.map_err(|error| failed(error.explained()))?;
    let (stopper, pid) = (other.stopper(), other.pid());
    let mut findings = Vec::new();
    for one in PROBES {
        let before = ground.state();
        let spec = CommandSpec::shell(one.script, ground.path("work")).envs(ground.variables(pid));
        let spec = sandbox.wrap(spec.timeout(PATIENCE).merge_stderr(true))?;
        let ran = process::run(spec, supervisor, &cancel).await.map_err(|error| failed(error.explained()))?;
        let told = ran.stdout.text();
        let told = told.lines().last().unwrap_or("refused without a word").trim().to_owned();
        let arrived = ground.udp.recv(&mut [0; 8]).is_ok();
        let changed = changed(&before, &ground.state());
        let (outcome, finding) = match (changed, ran.end, ran.status) {
            (Some(path), ..) => (ProbeOutcome::Broken, format!("{} was changed", path.display())),
            _ if arrived => (ProbeOutcome::Broken, "a datagram arrived".to_owned()),
            (_, End::Exited, ExitStatus::Exited(0)) => (ProbeOutcome::Broken, "it could be done".to_owned()),
            (_, End::Exited, ExitStatus::Exited(126 | 127)) => (ProbeOutcome::Untried, told),
            (_, End::Exited, _) => (ProbeOutcome::Held, told),
            (_, _, status) => (ProbeOutcome::Untried, format!("it did not end by itself: {status}")),
        };
        findings.push(ProbeFinding { name: one.name, promise: one.promise, outcome, finding });
        if outcome == ProbeOutcome::Broken && ground.state() != before {
            restore(&before, ground);
        }
    }
    stopper.kill();
    let _ = other.wait().await;
    Ok(findings)
}

/// Returns a file that is not what it was.
fn changed(
    before: &BTreeMap<PathBuf, (Vec<u8>, u32)>,
    now: &BTreeMap<PathBuf, (Vec<u8>, u32)>,
) -> Option<PathBuf> {
    let paths = before.keys().chain(now.keys());
    paths.into_iter().find(|path| before.get(*path) != now.get(*path)).cloned()
}

/// Puts the ground back for the next probe.
fn restore(before: &BTreeMap<PathBuf, (Vec<u8>, u32)>, ground: &ProbeGround) {
    for path in ground.state().keys().filter(|path| !before.contains_key(*path)) {
        let _ = fs::remove_file(path);
    }
    for (path, (contents, mode)) in before {
        let _ = fs::create_dir_all(path.parent().unwrap_or(Path::new("/")));
        let _ = fs::write(path, contents);
        let _ = fs::set_permissions(path, fs::Permissions::from_mode(*mode));
    }
}
