//! Which files of a project are no part of the work on it.

/// Samuel's own directory, and those where hooks of a repository keep logs and what they
/// remember.
const NO_WORK: [&str; 3] = [".samuel", ".system/logs", ".system/cache"];

/// Says whether a path from the root of a project is, or lies below, a directory whose changes
/// are no work: they make no progress, and no handler is told of them.
pub fn is_no_work(path: &[u8]) -> bool {
    let is_below = |directory: &str| {
        path.strip_prefix(directory.as_bytes()).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"/"))
    };
    NO_WORK.into_iter().any(is_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn logs_and_caches_of_hooks_are_no_work_but_hooks_are() {
        for path in
            [".samuel", ".samuel/run/x", ".system/logs/hooks.log", ".system/cache/a/b.json", ".system/logs"]
        {
            assert!(is_no_work(path.as_bytes()), "{path}");
        }
        for path in [".system/hooks/a.yaml", ".system/logs.rs", ".samuels", "a/.system/logs/x", ""] {
            assert!(!is_no_work(path.as_bytes()), "{path}");
        }
    }
}
