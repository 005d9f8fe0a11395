//! What a shell puts in the place of variables, as far as the command line itself says it.

use std::collections::BTreeMap;

use super::{
    command_words::{assignment, base_name, program_of},
    effort::{Effort, steps_of},
    shell_line::is_line,
};

/// How many values of a variable are followed, and in how many ways the words of a command
/// are read.
const MAX_READINGS: usize = 200;

/// How many variables of a command line are followed.
const MAX_VARIABLES: usize = 200;

/// The longest value that is followed, in bytes.
const MAX_VALUE: usize = 4_096;

/// The longest substitution that is known, in bytes.
const MAX_SUBSTITUTION: usize = 200;

/// The variable that stands for `$(git rev-parse --show-toplevel)`. No command line can
/// assign one of this name.
pub(super) const TOP: &str = "0top";

/// Commands whose operands are assignments.
const ASSIGNING: &[&str] = &["export", "readonly", "declare", "typeset", "local"];

/// The variables that a command line sets, with all values that each may have.
#[derive(Debug, Default)]
pub(super) struct Variables(BTreeMap<String, Variable>);

#[derive(Debug)]
struct Variable {
    values: Vec<String>,
    /// Whether it is known to have had each of these values.
    is_certain: bool,
}

/// The ways in which the words of a command can be read.
#[derive(Debug)]
pub(super) struct Readings {
    pub(super) commands: Vec<Vec<String>>,
    /// Whether the command is known to run with each of them.
    pub(super) is_certain: bool,
}

/// A `$NAME`, `${NAME}` or `${NAME:-DEFAULT}`.
struct Reference<'a> {
    name: &'a str,
    default: Option<&'a str>,
    /// What follows it.
    rest: &'a str,
}

impl Variables {
    /// Gives a variable these values in the place of those that it had.
    pub(super) fn set(&mut self, name: &str, values: Vec<String>) {
        if self.0.len() < MAX_VARIABLES || self.0.contains_key(name) {
            self.keep(name, values);
        }
    }

    /// Does so however many there are, for what no line decides.
    pub(super) fn keep(&mut self, name: &str, values: Vec<String>) {
        self.0.insert(name.to_owned(), Variable { values, is_certain: true });
    }

    /// Follows what a command assigns: `A=b`, `A=b sh c`, `export A=b`, `for A in b c`.
    pub(super) fn assign(&mut self, words: &[String], effort: &mut Effort) {
        let (before, rest) = words.split_at_checked(program_of(words)).unwrap_or((words, &[]));
        let operands = match rest {
            [program, name, of, values @ ..] if program == "for" && of == "in" => {
                let values = values.iter().flat_map(|value| self.expanded(value, effort).0);
                let values = values.take(MAX_READINGS).collect();
                return self.set(name, values);
            }
            [program, operands @ ..] if ASSIGNING.contains(&base_name(program)) => operands,
            _ => &[],
        };
        for (name, value) in before.iter().chain(operands).filter_map(|word| assignment(word)) {
            let (values, _) = self.expanded(value, effort);
            match self.0.get_mut(name) {
                Some(variable) if variable.values == values => {}
                // Which of its values it has where is not told apart.
                Some(variable) => {
                    variable.is_certain = false;
                    let left = MAX_READINGS.saturating_sub(variable.values.len());
                    variable.values.extend(values.into_iter().take(left));
                }
                None => self.set(name, values),
            }
        }
    }

    /// Returns the words of a command with the values of its variables; as they are where it takes
    /// more effort than is left. A word that is a command line of its own stays as it is: it may
    /// set them itself.
    pub(super) fn readings(&self, words: &[String], effort: &mut Effort) -> Readings {
        let mut readings = Readings { commands: vec![Vec::new()], is_certain: true };
        for word in words {
            let mut read: Vec<Vec<String>> = Vec::new();
            match word.contains('$') && !is_line(word) {
                true => {
                    let (values, is_certain) = self.expanded(word, effort);
                    readings.is_certain &= is_certain;
                    for value in values {
                        // Without quotes, the shell would take it apart.
                        let parts: Vec<String> = value.split_whitespace().map(str::to_owned).collect();
                        read.extend((word.starts_with('$') && parts.len() > 1).then_some(parts));
                        read.push(vec![value]);
                    }
                }
                false => read.push(vec![word.clone()]),
            }
            if !readings.append(&read, effort) {
                return Readings { commands: vec![words.to_vec()], is_certain: false };
            }
        }
        readings
    }

