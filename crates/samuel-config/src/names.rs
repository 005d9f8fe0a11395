//! Names of methodologies, and which one a command means.

use samuel_contract::nearest;
use samuel_hook::sandbox::{SandboxError, Sandboxes};
use samuel_model::{Coded, ErrorCode, Location};

use super::{Config, ConfigError, Origin, Problem, ProblemKind, Problems};

/// The methodology of a project whose samuel.toml names none.
pub const DEFAULT_METHODOLOGY: &str = "ralph";

/// A methodology that can be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownMethodology {
    /// Its name.
    pub name: String,
    /// Other names for it.
    pub aliases: Vec<String>,
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

/// The subcommands of `samuel run`: those that there are, then those to come. No methodology
/// is called like one.
pub const RUN_COMMANDS: &[&str] = &[
    "init",
    "convert",
    "start",
    "pilot",
    "status",
    "tasks",
    "show",
    "done",
    "skip",
    "reset",
    "enqueue",
    "learn",
    "task",
    "edit",
    "rm",
    "block",
    "undo",
    "restore",
    "prompt",
    "vars",
    "help",
    "why",
    "log",
    "runs",
    "report",
    "ask",
    "answer",
    "approve",
    "deny",
    "pause",
    "resume",
    "steer",
    "stop",
    "attach",
    "release",
    "sandbox",
    "lanes",
    "queue",
    "clean",
    "merge",
    "migrate-encoding",
];

/// The names of files and directories in `.samuel/run`, where a methodology may have a
/// directory of its name.
const STATE_NAMES: &[&str] = &["cache", "lock", "logs", "plugins"];

/// Checks the name or an alias of a methodology: 1 to 64 of `a-z`, `0-9` and
/// `-`, not a `-` first, none of [`RUN_COMMANDS`], and not that of a file or directory in
/// `.samuel/run`.
///
/// # Errors
/// Returns an [`InvalidMethodologyName`] with the rule it breaks.
pub fn check_methodology_name(name: &str) -> Result<(), InvalidMethodologyName> {
    let rule = "use 1 to 64 of a-z, 0-9 and -, and no - first";
    let rule = if !is_plain_name(name, 1) {
        rule
    } else if RUN_COMMANDS.contains(&name) {
        "it is a subcommand of `run`, or will be one"
    } else if STATE_NAMES.contains(&name) {
        "a file or directory in .samuel/run has it"
    } else {
        return Ok(());
    };
    Err(InvalidMethodologyName { name: super::shorten(name), rule })
}

/// Says whether a name has at least `min` and at most 64 of `a-z`, `0-9`, `-`,
/// and does not begin as options do.
pub(crate) fn is_plain_name(name: &str, min: usize) -> bool {
    let plain = |c: u8| c.is_ascii_lowercase() || c.is_ascii_digit() || c == b'-';
    (min..=64).contains(&name.len()) && !name.starts_with('-') && name.bytes().all(plain)
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

/// Returns the name of the methodology to run: what the command
/// names, else `default_methodology`, with aliases replaced.
///
/// # Errors
/// Returns an [`UnknownMethodology`] where no methodology has the name.
pub fn resolve_methodology(
    positional: Option<&str>,
    config: &Config,
    known: &[KnownMethodology],
) -> Result<String, UnknownMethodology> {
    let name = positional.unwrap_or(&config.default_methodology);
    let by_name = known.iter().find(|methodology| methodology.name == name);
    if let Some(methodology) = by_name.or_else(|| by_alias(known, name)) {
        return Ok(methodology.name.clone());
    }
    let names =
        known.iter().flat_map(|methodology| std::iter::once(&methodology.name).chain(&methodology.aliases));
    Err(UnknownMethodology {
        name: super::shorten(name),
        nearest: nearest(name, names.map(String::as_str)).map(str::to_owned),
        known: known.iter().map(|methodology| methodology.name.clone()).collect(),
        origin: if positional.is_none() { config.origin("default_methodology") } else { None },
    })
}

fn by_alias<'a>(known: &'a [KnownMethodology], name: &str) -> Option<&'a KnownMethodology> {
    known.iter().find(|methodology| methodology.aliases.iter().any(|alias| alias == name))
}

impl Config {
    /// Checks that every `[methodology.<name>]` table is of a methodology that
    /// exists, under its name proper. Which exist is known once plugins are
    /// loaded.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] with a problem for each other table.
    pub fn check_methodologies(&self, known: &[KnownMethodology]) -> Result<(), ConfigError> {
        let names: Vec<&str> = known.iter().map(|methodology| methodology.name.as_str()).collect();
        let mut list: Vec<Problem> = Vec::new();
        for name in self.methodologies().filter(|name| !names.contains(name)) {
            let kind = match by_alias(known, name) {
                Some(methodology) => {
                    ProblemKind::Alias { alias: name.to_owned(), name: methodology.name.clone() }
                }
                None => ProblemKind::unknown_name("methodology", name, &names),
            };
            list.extend(self.problem_at(format!("methodology.{name}"), kind));
        }
        refused(list)
    }

    /// Checks that every sandbox that is named exists. Which exist is known
    /// once a program has brought its own.
    ///
    /// # Errors
    /// Returns [`ConfigError::Invalid`] with a problem for each other one.
    #[doc(hidden)]
    pub fn check_sandboxes(&self, there: &Sandboxes) -> Result<(), ConfigError> {
        let known = there.known();
        let unknown = |methodology| {
            let name = self.methodology(methodology).sandbox;
            let exists = known.contains(&name.as_str());
            let kind = ProblemKind::unknown_name("sandbox", &name, &known);
            if exists { None } else { self.problem_at(format!("methodology.{methodology}.sandbox"), kind) }
        };
        refused(self.methodologies().filter_map(unknown).collect())
    }

