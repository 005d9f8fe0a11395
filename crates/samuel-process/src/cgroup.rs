//! A control group (cgroup v2) for one command.
//!
//! It is made below the group of this process, holds the command and all its
//! descendants wherever they go, and is killed as one by the kernel. Where that
//! cannot be done (no cgroup v2, not ours to write, Linux before 5.14) making
//! one fails, and the caller goes on without.

use super::mark::Mark;
use rustix::process::Pid;
use std::{
    fs::{self, File},
    io,
    path::{Path, PathBuf},
    time::Duration,
};
use tokio::time::{Instant, sleep_until};

/// How the names of all groups of this module begin.
const NAME: &str = "samuel-";

/// How many groups are looked at in search of those of a dead process.
const MAX_VISITED: usize = 20_000;

/// How long to wait before the second look at a group that dies; each later wait
/// is twice the one before.
const FIRST_PAUSE: Duration = Duration::from_micros(200);

/// The longest wait between two looks.
const LONGEST_PAUSE: Duration = Duration::from_millis(20);

/// A control group that was made for a command.
#[derive(Debug)]
pub(super) struct Cgroup {
    pub(super) path: PathBuf,
}

impl Cgroup {
    /// Makes the group of the command with this mark.
    pub(super) fn create(mark: &str) -> io::Result<Self> {
        let own = own_group()?;
        // Who may not leave this group may not enter another.
        rustix::fs::access(own.join("cgroup.procs"), rustix::fs::Access::WRITE_OK)?;
        let group = Self { path: own.join(format!("{NAME}{mark}")) };
        fs::create_dir(&group.path)?;
        if !group.path.join("cgroup.kill").exists() {
            group.remove();
            return Err(io::Error::new(io::ErrorKind::Unsupported, "the kernel has no cgroup.kill"));
        }
        Ok(group)
    }

    /// Finds the groups of commands that are wanted by mark and path, wherever they were made, as
    /// far as it gets by `deadline`. A group with a name of any other form is nobody's command.
    pub(super) fn find(wanted: impl Fn(&Mark, &Path) -> bool, deadline: Instant) -> Vec<Self> {
        let Ok((mount, _)) = mount() else { return Vec::new() };
        let (mut found, mut waiting, mut visited) = (Vec::new(), vec![mount], 0);
        while let Some(directory) = waiting.pop()
            && visited < MAX_VISITED
            && Instant::now() < deadline
        {
            visited += 1;
            for path in children(&directory) {
                let name = path.file_name().and_then(|name| name.to_str());
                let mark = name.and_then(|name| Mark::parse(name.strip_prefix(NAME)?));
                match mark.is_some_and(|mark| wanted(&mark, &path)) {
                    true => found.push(Self { path }),
                    false => waiting.push(path),
                }
            }
        }
        found
    }

    /// Opens the group, for a process to be born in it.
    pub(super) fn open(&self) -> io::Result<File> {
        File::open(&self.path)
    }

    /// Moves this process into the group.
    pub(super) fn enter(&self) -> io::Result<()> {
        fs::write(self.path.join("cgroup.procs"), "0")
    }

    /// Kills everything in the group and below, also what is being forked.
    pub(super) fn kill(&self) {
        // It fails where the group is gone, and then there is nobody in it.
        let _ = fs::write(self.path.join("cgroup.kill"), "1");
    }

    /// Returns the processes in the group.
    pub(super) fn processes(&self) -> Vec<u32> {
        let text = fs::read_to_string(self.path.join("cgroup.procs")).unwrap_or_default();
        text.lines().filter_map(|line| line.parse().ok()).collect()
    }

    /// Tells whether nobody but this process is in the group, and there is no group below.
    pub(super) fn holds_only(&self, process: Option<Pid>) -> bool {
        let allowed = process.map(|process| process.as_raw_nonzero().to_string());
        // A group that cannot be read may hold anybody.
        let listed = fs::read_to_string(self.path.join("cgroup.procs"));
        listed.is_ok_and(|listed| listed.lines().all(|pid| Some(pid) == allowed.as_deref()))
            && children(&self.path).next().is_none()
    }

