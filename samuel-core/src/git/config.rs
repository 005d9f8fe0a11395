//! The form of git's configuration files.
//!
//! [`settings`] reads sections, keys and values. What `include` names is not
//! read, and nothing is ever taken for a command.

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

    /// Reads the value as git reads a boolean.
    pub(super) fn is_true(&self) -> bool {
        matches!(self.value.to_ascii_lowercase().as_str(), "true" | "yes" | "on" | "1")
    }
}

/// Reads the settings of a file, in their order. Lines that are none are passed
/// over.
pub(super) fn settings(text: &[u8]) -> Vec<Setting> {
    let text = String::from_utf8_lossy(text);
    let (mut section, mut subsection) = (String::new(), None);
    let mut found = Vec::new();
    let mut lines = text.lines();
    while let Some(line) = lines.next() {
        let mut line = line.trim();
        if let Some(inner) = line.strip_prefix('[') {
            let Some((name, rest)) = header(inner) else { continue };
            (section, subsection) = name;
            line = rest.trim();
        }
        if line.is_empty() || line.starts_with(['#', ';']) {
            continue;
        }
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim(), unquoted(value.trim(), &mut lines)),
            None => (line, "true".to_owned()),
        };
        let (section, subsection) = (section.clone(), subsection.clone());
        found.push(Setting { section, subsection, key: key.to_ascii_lowercase(), value });
    }
    found
}

type Name = (String, Option<String>);

/// Reads `section]` or `section "subsection"]`, and returns what follows it.
fn header(text: &str) -> Option<(Name, &str)> {
    let end = text.find([' ', '\t', ']'])?;
    let (section, rest) = text.split_at(end);
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
/// stands on the next line after a `\` taken with it.
fn unquoted<'a>(first: &'a str, lines: &mut impl Iterator<Item = &'a str>) -> String {
    let mut value = String::new();
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
                Some(char) => value.push(char),
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
    value
}

#[cfg(test)]
mod tests {
    use super::*;

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
