//! What is told of a repository hook before it runs.

use std::path::Path;

use super::{RepositoryHook, hook::Action};
use crate::{config::format_duration, dialect::yaml::Node, hook::HookFileEntry, script::CommandLine};

/// Describes a hook for listings, and for whoever decides whether it may run.
pub(super) fn entry(hook: &RepositoryHook, path: &Path, document: &Node) -> HookFileEntry {
    let is_set = |name: &str, value: String| (name.to_owned(), value);
    let mut details = vec![is_set("event_type", hook.event_type.as_str().to_owned())];
    details.push(is_set("blocking", hook.blocking.to_string()));
    let matches = hook.matching.summary(hook.event_type);
    details.extend((!matches.is_empty()).then(|| is_set("match", matches.clone())));
    let command = match &hook.action {
        Action::Script(line) => {
            details.push(is_set("timeout", format_duration(hook.timeout)));
            let is_list = matches!(line, CommandLine::Words(_));
            details.extend(is_list.then(|| is_set("form", "list".to_owned())));
            line.to_string()
        }
        Action::Builtin(builtin) => {
            details.extend(builtin.details());
            format!("builtin {}", builtin.name())
        }
    };
    details.extend((!hook.summary.is_empty()).then(|| is_set("summary", hook.summary.clone())));
    let effect = |(name, about): &(String, Option<String>)| match about {
        Some(about) => is_set("effect", format!("{name}: {about}")),
        None => is_set("effect", name.clone()),
    };
    details.extend(hook.effects.iter().map(effect));
    HookFileEntry {
        file: path.to_owned(),
        line: document.line,
        column: document.column,
        command,
        details,
        event_type: Some(hook.event_type.as_str()),
        matches,
        blocking: hook.blocking,
        disabled: !hook.enabled.default,
        ..HookFileEntry::default()
    }
}
