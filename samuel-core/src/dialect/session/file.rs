//! Reading a file of session hooks.
//!
//! An entry with a problem is left out and told of, its siblings are used. What makes the meaning
//! of the whole file uncertain, such as an unknown version, is told of instead of any hook.

use std::{
    collections::BTreeSet,
    path::{Component, Path},
    sync::Arc,
};

use samuel_contract::nearest;

use super::{
    HookType, SessionHook, Variable,
    hook::Command,
    shell::{self, ShellText},
    template::{self, Template},
};
use crate::{
    config::{Problem, ProblemKind, format_duration, shorten},
    dialect::{
        command::TIMEOUT,
        problems::Problems,
        yaml::{Node, Value},
    },
    fs::Root,
    hook::HookFileEntry,
    model::payload::Deliver,
    script::CommandLine,
};

/// The versions of such files.
const VERSIONS: std::ops::RangeInclusive<i64> = 1..=2;
/// The keys of an entry.
const KEYS: [&str; 7] = ["command", "timeout", "pipe_output", "cwd", "env", "deliver", "background"];
/// Those of version 1.
const FIRST_KEYS: [&str; 3] = ["command", "timeout", "pipe_output"];

/// The most words of a command that is a list.
const MAX_WORDS: usize = 4_096;

/// What a file of session hooks says.
#[derive(Debug, Default)]
pub(in crate::dialect) struct SessionFile {
    /// The hooks, type by type, each in the order of the file.
    pub(in crate::dialect) hooks: Vec<SessionHook>,
    /// What is wrong with single entries, and how many more problems there are.
    pub(in crate::dialect) problems: Vec<Problem>,
    pub(in crate::dialect) more: usize,
    /// What works, and may not be what was meant.
    pub(in crate::dialect) warnings: Vec<Problem>,
}

/// Reads a document. `file` is relative to the project's root, which is that of `root`.
///
/// The error says why nothing of the file can be used.
pub(in crate::dialect) fn read(
    root: &Root,
    file: &Path,
    document: &Node,
) -> Result<SessionFile, Vec<Problem>> {
    let mut problems = Problems::of(file);
    let mapping = match &document.value {
        Value::Mapping(mapping) => mapping,
        Value::Null => return Ok(SessionFile::default()),
        _ => {
            problems.wrong_type(document, "", "a mapping with version and hooks");
            return Err(problems.into_parts().0);
        }
    };
    let [version, hooks] = problems.keys(mapping, "", &["version", "hooks"], |_| None);
    let Some(version) = version_of(version.map(|(_, value)| value), document, &mut problems) else {
        return Err(problems.into_parts().0);
    };
    let hooks = match hooks {
        Some((_, Node { value: Value::Mapping(hooks), .. })) => hooks.as_slice(),
        None | Some((_, Node { value: Value::Null, .. })) => &[],
        Some((_, value)) => {
            problems.wrong_type(value, "hooks", "a mapping of hook types");
            return Err(problems.into_parts().0);
        }
    };
    let types = HookType::ALL.map(HookType::as_str);
    let lists = problems.keys(hooks, "hooks", &types, |name| {
        let known = types.join(", ");
        let help = nearest(name, types)
            .map_or(format!("Use one of {known}."), |near| format!("Did you mean \"{near}\"?"));
        Some(("is no type of session hook".to_owned(), help))
    });
    let mut read = Reader { root, file, version, problems };
    let mut found = Vec::new();
    for (hook_type, list) in HookType::ALL.into_iter().zip(lists) {
        if let Some((_, list)) = list {
            read.entries(hook_type, list, &mut found);
        }
    }
    let (problems, more, warnings) = read.problems.into_parts();
    Ok(SessionFile { hooks: found, problems, more, warnings })
}

/// Reads the version. Without one a file is of the first, and says so; an unknown one leaves open
/// what the file means.
fn version_of(version: Option<&Node>, document: &Node, problems: &mut Problems) -> Option<u32> {
    let Some(node) = version else {
        let what = "version is missing, and taken to be 1";
        problems.warn(
            document,
            "",
            what,
            "Write version: 1 above the hooks, or version: 2 for all that there is.",
        );
        return Some(1);
    };
    match node.value {
        Value::Integer(version) if VERSIONS.contains(&version) => u32::try_from(version).ok(),
        Value::Integer(version) => {
            let what = format!("version {version} is not supported");
            problems.tell(node, "version", what, "Write version: 1 or version: 2.");
            None
        }
        _ => {
            problems.wrong_type(node, "version", "1 or 2");
            None
        }
    }
}

