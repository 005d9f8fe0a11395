//! Addresses of plugins in registries.

use std::fmt;

use super::web::origin_of;
use crate::model::is_digest;

/// What the source of a plugin in a registry begins with.
pub(super) const SCHEME: &str = "oci://";
/// The tag that is meant where none is named.
const LATEST: &str = "latest";
/// The host of the registry of Docker.
const DOCKER_HOST: &str = "registry-1.docker.io";
/// The names that it goes by.
const DOCKER: [&str; 3] = ["docker.io", "index.docker.io", DOCKER_HOST];

/// A plugin in a registry: `oci://host[:port]/name[:tag][@sha256:..]`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegistryAddress {
    /// The registry, with its port where it is not that of its scheme.
    pub host: String,
    /// The name there, with `/` in it as a rule.
    pub name: String,
    /// The tag; where there is neither one nor a digest, `latest` is meant.
    pub tag: Option<String>,
    /// `sha256:` and the digest of the manifest, which has to be that one.
    pub digest: Option<String>,
}

impl RegistryAddress {
    /// Reads an address.
    ///
    /// # Errors
    /// Returns what is wrong with it.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let rest =
            text.strip_prefix(SCHEME).ok_or("the address of a plugin in a registry begins with oci://")?;
        let (rest, digest) = match rest.split_once('@') {
            Some((rest, digest)) if is_digest(digest) => (rest, Some(digest.to_owned())),
            Some(_) => return Err("what follows @ is not sha256: and 64 hexadecimal digits"),
            None => (rest, None),
        };
        let (host, path) = rest.split_once('/').ok_or("it has no name behind the host")?;
        let (name, tag) = match path.split_once(':') {
            Some((name, tag)) => (name, Some(tag.to_owned())),
            None => (path, None),
        };
        let is_host = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | ':' | '[' | ']');
        if host.is_empty() || !host.chars().all(is_host) {
            return Err("what follows oci:// is not a host");
        }
        let is_part = |part: &str| {
            let is_inner =
                |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '.' | '_' | '-');
            part.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit())
                && part.chars().all(is_inner)
        };
        if name.len() > 255 || !name.split('/').all(is_part) {
            return Err(
                "a name in a registry has small letters, digits, and . _ - within, with / between its parts",
            );
        }
        if tag.as_ref().is_some_and(|tag| !is_tag(tag)) {
            return Err("what follows : is not a tag");
        }
        Ok(Self { host: host.to_owned(), name: name.to_owned(), tag, digest })
    }

    /// Returns the hosts that the registry goes by, the one that was named first.
    pub(super) fn hosts(&self) -> Vec<&str> {
        let others = DOCKER.into_iter().filter(|host| self.is_docker() && *host != self.host);
        std::iter::once(self.host.as_str()).chain(others).collect()
    }

    fn is_docker(&self) -> bool {
        DOCKER.contains(&self.host.as_str())
    }

    /// Returns how the registry is talked to: `scheme://host:port`.
    pub(super) fn origin(&self) -> String {
        match self.is_docker() {
            true => origin_of(DOCKER_HOST),
            false => origin_of(&self.host),
        }
    }

    /// Returns what a manifest is asked for by: the digest, else the tag.
    pub(super) fn reference(&self) -> &str {
        self.digest.as_deref().or(self.tag.as_deref()).unwrap_or(LATEST)
    }
}

impl fmt::Display for RegistryAddress {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { host, name, tag, digest } = self;
        write!(f, "{SCHEME}{host}/{name}")?;
        tag.iter().try_for_each(|tag| write!(f, ":{tag}"))?;
        digest.iter().try_for_each(|digest| write!(f, "@{digest}"))
    }
}

/// Says whether a registry takes a text for a tag.
pub(super) fn is_tag(tag: &str) -> bool {
    let is_inner = |c: char| c.is_ascii_alphanumeric() || matches!(c, '.' | '_' | '-');
    !tag.is_empty() && tag.len() <= 128 && !tag.starts_with(['.', '-']) && tag.chars().all(is_inner)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn an_address_has_a_host_a_name_and_perhaps_a_tag_and_a_digest() {
        let digest = format!("sha256:{}", "0".repeat(64));
        for text in [
            "oci://ghcr.io/ada/lint".to_owned(),
            "oci://127.0.0.1:5000/lint:1.0.0".to_owned(),
            format!("oci://ghcr.io/ada/lint@{digest}"),
            format!("oci://ghcr.io/ada/lint:1.0.0@{digest}"),
        ] {
            assert_eq!(RegistryAddress::parse(&text).unwrap().to_string(), text);
        }
        assert_eq!(RegistryAddress::parse("oci://h/n").unwrap().reference(), LATEST);
        for bad in [
            "ghcr.io/ada/lint",
            "oci://ghcr.io",
            "oci:///lint",
            "oci://u:p@host/lint",
            "oci://h/Lint",
            "oci://h/../lint",
            "oci://h/lint:",
            "oci://h/lint@sha256:0",
        ] {
            assert!(RegistryAddress::parse(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn the_registry_of_docker_is_reached_at_its_own_host() {
        let address = RegistryAddress::parse("oci://docker.io/ada/lint:1").unwrap();
        assert_eq!(address.origin(), "https://registry-1.docker.io");
    }
}
