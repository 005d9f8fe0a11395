//! What would execute, as a person is shown it.
//!
//! [`Executables`] lists everything that a project makes run: the agent with its
//! whole command line, each plugin with what it was granted, each quality check,
//! each hook point that is configured, each handler and each prompt template. The list
//! is complete and its order is fixed, so whoever wants to know whether something else
//! would run now than was approved once compares two of them, or their digests.

use samuel_hook::{HookPoint, PluginIdentity, Registry, Tier};
use samuel_model::digest_of;
use serde::{Deserialize, Serialize};

use super::{ControlFileChange, Difference};
use crate::format_duration;

/// What a run would execute: the agent, unless a handler is in its place, then plugins,
/// quality checks, hook points that are configured, handlers and prompt templates, each in the order in which they are configured or run.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executables {
    /// Everything that would execute.
    pub entries: Vec<Executable>,
    /// The control files that the last run left changed, and that nobody has accepted
    /// since. After a run that was cut off, those that are not as that run found them.
    pub changes: Vec<ControlFileChange>,
    /// How much of what a run would execute it is.
    #[serde(skip)]
    pub(super) scope: Scope,
}

/// How much of what a run would execute a list is.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) enum Scope {
    /// All of it.
    #[default]
    Whole,
    /// What a command executes that fires a few handlers.
    Part,
    /// What executes where these points fire, all of it.
    Points(Vec<HookPoint>),
    /// All that executes if no agent is called.
    WithoutAgents,
}

/// One thing that would execute.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executable {
    /// What it is.
    pub kind: ExecutableKind,
    /// Which one: the agent, plugin or handler by its name, a quality check by
    /// its number from 1, a hook point by its id, a template by its path.
    pub id: String,
    /// Where it is: the agent's program, a plugin's directory, the hook point
    /// of a handler; absent where that says nothing more.
    pub place: Option<String>,
    /// What is started. Of an agent it is plain where each word ends; a quality
    /// check is text for the shell.
    pub command: Option<String>,
    /// What changes how it runs, each by name.
    pub details: Vec<(String, String)>,
}

/// What kind of thing would execute.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum ExecutableKind {
    /// The agent.
    Agent,
    /// An installed plugin.
    Plugin,
    /// A quality check.
    QualityCheck,
    /// A command that gets the work tree of a lane ready.
    SetupCommand,
    /// A hook point whose chain is configured, which can turn off what checks.
    HookPoint,
    /// A handler of a hook point, beside the built-in ones.
    Handler,
    /// A command of a hook file.
    HookCommand,
    /// A prompt template in the place of a built-in one.
    Template,
}

impl ExecutableKind {
    /// Returns what people call it.
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Agent => "agent",
            Self::Plugin => "plugin",
            Self::QualityCheck => "quality check",
            Self::SetupCommand => "setup command",
            Self::HookPoint => "hook point",
            Self::Handler => "handler",
            Self::HookCommand => "hook command",
            Self::Template => "prompt template",
        }
    }
}

impl Executables {
    /// Collects what fires where only some points do, as in a preview: the
    /// handlers that are not built in, and the plugins that they belong to.
    pub fn of_points(registry: &Registry, fires: impl Fn(HookPoint) -> bool) -> Self {
        let handlers = handlers(registry, fires);
        let owns = |plugin: &&PluginIdentity| handlers.iter().any(|handler| is_of(handler, &plugin.name));
        let mut entries: Vec<Executable> = registry.plugins().iter().filter(owns).map(plugin).collect();
        entries.extend(handlers);
        Self::of(entries).into_part()
    }

    /// Makes a list of what a run would execute, before anybody looks what the last one
    /// left changed.
    #[doc(hidden)]
    pub fn of(entries: Vec<Executable>) -> Self {
        Self { entries, ..Self::default() }
    }

    /// Says that it is only what a command executes that fires a few handlers.
    pub(super) fn into_part(self) -> Self {
        Self { scope: Scope::Part, ..self }
    }