    /// Returns a word with each combination of its variables' values, and whether it is
    /// known to have each of them. What is not known stays as it is.
    fn expanded(&self, word: &str, effort: &mut Effort) -> (Vec<String>, bool) {
        let (mut read, mut is_certain) = (vec![String::new()], true);
        let mut rest = word;
        while let Some((before, after)) = rest.split_once('$') {
            let known = reference(after).and_then(|found| Some((self.value(&found)?, found.rest)));
            let (values, is_certain_here, next) = match known {
                Some(((values, is_certain), next)) => (values, is_certain, next),
                None => (vec!["$".to_owned()], true, after),
            };
            is_certain &= is_certain_here;
            let ends = |start: &String| values.iter().map(|end| format!("{start}{before}{end}")).collect();
            let all = read.iter().flat_map(|start| -> Vec<String> { ends(start) });
            let followed: Vec<String> =
                all.filter(|value| value.len() <= MAX_VALUE).take(MAX_READINGS).collect();
            let is_too_long = followed.is_empty() && !read.is_empty() && !values.is_empty();
            read = followed;
            let steps = values.iter().chain(&read).map(|value| steps_of(value)).sum();
            if !effort.spend(steps) || is_too_long {
                return (vec![word.to_owned()], false);
            }
            rest = next;
        }
        read.iter_mut().for_each(|value| value.push_str(rest));
        (read, is_certain)
    }

    fn value(&self, reference: &Reference<'_>) -> Option<(Vec<String>, bool)> {
        match (self.0.get(reference.name), reference.default) {
            (Some(variable), _) => Some((variable.values.clone(), variable.is_certain)),
            (None, default) => default.map(|default| (vec![default.to_owned()], true)),
        }
    }
}

impl Readings {
    /// Adds one of these ways to go on to each of the ways there are. Says whether there was
    /// effort left to do it.
    fn append(&mut self, next: &[Vec<String>], effort: &mut Effort) -> bool {
        if let [only] = next {
            let steps: usize = only.iter().map(|word| steps_of(word)).sum();
            let is_left = effort.spend(steps.saturating_mul(self.commands.len()));
            if is_left {
                self.commands.iter_mut().for_each(|words| words.extend(only.iter().cloned()));
            }
            return is_left;
        }
        let pairs = self.commands.iter().flat_map(|words| next.iter().map(move |next| (words, next)));
        let mut all = Vec::new();
        for (words, next) in pairs.take(MAX_READINGS) {
            if !effort.spend(words.iter().chain(next).map(|word| steps_of(word)).sum()) {
                return false;
            }
            all.push([&**words, next].concat());
        }
        self.commands = all;
        true
    }
}

/// Returns the reference that a text after a `$` begins with.
fn reference(text: &str) -> Option<Reference<'_>> {
    let is_of_name = |char: char| char == '_' || char.is_ascii_alphanumeric();
    if let Some((inner, rest)) = text.strip_prefix('{').and_then(|text| split_near(text, '}', MAX_VALUE)) {
        let (name, more) =
            inner.split_at_checked(inner.find(|char| !is_of_name(char)).unwrap_or(inner.len()))?;
        let default = [":-", ":=", "-", "="].iter().find_map(|before| more.strip_prefix(before));
        return (more.is_empty() || default.is_some()).then_some(Reference { name, default, rest });
    }
    let end = match text.chars().next()? {
        '@' | '*' | '0'..='9' => 1,
        _ => text.find(|char| !is_of_name(char)).unwrap_or(text.len()),
    };
    let (name, rest) = text.split_at_checked(end)?;
    (!name.is_empty()).then_some(Reference { name, default: None, rest })
}

/// Splits a text at the first of these, where one is among so many bytes.
fn split_near(text: &str, end: char, bytes: usize) -> Option<(&str, &str)> {
    let (before, _) = text.get(..text.floor_char_boundary(bytes))?.split_once(end)?;
    Some((before, text.get(before.len() + end.len_utf8()..)?))
}

