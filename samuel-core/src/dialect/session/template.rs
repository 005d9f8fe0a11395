//! `{{variable}}` in text.
//!
//! A variable is written `{{name}}`, with spaces inside or without; `\{{` stands for two braces.
//! Braces around anything but a name, such as `{{.Names}}`, are text.

use std::collections::BTreeMap;

use super::Variable;

/// How much is told of the text before a variable, in bytes.
const MAX_BEFORE: usize = 256;

/// What variables stand for in one call.
pub(super) type Values = BTreeMap<Variable, String>;

/// What stands at the beginning of some text.
pub(super) enum Found<'a> {
    /// A variable, by its name, and what follows it.
    Name(&'a str, &'a str),
    /// Braces that are meant as such, and what follows them.
    Braces(&'a str),
}

/// Looks for a variable, or for `\{{`, at the beginning of some text.
pub(super) fn at(text: &str) -> Option<Found<'_>> {
    if let Some(rest) = text.strip_prefix("\\{{") {
        return Some(Found::Braces(rest));
    }
    let blanks = [' ', '\t'];
    let inner = text.strip_prefix("{{")?.trim_start_matches(blanks);
    // No further than the name: what follows may be long.
    let length = inner.find(|c: char| !c.is_ascii_alphanumeric() && c != '_')?;
    let (name, rest) = inner.split_at_checked(length)?;
    let rest = rest.trim_start_matches(blanks).strip_prefix("}}")?;
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_').then_some(Found::Name(name, rest))
}

/// Returns a value as programs can be given it: no argument and no environment holds a NUL byte.
pub(super) fn value_of(values: &Values, variable: Variable) -> String {
    values.get(&variable).map(|value| value.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Finds what looks like a variable that somebody meant to write: braces that are not closed
/// behind a name of one, or that hold no name.
pub(super) fn slip(text: &str) -> Option<String> {
    let blanks = [' ', '\t'];
    text.match_indices("{{")
        .filter(|(at, _)| !text.get(..*at).is_some_and(|text| text.ends_with('\\')))
        .find_map(|(at, _)| {
            let inner = text.get(at + 2..)?.trim_start_matches(blanks);
            if inner.starts_with("}}") {
                return Some("{{}} names no variable".to_owned());
            }
            let variable = Variable::ALL.into_iter().find(|variable| {
                let rest = inner.strip_prefix(variable.as_str());
                rest.is_some_and(|rest| {
                    let ends = !rest.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
                    ends && !rest.trim_start_matches(blanks).starts_with("}}")
                })
            })?;
            Some(format!("{{{{{} is not closed with }}}}", variable.as_str()))
        })
}

/// Says whether a variable, or `\{{`, stands anywhere in some text.
pub(super) fn is_in(text: &str) -> bool {
    text.char_indices().any(|(place, _)| at(text.get(place..).unwrap_or_default()).is_some())
}

/// A text with variables whose value is one piece of data, such as an argument.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Template(Vec<Part>);

#[derive(Clone, Debug, PartialEq, Eq)]
enum Part {
    Text(String),
    Variable(Variable),
}

impl Template {
    /// Reads a text. `known` finds a variable by its name, or says why there is none.
    pub(super) fn read<E>(mut text: &str, known: impl Fn(&str) -> Result<Variable, E>) -> Result<Self, E> {
        let mut parts = Vec::new();
        let mut plain = String::new();
        while let Some(c) = text.chars().next() {
            match at(text) {
                Some(Found::Name(name, rest)) => {
                    let variable = known(name)?;
                    parts.push(Part::Text(std::mem::take(&mut plain)));
                    parts.push(Part::Variable(variable));
                    text = rest;
                }
                Some(Found::Braces(rest)) => {
                    plain.push_str("{{");
                    text = rest;
                }
                None => {
                    plain.push(c);
                    text = text.get(c.len_utf8()..).unwrap_or_default();
                }
            }
        }
        parts.push(Part::Text(plain));
        parts.retain(|part| *part != Part::Text(String::new()));
        Ok(Self(parts))
    }

    /// Lists its variables, each with how the text before it begins, in which others are a NUL.
    pub(super) fn variables(&self) -> impl Iterator<Item = (String, Variable)> {
        let mut before = String::new();
        self.0.iter().filter_map(move |part| match part {
            Part::Text(text) => {
                before.extend(text.chars().take(MAX_BEFORE.saturating_sub(before.len())));
                None
            }
            Part::Variable(variable) => {
                let found = (before.clone(), *variable);
                if before.len() < MAX_BEFORE {
                    before.push('\0');
                }
                Some(found)
            }
        })
    }

    /// Returns its variable with the longest value.
    pub(super) fn longest(&self, values: &Values) -> Option<Variable> {
        let variables = self.variables().map(|(_, variable)| variable);
        variables.max_by_key(|variable| values.get(variable).map_or(0, String::len))
    }

    /// Puts the values in.
    pub(super) fn fill(&self, values: &Values) -> String {
        let value = |part: &Part| match part {
            Part::Text(text) => text.clone(),
            Part::Variable(variable) => value_of(values, *variable),
        };
        self.0.iter().map(value).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slips_are_found_and_other_braces_are_not() {
        for (text, slip_of) in [
            ("echo {{session", Some("{{session is not closed with }}")),
            ("echo {{ session } x", Some("{{session is not closed with }}")),
            ("echo {{}} {{session}}", Some("{{}} names no variable")),
            ("echo {{session}} {{.Names}} \\{{session ${x} {{sessions", None),
        ] {
            assert_eq!(slip(text).as_deref(), slip_of, "{text}");
        }
    }
}
