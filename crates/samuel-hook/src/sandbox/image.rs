//! Which image containers are made of: one that cannot be replaced by another.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What a digest begins with.
const SHA256: &str = "sha256:";
/// The longest name of an image, in bytes.
const MAX_NAME: usize = 255;

/// An image, pinned by its digest: `name@sha256:<64 hexadecimal digits>`, or the digest alone, which is then the
/// id that an engine gives a local image.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Image(String);

impl Image {
    /// Reads a reference.
    ///
    /// # Errors
    /// Returns what is wrong with it, in words.
    pub fn parse(text: &str) -> Result<Self, String> {
        let (name, digest) = match text.rsplit_once('@') {
            Some((name, digest)) => (Some(name), digest),
            None => (None, text),
        };
        let is_pinned = digest.strip_prefix(SHA256).is_some_and(|digits| {
            digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
        });
        if !is_pinned {
            return Err(format!(
                "`{text}` is not pinned by its digest, as in \"localhost/agents@sha256:<64 digits>\""
            ));
        }
        let is_name = |name: &str| {
            let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"._-/:".contains(&byte);
            name.len() <= MAX_NAME
                && name.starts_with(|first: char| first.is_ascii_alphanumeric())
                && name.bytes().all(allowed)
        };
        if name.is_some_and(|name| !is_name(name)) {
            return Err(format!("`{text}` is no name of an image"));
        }
        Ok(Self(text.to_owned()))
    }

    /// Says whether it is what somebody names: by the whole reference, or by its name alone, with a tag or without.
    pub fn is_of(&self, named: &str) -> bool {
        let name = self.0.rsplit_once('@').map(|(name, _)| name);
        self.0 == named || name.is_some_and(|name| without_tag(name) == without_tag(named))
    }

    /// Returns it as engines take it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl TryFrom<String> for Image {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        Self::parse(&text)
    }
}

impl From<Image> for String {
    fn from(image: Image) -> Self {
        image.0
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// Returns the name of an image without its tag, which says nothing beside a digest.
pub fn without_tag(name: &str) -> &str {
    match name.rsplit_once(':') {
        Some((bare, tag)) if !tag.contains('/') => bare,
        _ => name,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_is_of_its_name_and_of_no_other() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        let image = |text: String| Image::parse(&text).expect("it is pinned");
        let agents = image(format!("a.example:5000/agents@{digest}"));
        for named in [agents.as_str(), "a.example:5000/agents", "a.example:5000/agents:2"] {
            assert!(agents.is_of(named), "{named}");
        }
        for other in ["agents", "a.example:5000/other", digest.as_str(), ""] {
            assert!(!agents.is_of(other), "{other}");
        }
        let id = image(digest.clone());
        assert!(id.is_of(&digest) && !id.is_of("agents") && !id.is_of(""));
    }

    #[test]
    fn an_image_is_pinned_by_a_digest_and_is_no_option() {
        let digest = format!("sha256:{}", "0a".repeat(32));
        for good in
            [format!("localhost/agents@{digest}"), digest.clone(), format!("a.example:5000/b/c:1@{digest}")]
        {
            assert_eq!(Image::parse(&good).map(|image| image.to_string()), Ok(good));
        }
        let upper = digest.to_uppercase();
        for bad in [
            "",
            "agents",
            "agents:latest",
            "agents@sha256:0a",
            &format!("--privileged@{digest}"),
            &format!("@{digest}"),
            &format!("a b@{digest}"),
            &format!("agents@{upper}"),
        ] {
            assert!(Image::parse(bad).is_err(), "{bad}");
        }
    }
}
