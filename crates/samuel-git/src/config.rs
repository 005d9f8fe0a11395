//! The form of git's configuration files.
//!
//! [`settings`] reads sections, keys and values, [`checked`] the same of a file in
//! which git would refuse no line. What `include` names is the caller's to read,
//! and nothing is ever taken for a command.

use std::cell::Cell;

/// A setting: section in lower case, subsection as written, key in lower case,
/// value. A key without a value is `true`.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Setting {
    pub(super) section: String,
    pub(super) subsection: Option<String>,
    pub(super) key: String,
    pub(super) value: String,
}

impl Setting {
    /// Says whether this is a key of a section without subsection.
    pub(super) fn is(&self, section: &str, key: &str) -> bool {
        self.subsection.is_none() && self.section == section && self.key == key
    }

    /// Reads the value as git reads a boolean; nothing where it is none.
    pub(super) fn boolean(&self) -> Option<bool> {
        match self.value.to_ascii_lowercase().as_str() {
            "true" | "yes" | "on" => Some(true),
            "false" | "no" | "off" | "" => Some(false),
            number => number.parse::<i32>().ok().map(|number| number != 0),
        }
    }
}

/// Reads the settings of a file, in their order. Lines that are none are passed
/// over.
pub(super) fn settings(text: &[u8]) -> Vec<Setting> {
    read(text).0
}

/// Reads the settings of a file, in their order.
///
/// # Errors
/// Returns the number of the first line that git would not take, from 1.
pub(super) fn checked(text: &[u8]) -> Result<Vec<Setting>, usize> {
    match read(text) {
        (settings, None) => Ok(settings),
        (_, Some(line)) => Err(line),
    }
}

/// Reads the settings, and finds the first line that is none.
fn read(text: &[u8]) -> (Vec<Setting>, Option<usize>) {
    let text = String::from_utf8_lossy(text);
    let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
    let (mut section, mut subsection) = (String::new(), None);
    let (mut found, mut bad) = (Vec::new(), None);
    let number = Cell::new(0);
    let mut lines = text.lines().inspect(|_| number.set(number.get() + 1));
    while let Some(line) = lines.next() {
        let at = number.get();
        let mut line = line.trim();
        if let Some(inner) = line.strip_prefix('[') {
            let Some((name, rest)) = header(inner) else {
                bad.get_or_insert(at);
                continue;
            };
            (section, subsection) = name;
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value, is_whole) = match line.split_once('=') {
            Some((key, value)) => {
                let (value, is_whole) = unquoted(value.trim(), &mut lines);
                (key.trim(), value, is_whole)
            }
            None => (line.split(['#', ';']).next().unwrap_or(line).trim(), "true".to_owned(), true),
        };
        if !is_whole || !is_key(key) || section.is_empty() {
            bad.get_or_insert(at);
        }
        let (section, subsection) = (section.clone(), subsection.clone());
        found.push(Setting { section, subsection, key: key.to_ascii_lowercase(), value });
    }
    (found, bad)
}

/// Says whether git takes a word for a key.
fn is_key(word: &str) -> bool {
    word.starts_with(|first: char| first.is_ascii_alphabetic())
        && word.chars().all(|char| char.is_ascii_alphanumeric() || char == '-')
}

type Name = (String, Option<String>);

/// Reads `section]` or `section "subsection"]`, and returns what follows it.
fn header(text: &str) -> Option<(Name, &str)> {
    let end = text.find([' ', '\t', ']'])?;
    let (section, rest) = text.split_at(end);
    let is_name = |char: char| char.is_ascii_alphanumeric() || char == '-' || char == '.';
    if section.is_empty() || !section.chars().all(is_name) {
        return None;
    }
    let rest = rest.trim_start();
    if let Some(rest) = rest.strip_prefix(']') {
        return Some(((section.to_ascii_lowercase(), None), rest));
    }
    let mut name = String::new();
    let mut chars = rest.strip_prefix('"')?.char_indices();
    while let Some((_, char)) = chars.next() {
        match char {
            '"' => {
                let rest = chars.as_str().trim_start().strip_prefix(']')?;
                return Some(((section.to_ascii_lowercase(), Some(name)), rest));
            }
            '\\' => name.extend(chars.next().map(|(_, char)| char)),
            char => name.push(char),
        }
    }
    None
}

/// Reads a value: quotes and escapes resolved, a comment left out, and what
/// stands on the next line after a `\` taken with it. Says too whether git would take
/// it: its quotes end, and its escapes are known.
fn unquoted<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> (String, bool) {
    let mut value = String::new();
    let mut is_known = true;
    // How much of the value is inside quotes or before trailing space.
    let (mut kept, mut quoted) = (0, false);
    let mut chars = first.chars();
    loop {
        match chars.next() {
            Some('"') => quoted = !quoted,
            Some('#' | ';') if !quoted => break,
            Some('\\') => match chars.next() {
                Some('n') => value.push('\n'),
                Some('t') => value.push('\t'),
                Some('b') => _ = value.pop(),
                Some(char) => {
                    is_known &= matches!(char, '"' | '\\');
                    value.push(char);
                }
                None => match lines.next() {
                    Some(next) => {
                        chars = next.chars();
                        continue;
                    }
                    None => break,
                },
            },
            Some(char) => {
                value.push(char);
                if char.is_whitespace() && !quoted {
                    continue;
                }
            }
            None => break,
        }
        kept = value.len();
    }
    value.truncate(kept);
    (value, is_known && !quoted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_that_git_refuses_is_found() {
        let good =
            "\u{feff}[core]\n\tfileMode = false ; no\n bare # yes\n[a.b \"c\"] d-e = \"x\\\\\\\"\\n\" # y\n";
        assert!(checked(good.as_bytes()).is_ok());
        for (bad, line) in [
            ("[core]\n\tbare = false\n[broken\n", 3),
            ("key = 1\n", 1),
            ("[core]\nbare false\n", 2),
            ("[core]\n1a = 1\n", 2),
            ("[core]\na_b = 1\n", 2),
            ("[core]\na = \"open\n", 2),
            ("[core]\na = 1\\\n 2\nb = \\x\n", 4),
            ("[co re]\n", 1),
            ("[a \"b]\n", 1),
            ("<<<<<<< HEAD\n[core]\n", 1),
        ] {
            assert_eq!(checked(bad.as_bytes()), Err(line), "{bad}");
        }
    }

    #[test]
    fn settings_are_read_as_git_reads_them() {
        let text = b"[core]\n\tfileMode = false ; no\n bare\n[Safe] directory = \"/a b\" # x\n\
            directory=/c\\\n/d\n[filter \"a.\\\"b\"]\nclean = sh -c \\\"x\\\"\n[broken\nkey = 1\n";
        let found = settings(text);
        let shown: Vec<String> = found
            .iter()
            .map(|one| {
                format!(
                    "{}|{}|{}={}",
                    one.section,
                    one.subsection.as_deref().unwrap_or("-"),
                    one.key,
                    one.value
                )
            })
            .collect();
        assert_eq!(
            shown,
            [
                "core|-|filemode=false",
                "core|-|bare=true",
                "safe|-|directory=/a b",
                "safe|-|directory=/c/d",
                "filter|a.\"b|clean=sh -c \"x\"",
                "filter|a.\"b|key=1",
            ]
        );
    }
}
