//! `[[plugins]]` in samuel.toml, changed without touching anything else.
//!
//! Comments, order and spelling of the rest stay as the user wrote them. A new
//! entry goes to the end of the file: a table that stood earlier would take over
//! the keys that are commented out below the one before it.

use std::{ops::Range, path::Path};

use toml_edit::{Array, Document, DocumentMut, InlineTable, Item, Table, Value, value};

use super::{PluginError, Unlisted, chains};
use crate::{
    config::{CONFIG_FILE, CONFIG_VERSION, Config, load_text},
    fs::{Manner, Root},
};

/// Lists a plugin with its source: its entry is changed, or one is added last.
pub(super) fn add(project_root: &Path, name: &str, source: &str) -> Result<(), PluginError> {
    change(project_root, |text, document| {
        let Some(item) = document.get_mut("plugins") else { return appended(text, name, source) };
        if let Item::Value(Value::Array(items)) = item {
            set_inline(items, name, source);
            return document.to_string();
        }
        let tables = item.as_array_of_tables_mut();
        match tables.and_then(|tables| tables.iter_mut().find(|table| is_named(table, name))) {
            Some(table) => set(table, "source", source),
            None => return appended(text, name, source),
        }
        document.to_string()
    })
}

/// Lists a plugin no more, and takes its handlers out of the chains that name
/// them; returns which. Nothing changes where it was not listed.
pub(super) fn remove(project_root: &Path, name: &str) -> Result<Vec<Unlisted>, PluginError> {
    let mut unlisted = Vec::new();
    change(project_root, |_, document| {
        unlisted = chains::take_out(document, name);
        if let Some(Item::Value(Value::Array(items))) = document.get_mut("plugins") {
            items.retain(|item| !is_named_inline(item, name));
            if items.is_empty() {
                document.remove("plugins");
            }
        }
        without_entry(document.to_string(), name)
    })?;
    Ok(unlisted)
}

fn is_named(table: &Table, name: &str) -> bool {
    table.get("name").and_then(Item::as_str) == Some(name)
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

fn set_inline(items: &mut Array, name: &str, source: &str) {
    let place = items.iter().position(|item| is_named_inline(item, name));
    match place.and_then(|place| items.get_mut(place)).and_then(Value::as_inline_table_mut) {
        Some(table) => drop(table.insert("source", source.into())),
        None => {
            let mut table = InlineTable::new();
            table.insert("name", name.into());
            table.insert("source", source.into());
            items.push(Value::InlineTable(table));
        }
    }
}

/// Puts an entry behind all that a text holds.
fn appended(text: &str, name: &str, source: &str) -> String {
    let mut table = Table::new();
    table.insert("name", value(name));
    table.insert("source", value(source));
    let text = text.trim_end_matches('\n');
    let gap = if text.is_empty() { "" } else { "\n\n" };
    format!("{text}{gap}[[plugins]]\n{table}")
}

/// Cuts the entry of a plugin out of a text, with the keys that are commented out
/// in it. Other comments around it stay.
fn without_entry(text: String, name: &str) -> String {
    let mut tables = Vec::new();
    // What was written a moment ago can be read.
    if let Ok(document) = Document::parse(text.as_str())
        && let Some(entries) = document.get("plugins").and_then(Item::as_array_of_tables)
    {
        entries.iter().filter(|table| is_named(table, name)).for_each(|table| spans(table, &mut tables));
    }
    tables.sort_by_key(|span| span.start);
    let mut rest = text;
    tables.into_iter().rev().for_each(|span| cut(&mut rest, span));
    rest
}

/// Adds where a table stands from its header to its last value, and the tables
/// below it.
fn spans(table: &Table, found: &mut Vec<Range<usize>>) {
    let below = found.len();
    let end = end_of(table, found);
    if let Some(header) = table.span() {
        found.insert(below, header.start..header.end.max(end));
    }
}

/// Returns where the last value of a table ends, and adds the tables below it.
fn end_of(table: &Table, found: &mut Vec<Range<usize>>) -> usize {
    let mut end = 0;
    for (_, item) in table {
        match item {
            // Keys with dots belong to the table they stand in.
            Item::Table(inner) if inner.is_dotted() => end = end.max(end_of(inner, found)),
            Item::Table(inner) => spans(inner, found),
            Item::ArrayOfTables(inner) => inner.iter().for_each(|table| spans(table, found)),
            item => end = end.max(item.span().map_or(0, |span| span.end)),
        }
    }
    end
}

/// Cuts whole lines out of a text, with the commented keys that follow and one
/// empty line before.
fn cut(text: &mut String, span: Range<usize>) {
    let (before, from) = text.split_at(span.start);
    let taken = span.end.saturating_sub(span.start);
    let mut lines = from.split_inclusive('\n');
    let mut len = 0;
    while len < taken {
        len += lines.next().map_or(taken, str::len);
    }
    len += lines.take_while(|line| is_commented_key(line)).map(str::len).sum::<usize>();
    let start = if before.ends_with("\n\n") { span.start - 1 } else { span.start };
    text.replace_range(start..span.start + len, "");
}

/// Says whether a line is a key behind a number sign, as in [`Config::template`].
fn is_commented_key(line: &str) -> bool {
    let Some(key) = line.strip_prefix('#').and_then(|line| Some(line.split_once('=')?.0)) else {
        return false;
    };
    let key = key.trim_end();
    !key.is_empty() && key.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.\"".contains(&c))
}