    /// Says that it is all that executes where some points fire.
    #[doc(hidden)]
    pub fn of_all_at(self, points: &[HookPoint]) -> Self {
        Self { scope: Scope::Points(points.to_vec()), ..self }
    }

    /// Returns what executes if no agent is called: without agents and the templates of their prompts.
    #[doc(hidden)]
    pub fn without_agents(self) -> Self {
        let entries = without_agents(&self.entries);
        Self { entries, scope: Scope::WithoutAgents, ..self }
    }

    /// Says whether it is all that a run would execute.
    pub(super) fn is_whole(&self) -> bool {
        self.scope == Scope::Whole
    }

    /// Compares with what was trusted, as far as that is of the same points.
    pub(super) fn against(&self, trusted: &[Executable]) -> Difference {
        match &self.scope {
            Scope::Points(points) => Difference::between(&at(points, trusted), &self.entries),
            Scope::WithoutAgents => Difference::between(&without_agents(trusted), &self.entries),
            Scope::Whole | Scope::Part => Difference::between(trusted, &self.entries),
        }
    }

    /// Says whether what was trusted allows it: of all that executes nothing may be gone, since what
    /// is gone may be a check.
    pub(super) fn is_allowed_by(&self, difference: &Difference) -> bool {
        match self.scope {
            Scope::Whole | Scope::WithoutAgents => difference.is_empty(),
            Scope::Points(_) => difference.adds_nothing() && difference.gone.is_empty(),
            Scope::Part => difference.adds_nothing(),
        }
    }

    /// Returns the same without those of one kind.
    #[must_use]
    pub fn without(mut self, kind: ExecutableKind) -> Self {
        self.entries.retain(|entry| entry.kind != kind);
        self
    }

    /// Lists those of one kind.
    pub fn of_kind(&self, kind: ExecutableKind) -> impl Iterator<Item = &Executable> {
        self.entries.iter().filter(move |entry| entry.kind == kind)
    }

    /// Returns one digest over all of it, `sha256:` and 64 digits. It stays the same as
    /// long as the same would execute and the last run left the same changed.
    pub fn digest(&self) -> String {
        // Texts, lists and records alone, so that this cannot fail.
        let written = serde_json::to_vec(self).unwrap_or_default();
        digest_of(&written)
    }

    /// Returns the digest that the next start has if all of it is accepted now and nothing
    /// is changed: that of the same without what the last run left changed.
    pub fn accepted_digest(&self) -> String {
        self.without_changes().digest()
    }

    /// Returns the same without what the last run left changed.
    #[must_use]
    pub fn without_changes(&self) -> Self {
        Self { changes: Vec::new(), ..self.clone() }
    }

    /// Says whether nothing would execute.
    pub fn is_empty(&self) -> bool {
        self.entries.is_empty()
    }

    /// Returns all of it for reading: a line for each thing, and below it an
    /// indented one for whatever changes how it runs. A text with a line end of
    /// its own is quoted, so that none can look like another line.
    pub fn lines(&self) -> Vec<String> {
        self.entries.iter().flat_map(Executable::lines).collect()
    }

    /// Returns the changes for reading: a line for each, and below it an indented one
    /// with the digests.
    pub fn change_lines(&self) -> Vec<String> {
        let lines = |change: &ControlFileChange| {
            [quoted_line(&change.to_string()), format!("  {}", quoted_line(&change.digests()))]
        };
        self.changes.iter().flat_map(lines).collect()
    }
}

impl Executable {
    /// Creates one of which only its kind and its id are known.
    #[doc(hidden)]
    pub fn new(kind: ExecutableKind, id: impl Into<String>) -> Self {
        Self { kind, id: id.into(), place: None, command: None, details: Vec::new() }
    }

    /// Adds what changes how it runs.
    #[doc(hidden)]
    pub fn detail(&mut self, name: &str, value: impl Into<String>) {
        self.details.push((name.to_owned(), value.into()));
    }

