//! The values of a call in the texts of a script.
//!
//! Each `{{name}}` is replaced once: a value is never read for names again. In a
//! command line it becomes a reference to an environment variable, quoted as the
//! place asks for, so that no value is ever read as shell code.

/// A value that texts of a script can hold: its name there, and the environment
/// variable by which a command line reads it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Name {
    pub(super) name: &'static str,
    pub(super) variable: &'static str,
}

pub(super) const TASK_ID: Name = Name { name: "task_id", variable: "SAMUEL_TASK_ID" };
pub(super) const TASK_TITLE: Name = Name { name: "task_title", variable: "SAMUEL_TASK_TITLE" };
pub(super) const ITERATION: Name = Name { name: "iteration", variable: "SAMUEL_ITERATION" };
pub(super) const HEAD: Name = Name { name: "head", variable: "SAMUEL_HEAD" };

const NAMES: [Name; 4] = [TASK_ID, TASK_TITLE, ITERATION, HEAD];

/// Says whether a text asks for a value.
pub(super) fn asks_for(text: &str, name: Name) -> bool {
    parts(text).any(|part| part == Part::Value(name))
}

/// Puts values into a text.
pub(super) fn text(text: &str, value: impl Fn(Name) -> String) -> String {
    let part = |part| match part {
        Part::Text(text) => text.to_owned(),
        Part::Value(name) => value(name),
    };
    parts(text).map(part).collect()
}

/// Puts references to variables into a command line.
pub(super) fn command(line: &str) -> String {
    let mut quoting = Quoting::default();
    let part = |part| match part {
        Part::Text(text) => {
            quoting.read(text);
            text.to_owned()
        }
        Part::Value(Name { variable, .. }) => match quoting.place() {
            Place::Plain => format!("\"${{{variable}}}\""),
            Place::Double | Place::Comment => format!("${{{variable}}}"),
            Place::Single => format!("'\"${{{variable}}}\"'"),
        },
    };
    parts(line).map(part).collect()
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Part<'a> {
    Text(&'a str),
    Value(Name),
}

/// Takes a text apart. What is no known name stays text.
fn parts(text: &str) -> impl Iterator<Item = Part<'_>> {
    let mut rest = text;
    std::iter::from_fn(move || {
        if rest.is_empty() {
            return None;
        }
        if let Some((name, after)) = leading_name(rest) {
            rest = after;
            return Some(Part::Value(name));
        }
        let starts = rest.match_indices("{{").map(|(at, _)| at);
        let at = starts.filter(|at| *at > 0).find(|at| rest.get(*at..).and_then(leading_name).is_some());
        let (text, after) = rest.split_at(at.unwrap_or(rest.len()));
        rest = after;
        Some(Part::Text(text))
    })
}

fn leading_name(text: &str) -> Option<(Name, &str)> {
    let inner = text.strip_prefix("{{")?;
    NAMES.iter().find_map(|name| Some((*name, inner.strip_prefix(name.name)?.strip_prefix("}}")?)))
}

/// What surrounds a place of a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Place {
    Plain,
    Single,
    Double,
    Comment,
}

/// Follows the quotes of a command line. Where it is mistaken, a reference stands
/// there as it is written, or its value is split into words: neither is code.
#[derive(Debug, Default)]
struct Quoting {
    /// The places around, the innermost last; empty for a plain one. A `Plain` in
    /// it is what `$(` opens.
    around: Vec<Place>,
    /// The last character, where it changes what the next one means.
    last: Option<char>,
}

impl Quoting {
    fn place(&self) -> Place {
        self.around.last().copied().unwrap_or(Place::Plain)
    }

    fn read(&mut self, text: &str) {
        for c in text.chars() {
            let last = self.last.replace(c);
            match (self.place(), c) {
                (Place::Single, '\'') | (Place::Double, '"') | (Place::Comment, '\n') => {
                    _ = self.around.pop()
                }
                (Place::Single | Place::Comment, _) => {}
                // Whatever follows a backslash means itself.
                (_, _) if last == Some('\\') => self.last = None,
                (Place::Plain, '\'') => self.around.push(Place::Single),
                (Place::Plain, '"') => self.around.push(Place::Double),
                (Place::Plain, '#') if last.is_none_or(|c| c.is_whitespace() || ";&|(".contains(c)) => {
                    self.around.push(Place::Comment);
                }
                (Place::Plain | Place::Double, '(') if last == Some('$') => self.around.push(Place::Plain),
                (Place::Plain, ')') => _ = self.around.pop(),
                _ => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;

    #[test]
    fn a_value_is_put_in_once_and_not_read_again() {
        let value = |name: Name| format!("<{}{{{{iteration}}}}>", name.name);
        assert_eq!(
            text("{{task_id}} {{task_title}}{{other}} {{", value),
            "<task_id{{iteration}}> <task_title{{iteration}}>{{other}} {{"
        );
        assert!(asks_for("a {{{{head}}", HEAD) && !asks_for("{{headline}}", HEAD));
    }

    /// What `sh` makes of a command line with this title.
    fn run(line: &str, title: &str) -> String {
        let mut shell = std::process::Command::new("/bin/sh");
        shell.args(["-c", &command(line)]).env(TASK_TITLE.variable, title);
        let output = shell.output().unwrap();
        String::from_utf8(output.stdout).unwrap()
    }

    #[test]
    fn no_value_is_code_wherever_it_stands_and_each_arrives_as_it_is() {
        let directory = tempfile::tempdir().unwrap();
        let mark = directory.path().join("mark");
        let touch = format!("touch {}", mark.display());
        let titles = [
            format!("$({touch})"),
            format!("`{touch}`"),
            format!("'; {touch}; '"),
            format!("\"; {touch}; \""),
            format!("\n{touch}\n"),
            "{{iteration}} $HOME \\ * # x".to_owned(),
        ];
        let lines = [
            "printf %s {{task_title}}",
            "printf %s \"{{task_title}}\"",
            "printf %s '{{task_title}}'",
            "printf %s a\\'{{task_title}}",
            "printf %s \"$(printf %s \"{{task_title}}\"; printf x)\"",
            "true # don't {{task_title}}\nprintf %s {{task_title}}",
            "cat <<END\n{{task_title}}\nEND",
            "cat <<'END'\n{{task_title}}\nEND",
        ];
        for title in &titles {
            for (number, line) in lines.iter().enumerate() {
                let printed = run(line, title);
                assert!(!mark.exists(), "{line} ran {title}");
                let expected = match number {
                    0..=2 | 5 => title.clone(),
                    3 => format!("a'{title}"),
                    4 => format!("{title}x"),
                    6 => format!("\"{title}\"\n"),
                    _ => continue,
                };
                assert_eq!(printed, expected, "{line}");
            }
        }
    }
}
