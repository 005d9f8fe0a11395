//! The command line of a container: one pure function from what a command gets to what the engine is told.

use std::{
    ffi::OsString,
    path::{Path, PathBuf},
};

use rustix::process::{Resource, getrlimit};

use super::{EngineKind, Image, Memory, engine::LABEL};
use crate::sandbox::walls::{
    View,
    bwrap::hides_nothing,
    sockets::{DIRECTORY, GUEST, path_inside},
};

/// The most open files that a container asks for; what its maker may have is the other limit.
const OPEN_FILES: u64 = 16_384;
/// How many processes the user of a container may have in all. The container's own limit is a lower one.
const PROCESSES: u64 = 16_384;

/// What a container is made of.
pub(super) struct Contained<'a> {
    pub(super) kind: EngineKind,
    /// The runtime below the engine, in place of its own.
    pub(super) runtime: Option<&'static str>,
    pub(super) name: &'a str,
    pub(super) label: &'a str,
    /// The user and the group that Samuel has.
    pub(super) user: (u32, u32),
    pub(super) manner: Manner,
    pub(super) image: &'a Image,
    pub(super) memory: &'a Memory,
    pub(super) pids: u32,
    /// Where a home is made, empty as `/tmp` is.
    pub(super) home: Option<&'a Path>,
    /// The size of each of the two, in bytes.
    pub(super) tmp_bytes: u64,
    /// What is shown, beside the guest and the sockets.
    pub(super) mounts: &'a [Mount],
    pub(super) guest: &'a Path,
    /// The directory with the sockets.
    pub(super) directory: &'a Path,
    /// The most open files, and processes of the user, that it may have.
    pub(super) most: Most,
}

/// How the engine's command goes with a container.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Manner {
    /// It lasts as long as the container, with its streams and its exit code.
    Attached,
    /// It ends once the container has started.
    Detached,
}

/// A file or directory that a container is shown.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mount {
    /// Where it is on this machine.
    pub(crate) from: PathBuf,
    /// Where it is in the container.
    pub(crate) to: PathBuf,
    pub(crate) access: Access,
}

/// What a mount can be used for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Access {
    Read,
    Write,
}

/// Returns what a command sees of the machine, each at its own path: its view, files beside it, and the directory to
/// write to, where there is one.
pub(super) fn mounts_of(view: &View, files: &[PathBuf], workspace: Option<&Path>) -> Vec<Mount> {
    let mut shown: Vec<&Path> = Vec::new();
    for path in view.read_only.iter().chain(files).filter(|path| path.exists()) {
        // Engines refuse to mount over a path twice.
        if !shown.contains(&path.as_path()) {
            shown.push(path);
        }
    }
    let mount = |path: &Path, access| Mount { from: path.to_owned(), to: path.to_owned(), access };
    let readable = shown.into_iter().map(|path| mount(path, Access::Read));
    readable.chain(workspace.map(|path| mount(path, Access::Write))).collect()
}

/// Limits of a user's processes, none of which may be above that of Samuel itself.
#[derive(Clone, Copy)]
pub(super) struct Most {
    open_files: u64,
    processes: u64,
}

impl Most {
    /// Returns what a container of this process can have.
    pub(super) fn of_process() -> Self {
        let limit = |resource, most: u64| getrlimit(resource).maximum.unwrap_or(most).min(most);
        Self { open_files: limit(Resource::Nofile, OPEN_FILES), processes: limit(Resource::Nproc, PROCESSES) }
    }
}

