//! Taking out of samuel.toml which image a sandbox has, without touching anything else.

use std::{io, path::Path};

use samuel_fs::{Manner, Root};
use samuel_hook::sandbox::Image;
use toml_edit::{DocumentMut, Item};

use super::{CONFIG_FILE, Config, ConfigError, load_text};

/// Leaves to samuel.lock which image the sandbox `oci` has: takes `image` out of `[sandbox]` in the samuel.toml of a
/// project, unless it is no more than the name of this image. Says whether it did.
///
/// # Errors
/// Returns a [`ConfigError`] where the file is no configuration, or cannot be written.
pub fn leave_image(project_root: &Path, image: &Image) -> Result<bool, ConfigError> {
    let (root, file) = (Root::new(project_root), project_root.join(CONFIG_FILE));
    let Some(old) = load_text(&root, &file)? else { return Ok(false) };
    // What is no TOML is described by its own reader.
    Config::parse(&file, &old)?;
    let broken = |source: io::Error| ConfigError::Io { file: file.clone(), source };
    let mut document: DocumentMut =
        old.parse().map_err(|error: toml_edit::TomlError| broken(io::Error::other(error.to_string())))?;
    let Some(table) = document.get_mut("sandbox").and_then(Item::as_table_like_mut) else { return Ok(false) };
    let named = table.get("image").and_then(Item::as_str);
    if named.is_none_or(|named| named != image.as_str() && image.is_of(named)) {
        return Ok(false);
    }
    table.remove("image");
    let new = document.to_string();
    Config::parse(&file, &new)?;
    root.write(&file, [new.as_bytes()], &Manner::PROJECT).map_err(|error| broken(error.into()))?;
    Ok(true)
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn left(text: &str) -> (bool, String) {
        let root = tempfile::tempdir().expect("a directory");
        let image = Image::parse(&format!("a@sha256:{}", "0".repeat(64))).expect("an image");
        fs::write(root.path().join(CONFIG_FILE), text).expect("a file");
        let left = leave_image(root.path(), &image).expect("it can be read");
        (left, fs::read_to_string(root.path().join(CONFIG_FILE)).expect("it is there"))
    }

    #[test]
    fn a_digest_and_another_name_go_and_the_rest_stays() {
        let with = |image: &str| {
            format!(
                "# top\nversion = \"2\"\n[sandbox] # where\npids = 100\n{image}[project]\nname = \"x\" # mine\n"
            )
        };
        for gone in
            [format!("image = \"a@sha256:{}\"\n", "0".repeat(64)), "image = \"b\" # other\n".to_owned()]
        {
            assert_eq!(left(&with(&gone)), (true, with("")), "{gone}");
        }
        for stays in ["image = \"a:2\"\n", ""] {
            assert_eq!(left(&with(stays)), (false, with(stays)), "{stays}");
        }
    }

    #[test]
    fn what_is_no_configuration_is_refused_and_stays() {
        let root = tempfile::tempdir().expect("a directory");
        let file = root.path().join(CONFIG_FILE);
        let image = Image::parse(&format!("a@sha256:{}", "0".repeat(64))).expect("an image");
        assert_eq!(leave_image(root.path(), &image).ok(), Some(false), "there is none");
        fs::write(&file, "version = ").expect("a file");
        assert!(leave_image(root.path(), &image).is_err());
        assert_eq!(fs::read_to_string(&file).expect("it is there"), "version = ");
    }
}