    pub(super) fn lines(&self) -> Vec<String> {
        let (kind, id) = (self.kind.as_str(), quoted_line(&self.id));
        let place = self.place.as_deref().map(quoted_line);
        let command = self.command.as_deref().map(quoted_line);
        let mut head = match (self.kind, &place) {
            (ExecutableKind::Handler | ExecutableKind::HookCommand, Some(point)) => {
                format!("{kind} of {point}: {id}")
            }
            _ => format!("{kind} {id}"),
        };
        if let Some(command) = command {
            head = format!("{head}: {command}");
        }
        let mut lines = vec![head];
        match (self.kind, place) {
            (ExecutableKind::Agent, Some(program)) => lines.push(format!("  program: {program}")),
            (ExecutableKind::Plugin, Some(directory)) => lines.push(format!("  directory: {directory}")),
            _ => {}
        }
        lines.extend(self.details.iter().map(|(name, value)| format!("  {name}: {}", quoted_line(value))));
        lines
    }
}

/// Leaves out what executes only if an agent is called.
fn without_agents(entries: &[Executable]) -> Vec<Executable> {
    let is_of_agents =
        |entry: &&Executable| matches!(entry.kind, ExecutableKind::Agent | ExecutableKind::Template);
    entries.iter().filter(|entry| !is_of_agents(entry)).cloned().collect()
}

/// Says whether a handler is a plugin's.
fn is_of(handler: &Executable, plugin: &str) -> bool {
    handler.id.strip_prefix(plugin).is_some_and(|rest| rest.starts_with(':'))
}

/// Returns what executes where some points fire, of what a run does.
fn at(points: &[HookPoint], entries: &[Executable]) -> Vec<Executable> {
    let fires = |id: &str| points.iter().any(|point| point.to_string() == id);
    let is_handler = |entry: &&Executable| {
        matches!(entry.kind, ExecutableKind::Handler | ExecutableKind::HookCommand)
            && entry.place.as_deref().is_some_and(fires)
    };
    let counts = |entry: &&Executable| match entry.kind {
        ExecutableKind::HookPoint => fires(&entry.id),
        ExecutableKind::Plugin => entries.iter().filter(is_handler).any(|handler| is_of(handler, &entry.id)),
        _ => is_handler(entry),
    };
    entries.iter().filter(counts).cloned().collect()
}

/// Describes a plugin with what it was granted.
pub fn plugin(plugin: &PluginIdentity) -> Executable {
    let mut entry = Executable {
        place: Some(plugin.directory.clone()),
        ..Executable::new(ExecutableKind::Plugin, plugin.name.clone())
    };
    entry.detail("version", plugin.version.clone());
    entry.detail("kind", plugin.kind.clone());
    entry.detail("digest", plugin.digest.clone());
    if let Some(image) = &plugin.image {
        entry.detail("image", image.clone());
    }
    for (capability, targets) in &plugin.granted {
        let value = match targets.as_slice() {
            [] => "granted".to_owned(),
            targets => command_line(targets),
        };
        entry.detail(&format!("granted {capability}"), value);
    }
    for (key, value) in &plugin.config {
        entry.detail(&format!("config {key}"), value.clone());
    }
    entry
}

/// Describes the handlers of the points that fire, but for the built-in ones.
pub fn handlers(registry: &Registry, fires: impl Fn(HookPoint) -> bool) -> Vec<Executable> {
    let points = HookPoint::ALL.iter().filter(|point| fires(**point));
    let of_point = |point: &HookPoint| {
        let foreign = registry.handlers(*point).filter(|(_, _, tier)| *tier != Tier::BuiltIn);
        foreign.map(|(id, order, _)| handler(*point, id, order, registry)).collect::<Vec<_>>()
    };
    points.flat_map(of_point).collect()
}