/// Returns the arguments of the engine.
///
/// # Errors
/// Returns in words why a path cannot be shown.
pub(super) fn of(contained: &Contained<'_>) -> Result<Vec<OsString>, String> {
    let Contained { kind, user: (uid, gid), .. } = contained;
    let mut args = Arguments(Vec::new());
    if let (EngineKind::Podman, Some(runtime)) = (kind, contained.runtime) {
        args.pair("--runtime", runtime);
    }
    args.words([
        "run",
        match contained.manner {
            Manner::Attached => "--interactive",
            Manner::Detached => "--detach",
        },
        "--rm",
        "--read-only",
        "--pull=never",
        "--log-driver=none",
    ]);
    if let (EngineKind::Docker, Some(runtime)) = (kind, contained.runtime) {
        args.pair("--runtime", runtime);
    }
    args.pair("--name", contained.name);
    args.pair("--label", format!("{LABEL}={}", contained.label));
    args.words(["--network=none", "--ipc=private", "--cap-drop=ALL", "--security-opt=no-new-privileges"]);
    if *kind == EngineKind::Podman {
        // Its own configuration could have other defaults.
        args.words([
            "--pid=private",
            "--uts=private",
            "--read-only-tmpfs=false",
            "--image-volume=ignore",
            "--http-proxy=false",
        ]);
        // Files and connections are then those of the same user inside and outside.
        args.word(if *uid == 0 { "--userns=host" } else { "--userns=keep-id" });
    }
    args.words(["--no-healthcheck", "--hostname=samuel"]);
    args.pair("--user", format!("{uid}:{gid}"));
    args.pair("--pids-limit", contained.pids.to_string());
    args.pair("--memory", contained.memory.as_str());
    args.pair("--memory-swap", contained.memory.as_str());
    args.pair("--ulimit", format!("nofile={0}:{0}", contained.most.open_files));
    args.pair("--ulimit", format!("nproc={0}:{0}", contained.most.processes));
    args.tmpfs(Path::new("/tmp"), contained.tmp_bytes)?;
    if let Some(home) = contained.home.filter(|home| hides_nothing(home)) {
        args.tmpfs(home, contained.tmp_bytes)?;
    }
    args.mount(contained.directory, Path::new(DIRECTORY), Access::Read)?;
    args.mount(contained.guest, Path::new(&path_inside(GUEST)), Access::Read)?;
    for Mount { from, to, access } in contained.mounts {
        args.mount(from, to, *access)?;
    }
    args.pair("--entrypoint", path_inside(GUEST));
    args.word(contained.image.as_str());
    args.word(DIRECTORY);
    Ok(args.0)
}

struct Arguments(Vec<OsString>);

impl Arguments {
    fn word(&mut self, word: impl Into<OsString>) {
        self.0.push(word.into());
    }

    fn words<const N: usize>(&mut self, words: [&str; N]) {
        self.0.extend(words.map(OsString::from));
    }

    fn pair(&mut self, option: &str, value: impl Into<OsString>) {
        self.word(option);
        self.word(value);
    }

    /// Makes an empty directory of a size.
    fn tmpfs(&mut self, path: &Path, bytes: u64) -> Result<(), String> {
        let path = plain(path)?;
        self.pair("--tmpfs", format!("{path}:rw,exec,nosuid,nodev,mode=1777,size={bytes}"));
        Ok(())
    }

    fn mount(&mut self, from: &Path, to: &Path, access: Access) -> Result<(), String> {
        let (from, to) = (plain(from)?, plain(to)?);
        let access = match access {
            Access::Read => ",readonly",
            Access::Write => "",
        };
        self.pair("--mount", format!("type=bind,source={from},target={to}{access}"));
        Ok(())
    }
}

