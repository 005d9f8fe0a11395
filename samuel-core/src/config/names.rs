//! Names of methodologies, and which one a command means.

use super::{Config, Origin, ProblemKind};
use crate::{
    hook::nearest,
    model::{Coded, ErrorCode, Location},
};

/// The methodology that is always there.
pub const DEFAULT_METHODOLOGY: &str = "ralph";
/// Its short name (seed 004).
pub const DEFAULT_METHODOLOGY_ALIAS: &str = "rw";

/// The subcommands of `samuel run`. No methodology can have one of these
/// names, since `samuel run <name>` would mean two things.
pub const RUN_SUBCOMMANDS: &[&str] = &[
    "init", "convert", "start", "status", "tasks", "done", "skip", "reset", "enqueue", "task", "prompt",
    "vars", "pilot", "help",
];

/// A methodology that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMethodology {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
}

impl KnownMethodology {
    /// Creates a methodology without aliases.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), aliases: Vec::new() }
    }

    /// Adds another name for it.
    #[must_use]
    pub fn alias(mut self, alias: impl Into<String>) -> Self {
        self.aliases.push(alias.into());
        self
    }

    fn ralph() -> Self {
        Self::new(DEFAULT_METHODOLOGY).alias(DEFAULT_METHODOLOGY_ALIAS)
    }
}

/// A name that a methodology cannot have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("\"{name}\" cannot be the name of a methodology: {rule}")]
pub struct InvalidMethodologyName {
    /// The name as it was given.
    pub name: String,
    /// What names look like.
    pub rule: &'static str,
}

impl Coded for InvalidMethodologyName {
    fn code(&self) -> ErrorCode {
        ErrorCode::CONFIG_INVALID
    }
}

impl From<InvalidMethodologyName> for ProblemKind {
    fn from(error: InvalidMethodologyName) -> Self {
        Self::InvalidName { what: "methodology", name: error.name, rule: error.rule }
    }
}

/// Checks the name or an alias of a methodology: 1 to 64 of `a-z`, `0-9` and
/// `-`, and no subcommand of `samuel run`.
///
/// # Errors
/// Returns an [`InvalidMethodologyName`] with the rule it breaks.
pub fn check_methodology_name(name: &str) -> Result<(), InvalidMethodologyName> {
    let rule = if !is_plain_name(name, 1) {
        "use 1 to 64 of a-z, 0-9 and -"
    } else if RUN_SUBCOMMANDS.contains(&name) {
        "it is a subcommand of `samuel run`"
    } else {
        return Ok(());
    };
    Err(InvalidMethodologyName { name: super::shorten(name), rule })
}

/// Says whether a name has at least `min` and at most 64 of `a-z`, `0-9`, `-`.
pub(crate) fn is_plain_name(name: &str, min: usize) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (min..=64).contains(&name.len()) && name.bytes().all(plain)
}

/// A methodology that is not there.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("methodology not found: \"{name}\"")]
pub struct UnknownMethodology {
    /// The name as it was given.
    pub name: String,
    /// The nearest known name, where one is near.
    pub nearest: Option<String>,
    /// The methodologies there are.
    pub known: Vec<String>,
    /// Where the configuration names it; nothing for a name on the command
    /// line.
    pub origin: Option<Origin>,
}

impl Coded for UnknownMethodology {
    fn code(&self) -> ErrorCode {
        ErrorCode::METHODOLOGY_NOT_FOUND
    }

    fn location(&self) -> Option<Location> {
        self.origin.clone().map(Location::from)
    }
}

/// Returns the name of the methodology to run (seed 004): what the command
/// names, else `default_methodology`, else `ralph`, with aliases replaced.
/// `ralph` and its alias are known without being listed.
///
/// # Errors
/// Returns an [`UnknownMethodology`] where no methodology has the name.
pub fn resolve_methodology(
    positional: Option<&str>,
    config: &Config,
    known: &[KnownMethodology],
) -> Result<String, UnknownMethodology> {
    let name = positional.unwrap_or(&config.default_methodology);
    let ralph = KnownMethodology::ralph();
    let known: Vec<&KnownMethodology> = std::iter::once(&ralph).chain(known).collect();
    let by_name = known.iter().find(|methodology| methodology.name == name);
    let by_alias = || known.iter().find(|methodology| methodology.aliases.iter().any(|alias| alias == name));
    if let Some(methodology) = by_name.or_else(by_alias) {
        return Ok(methodology.name.clone());
    }
    let names =
        known.iter().flat_map(|methodology| std::iter::once(&methodology.name).chain(&methodology.aliases));
    let mut known: Vec<String> = known.iter().map(|methodology| methodology.name.clone()).collect();
    known.dedup();
    Err(UnknownMethodology {
        name: super::shorten(name),
        nearest: nearest(name, names.map(String::as_str)).map(str::to_owned),
        known,
        origin: if positional.is_none() { config.origin("default_methodology") } else { None },
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plugins() -> Vec<KnownMethodology> {
        vec![KnownMethodology::new("tdd-strict").alias("tdd")]
    }

    #[test]
    fn the_positional_wins_over_the_default_and_aliases_are_replaced() {
        let config = Config { default_methodology: "tdd".to_owned(), ..Config::default() };
        let resolve = |positional| resolve_methodology(positional, &config, &plugins());
        assert_eq!(resolve(Some("rw")).as_deref(), Ok("ralph"));
        assert_eq!(resolve(Some("ralph")).as_deref(), Ok("ralph"));
        assert_eq!(resolve(None).as_deref(), Ok("tdd-strict"));
        assert_eq!(resolve_methodology(None, &Config::default(), &[]).as_deref(), Ok("ralph"));
    }

    #[test]
    fn a_methodology_that_is_not_there_is_refused_with_the_nearest() {
        let error = resolve_methodology(Some("tdd-strikt"), &Config::default(), &plugins())
            .expect_err("no methodology has the name");
        assert_eq!(error.to_string(), "methodology not found: \"tdd-strikt\"");
        assert_eq!(error.nearest.as_deref(), Some("tdd-strict"));
        assert_eq!(error.known, ["ralph", "tdd-strict"]);
        assert_eq!(error.code(), ErrorCode::METHODOLOGY_NOT_FOUND);
        assert!(error.code().help.contains("samuel ls --type methodology"));
        assert_eq!(error.location(), None);
    }

    #[test]
    fn a_default_that_is_not_there_is_refused_at_its_place() {
        let text = "version = \"2\"\ndefault_methodology = \"tdd\"\n";
        let config = Config::parse(std::path::Path::new("samuel.toml"), text).expect("valid");
        let error = resolve_methodology(None, &config, &[]).expect_err("not installed");
        assert_eq!(error.location().and_then(|place| place.line), Some(2));
    }

    #[test]
    fn no_methodology_is_named_like_a_subcommand() {
        for name in RUN_SUBCOMMANDS {
            let error = check_methodology_name(name).expect_err("reserved");
            assert_eq!(error.rule, "it is a subcommand of `samuel run`");
        }
        for name in ["", "Ralph", "a_b", "a b", "é", &"a".repeat(65)] {
            assert!(check_methodology_name(name).is_err(), "{name}");
        }
        for name in ["ralph", "tdd-strict", "x", "3"] {
            assert_eq!(check_methodology_name(name), Ok(()));
        }
    }
}
