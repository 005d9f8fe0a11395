//! What files an image can be granted.
//!
//! A mount is a file or a directory with all that is in it, so that is what the targets of images name:
//! `/workspace/pyproject.toml`, `/workspace/src/**`. What decides what runs is nobody's to write, and neither is a
//! directory around it, in which it could be made anew.

use std::path::{Path, PathBuf};

use crate::plugin::{Capability, protected};

/// Where a container has the project.
pub(in crate::plugin) const WORKSPACE: &str = "/workspace";
/// What stands for all that is in a directory.
const WHOLE: &str = "/**";

/// Says what is wrong with a target, beside what is wrong with it for any plugin.
pub(in crate::plugin) fn target_fault(capability: Capability, target: &str) -> Option<&'static str> {
    let writes = match capability {
        Capability::FilesystemRead => false,
        Capability::FilesystemWrite => true,
        _ => return None,
    };
    let Some(path) = inner_path(target) else {
        return Some("an image is shown files and directories whole: use a path, or a directory and /**");
    };
    let names = names_of(&path);
    if writes && (names.is_empty() || protected::is_or_holds_protected(&names)) {
        return Some("an image can write neither the project as a whole nor what Samuel keeps or is told by");
    }
    None
}

/// Says whether there is nothing wrong with a target to write to.
pub(super) fn writes_well(target: &str) -> bool {
    target_fault(Capability::FilesystemWrite, target).is_none()
}

/// Returns the path of a target within the project; nothing for a pattern.
pub(super) fn inner_path(target: &str) -> Option<PathBuf> {
    let path = Path::new(target.strip_suffix(WHOLE).unwrap_or(target)).strip_prefix(WORKSPACE).ok()?;
    let is_plain = !path.to_str()?.contains(['*', '?', '[', '{']);
    is_plain.then(|| path.to_owned())
}

fn names_of(path: &Path) -> Vec<String> {
    path.components().map(|part| part.as_os_str().to_string_lossy().into_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_target_is_a_place_and_what_decides_what_runs_is_not_written() {
        let fault = |capability, target: &str| target_fault(capability, target).is_some();
        for good in
            ["/workspace", "/workspace/**", "/workspace/a.toml", "/workspace/src/**", "/workspace/.git/**"]
        {
            assert!(!fault(Capability::FilesystemRead, good), "{good}");
        }
        for pattern in ["/workspace/*.toml", "/workspace/**/a", "/workspace/[ab]", "/workspace/a?"] {
            assert!(fault(Capability::FilesystemRead, pattern), "{pattern}");
        }
        for good in ["/workspace/out/**", "/workspace/report.json"] {
            assert!(!fault(Capability::FilesystemWrite, good), "{good}");
        }
        for bad in [
            "/workspace",
            "/workspace/**",
            "/workspace/.samuel/**",
            "/workspace/.git/**",
            "/workspace/vendor/.git/hooks/**",
            "/workspace/.system/**",
            "/workspace/.system/hooks/a.yaml",
            "/workspace/samuel.toml",
            "/workspace/Samuel.Lock",
        ] {
            assert!(fault(Capability::FilesystemWrite, bad), "{bad}");
        }
    }
}
