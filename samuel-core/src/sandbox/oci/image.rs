//! Which image containers are made of: one that cannot be replaced by another.

use std::fmt;

/// What a digest begins with.
const SHA256: &str = "sha256:";
/// The longest name of an image, in bytes.
const MAX_NAME: usize = 255;

/// An image, pinned by its digest: `name@sha256:<64 hexadecimal digits>`, or the digest alone, which is then the
/// id that an engine gives a local image.
#[derive(Clone, Debug, PartialEq, Eq)]
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

    /// Returns it as engines take it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Image {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
