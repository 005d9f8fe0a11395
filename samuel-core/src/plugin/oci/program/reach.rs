//! What an image was granted, as its container has it: files as mounts, hosts as the list of the proxy.

use std::path::{Path, PathBuf};

use super::grants::{WORKSPACE, inner_path, writes_well};
use crate::{
    egress::EgressPolicy,
    plugin::{Capabilities, Capability, host_grant::HostGrant},
    sandbox::{Access, Mount},
};

/// Returns what was granted of a project, as mounts of which none is within another. What is not there is left out, and
/// so is what a link leads out of the project to.
pub(super) fn mounts(granted: &Capabilities, root: &Path) -> Vec<Mount> {
    let Ok(root) = root.canonicalize() else { return Vec::new() };
    let mount = |target: &String, access: Access| {
        let path = inner_path(target).filter(|_| access == Access::Read || writes_well(target))?;
        let from = root.join(&path).canonicalize().ok().filter(|from| from.starts_with(&root))?;
        let to = match path.as_os_str().is_empty() {
            true => PathBuf::from(WORKSPACE),
            false => Path::new(WORKSPACE).join(&path),
        };
        Some(Mount { from, to, access })
    };
    let read = granted.targets(Capability::FilesystemRead).iter().map(|target| mount(target, Access::Read));
    let write =
        granted.targets(Capability::FilesystemWrite).iter().map(|target| mount(target, Access::Write));
    let mut mounts: Vec<Mount> = write.chain(read).flatten().collect();
    // What holds others comes before them; of two at one place that to write to.
    mounts.sort_by(|one, other| one.to.cmp(&other.to));
    mounts.dedup_by(|later, first| later.to == first.to);
    mounts
}

/// Returns the hosts that were granted, each with its port.
///
/// # Errors
/// Returns in words what is wrong with one.
pub(super) fn egress(granted: &Capabilities) -> Result<EgressPolicy, String> {
    let targets = granted.targets(Capability::NetworkOutbound).iter();
    EgressPolicy::parse(targets.filter_map(|target| HostGrant::parse(target)).map(|host| host.with_port()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{fs, os::unix::fs::symlink};

    use super::*;

    #[test]
    fn grants_become_mounts_of_what_is_there_and_lies_in_the_project() {
        let (root, outside) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
        fs::create_dir_all(root.path().join("src/gen")).unwrap();
        fs::write(root.path().join("a.toml"), "").unwrap();
        symlink(outside.path(), root.path().join("out")).unwrap();
        let granted = Capabilities::default()
            .with(
                Capability::FilesystemRead,
                [
                    "/workspace/src/**",
                    "/workspace/src/gen/**",
                    "/workspace/a.toml",
                    "/workspace/none",
                    "/workspace/out",
                ],
            )
            .with(Capability::FilesystemWrite, ["/workspace/src/gen/**", "/workspace/**"]);
        let told: Vec<(String, Access)> = mounts(&granted, root.path())
            .into_iter()
            .map(|mount| (mount.to.display().to_string(), mount.access))
            .collect();
        let expected = [
            ("/workspace/a.toml", Access::Read),
            ("/workspace/src", Access::Read),
            ("/workspace/src/gen", Access::Write),
        ];
        assert_eq!(told, expected.map(|(to, access)| (to.to_owned(), access)));
    }

    #[test]
    fn a_host_is_reached_at_the_port_of_its_grant_alone() {
        use crate::egress::EgressVerdict::{Name, Refused};
        let granted = Capabilities::default()
            .with(Capability::NetworkOutbound, ["a.example", "*.b.example:8443", "[::1]:80"]);
        let policy = egress(&granted).unwrap();
        assert_eq!((policy.judge("a.example", 443), policy.judge("a.example", 80)), (Name, Refused));
        assert_eq!((policy.judge("x.b.example", 8443), policy.judge("b.example", 8443)), (Name, Refused));
        assert_eq!(policy.judge("c.example", 443), Refused);
    }
}
