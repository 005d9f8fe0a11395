//! Reading one file of a repository hook.
//!
//! One with a problem is left out and told of. One whose script does not exist
//! or cannot be executed is told of and used all the same: it breaks when it is called, and so a blocking
//! hook goes on blocking. So is one with a slip in what is only shown: its summary and its effects.
//!
//! `conditions` reads its `match`, and `entry` words what is told of it.

use std::{
    collections::BTreeMap,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Builtin, EventType, RepositoryHook, Toggle, entry::entry, hook::Action, matching::Matching, script_place,
};
use crate::{
    config::{self, Problem, ProblemKind, shorten},
    dialect::{
        command::TIMEOUT,
        problems::{Problems, problem},
        yaml::{self, Node, NotYaml, Value},
    },
    fs::Root,
    script::CommandLine,
};

/// The longest id, in bytes.
const MAX_ID: usize = 64;
/// The most effects that a file may list, variables that switch it, and words of a command.
const MAX_LIST: usize = 100;

/// The keys of a file.
pub(super) const KEYS: [&str; 8] =
    ["id", "event_type", "enabled", "summary", "blocking", "match", "handler", "effects"];
const SCRIPT_KEYS: [&str; 3] = ["kind", "command", "timeout"];
const KINDS: [&str; 2] = ["script", "builtin"];

/// Reads the text of one file, whose script need not be there yet.
///
/// The error says why it cannot be used.
pub(super) fn parse(path: &Path, text: &str) -> Result<RepositoryHook, config::Problems> {
    let document = yaml::parse(text).map_err(|error| config::Problems::of(vec![not_yaml(path, error)]))?;
    let mut reader = Reader { path, problems: Problems::of(path) };
    let hook = reader.hook(&document, &mut BTreeMap::new()).filter(|_| reader.problems.count() == 0);
    hook.map(|(hook, _)| hook).ok_or_else(|| config::Problems::of(reader.problems.into_parts().0))
}

/// What a file of a project says.
#[derive(Default)]
pub(super) struct Read {
    /// Nothing where a problem keeps it from being used.
    pub(super) hook: Option<RepositoryHook>,
    pub(super) problems: Vec<Problem>,
    /// How many more problems there are.
    pub(super) more: usize,
    pub(super) warnings: Vec<Problem>,
}

/// Reads a file of a project. `ids` has those of the files before, each with its file.
pub(super) fn read(root: &Root, path: &Path, text: &str, ids: &mut BTreeMap<String, PathBuf>) -> Read {
    let document = match yaml::parse(text) {
        Ok(document) => document,
        Err(error) => return Read { problems: vec![not_yaml(path, error)], ..Read::default() },
    };
    let mut reader = Reader { path, problems: Problems::of(path) };
    let hook = reader.hook(&document, ids).and_then(|(hook, at)| reader.in_place(root, hook, at));
    let (problems, more, warnings) = reader.problems.into_parts();
    Read { hook, problems, more, warnings }
}

/// Makes the problem of a file that is no YAML.
fn not_yaml(path: &Path, error: NotYaml) -> Problem {
    let kind = ProblemKind::Specific { what: error.message, help: error.help.into() };
    problem(path, (error.line, error.column), "", kind)
}

/// Reads one file.
pub(super) struct Reader<'a> {
    path: &'a Path,
    pub(super) problems: Problems,
}

