//! Manifests: which steps passed with the manifests as they are now.

use std::{
    fs,
    hash::{DefaultHasher, Hash as _, Hasher as _},
    path::PathBuf,
};

use crate::workspace::{root, target};

/// Returns whether a manifest, the lock file or `deny.toml` changed since [`remember`] was called for the step.
pub(crate) fn changed_since(step: &str) -> bool {
    fs::read_to_string(kept(step)).ok() != Some(digest())
}

/// Remembers that the step passed with the manifests as they are now.
pub(crate) fn remember(step: &str) {
    let path = kept(step);
    // Not remembered, the step runs once more.
    let _ = fs::create_dir_all(path.with_file_name("")).and_then(|()| fs::write(path, digest()));
}

fn kept(step: &str) -> PathBuf {
    target().join("passed").join(step)
}

fn digest() -> String {
    let mut hasher = DefaultHasher::new();
    let depths = ["", "*/", "*/*/"];
    let manifests = depths.iter().flat_map(|depth| glob(depth));
    for path in manifests.chain([root().join("Cargo.lock"), root().join("deny.toml")]) {
        path.strip_prefix(root()).ok().hash(&mut hasher);
        fs::read(&path).ok().hash(&mut hasher);
    }
    format!("{:016x}\n", hasher.finish())
}

/// Returns the manifests in directories of one depth, such as `*/`.
fn glob(depth: &str) -> Vec<PathBuf> {
    let mut directories = vec![root().to_owned()];
    for _ in depth.matches('*') {
        let inside =
            directories.iter().filter_map(|directory| fs::read_dir(directory).ok()).flatten().flatten();
        directories = inside.map(|entry| entry.path()).filter(|path| path.is_dir()).collect();
        directories.retain(|path| !path.ends_with("target") && !path.ends_with(".git"));
        directories.sort();
    }
    directories
        .into_iter()
        .map(|directory| directory.join("Cargo.toml"))
        .filter(|path| path.exists())
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn finds_the_manifests_of_all_packages() {
        let found: Vec<PathBuf> = ["", "*/", "*/*/"].iter().flat_map(|depth| glob(depth)).collect();
        for package in ["", "xtask", "samuel-core", "crates/samuel-toon", "bindings/python"] {
            assert!(found.contains(&root().join(package).join("Cargo.toml")), "{package}");
        }
    }
}