fn handler(point: HookPoint, id: &str, order: i32, registry: &Registry) -> Executable {
    let registered = registry.registered(point).iter().find(|registered| &*registered.info.id == id);
    let hook = registered.and_then(|registered| registered.entry.as_deref());
    let kind = if hook.is_some() { ExecutableKind::HookCommand } else { ExecutableKind::Handler };
    let mut entry = Executable {
        place: Some(point.to_string()),
        command: hook.map(|hook| hook.command.clone()),
        ..Executable::new(kind, id)
    };
    entry.detail("order", order.to_string());
    if let Some(timeout) = registered.and_then(|registered| registered.timeout) {
        entry.detail("timeout", format_duration(timeout));
    }
    if let Some(hook) = hook {
        // Its line is left out: what stands above it changes nothing of what executes.
        entry.detail("described in", hook.file.display().to_string());
        entry
            .details
            .extend(hook.details.iter().filter(|(name, _)| !TOLD_ELSEWHERE.contains(&&**name)).cloned());
        for (path, digest) in &hook.scripts {
            let digest = if digest.is_empty() { "cannot be read" } else { digest };
            entry.detail(&format!("file {}", path.display()), digest);
        }
        for path in &hook.products {
            entry.detail(&format!("file {}", path.display()), NOT_WATCHED);
        }
    }
    entry
}

/// What is shown in place of the digest of a file that is not watched.
pub const NOT_WATCHED: &str = "ignored by git, not watched";

/// What a hook file says that changes nothing of what executes, or that stands above it as it holds.
const TOLD_ELSEWHERE: [&str; 5] = ["timeout", "pipe_output", "deliver", "summary", "effect"];

/// Writes words so that it is plain where each of them ends, as a shell takes them.
pub fn command_line(words: &[String]) -> String {
    words.iter().map(|word| shell_word(word)).collect::<Vec<_>>().join(" ")
}

/// Quotes a word where a shell would take it for something else: in single quotes, within
/// which nothing is expanded, or as `$'\u202e'` where it holds what cannot be shown.
fn shell_word(word: &str) -> String {
    let is_shown = |c: char| c == ' ' || c.is_ascii_graphic() || c.is_alphanumeric();
    let is_plain = |c: char| c.is_alphanumeric() || "-_./:=,@%+".contains(c);
    if word.is_empty() || !word.chars().all(is_shown) {
        let escaped = |c: char| match c {
            '\'' | '\\' => format!("\\{c}"),
            '\n' => "\\n".to_owned(),
            c if is_shown(c) => c.to_string(),
            c => format!("\\U{:08x}", u32::from(c)),
        };
        let escaped: String = word.chars().map(escaped).collect();
        return if word.is_empty() { "''".to_owned() } else { format!("$'{escaped}'") };
    }
    match word.chars().all(is_plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', "'\\''")),
    }
}

/// Quotes a text that is more than one line.
pub(super) fn quoted_line(text: &str) -> String {
    let breaks = |c: char| c.is_control() || matches!(c, '\u{2028}' | '\u{2029}');
    if text.contains(breaks) { format!("{text:?}") } else { text.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_plain_where_each_word_of_a_command_ends() {
        let words = ["sh", "-c", "rm -rf $HOME", "", "it's", "a;b", "a\u{1b}[2K\n'", "\u{202e}txt", "größe"];
        let shown = r"sh -c 'rm -rf $HOME' '' 'it'\''s' 'a;b' $'a\U0000001b[2K\n\'' $'\U0000202etxt' größe";
        assert_eq!(command_line(&words.map(str::to_owned)), shown);
    }

    #[test]
    fn nothing_that_is_shown_can_look_like_another_line() {
        let command = "true\nagent claude: harmless".to_owned();
        let mut entry =
            Executable { command: Some(command), ..Executable::new(ExecutableKind::QualityCheck, "1") };
        entry.detail("timeout", "1s\n  timeout: 2s");
        let lines = Executables::of(vec![entry]).lines();
        assert_eq!(
            lines,
            [r#"quality check 1: "true\nagent claude: harmless""#, r#"  timeout: "1s\n  timeout: 2s""#]
        );
    }
}
