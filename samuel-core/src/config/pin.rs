//! Writing which image a sandbox has into samuel.toml, without touching anything else.

use std::{io, path::Path};

use toml_edit::{DocumentMut, Item, Table, value};

use super::{CONFIG_FILE, CONFIG_VERSION, Config, ConfigError, load_text};
use crate::fs::{Manner, Root};

/// Sets `image` below `[sandbox]` in the samuel.toml of a project, which is made where there is none.
///
/// # Errors
/// Returns a [`ConfigError`] where the file is no configuration, or cannot be written.
pub fn pin_image(project_root: &Path, image: &str) -> Result<(), ConfigError> {
    let (root, file) = (Root::new(project_root), project_root.join(CONFIG_FILE));
    let old = load_text(&root, &file)?.unwrap_or_else(|| format!("version = \"{CONFIG_VERSION}\"\n"));
    // What is no TOML is described by its own reader.
    Config::parse(&file, &old)?;
    let broken = |source: io::Error| ConfigError::Io { file: file.clone(), source };
    let mut document: DocumentMut =
        old.parse().map_err(|error: toml_edit::TomlError| broken(io::Error::other(error.to_string())))?;
    let table = document.entry("sandbox").or_insert_with(|| Item::Table(Table::new()));
    if let Some(table) = table.as_table_like_mut() {
        match table.get_mut("image").and_then(Item::as_value_mut) {
            // What stands around the value, such as a comment, stays.
            Some(old) => {
                let decor = old.decor().clone();
                *old = image.into();
                *old.decor_mut() = decor;
            }
            None => drop(table.insert("image", value(image))),
        }
    }
    let new = document.to_string();
    if new == old {
        return Ok(());
    }
    Config::parse(&file, &new)?;
    root.write(&file, [new.as_bytes()], &Manner::PROJECT).map_err(|error| broken(error.into()))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    fn pinned(text: &str) -> String {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join(CONFIG_FILE), text).expect("a file");
        pin_image(root.path(), "a@sha256:0").expect("it is written");
        fs::read_to_string(root.path().join(CONFIG_FILE)).expect("it is there")
    }

    #[test]
    fn an_image_is_set_and_the_rest_stays() {
        let head = "# top\nversion = \"2\"\n";
        assert_eq!(pinned(head), format!("{head}\n[sandbox]\nimage = \"a@sha256:0\"\n"));
        let text = |image: &str| {
            format!("{head}\n[sandbox] # where\npids = 100\n{image}\n[project]\nname = \"x\" # mine\n")
        };
        assert_eq!(pinned(&text("image = \"old\" # built\n")), text("image = \"a@sha256:0\" # built\n"));
        assert_eq!(pinned(&text("")), text("image = \"a@sha256:0\"\n"));
    }

    #[test]
    fn a_file_that_is_no_configuration_is_left_as_it_is() {
        let root = tempfile::tempdir().expect("a directory");
        fs::write(root.path().join(CONFIG_FILE), "nonsense = 1\n").expect("a file");
        assert!(pin_image(root.path(), "a@sha256:0").is_err());
        assert_eq!(fs::read_to_string(root.path().join(CONFIG_FILE)).expect("it is there"), "nonsense = 1\n");
    }
}