    /// Returns the place where samuel.toml asks of a sandbox what it cannot do, or where it names the one that
    /// lacks a setting.
    #[doc(hidden)]
    pub fn sandbox_problem(&self, methodology: &str, error: &SandboxError) -> Option<ConfigError> {
        let SandboxError::Setting { key, problem } = error else { return None };
        let kind = || ProblemKind::Specific { what: problem.clone(), help: error.help() };
        let set = self.problem_at(format!("sandbox.{key}"), kind());
        let named = || self.problem_at(format!("methodology.{methodology}.sandbox"), kind());
        Some(ConfigError::Invalid(Problems::of(vec![set.or_else(named)?])))
    }

    fn problem_at(&self, key: String, kind: ProblemKind) -> Option<Problem> {
        self.origin(&key).map(|origin| Problem { location: origin.into(), key, kind })
    }
}

fn refused(list: Vec<Problem>) -> Result<(), ConfigError> {
    if list.is_empty() { Ok(()) } else { Err(ConfigError::Invalid(Problems::of(list))) }
}

impl ConfigError {
    /// Adds that the default methodology is unknown as well, where samuel.toml names it.
    #[doc(hidden)]
    pub fn and_default(self, unknown: UnknownMethodology) -> Self {
        let UnknownMethodology { name, nearest, known, origin } = unknown;
        match (self, origin) {
            (Self::Invalid(Problems { mut list, .. }), Some(origin)) => {
                let kind = ProblemKind::UnknownName { what: "methodology", name, nearest, known };
                list.push(Problem { location: origin.into(), key: "default_methodology".to_owned(), kind });
                Self::Invalid(Problems::of(list))
            }
            (error, _) => error,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Config {
        Config::parse(std::path::Path::new("samuel.toml"), text).expect("valid")
    }

    fn known() -> Vec<KnownMethodology> {
        [("ralph", "rw"), ("tdd-strict", "tdd")]
            .map(|(name, alias)| KnownMethodology { name: name.to_owned(), aliases: vec![alias.to_owned()] })
            .to_vec()
    }

    #[test]
    fn the_positional_wins_over_the_default_and_aliases_are_replaced() {
        let config = parse("default_methodology = \"tdd\"");
        let resolve = |positional| resolve_methodology(positional, &config, &known());
        assert_eq!(resolve(Some("rw")).as_deref(), Ok("ralph"));
        assert_eq!(resolve(Some("ralph")).as_deref(), Ok("ralph"));
        assert_eq!(resolve(None).as_deref(), Ok("tdd-strict"));
        assert_eq!(resolve_methodology(None, &Config::default(), &known()).as_deref(), Ok("ralph"));
    }

    #[test]
    fn a_methodology_that_is_not_there_is_refused_with_the_nearest() {
        let error = resolve_methodology(Some("tdd-strikt"), &Config::default(), &known())
            .expect_err("no methodology has the name");
        assert_eq!(error.to_string(), "methodology not found: \"tdd-strikt\"");
        assert_eq!(error.nearest.as_deref(), Some("tdd-strict"));
        assert_eq!(error.known, ["ralph", "tdd-strict"]);
        assert_eq!(error.code(), ErrorCode::METHODOLOGY_NOT_FOUND);
        assert_eq!(error.code().help, &samuel_model::Remedy::ListMethodologies);
        assert_eq!(error.location(), None);
    }

    #[test]
    fn a_default_that_is_not_there_is_refused_at_its_place() {
        let text = "version = \"2\"\ndefault_methodology = \"tdd\"\n";
        let config = parse(text);
        let error = resolve_methodology(None, &config, &[]).expect_err("not installed");
        assert_eq!(error.location().and_then(|place| place.line), Some(2));
    }

    #[test]
    fn a_table_of_a_methodology_that_is_not_there_is_refused_at_its_place() {
        let config = parse(
            "[methodology.tdd]\n[methodology.rlph]\n[methodology.ralph]\n[methodology.rw]\n[methodology.tdd-strict]\n",
        );
        let error = config.check_methodologies(&known()).expect_err("three tables are of no methodology");
        let problems: Vec<String> =
            error.problems().iter().map(|p| format!("{p} | {}", p.help().prose())).collect();
        assert_eq!(
            problems,
            [
                "methodology.tdd: \"tdd\" is another name of the methodology tdd-strict | Use tdd-strict here.",
                "methodology.rlph: unknown methodology \"rlph\" | Did you mean \"ralph\"?",
                "methodology.rw: \"rw\" is another name of the methodology ralph | Use ralph here.",
            ]
        );
        assert_eq!(error.location().and_then(|place| place.line), Some(1));
        let config = parse("[methodology.ralph]\n[methodology.tdd-strict.hooks]\n");
        assert!(config.check_methodologies(&known()).is_ok());
    }

    #[test]
    fn names_of_methodologies_are_plain() {
        for name in ["", "Ralph", "a_b", "a b", "é", &"a".repeat(65), "start", "why", "logs", "lock"] {
            assert!(check_methodology_name(name).is_err(), "{name}");
        }
        // Also those of commands that are still to come.
        for name in ["lanes", "migrate-encoding"] {
            assert!(
                check_methodology_name(name).is_err_and(|refused| refused.rule.contains("subcommand")),
                "{name}"
            );
        }
        for name in ["ralph", "tdd-strict", "x", "3"] {
            assert_eq!(check_methodology_name(name), Ok(()));
        }
    }
}
