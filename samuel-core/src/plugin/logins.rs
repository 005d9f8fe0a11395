//! What lets in to registries, as `docker login` and `podman login` keep it.
//!
//! Only logins that a file holds itself are read: programs that keep them elsewhere are not started.

use std::{collections::BTreeMap, fmt, path::PathBuf};

use serde::Deserialize;

use super::RegistryAddress;
use crate::fs::read_anywhere;

/// The most bytes of a file with logins.
const MAX_FILE: u64 = 1 << 20;

/// Where logins are kept: a variable, and the file below the directory that it names. The first that knows a place counts.
const FILES: [(&str, &str); 6] = [
    ("REGISTRY_AUTH_FILE", ""),
    ("XDG_RUNTIME_DIR", "containers/auth.json"),
    ("XDG_CONFIG_HOME", "containers/auth.json"),
    ("HOME", ".config/containers/auth.json"),
    ("DOCKER_CONFIG", "config.json"),
    ("HOME", ".docker/config.json"),
];

/// What lets in: `user:password` in base64, as `docker login` keeps it under `auths`; by the registry's host, or by
/// host and the beginning of names there, such as `quay.io/ada`.
#[derive(Clone, Default, PartialEq, Eq)]
pub struct RegistryLogins(pub BTreeMap<String, String>);

#[derive(Default, Deserialize)]
struct Kept {
    #[serde(default)]
    auths: BTreeMap<String, Login>,
}

#[derive(Deserialize)]
struct Login {
    auth: Option<String>,
}

impl fmt::Debug for RegistryLogins {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.0.keys()).finish()
    }
}

impl RegistryLogins {
    /// Reads the logins of the user whose environment this is, from the files in which docker and podman keep them; none
    /// from a file that cannot be read.
    pub fn kept(env: &[(String, String)]) -> Self {
        let mut logins = BTreeMap::new();
        for (variable, file) in FILES {
            let base = env.iter().find(|(name, _)| name == variable).map(|(_, value)| PathBuf::from(value));
            let Some(base) = base.filter(|base| base.is_absolute()) else { continue };
            // Joined with nothing, a path would end with a separator.
            let file = if file.is_empty() { base } else { base.join(file) };
            let kept = read_anywhere(&file, MAX_FILE).ok();
            let kept: Kept = kept.and_then(|text| serde_json::from_slice(&text).ok()).unwrap_or_default();
            for (name, login) in kept.auths {
                if let Some(auth) = login.auth.filter(|auth| !auth.is_empty()) {
                    logins.entry(place(&name)).or_insert(auth);
                }
            }
        }
        Self(logins)
    }

    /// Returns what lets in at an address: that of the longest beginning of its name, at last that of its host.
    pub fn of(&self, address: &RegistryAddress) -> Option<&str> {
        address.hosts().into_iter().find_map(|host| {
            let whole = format!("{host}/{}", address.name);
            let mut names = std::iter::successors(Some(whole.as_str()), |name| {
                name.rsplit_once('/').map(|(shorter, _)| shorter)
            });
            names.find_map(|name| self.0.get(name)).map(String::as_str)
        })
    }
}

/// Returns what a login is for: a host, or a host and the beginning of names there. Of a URL, as docker writes that of
/// its own registry, only the host counts.
fn place(name: &str) -> String {
    let url = name.strip_prefix("https://").or_else(|| name.strip_prefix("http://"));
    match url {
        Some(url) => url.split('/').next().unwrap_or_default().to_owned(),
        None => name.trim_end_matches('/').to_owned(),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    #[test]
    fn a_login_is_that_of_the_longest_beginning_and_docker_goes_by_several_names() {
        let logins = [("quay.io", "host"), ("quay.io/ada", "ada"), ("index.docker.io", "docker")];
        let logins = RegistryLogins(logins.map(|(name, login)| (name.to_owned(), login.to_owned())).into());
        let of = |text: &str| logins.of(&RegistryAddress::parse(text).unwrap()).map(str::to_owned);
        assert_eq!(of("oci://quay.io/ada/lint").as_deref(), Some("ada"));
        assert_eq!(of("oci://quay.io/adam/lint").as_deref(), Some("host"));
        assert_eq!(of("oci://docker.io/ada/lint").as_deref(), Some("docker"));
        assert_eq!(of("oci://ghcr.io/ada/lint"), None);
    }

    #[test]
    fn logins_are_read_where_docker_and_podman_keep_them_and_the_first_file_counts() {
        let home = tempfile::tempdir().unwrap();
        for (file, text) in [
            (
                ".docker/config.json",
                r#"{"auths": {"https://index.docker.io/v1/": {"auth": "hub"}, "quay.io/ada/": {"auth": "docker"},
                    "ghcr.io": {}, "empty.org": {"auth": ""}}, "credsStore": "desktop"}"#,
            ),
            (".config/containers/auth.json", r#"{"auths": {"quay.io/ada": {"auth": "podman"}}}"#),
            ("named.json", r#"{"auths": {"127.0.0.1:5000": {"auth": "named"}}}"#),
            ("docker/config.json", "no JSON"),
        ] {
            let file = home.path().join(file);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        let under_home = |path: &str| home.path().join(path).display().to_string();
        let env = [
            ("HOME", under_home("")),
            ("REGISTRY_AUTH_FILE", under_home("named.json")),
            ("DOCKER_CONFIG", under_home("docker")),
            ("XDG_RUNTIME_DIR", "relative".to_owned()),
        ];
        let kept = RegistryLogins::kept(&env.map(|(name, value)| (name.to_owned(), value)));
        let expected = [("127.0.0.1:5000", "named"), ("index.docker.io", "hub"), ("quay.io/ada", "podman")];
        assert_eq!(kept.0, expected.map(|(name, login)| (name.to_owned(), login.to_owned())).into());
        assert_eq!(RegistryLogins::kept(&[]), RegistryLogins::default());
    }
}
