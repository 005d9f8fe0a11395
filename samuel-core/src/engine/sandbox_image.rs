//! Which image the sandbox `oci` has: the one that samuel.lock pins.
//!
//! samuel.toml may name it as well, and then it has to be that one. Where samuel.lock pins none, a digest in samuel.toml
//! does, as it did before there was one in samuel.lock.

use std::path::Path;

use crate::{
    plugin::LockFile,
    sandbox::{Image, SandboxError},
};

/// Returns the image of a project, of which samuel.toml says `named`, or nothing. Blocks.
///
/// # Errors
/// Returns [`SandboxError::Setting`] where none is pinned, or another than samuel.toml names.
pub(super) fn image_of(root: &Path, named: &str) -> Result<Image, SandboxError> {
    let locked = LockFile::load(root).map_err(|error| error.to_string());
    let pinned = locked.and_then(|lock| chosen(named, lock.sandbox.map(|sandbox| sandbox.image)));
    pinned.map_err(|problem| SandboxError::Setting { key: "image", problem })
}

fn chosen(named: &str, locked: Option<Image>) -> Result<Image, String> {
    match locked {
        None if named.is_empty() => {
            Err("the sandbox oci needs an image, pinned by its digest: build and pin one first".to_owned())
        }
        None => Image::parse(named),
        Some(image) if named.is_empty() || image.is_of(named) => Ok(image),
        Some(image) => Err(format!("`{named}` is not the image that samuel.lock pins, which is {image}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lock_decides_and_what_samuel_toml_names_has_to_be_that() {
        let reference = |digit: &str| format!("localhost/agents@sha256:{}", digit.repeat(64));
        let locked = || Image::parse(&reference("0")).ok();
        let chosen =
            |named: &str, locked: Option<Image>| chosen(named, locked).map(|image| image.to_string());
        for named in ["", "localhost/agents", "localhost/agents:2", &reference("0")] {
            assert_eq!(chosen(named, locked()), Ok(reference("0")), "{named}");
        }
        for other in ["localhost/others", &reference("1")] {
            let told = chosen(other, locked()).expect_err("it is refused");
            assert!(
                told.contains("is not the image that samuel.lock pins, which is localhost/agents@"),
                "{told}"
            );
        }
        assert_eq!(chosen(&reference("1"), None), Ok(reference("1")));
        assert!(chosen("", None).expect_err("it is refused").contains("needs an image"));
        assert!(
            chosen("localhost/agents", None)
                .expect_err("it is refused")
                .contains("is not pinned by its digest")
        );
    }
}