/// Changes samuel.toml as a whole or not at all. `edit` is given its text, also
/// parsed, and returns the new one.
fn change(
    project_root: &Path,
    edit: impl FnOnce(&str, &mut DocumentMut) -> String,
) -> Result<(), PluginError> {
    let (root, file) = (Root::new(project_root), project_root.join(CONFIG_FILE));
    let text = load_text(&root, &file).map_err(PluginError::Config)?;
    let old = text.clone().unwrap_or_else(|| format!("version = \"{CONFIG_VERSION}\"\n"));
    // What is no TOML is described by its own reader.
    Config::parse(&file, &old).map_err(PluginError::Config)?;
    let mut document: DocumentMut = old.parse().map_err(|error: toml_edit::TomlError| {
        PluginError::Request { problem: error.message().to_owned() }
    })?;
    let new = edit(&old, &mut document);
    if text.as_deref() == Some(new.as_str()) {
        return Ok(());
    }
    Config::parse(&file, &new).map_err(PluginError::Config)?;
    root.write(&file, [new.as_bytes()], &Manner::PROJECT).map_err(PluginError::file("write", file))
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
    fn a_plugin_is_added_last_and_the_rest_stays() {
        let text = edited(TEXT, |root| add(root, "bb", "./b").unwrap());
        assert_eq!(text, format!("{TEXT}\n[[plugins]]\nname = \"bb\"\nsource = \"./b\"\n"));
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
        assert_eq!(edited(&both, |root| drop(remove(root, "bb").unwrap())), TEXT);
        let none = edited(TEXT, |root| drop(remove(root, "aa").unwrap()));
        assert!(!none.contains("aa") && none.contains("# top") && none.contains("# strict"), "{none}");
        assert_eq!(edited(TEXT, |root| drop(remove(root, "cc").unwrap())), TEXT);
    }

    #[test]
    fn an_entry_goes_with_its_own_tables_and_commented_keys_and_without_those_of_others() {
        let before = "version = \"2\"\n\n[guardrails]\n#extra = []\n\n# Plugins.\n";
        let entry = "[[plugins]]\nname = \"aa\"\nconfig.list = [\n  1,\n] # end\n#config.more = 1\n\n[plugins.config.table]\nx = 1\n";
        let after = "\n# Hooks.\n[hooks.\"quality.check\"]\n#strict = true\n";
        let text = format!("{before}{entry}{after}");
        assert_eq!(edited(&text, |root| drop(remove(root, "aa").unwrap())), format!("{before}{after}"));
    }

    #[test]
    fn a_new_project_reads_as_before_with_any_key_uncommented_after_an_installation() {
        let fresh = Config::render_new("demo", &[], "ralph");
        let text = edited(&fresh, |root| add(root, "aa", "./a").unwrap());
        assert_eq!(edited(&text, |root| drop(remove(root, "aa").unwrap())), fresh);
        let lines: Vec<&str> = text.lines().collect();
        let mut tried = 0;
        for (place, _) in lines.iter().enumerate().filter(|(_, line)| is_commented_key(line)) {
            let table =
                lines.iter().take(place).rposition(|line| line.trim_start_matches('#').starts_with('['));
            let of_plugin = table.is_some_and(|table| lines.get(table) == Some(&"#[[plugins]]"));
            let uncommented = lines.iter().enumerate().map(|(at, line)| {
                let name = of_plugin && *line == "#name = \"samuel-example\"";
                let sign = if at == place || Some(at) == table || name { "#" } else { "" };
                format!("{}\n", line.strip_prefix(sign).unwrap_or(line))
            });
            let text: String = uncommented.collect();
            let config = Config::parse(Path::new(CONFIG_FILE), &text).unwrap();
            let last = config.plugins.last().unwrap();
            let shown = lines.get(place).unwrap();
            assert_eq!((last.name.as_str(), last.config.len()), ("aa", 0), "{shown}");
            assert_eq!(config.plugins.len(), if of_plugin { 2 } else { 1 }, "{shown}");
            tried += 1;
        }
        assert!(tried > 30, "{tried}");
    }

    #[test]
    fn a_list_in_one_line_stays_one() {
        let text = "plugins = [{ name = \"aa\" }] # mine\n";
        let added = edited(text, |root| add(root, "bb", "./b").unwrap());
        assert!(added.contains("{ name = \"bb\", source = \"./b\" }") && added.contains("# mine"), "{added}");
        let set = edited(text, |root| add(root, "aa", "./a").unwrap());
        assert!(set.contains("source = \"./a\""), "{set}");
        let gone = edited(&added, |root| drop(remove(root, "aa").unwrap()));
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