/// Reads the entries of a file.
struct Reader<'a> {
    root: &'a Root,
    file: &'a Path,
    version: u32,
    problems: Problems,
}

impl Reader<'_> {
    fn entries(&mut self, hook_type: HookType, list: &Node, found: &mut Vec<SessionHook>) {
        let key = format!("hooks.{}", hook_type.as_str());
        let entries = match &list.value {
            Value::List(entries) => entries.as_slice(),
            Value::Null => &[],
            Value::Mapping(_) => {
                let what = "expected a list of hooks, found one hook";
                return self.problems.tell(
                    list,
                    &key,
                    what,
                    "Put \"- \" before its first key, and indent the others.",
                );
            }
            _ => return self.problems.wrong_type(list, &key, "a list of hooks"),
        };
        for (place, entry) in entries.iter().enumerate() {
            let number = place + 1;
            let path = format!("session:{}#{number}", hook_type.as_str());
            found.extend(self.entry(hook_type, number, entry, &path));
        }
    }

    /// Reads an entry; nothing where it has a problem, which is told.
    fn entry(&mut self, hook_type: HookType, number: usize, entry: &Node, path: &str) -> Option<SessionHook> {
        let Value::Mapping(mapping) = &entry.value else {
            self.problems.wrong_type(entry, path, "a hook: a mapping with command");
            return None;
        };
        let before = self.problems.count();
        let [command, timeout, pipe_output, cwd, env, deliver, background] =
            self.values(mapping, path).map(|entry| entry.map(|(_, value)| value));
        let of = |key: &str| format!("{path}.{key}");

        let (pipes, delivers) = (pipe_output, deliver);

        let timeout = timeout.map_or(Some(TIMEOUT), |node| self.problems.timeout(node, &of("timeout")));
        let pipe_output = self.problems.flag(pipe_output, &of("pipe_output"));
        let background = self.problems.flag(background, &of("background"));
        let cwd = cwd.map(|node| self.cwd(node, &of("cwd")));
        let deliver = deliver.map_or(Some(Deliver::Next), |node| self.deliver(node, &of("deliver")));
        let env = env.map_or(Some(Vec::new()), |node| self.env(hook_type, node, &of("env")));
        let command = match command {
            Some(node) => self.command(hook_type, node, &of("command")),
            None => {
                self.problems.add(entry, path, ProblemKind::Missing { name: "command" });
                None
            }
        };
        if self.problems.count() > before {
            return None;
        }
        let ((written, command), env, cwd, timeout) =
            (command?, env?, cwd.map_or(Some(None), |cwd| cwd.map(Some))?, timeout?);
        let (pipe_output, background, deliver) = (pipe_output?, background?, deliver?);
        let no_effect = |problems: &mut Problems, node: Option<&Node>, key: &str, why: &str| {
            if let Some(node) = node {
                problems.warn(node, &of(key), format!("has no effect {why}"), "Remove the key.");
            }
        };
        if hook_type == HookType::SessionEnd {
            no_effect(
                &mut self.problems,
                pipes.filter(|_| pipe_output),
                "pipe_output",
                "when the session is over",
            );
            no_effect(&mut self.problems, delivers, "deliver", "when the session is over");
        } else if !pipe_output {
            no_effect(&mut self.problems, delivers, "deliver", "without pipe_output: true");
        }
        let mut details = vec![("timeout".to_owned(), format_duration(timeout))];
        details.extend(cwd.map(|cwd| ("cwd".to_owned(), cwd.to_owned())));
        details.extend(matches!(command, Command::Words(_)).then(|| ("form".to_owned(), "list".to_owned())));
        details.extend(env.iter().map(|(name, value, _)| (format!("env {name}"), value.clone())));
        let is_set = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        details.extend(pipe_output.then(|| is_set("pipe_output", "true")));
        details.extend((deliver == Deliver::Now).then(|| is_set("deliver", "now")));
        details.extend(background.then(|| is_set("background", "true")));
        Some(SessionHook {
            hook_type,
            number,
            timeout,
            pipe_output,
            deliver,
            cwd: cwd.map(Into::into),
            background,
            command,
            env: env.into_iter().map(|(name, _, value)| (name, value)).collect(),
            entry: Arc::new(HookFileEntry {
                file: self.file.to_owned(),
                line: entry.line,
                column: entry.column,
                command: written.to_string(),
                details,
                ..HookFileEntry::default()
            }),
            pinned: None,
        })
    }

    /// Reads the keys of an entry. Those of version 1 are the first.
    fn values<'n>(
        &mut self,
        mapping: &'n [(Node, Node)],
        path: &str,
    ) -> [Option<&'n (Node, Node)>; KEYS.len()] {
        if self.version >= 2 {
            return self.problems.keys(mapping, path, &KEYS, |_| None);
        }
        let [command, timeout, pipe_output] = self.problems.keys(mapping, path, &FIRST_KEYS, |name| {
            let help = "Write version: 2 at the top of the file.".to_owned();
            KEYS.contains(&name).then(|| ("needs version 2".to_owned(), help))
        });
        [command, timeout, pipe_output, None, None, None, None]
    }

    fn command(&mut self, hook_type: HookType, node: &Node, key: &str) -> Option<(CommandLine, Command)> {
        match &node.value {
            Value::List(words) if self.version >= 2 => self.words(hook_type, node, words, key),
            Value::List(_) => {
                self.problems.tell(
                    node,
                    key,
                    "a list needs version 2",
                    "Write version: 2 at the top of the file.",
                );
                None
            }
            Value::Mapping(_) => {
                let what = "expected text, found a mapping";
                let help = "Put a command that holds \": \" in quotes, or write it in the lines below \"command: |\".";
                self.problems.tell(node, key, what, help);
                None
            }
            _ => {
                let text = self.problems.text(node, key)?;
                self.warn_of_slip(node, text, key);
                if text.trim().is_empty() {
                    self.problems.add(node, key, ProblemKind::Empty);
                    return None;
                }
                let known = |name: &str| self.known(hook_type, name);
                match ShellText::read(text, known) {
                    Ok(shell) => Some((CommandLine::Shell(text.to_owned()), Command::Shell(shell))),
                    Err(refused) => {
                        self.problems.tell(node, key, refused.what, refused.help);
                        None
                    }
                }
            }
        }
    }

    fn words(
        &mut self,
        hook_type: HookType,
        node: &Node,
        words: &[Node],
        key: &str,
    ) -> Option<(CommandLine, Command)> {
        if words.len() > MAX_WORDS {
            let what = format!("a command of more than {MAX_WORDS} words");
            self.problems.tell(node, key, what, "Move the command into a script.");
            return None;
        }
        let mut written = Vec::new();
        let mut read = Vec::new();
        for (place, word) in words.iter().enumerate() {
            let key = format!("{key}[{place}]");
            let text = self.problems.text(word, &key)?;
            read.push(self.template(hook_type, word, text, &key)?);
            written.push(text.to_owned());
        }
        if written.first().is_none_or(String::is_empty) {
            self.problems.add(node, key, ProblemKind::Empty);
            return None;
        }
        for (place, (word, at)) in read.iter().zip(words).enumerate() {
            let before = written.get(..place).unwrap_or_default();
            let refused =
                |(current, variable): (String, Variable)| shell::refused_in_list(before, &current, variable);
            if let Some(refused) = word.variables().find_map(refused) {
                self.problems.tell(at, &format!("{key}[{place}]"), refused.what, refused.help);
                return None;
            }
        }
        Some((CommandLine::words(written), Command::Words(read)))
    }

    /// Finds a variable that hooks of a type know.
    fn known(&self, hook_type: HookType, name: &str) -> Result<Variable, (String, String)> {
        let (version, names) = (self.version, hook_type.variables(self.version).map(Variable::as_str));
        let names: Vec<&str> = names.collect();
        match Variable::named(name) {
            Some(variable) if variable.is_known_at(hook_type, version) => Ok(variable),
            Some(variable) => {
                let later = variable.is_known_at(hook_type, 2);
                let what = format!("{{{{{name}}}}} is not available in {}", hook_type.as_str());
                Err(match later {
                    true => (
                        format!("{what} before version 2"),
                        "Write version: 2 at the top of the file.".to_owned(),
                    ),
                    false => (what, format!("There it is: {}.", names.join(", "))),
                })
            }
            None => {
                let what = format!("unknown variable {{{{{}}}}}", shorten(name));
                let near = nearest(name, Variable::ALL.map(Variable::as_str));
                let help = near.map_or(
                    format!("Use one of {}, or write \\{{{{ for two braces.", names.join(", ")),
                    |near| format!("Did you mean {{{{{near}}}}}? Write \\{{{{ for two braces."),
                );
                Err((what, help))
            }
        }
    }

    fn warn_of_slip(&mut self, node: &Node, text: &str, key: &str) {
        if let Some(what) = template::slip(text) {
            self.problems.warn(node, key, what, "Write {{name}}, or \\{{ for two braces.");
        }
    }

    fn template(&mut self, hook_type: HookType, node: &Node, text: &str, key: &str) -> Option<Template> {
        self.warn_of_slip(node, text, key);
        match Template::read(text, |name| self.known(hook_type, name)) {
            Ok(template) => Some(template),
            Err((what, help)) => {
                self.problems.tell(node, key, what, help);
                None
            }
        }
    }

    fn cwd<'n>(&mut self, node: &'n Node, key: &str) -> Option<&'n str> {
        let text = self.problems.text(node, key)?;
        let stays = |part: Component<'_>| matches!(part, Component::Normal(_) | Component::CurDir);
        if text.is_empty() || !Path::new(text).components().all(stays) {
            let what = format!("\"{}\" is not a directory within the project", shorten(text));
            self.problems.tell(node, key, what, "Give a path relative to the project, without \"..\".");
            return None;
        }
        let path = self.root.path().join(text);
        let what = match self.root.check_inside(Path::new(text)) {
            Err(error) if !error.is_not_found() => format!("cannot run in \"{}\": {error}", shorten(text)),
            _ if path.is_dir() => return Some(text),
            _ if path.exists() => format!("\"{}\" is not a directory", shorten(text)),
            _ => format!("\"{}\" does not exist", shorten(text)),
        };
        self.problems.tell(node, key, what, "Give a directory of the project, relative to its root.");
        None
    }

    fn deliver(&mut self, node: &Node, key: &str) -> Option<Deliver> {
        let text = self.problems.text(node, key)?;
        let known: Vec<&str> = Deliver::ALL.iter().map(|deliver| deliver.as_str()).collect();
        text.parse()
            .map_err(|_| {
                self.problems.add(node, key, ProblemKind::unknown_name("time of delivery", text, &known))
            })
            .ok()
    }

    fn env(
        &mut self,
        hook_type: HookType,
        node: &Node,
        key: &str,
    ) -> Option<Vec<(String, String, Template)>> {
        let Value::Mapping(variables) = &node.value else {
            self.problems.wrong_type(node, key, "a mapping of names to text");
            return None;
        };
        let mut found: Vec<(String, String, Template)> = Vec::new();
        let mut names = BTreeSet::new();
        for (name, value) in variables {
            let Value::Text(text) = &name.value else {
                self.problems.wrong_type(name, key, "a name");
                continue;
            };
            let is_name = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
            if !is_name || text.starts_with(|c: char| c.is_ascii_digit()) || text.starts_with("SAMUEL_") {
                let what = format!("\"{}\" cannot be the name of a variable", shorten(text));
                let help = "Use letters, digits and _, a digit not first; names that begin with SAMUEL_ are Samuel's own.";
                self.problems.tell(name, key, what, help);
                continue;
            }
            if !names.insert(text.as_str()) {
                self.problems.tell(name, key, format!("{text} is given twice"), "Remove one of the two.");
                continue;
            }
            let path = format!("{key}.{text}");
            let Some(written) = self.problems.text(value, &path) else { continue };
            let Some(template) = self.template(hook_type, value, written, &path) else { continue };
            if template.variables().next().is_some()
                && let Some(refused) = shell::refused_in_env(text)
            {
                self.problems.tell(value, &path, refused.what, refused.help);
                continue;
            }
            found.push((text.clone(), written.to_owned(), template));
        }
        Some(found)
    }
}