    /// Tells whether a living process is in the group or below.
    pub(super) fn is_populated(&self) -> bool {
        let events = fs::read_to_string(self.path.join("cgroup.events")).unwrap_or_default();
        events.lines().any(|line| line == "populated 1")
    }

    /// Kills everything and waits for its end; returns whether the group is empty.
    pub(super) async fn empty(&self, deadline: Instant) -> bool {
        let mut pause = FIRST_PAUSE;
        while self.is_populated() {
            self.kill();
            if Instant::now() >= deadline {
                return false;
            }
            sleep_until(deadline.min(Instant::now() + pause)).await;
            pause = LONGEST_PAUSE.min(pause * 2);
        }
        true
    }

    /// Removes the group, with those that were made below it. One with a
    /// process in it stays.
    pub(super) fn remove(&self) {
        remove(&self.path);
    }
}

/// Tells whether a group can be made here, or why not.
pub(super) fn probe(mark: &str) -> io::Result<()> {
    Cgroup::create(mark).map(|group| group.remove())
}

fn remove(path: &Path) {
    for child in children(path) {
        remove(&child);
    }
    let _ = fs::remove_dir(path);
}

fn children(path: &Path) -> impl Iterator<Item = PathBuf> {
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    let is_directory = |entry: &fs::DirEntry| entry.file_type().is_ok_and(|kind| kind.is_dir());
    entries.filter(is_directory).map(|entry| entry.path())
}

/// Returns the directory of the group that this process is in.
fn own_group() -> io::Result<PathBuf> {
    let (mount, root) = mount()?;
    let groups = fs::read_to_string("/proc/self/cgroup")?;
    let group =
        groups.lines().find_map(|line| line.strip_prefix("0::")).and_then(|group| below(group, &root));
    let group = group.ok_or_else(|| not_found("this process is outside of the mounted cgroups"))?;
    Ok(mount.join(group))
}

/// Returns where cgroup v2 is mounted, and which group is seen there.
fn mount() -> io::Result<(PathBuf, String)> {
    let mounts = fs::read_to_string("/proc/self/mountinfo")?;
    mounts.lines().find_map(parse_mount).ok_or_else(|| not_found("no cgroup v2 is mounted"))
}

/// Reads a line of `mountinfo`: the fourth field is the group that is mounted,
/// the fifth where, and after a dash comes the kind of file system.
fn parse_mount(line: &str) -> Option<(PathBuf, String)> {
    let (fields, source) = line.split_once(" - ")?;
    let mut fields = fields.split(' ').skip(3);
    let (root, target) = (fields.next()?, fields.next()?);
    // Nobody mounts it at a path with blanks, which would be escaped here.
    (source.starts_with("cgroup2 ") && !target.contains('\\')).then(|| (target.into(), root.to_owned()))
}

/// Returns a group's path below the one that is mounted.
fn below(group: &str, root: &str) -> Option<String> {
    let rest = match root {
        "/" => group,
        root => group.strip_prefix(root).filter(|rest| rest.is_empty() || rest.starts_with('/'))?,
    };
    let rest = rest.trim_start_matches('/');
    // A process outside of the namespace's groups is shown with these.
    (!rest.split('/').any(|part| part == "..")).then(|| rest.to_owned())
}

fn not_found(reason: &'static str) -> io::Error {
    io::Error::new(io::ErrorKind::NotFound, reason)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_mount_of_cgroup_v2_is_told_from_those_of_v1() {
        let v2 = "41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw";
        assert_eq!(parse_mount(v2), Some(("/sys/fs/cgroup/unified".into(), "/".into())));
        assert_eq!(parse_mount("40 31 0:37 / /sys/fs/cgroup/pids rw - cgroup cgroup rw,pids"), None);
        assert_eq!(parse_mount("22 1 0:20 / /proc rw"), None);
    }

    #[test]
    fn a_group_is_found_below_what_is_mounted() {
        assert_eq!(below("/user.slice/a.scope", "/"), Some("user.slice/a.scope".into()));
        assert_eq!(below("/docker/1/x", "/docker/1"), Some("x".into()));
        assert_eq!(below("/docker/1", "/docker/1"), Some(String::new()));
        assert_eq!(below("/docker/12", "/docker/1"), None);
        assert_eq!(below("/../other", "/"), None);
    }
}
