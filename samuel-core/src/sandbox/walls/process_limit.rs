//! Whether the number of processes in a user namespace can be limited on this machine.
//!
//! The guest sets the limit, as a limit of resources of its user. Within a user namespace Linux counts those processes alone
//! since 5.14; before, it counted all of the user's, and commands would fail for what runs beside them. It limits nobody
//! who is root outside of the namespace.

use std::path::Path;

use crate::fs::read_text_anywhere;

/// Where Linux says its release, and how much of that is read, in bytes.
const RELEASE: &str = "/proc/sys/kernel/osrelease";
const MAX_RELEASE: u64 = 4 << 10;
/// The first version that counts by user namespace.
const COUNTS: (u32, u32) = (5, 14);

/// Returns what keeps it from being limited, in words.
pub(super) fn obstacle() -> Option<&'static str> {
    if rustix::process::geteuid().is_root() {
        return Some("the kernel limits nobody who is root outside");
    }
    let release = read_text_anywhere(Path::new(RELEASE), MAX_RELEASE).unwrap_or_default();
    (!counts_by_namespace(&release)).then_some("the kernel is older than 5.14")
}

fn counts_by_namespace(release: &str) -> bool {
    let mut numbers = release.split(|part: char| !part.is_ascii_digit()).map(str::parse::<u32>);
    let version = (numbers.next(), numbers.next());
    matches!(version, (Some(Ok(major)), Some(Ok(minor))) if (major, minor) >= COUNTS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kernels_that_count_all_processes_of_a_user_are_known_by_their_release() {
        assert!(
            ["5.14.0", "5.15.0-91-generic", "6.1.0-18-amd64", "10.0"].into_iter().all(counts_by_namespace)
        );
        assert!(!["5.13.19", "4.19.0-6-amd64", "5", "", "x.y"].into_iter().any(counts_by_namespace));
    }
}
