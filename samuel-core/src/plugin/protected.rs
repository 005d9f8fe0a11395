//! What no plugin writes, whatever was granted: what decides what runs, and what Samuel keeps.

/// Files and directories, relative to the project, that no plugin writes.
const PROTECTED: [&str; 6] =
    [".samuel", ".system/hooks", ".iteratr.hooks.yml", "samuel.toml", "samuel.lock", "samuel-plugin.toml"];

/// The directory that is nobody's to write, wherever it lies.
const GIT: &str = ".git";

/// Says whether these names lead to what no plugin writes.
pub(super) fn is_protected(names: &[String]) -> bool {
    names.iter().any(|name| is_git(name)) || PROTECTED.iter().any(|path| is_below(names, path))
}

/// Says whether these names lead to that, or to a directory that it lies in.
pub(super) fn is_or_holds_protected(names: &[String]) -> bool {
    let holds = |path: &str| {
        let mut parts = path.split('/');
        names.iter().all(|name| parts.next().is_some_and(|part| name.eq_ignore_ascii_case(part)))
    };
    is_protected(names) || PROTECTED.iter().any(|path| holds(path))
}

fn is_git(name: &str) -> bool {
    name.eq_ignore_ascii_case(GIT)
}

/// Says whether names begin with those of a path. Case does not count: on some
/// systems two spellings are one file.
fn is_below(names: &[String], path: &str) -> bool {
    let mut prefix = path.split('/').filter(|name| !matches!(*name, "" | "."));
    let mut names = names.iter();
    prefix.all(|part| names.next().is_some_and(|name| name.eq_ignore_ascii_case(part)))
}
