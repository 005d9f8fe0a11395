//! The limits of the container: which are set, and which were reached, by what its control group says.

use std::{fs, io, path::Path};

use rustix::process::{Resource, Rlimit, getrlimit, setrlimit};

/// Where a container sees its own control group.
const GROUP: &str = "/sys/fs/cgroup";
/// Files that count, by the limit, in version 2 and version 1; and what in them does.
const COUNTERS: [(Limit, &str, &str); 4] = [
    (Limit::Memory, "memory.events", "oom_kill"),
    (Limit::Memory, "memory/memory.oom_control", "oom_kill"),
    (Limit::Processes, "pids.events", "max"),
    (Limit::Processes, "pids/pids.events", "max"),
];

/// Files with a limit, by its name, in version 2 and version 1.
const LIMITS: [(&str, &str); 4] = [
    ("memory", "memory.max"),
    ("memory", "memory/memory.limit_in_bytes"),
    ("pids", "pids.max"),
    ("pids", "pids/pids.max"),
];

/// The most open files of which commands have half: what a container is given, so that all sandboxes have the same.
const MOST_FILES: u64 = 16_384;

/// Returns the limits of the control group that this process sees as its own, a line for each: `memory 1048576`,
/// `pids 100`. One that is not set is not among them.
pub fn limits_that_are_set() -> String {
    limits_in(Path::new(GROUP))
}

fn limits_in(group: &Path) -> String {
    let set = LIMITS.iter().filter_map(|(name, file)| {
        let limit: u64 = fs::read_to_string(group.join(file)).ok()?.trim().parse().ok()?;
        Some(format!("{name} {limit}\n"))
    });
    set.collect()
}

/// Lets the user of this process have so many processes and threads, this one and what it starts among them; never more
/// than it had before.
pub(crate) fn allow_processes(most: u32) -> io::Result<()> {
    let most = getrlimit(Resource::Nproc).maximum.map_or(u64::from(most), |maximum| maximum.min(most.into()));
    Ok(setrlimit(Resource::Nproc, Rlimit { current: Some(most), maximum: Some(most) })?)
}

/// Lets this process have as many open files as it may.
pub(crate) fn take_all_files() {
    let maximum = getrlimit(Resource::Nofile).maximum;
    // Where the system has come to allow no more than before, that may be enough.
    let _ = setrlimit(Resource::Nofile, Rlimit { current: maximum, maximum });
}

/// Leaves what is started from now on half of the open files that a guest may have, and no more at first than it had.
///
/// While more of a user's files are on their way between processes than one of them may have open, the kernel lets it
/// hand over none: commands with half as many cannot keep the guest of another sandbox from handing over its ports.
pub(crate) fn leave_half_of_the_files(had: Rlimit) -> io::Result<()> {
    Ok(setrlimit(Resource::Nofile, half_of(had, getrlimit(Resource::Nofile).maximum))?)
}

/// Returns half of what there may be at most, the limit for now included.
fn half_of(had: Rlimit, maximum: Option<u64>) -> Rlimit {
    let half = maximum.unwrap_or(MOST_FILES).min(MOST_FILES) / 2;
    Rlimit { current: Some(had.current.map_or(half, |current| current.min(half))), maximum: Some(half) }
}

/// A limit of a container.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Limit {
    Memory,
    Processes,
}

/// Returns the limits that a command has run into.
pub(crate) fn reached() -> Vec<Limit> {
    reached_in(Path::new(GROUP))
}

fn reached_in(group: &Path) -> Vec<Limit> {
    let count = |file: &str, name: &str| {
        let text = fs::read_to_string(group.join(file)).ok()?;
        let value = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(' '))?;
        value.trim().parse::<u64>().ok()
    };
    let mut found = Vec::new();
    for (limit, file, name) in COUNTERS {
        if count(file, name).is_some_and(|times| times > 0) && !found.contains(&limit) {
            found.push(limit);
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_may_have_half_as_many_files_open_as_the_guest() {
        let half = |current, maximum| {
            let Rlimit { current, maximum } = half_of(Rlimit { current, maximum }, maximum);
            (current, maximum)
        };
        assert_eq!(half(Some(1024), Some(524_288)), (Some(1024), Some(8192)));
        assert_eq!(half(Some(1024), Some(1024)), (Some(512), Some(512)));
        assert_eq!(half(None, None), (Some(8192), Some(8192)));
    }

    #[test]
    fn limits_are_seen_in_both_versions_of_control_groups() {
        let told = |files: &[(&str, &str)]| {
            let group = tempfile::tempdir().expect("a directory");
            for (name, text) in files {
                let path = group.path().join(name);
                fs::create_dir_all(path.parent().expect("a parent")).expect("a directory");
                fs::write(path, text).expect("a file");
            }
            reached_in(group.path())
        };
        assert_eq!(told(&[]), []);
        assert_eq!(
            told(&[("memory.events", "low 0\noom 1\noom_kill 2\n"), ("pids.events", "max 0\n")]),
            [Limit::Memory]
        );
        assert_eq!(told(&[("pids.events", "max 7\n")]), [Limit::Processes]);
        let first = [
            ("memory/memory.oom_control", "oom_kill_disable 0\nunder_oom 0\noom_kill 1\n"),
            ("pids/pids.events", "max 1\n"),
        ];
        assert_eq!(told(&first), [Limit::Memory, Limit::Processes]);
        assert_eq!(
            told(&[("memory/memory.oom_control", "oom_kill_disable 1\nunder_oom 0\noom_kill 0\n")]),
            []
        );
    }
}