/// Returns a path that stands for itself in an option.
fn plain(path: &Path) -> Result<&str, String> {
    let text = path.to_str().filter(|text| !text.contains([',', ':', '"', '\n']));
    text.ok_or_else(|| {
        format!(
            "the path {} has a character that engines read as their own: a comma, a colon, a quotation mark",
            path.display()
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{egress::EgressPolicy, sandbox::Contents};

    fn contents() -> Contents {
        let view = View {
            read_only: vec!["/usr".into(), "/there/is/no/such/path".into()],
            home: Some("/home/me".into()),
            ..View::new("/state/work")
        };
        let image = Image::parse(&format!("localhost/agents@sha256:{}", "0".repeat(64))).expect("an image");
        let (egress, check_egress) = (EgressPolicy::default(), EgressPolicy::default());
        Contents {
            view,
            image,
            memory: Memory::parse("2g").expect("an amount"),
            pids: 500,
            egress,
            check_egress,
            gateways: Vec::new(),
        }
    }

    fn line(kind: EngineKind, user: (u32, u32), contents: &Contents) -> Result<String, String> {
        let arguments = of(&Contained {
            kind,
            runtime: None,
            name: "samuel-1-2-3",
            label: "0123",
            user,
            manner: Manner::Attached,
            image: &contents.image,
            memory: &contents.memory,
            pids: contents.pids,
            home: contents.view.home.as_deref(),
            tmp_bytes: contents.view.tmp_bytes,
            mounts: &mounts_of(&contents.view, &["/etc/passwd".into()], Some(&contents.view.workspace)),
            guest: Path::new("/opt/samuel-guest"),
            directory: Path::new("/run/user/1000/samuel/c-1"),
            most: Most { open_files: 1024, processes: PROCESSES },
        })?;
        Ok(arguments.iter().map(|word| word.to_string_lossy()).collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn podman_is_told_every_wall() {
        let told = line(EngineKind::Podman, (1000, 100), &contents()).expect("plain paths");
        insta::assert_snapshot!(told.replace(" --", "\n--").replace("0000000000", ""), @r"
        run
        --interactive
        --rm
        --read-only
        --pull=never
        --log-driver=none
        --name samuel-1-2-3
        --label samuel.dir=0123
        --network=none
        --ipc=private
        --cap-drop=ALL
        --security-opt=no-new-privileges
        --pid=private
        --uts=private
        --read-only-tmpfs=false
        --image-volume=ignore
        --http-proxy=false
        --userns=keep-id
        --no-healthcheck
        --hostname=samuel
        --user 1000:100
        --pids-limit 500
        --memory 2g
        --memory-swap 2g
        --ulimit nofile=1024:1024
        --ulimit nproc=16384:16384
        --tmpfs /tmp:rw,exec,nosuid,nodev,mode=1777,size=1073741824
        --tmpfs /home/me:rw,exec,nosuid,nodev,mode=1777,size=1073741824
        --mount type=bind,source=/run/user/1000/samuel/c-1,target=/run/samuel,readonly
        --mount type=bind,source=/opt/samuel-guest,target=/run/samuel/guest,readonly
        --mount type=bind,source=/usr,target=/usr,readonly
        --mount type=bind,source=/etc/passwd,target=/etc/passwd,readonly
        --mount type=bind,source=/state/work,target=/state/work
        --entrypoint /run/samuel/guest localhost/agents@sha256:0000 /run/samuel
        ");
    }

    #[test]
    fn docker_is_told_the_same_without_what_podman_alone_has() {
        let told = |kind, user| line(kind, user, &contents()).expect("plain paths");
        let (podman, docker) = (told(EngineKind::Podman, (1000, 100)), told(EngineKind::Docker, (0, 0)));
        let of_podman = [
            "pid=private",
            "uts=private",
            "read-only-tmpfs=false",
            "image-volume=ignore",
            "http-proxy=false",
            "userns=keep-id",
        ];
        let same = podman.split(" --").filter(|option| !of_podman.contains(option));
        let same: Vec<&str> =
            same.map(|option| if option == "user 1000:100" { "user 0:0" } else { option }).collect();
        assert_eq!(docker.split(" --").collect::<Vec<_>>(), same);
    }

    #[test]
    fn a_path_that_would_be_an_option_of_a_mount_is_refused() {
        for path in ["/a,readonly=false", "/a:rw", "/a\"b"] {
            let mut contents = contents();
            contents.view.workspace = path.into();
            assert!(line(EngineKind::Podman, (0, 0), &contents).is_err(), "{path}");
        }
    }

    #[test]
    fn root_is_root_whatever_the_engine_is_configured_with() {
        let told = line(EngineKind::Podman, (0, 0), &contents()).expect("plain paths");
        assert!(told.contains("--user 0:0") && told.contains("--userns=host"), "{told}");
    }

    #[test]
    fn what_is_shown_twice_is_mounted_once() {
        let mut contents = contents();
        contents.view.read_only = vec!["/usr".into(), "/usr/".into(), "/etc/passwd".into()];
        let told = line(EngineKind::Podman, (0, 0), &contents).expect("plain paths");
        assert_eq!(told.matches("target=/usr").count(), 1, "{told}");
        assert_eq!(told.matches("target=/etc/passwd").count(), 1, "{told}");
    }
}