/// Puts variables in the place of the substitutions whose outcome is known.
pub(super) fn with_known_substitutions(line: &str) -> String {
    let (mut plain, mut rest) = (String::new(), line);
    while let Some(at) = rest.find(['$', '`']) {
        let (before, after) = rest.split_at_checked(at).unwrap_or((rest, ""));
        plain.push_str(before);
        let known = after
            .strip_prefix("$(")
            .map(|text| (text, ')'))
            .or(after.strip_prefix('`').map(|text| (text, '`')));
        let known = known.and_then(|(text, end)| {
            let (inner, next) = split_near(text, end, MAX_SUBSTITUTION)?;
            Some((substituted(inner)?, next))
        });
        match known {
            Some((variable, next)) => {
                plain.push_str(&format!("${{{variable}}}"));
                rest = next;
            }
            None => {
                // What is not known is seen to be something, as it is after `$(`.
                plain.push_str(if after.starts_with('`') { "$`" } else { "$" });
                let end = after.strip_prefix('`').and_then(|text| text.split_once('`'));
                rest = match end {
                    Some((inner, next)) => {
                        plain.push_str(inner);
                        plain.push('`');
                        next
                    }
                    None => after.get(1..).unwrap_or_default(),
                };
            }
        }
    }
    plain.push_str(rest);
    plain
}

/// Returns the variable that stands for what a command prints.
fn substituted(command: &str) -> Option<&'static str> {
    let words: Vec<&str> = command.split_whitespace().filter(|word| *word != "2>/dev/null").collect();
    match &*words {
        ["pwd"] | ["pwd", "-P" | "-L"] => Some("PWD"),
        ["git", "rev-parse", "--show-toplevel"] => Some(TOP),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::super::shell_line::commands;
    use super::*;

    /// The commands of a line, as they are read.
    fn read(line: &str) -> String {
        let (mut variables, mut effort) = (Variables::default(), Effort::default());
        let mut read = Vec::new();
        for words in commands(&with_known_substitutions(line)) {
            variables.assign(&words, &mut effort);
            let readings = variables.readings(&words, &mut effort);
            let sign = if readings.is_certain { "" } else { "?" };
            read.extend(readings.commands.iter().map(|words| words.join(",") + sign));
        }
        read.last_chunk::<2>().map_or_else(|| read.join(" / "), |last| last.join(" / "))
    }

    #[test]
    fn variables_that_the_line_sets_have_their_values() {
        for (line, expected) in [
            ("A=b; sh $A/c", "A=b / sh,b/c"),
            ("A=b; A=${A}c; sh \"$A\"/x", "sh,b/x? / sh,bc/x?"),
            ("export A=b; sh ${A}.sh$", "export,A=b / sh,b.sh$"),
            ("for a in b c; do sh $a", "do,sh,b / do,sh,c"),
            ("A=b sh -c 'sh $A'", "A=b,sh,-c,sh $A"),
            ("A='sh c'; $A", "sh,c / sh c"),
            ("sh ${A:-b}${C} $D$1 ${E%x}", "sh,b${C},$D$1,${E%x}"),
            ("sh $(pwd)/a `pwd`", "sh,${PWD}/a,${PWD}"),
            ("sh $( git rev-parse --show-toplevel 2>/dev/null )/a", "sh,${0top}/a"),
            ("sh \"$(cat a)\" ${", "sh,$(cat a),${"),
            ("sh `cat a`", "sh,$ / cat,a"),
        ] {
            assert_eq!(read(line), expected, "{line}");
        }
    }

    #[test]
    fn values_that_grow_are_followed_so_far() {
        let words = |line: &str| commands(line).concat();
        let (mut variables, mut effort) = (Variables::default(), Effort::default());
        variables.assign(&words("A=aaaaaaaaaa"), &mut effort);
        for _ in 0..100 {
            variables.assign(&words("A=$A$A$A"), &mut effort);
        }
        let readings = variables.readings(&words("sh $A$A$A $A"), &mut effort);
        assert!(readings.commands.len() <= MAX_READINGS, "{}", readings.commands.len());
        assert!(readings.commands.iter().flatten().all(|word| word.len() <= MAX_VALUE * 3));
    }
}