impl Reader<'_> {
    /// Reads a hook, and where it says what it does; nothing where it has a problem, which is told.
    fn hook<'n>(
        &mut self,
        document: &'n Node,
        ids: &mut BTreeMap<String, PathBuf>,
    ) -> Option<(RepositoryHook, &'n Node)> {
        let Value::Mapping(mapping) = &document.value else {
            self.problems.wrong_type(document, "", "a hook: a mapping with id, event_type and handler");
            return None;
        };
        let [id, event_type, enabled, summary, blocking, conditions, handler, effects] =
            self.problems.keys(mapping, "", &KEYS, |_| None).map(|entry| entry.map(|(_, value)| value));
        let id = self.required(document, id, "id", Self::id);
        if let Some((node, id)) = &id {
            self.keep_unique(node, id, ids);
        }
        let event_type = self.required(document, event_type, "event_type", Self::event_type);
        let event_type = event_type.map(|(_, event_type)| event_type);
        let enabled = enabled.map_or(Some(true.into()), |node| self.toggle(node));
        let wants_to_block = self.problems.flag(blocking, "blocking");
        let matching = conditions.map_or(Some(Matching::default()), |node| self.matching(event_type, node));
        let action =
            self.required(document, handler, "handler", |reader, node| reader.action(event_type, node));
        let is_usable = self.problems.count() == 0;
        // What is only shown is told of, and turns no hook off.
        let summary = summary.and_then(|node| self.problems.text(node, "summary")).unwrap_or_default();
        let effects = effects.and_then(|node| self.effects(node)).unwrap_or_default();
        if !is_usable {
            return None;
        }
        let ((_, id), event_type, (handler, (action, timeout))) = (id?, event_type?, action?);
        let (enabled, matching, wants_to_block) = (enabled?, matching?, wants_to_block?);
        let blocking = wants_to_block && event_type.can_block();
        if let Some(node) = blocking_in_vain(mapping, wants_to_block && !blocking) {
            let what = format!("has no effect at {}, where nothing can be stopped", event_type.as_str());
            let help = "Remove the key, or stop at PromptSubmit, PreAbilityCall or SessionStop.";
            self.problems.warn(node, "blocking", what, help);
        }
        let summary = summary.trim().to_owned();
        let mut hook = RepositoryHook {
            id,
            event_type,
            summary,
            enabled,
            blocking,
            timeout,
            effects,
            matching,
            action,
            entry: Arc::default(),
            told_of: None,
            pinned: None,
        };
        hook.entry = Arc::new(entry(&hook, self.path, document));
        Some((hook, handler))
    }

    /// Tells of a script that is not there or cannot be executed, and leaves out a hook whose script is
    /// outside of the project.
    fn in_place(&mut self, root: &Root, mut hook: RepositoryHook, at: &Node) -> Option<RepositoryHook> {
        let Action::Script(line) = &hook.action else { return Some(hook) };
        let Some(wrong) = script_place::problem(line, root) else { return Some(hook) };
        self.problems.tell(at, "handler.command", wrong.what, wrong.help);
        hook.told_of = Some(wrong.path);
        (!wrong.leads_out).then_some(hook)
    }

    /// Reads a value that must be there.
    fn required<'n, T>(
        &mut self,
        document: &Node,
        node: Option<&'n Node>,
        name: &'static str,
        read: impl FnOnce(&mut Self, &'n Node) -> Option<T>,
    ) -> Option<(&'n Node, T)> {
        match node {
            Some(node) => read(self, node).map(|value| (node, value)),
            None => {
                self.problems.add(document, "", ProblemKind::Missing { name });
                None
            }
        }
    }

    fn id(&mut self, node: &Node) -> Option<String> {
        let id = self.problems.text(node, "id")?;
        let is_part = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-');
        let begins = id.starts_with(|c: char| c.is_ascii_lowercase() || c.is_ascii_digit());
        if begins && id.len() <= MAX_ID && id.chars().all(is_part) {
            return Some(id.to_owned());
        }
        let rule = "ids have small letters, digits, - and _, a letter or digit first, and at most 64 of them";
        self.problems.add(node, "id", ProblemKind::InvalidName { what: "hook", name: shorten(id), rule });
        None
    }

    /// Keeps an id for this file, if no file before has it.
    fn keep_unique(&mut self, node: &Node, id: &str, ids: &mut BTreeMap<String, PathBuf>) {
        match ids.get(id) {
            Some(first) => {
                let what = format!("\"{id}\" is the id of {} too", first.display());
                self.problems.tell(node, "id", what, "Give one of the two another id.");
            }
            None => drop(ids.insert(id.to_owned(), self.path.to_owned())),
        }
    }

    fn event_type(&mut self, node: &Node) -> Option<EventType> {
        let name = self.problems.text(node, "event_type")?;
        let found = EventType::named(name);
        if found.is_none() {
            let known = EventType::ALL.map(EventType::as_str);
            self.problems.add(node, "event_type", ProblemKind::unknown_name("event", name, &known));
        }
        found
    }

    fn toggle(&mut self, node: &Node) -> Option<Toggle> {
        let Value::Mapping(mapping) = &node.value else {
            return self.problems.flag(Some(node), "enabled").map(Toggle::from);
        };
        let [default, env] = self
            .problems
            .keys(mapping, "enabled", &["default", "env"], |_| None)
            .map(|entry| entry.map(|(_, value)| value));
        let default = default.map_or(Some(true), |node| self.problems.flag(Some(node), "enabled.default"))?;
        let env = match env {
            None => Vec::new(),
            Some(Node { value: Value::Mapping(variables), .. }) => self.variables(variables, node)?,
            Some(node) => {
                self.problems.wrong_type(node, "enabled.env", "a mapping of variables to true or false");
                return None;
            }
        };
        Some(Toggle { default, env })
    }

    fn variables(&mut self, variables: &[(Node, Node)], node: &Node) -> Option<Vec<(String, bool)>> {
        if !self.is_short(variables.len(), node, "enabled.env") {
            return None;
        }
        let mut found: Vec<(String, bool)> = Vec::new();
        for (name, value) in variables {
            let text = self.problems.text(name, "enabled.env")?;
            let key = format!("enabled.env.{}", shorten(text));
            if found.iter().any(|(known, _)| known == text) {
                self.problems.tell(name, &key, "is given twice", "Remove one of the two.");
            }
            let is_on = self.problems.flag(Some(value), &key)?;
            found.push((text.to_owned(), is_on));
        }
        Some(found)
    }

    fn is_short(&mut self, length: usize, node: &Node, key: &str) -> bool {
        if length > MAX_LIST {
            let what = format!("has more than {MAX_LIST} entries");
            self.problems.tell(node, key, what, "Remove those that nobody needs.");
        }
        length <= MAX_LIST
    }

    /// Reads what the hook does, and how long that may take.
    fn action(
        &mut self,
        event_type: Option<EventType>,
        node: &Node,
    ) -> Option<(Action, std::time::Duration)> {
        let Value::Mapping(mapping) = &node.value else {
            self.problems.wrong_type(node, "handler", "a mapping with kind");
            return None;
        };
        let is_kind = |(key, _): &&(Node, Node)| matches!(&key.value, Value::Text(name) if name == "kind");
        let Some((_, kind)) = mapping.iter().find(is_kind) else {
            self.problems.add(node, "handler", ProblemKind::Missing { name: "kind" });
            return None;
        };
        match self.problems.text(kind, "handler.kind")? {
            "script" => self.script(node, mapping),
            "builtin" => {
                let builtin = Builtin::read(&mut self.problems, node, mapping)?;
                if event_type.is_some_and(|event_type| event_type != EventType::PostAbilityCall) {
                    let what = format!("{} is for PostAbilityCall", builtin.name());
                    self.problems.tell(node, "handler", what, "Write event_type: PostAbilityCall.");
                }
                Some((Action::Builtin(builtin), TIMEOUT))
            }
            other => {
                let kind_of = ProblemKind::unknown_name("kind of handler", other, &KINDS);
                self.problems.add(kind, "handler.kind", kind_of);
                None
            }
        }
    }

    fn script(&mut self, node: &Node, mapping: &[(Node, Node)]) -> Option<(Action, std::time::Duration)> {
        let [_, command, timeout] = self
            .problems
            .keys(mapping, "handler", &SCRIPT_KEYS, |_| None)
            .map(|entry| entry.map(|(_, value)| value));
        let timeout = timeout.map_or(Some(TIMEOUT), |node| self.problems.timeout(node, "handler.timeout"));
        let Some(command) = command else {
            self.problems.add(node, "handler", ProblemKind::Missing { name: "command" });
            return None;
        };
        let line = match &command.value {
            Value::List(words) => {
                if !self.is_short(words.len(), command, "handler.command") {
                    return None;
                }
                let words: Option<Vec<&str>> =
                    words.iter().map(|word| self.problems.text(word, "handler.command")).collect();
                CommandLine::words(words?)
            }
            _ => CommandLine::Shell(self.problems.text(command, "handler.command")?.to_owned()),
        };
        let is_empty = match &line {
            CommandLine::Shell(text) => text.trim().is_empty(),
            CommandLine::Words(words) => words.first().is_none_or(|word| word.is_empty()),
        };
        if is_empty {
            self.problems.add(command, "handler.command", ProblemKind::Empty);
            return None;
        }
        Some((Action::Script(line), timeout?))
    }

    /// Reads what the hook is said to do: names, each alone or with what it is about.
    fn effects(&mut self, node: &Node) -> Option<Vec<(String, Option<String>)>> {
        let effects = match &node.value {
            Value::List(effects) => effects.as_slice(),
            Value::Null => &[],
            _ => {
                self.problems.wrong_type(node, "effects", "a list");
                return None;
            }
        };
        if !self.is_short(effects.len(), node, "effects") {
            return None;
        }
        effects.iter().map(|effect| self.effect(effect)).collect()
    }

    fn effect(&mut self, effect: &Node) -> Option<(String, Option<String>)> {
        let found = match &effect.value {
            Value::Text(name) => Some((name.clone(), None)),
            Value::Mapping(mapping) => match mapping.as_slice() {
                [(Node { value: Value::Text(name), .. }, about)] => {
                    scalar(&about.value).map(|about| (name.clone(), about))
                }
                _ => None,
            },
            _ => None,
        };
        if found.is_none() {
            self.problems.wrong_type(effect, "effects", "a name, or a name with one value");
        }
        found
    }
}

/// Returns what a value that is one word says; nothing of one that is more.
fn scalar(value: &Value) -> Option<Option<String>> {
    match value {
        Value::Null => Some(None),
        Value::Boolean(flag) => Some(Some(flag.to_string())),
        Value::Integer(number) => Some(Some(number.to_string())),
        Value::Float(number) => Some(Some(number.to_string())),
        Value::Text(text) => Some(Some(text.clone())),
        Value::List(_) | Value::Mapping(_) => None,
    }
}

/// Returns where `blocking` stands, where it stands in vain.
fn blocking_in_vain(mapping: &[(Node, Node)], in_vain: bool) -> Option<&Node> {
    let is_it = |(key, _): &&(Node, Node)| matches!(&key.value, Value::Text(name) if name == "blocking");
    mapping.iter().find(is_it).filter(|_| in_vain).map(|(_, value)| value)
}
