//! How `samuel run` is called for a methodology, in what is said to people.

use samuel_core::project::Project;

use crate::args::RunCommand;

/// The words before a command of `samuel run`.
const RUN: &str = "samuel run ";

/// Puts the methodology of a project where a text names commands of `samuel run`: they mean another
/// plan without it, unless it is the default one.
pub(crate) fn with_methodology(text: &str, project: &Project) -> String {
    match project.has_default_methodology() {
        true => text.to_owned(),
        false => naming(text, project.methodology()),
    }
}

fn naming(text: &str, methodology: &str) -> String {
    let mut parts = text.split(RUN);
    let mut named = parts.next().unwrap_or_default().to_owned();
    for part in parts {
        named.push_str(RUN);
        let word: String = part.chars().take_while(|c| c.is_ascii_alphanumeric() || *c == '-').collect();
        if RunCommand::takes(&word) {
            named.push_str(methodology);
            named.push(' ');
        }
        named.push_str(part);
    }
    named
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn commands_get_the_methodology_and_what_has_one_or_is_none_stays() {
        assert_eq!(
            naming("See `samuel run status`, or `samuel run --help`. Then `samuel run done 1`.", "tdd"),
            "See `samuel run tdd status`, or `samuel run --help`. Then `samuel run tdd done 1`."
        );
        for text in ["`samuel run tdd start`", "samuel run ", "", "`samuel run -C p start`"] {
            assert_eq!(naming(text, "tdd"), text);
        }
    }
}
