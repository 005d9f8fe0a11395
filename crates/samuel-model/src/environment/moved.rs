//! The places of the caller's environment, for children that work in a workspace.

use std::path::{Path, PathBuf};

/// Variables that name the caller's own place in a repository. They are wrong in any other place.
const OF_CALLER: [&str; 8] = [
    "OLDPWD",
    "INIT_CWD",
    "GIT_DIR",
    "GIT_WORK_TREE",
    "GIT_INDEX_FILE",
    "GIT_COMMON_DIR",
    "GIT_PREFIX",
    "GIT_OBJECT_DIRECTORY",
];

/// Returns an environment with its places moved from one root to another: values, and entries of lists such as `PATH`,
/// that are the root or lie below it, but not URLs. Removes what names the caller's own place in a repository, such as `GIT_DIR`.
///
/// Variables of Samuel stay as they are. So does all else if the home directory is the root or lies below it, since the
/// files there are the user's. Nothing is moved if both roots are the same. Blocks.
pub fn moved(
    env: impl IntoIterator<Item = (String, String)>,
    from: &Path,
    to: &Path,
) -> Vec<(String, String)> {
    let of_caller = |name: &str| OF_CALLER.contains(&name);
    let mut env: Vec<(String, String)> = env.into_iter().filter(|(name, _)| !of_caller(name)).collect();
    let resolved = from.canonicalize().unwrap_or_else(|_| from.to_owned());
    let from = [from, &resolved];
    let has_home = env.iter().any(|(name, value)| name == "HOME" && below(Path::new(value), &from).is_some());
    if from.contains(&to) || has_home {
        return env;
    }
    for (_, value) in env.iter_mut().filter(|(name, _)| !name.starts_with("SAMUEL_")) {
        let is_of_root = |entry: &str| below(Path::new(entry), &from).is_some();
        // The path of a URL is no entry of a list.
        if !value.contains("://") && value.split(':').any(is_of_root) {
            let entries: Vec<String> = value.split(':').map(|entry| moved_entry(entry, &from, to)).collect();
            *value = entries.join(":");
        }
    }
    env
}

fn moved_entry(entry: &str, from: &[&Path; 2], to: &Path) -> String {
    let path = Path::new(entry);
    match below(path, from) {
        // Some workspaces are below the project.
        Some(rest) if !path.starts_with(to) => {
            let moved: PathBuf = to.join(rest).components().collect();
            moved.display().to_string()
        }
        _ => entry.to_owned(),
    }
}

/// Returns a path from one of the roots on, if it lies there.
fn below<'p>(path: &'p Path, roots: &[&Path; 2]) -> Option<&'p Path> {
    roots.iter().filter(|root| root.parent().is_some()).find_map(|root| path.strip_prefix(root).ok())
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::fs;

    use super::*;

    #[test]
    fn moves_places_of_an_environment() {
        let made = tempfile::tempdir().unwrap();
        let root = made.path().canonicalize().unwrap().join("p");
        fs::create_dir(&root).unwrap();
        let link = root.with_file_name("link");
        std::os::unix::fs::symlink(&root, &link).unwrap();
        let to = Path::new("/w/tree");
        let given = |from: &Path, text: &str| {
            let text = text.replace("$P", &from.display().to_string()).replace("$R", root.to_str().unwrap());
            let pairs = text.split_whitespace().filter_map(|pair| pair.split_once('='));
            pairs.map(|(name, value)| (name.to_owned(), value.to_owned())).collect::<Vec<_>>()
        };
        let env = "ROOT=$P TARGET=$P/target REAL=$R/x PATH=/bin:$P/bin:$Pp/bin NEXT=$Pp URL=http://h:1/ HOME=/home/me \
                   SAMUEL_STATE_DIR=$P/state GIT_DIR=$P/.git OLDPWD=$P GIT_AUTHOR_NAME=Ada";
        let expected = "ROOT=/w/tree TARGET=/w/tree/target REAL=/w/tree/x PATH=/bin:/w/tree/bin:$Pp/bin NEXT=$Pp \
                        URL=http://h:1/ HOME=/home/me SAMUEL_STATE_DIR=$P/state GIT_AUTHOR_NAME=Ada";
        for from in [&root, &link] {
            assert_eq!(moved(given(from, env), from, to), given(from, expected));
            let home = "TARGET=$P/target HOME=$P/me";
            assert_eq!(moved(given(from, home), from, to), given(from, home), "the user's own files");
        }
        let in_place = "TARGET=$P/target";
        let kept = moved(given(&root, &format!("{in_place} GIT_DIR=$P/.git")), &root, &root);
        assert_eq!(kept, given(&root, in_place));
    }
}
