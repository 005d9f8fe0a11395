//! `[[plugins]]` in samuel.toml, changed without touching anything else.
//!
//! Comments, order and spelling of the rest stay as the user wrote them.

use std::path::Path;

use toml_edit::{Array, ArrayOfTables, DocumentMut, InlineTable, Item, Table, Value, value};

use super::PluginError;
use crate::{
    config::{CONFIG_FILE, CONFIG_VERSION, Config, load_text},
    fs::Root,
    state::atomic,
};

/// Lists a plugin with its source: its entry is changed, or one is added last.
pub(super) fn add(project_root: &Path, name: &str, source: &str) -> Result<(), PluginError> {
    change(project_root, |document| match list(document) {
        Some(Listed::Tables(tables)) => {
            let place = tables.iter().position(|table| is_named(table.get("name"), name));
            match place.and_then(|place| tables.get_mut(place)) {
                Some(table) => set(table, "source", source),
                None => tables.push(entry(name, source)),
            }
        }
        Some(Listed::Inline(items)) => {
            let place = items.iter().position(|item| is_named_inline(item, name));
            match place.and_then(|place| items.get_mut(place)).and_then(Value::as_inline_table_mut) {
                Some(table) => drop(table.insert("source", source.into())),
                None => items.push(inline(name, source)),
            }
        }
        None => {
            let mut tables = ArrayOfTables::new();
            tables.push(entry(name, source));
            document.insert("plugins", Item::ArrayOfTables(tables));
        }
    })
}

/// Lists a plugin no more; nothing changes where it was not listed.
pub(super) fn remove(project_root: &Path, name: &str) -> Result<(), PluginError> {
    change(project_root, |document| {
        let is_empty = match list(document) {
            Some(Listed::Tables(tables)) => {
                tables.retain(|table| !is_named(table.get("name"), name));
                tables.is_empty()
            }
            Some(Listed::Inline(items)) => {
                items.retain(|item| !is_named_inline(item, name));
                items.is_empty()
            }
            None => false,
        };
        if is_empty {
            document.remove("plugins");
        }
    })
}

/// The two ways in which TOML writes a list of tables.
enum Listed<'a> {
    Tables(&'a mut ArrayOfTables),
    Inline(&'a mut Array),
}

fn list(document: &mut DocumentMut) -> Option<Listed<'_>> {
    match document.get_mut("plugins")? {
        Item::ArrayOfTables(tables) => Some(Listed::Tables(tables)),
        Item::Value(Value::Array(items)) => Some(Listed::Inline(items)),
        _ => None,
    }
}

fn is_named(item: Option<&Item>, name: &str) -> bool {
    item.and_then(Item::as_str) == Some(name)
}

fn is_named_inline(item: &Value, name: &str) -> bool {
    item.as_inline_table().and_then(|table| table.get("name")).and_then(Value::as_str) == Some(name)
}

fn set(table: &mut Table, key: &str, text: &str) {
    match table.get_mut(key).and_then(Item::as_value_mut) {
        // What stands around the value, such as a comment, stays.
        Some(old) if old.as_str() != Some(text) => {
            let decor = old.decor().clone();
            *old = text.into();
            *old.decor_mut() = decor;
        }
        Some(_) => {}
        None => drop(table.insert(key, value(text))),
    }
}

fn entry(name: &str, source: &str) -> Table {
    let mut table = Table::new();
    table.insert("name", value(name));
    table.insert("source", value(source));
    table
}

fn inline(name: &str, source: &str) -> Value {
    let mut table = InlineTable::new();
    table.insert("name", name.into());
    table.insert("source", source.into());
    Value::InlineTable(table)
}

/// Changes samuel.toml as a whole or not at all.
fn change(project_root: &Path, edit: impl FnOnce(&mut DocumentMut)) -> Result<(), PluginError> {
    let (root, file) = (Root::new(project_root), project_root.join(CONFIG_FILE));
    let text = load_text(&root, &file).map_err(PluginError::Config)?;
    let old = text.clone().unwrap_or_else(|| format!("version = \"{CONFIG_VERSION}\"\n"));
    // What is no TOML is described by its own reader.
    Config::parse(&file, &old).map_err(PluginError::Config)?;
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| {
        PluginError::Request { problem: error.message().to_owned() }
    })?;
    edit(&mut document);
    let new = document.to_string();
    if text.as_deref() == Some(new.as_str()) {
        return Ok(());
    }
    Config::parse(&file, &new).map_err(PluginError::Config)?;
    Ok(atomic::write_public(&root, &file, new.as_bytes())?)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::fs;

    use super::*;

    fn edited(text: &str, edit: impl FnOnce(&Path)) -> String {
        let dir = tempfile::tempdir().unwrap();
        fs::write(dir.path().join(CONFIG_FILE), text).unwrap();
        edit(dir.path());
        fs::read_to_string(dir.path().join(CONFIG_FILE)).unwrap()
    }

    const TEXT: &str = "# top\nversion = \"2\"   # two\n\n[[plugins]] # first\nname = \"aa\"\nsource = \"./a\" # here\n\n\
                        [hooks.\"quality.check\"] # strict\nstrict = true\n";

    #[test]
    fn a_plugin_is_added_behind_the_others_and_comments_stay() {
        let text = edited(TEXT, |root| add(root, "bb", "./b").unwrap());
        let expected = TEXT.replace("# here\n", "# here\n\n[[plugins]]\nname = \"bb\"\nsource = \"./b\"\n");
        assert_eq!(text, expected);
    }

    #[test]
    fn a_plugin_that_is_listed_keeps_its_place_and_gets_its_new_source() {
        let text = edited(TEXT, |root| add(root, "aa", "./new").unwrap());
        assert_eq!(text, TEXT.replace("./a", "./new"));
        assert_eq!(edited(TEXT, |root| add(root, "aa", "./a").unwrap()), TEXT);
    }

    #[test]
    fn removing_takes_out_the_entry_alone() {
        let both = edited(TEXT, |root| add(root, "bb", "./b").unwrap());
        assert_eq!(edited(&both, |root| remove(root, "bb").unwrap()), TEXT);
        let none = edited(TEXT, |root| remove(root, "aa").unwrap());
        assert!(!none.contains("aa") && none.contains("# top") && none.contains("# strict"), "{none}");
        assert_eq!(edited(TEXT, |root| remove(root, "cc").unwrap()), TEXT);
    }

    #[test]
    fn a_list_in_one_line_stays_one() {
        let text = "plugins = [{ name = \"aa\" }] # mine\n";
        let added = edited(text, |root| add(root, "bb", "./b").unwrap());
        assert!(added.contains("{ name = \"bb\", source = \"./b\" }") && added.contains("# mine"), "{added}");
        let set = edited(text, |root| add(root, "aa", "./a").unwrap());
        assert!(set.contains("source = \"./a\""), "{set}");
        let gone = edited(&added, |root| remove(root, "aa").unwrap());
        assert!(!gone.contains("aa") && gone.contains("bb"), "{gone}");
    }

    #[test]
    fn without_a_samuel_toml_one_is_made_and_a_broken_one_is_left_alone() {
        let dir = tempfile::tempdir().unwrap();
        add(dir.path(), "aa", "./a").unwrap();
        assert_eq!(Config::load(dir.path()).unwrap().plugins.len(), 1);
        let broken = edited("version = \"2\"\nnope = 1\n", |root| {
            assert!(matches!(add(root, "aa", "./a"), Err(PluginError::Config(_))));
        });
        assert_eq!(broken, "version = \"2\"\nnope = 1\n");
    }
}
