//! Writes the classes and signatures.

use std::fmt::Write as _;

use super::{Field, Item, Record, Union, Words};
use crate::contract::{
    model::Contract,
    text::{first_sentence, wrapped},
};

/// The longest line.
const WIDTH: usize = 100;

const RECORDS_HEAD: &str = r#""""What handlers are given and answer, what runs tell, and what the prompt holds.

Written by `cargo xtask contract` from `wit/` and the types of samuel-core; do not
edit. Records are immutable, compare by value and can be matched, pickled and
copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from ._record import Changes, EventBase, Pairs, Record, changes, items, items_or_none, pairs

_set = object.__setattr__"#;

/// Writes `records.py`.
pub(super) fn records(contract: &Contract, items: &[Item]) -> String {
    let listed: String = contract.points.iter().map(|point| format!("    \"{}\",\n", point.row.id)).collect();
    let named = contract.points.iter().map(|point| {
        let name = point.interface.replace('-', "_").to_uppercase();
        format!("    {name}: Final = \"{}\"\n    \"\"\"{}\"\"\"", point.row.id, first_sentence(&point.docs))
    });
    let mut parts = vec![
        RECORDS_HEAD.to_owned(),
        format!("HookPointId: TypeAlias = Literal[\n{listed}]\n\"\"\"The id of a hook point.\"\"\""),
        format!(
            "class HookPoint:\n    \"\"\"The ids of the hook points, by name.\"\"\"\n\n{}",
            named.collect::<Vec<_>>().join("\n")
        ),
    ];
    parts.extend(items.iter().map(|item| match item {
        Item::Record(record) => self::record(record),
        Item::Words(words) => self::words(words),
        Item::Union(union) => self::union(union),
    }));
    let mut names: Vec<&str> = items.iter().map(Item::name).chain(["HookPoint", "HookPointId"]).collect();
    names.sort_unstable();
    let exported: String = names.iter().map(|name| format!("    \"{name}\",\n")).collect();
    parts.push(format!("__all__ = [\n{exported}]"));
    parts.join("\n\n\n") + "\n"
}

fn record(record: &Record) -> String {
    let mut out = format!("class {}({}):\n{}\n", record.name, record.base, record_docs(record));
    // No field may follow one with a default, so that arguments can be given by place.
    let mut ordered: Vec<&Field> = record.fields.iter().collect();
    ordered.sort_by_key(|field| field.default.is_some());
    let _ = writeln!(out, "    __slots__ = {}", names(&record.fields.iter().collect::<Vec<_>>()));
    let _ = writeln!(out, "    __match_args__ = {}", names(&ordered));
    let aliases = record.fields.iter().filter(|field| field.wire != field.name);
    let aliases: Vec<String> = aliases.map(|field| format!("'{}': '{}'", field.wire, field.name)).collect();
    if !aliases.is_empty() {
        let _ = writeln!(out, "    _wire = {{{}}}", aliases.join(", "));
    }
    match &record.tag {
        Some((key, word)) => _ = writeln!(out, "    _tag = ('{key}', '{word}')"),
        None if record.rust != record.name => _ = writeln!(out, "    _rust = \"{}\"", record.rust),
        None => {}
    }
    for field in &record.fields {
        let _ = writeln!(out, "    {}: {}", field.name, field.kind.python);
    }
    out.push_str("\n    def __init__(\n        self,\n");
    for field in &ordered {
        let _ = writeln!(out, "        {},", argument(field));
    }
    let is_event = record.base == "EventBase";
    if is_event {
        out.push_str("        *,\n        seq: int = 0,\n        at: str = \"\",\n        elapsed_ms: int = 0,\n        run_id: str = \"\",\n        lane: int | None = None,\n");
    }
    out.push_str("    ) -> None:\n");
    if is_event {
        out.push_str(
            "        super().__init__(seq=seq, at=at, elapsed_ms=elapsed_ms, run_id=run_id, lane=lane)\n",
        );
    } else if record.fields.is_empty() {
        out.push_str("        pass\n");
    }
    for field in &record.fields {
        let _ = writeln!(out, "        _set(self, \"{}\", {})", field.name, value(field));
    }
    out.trim_end().to_owned()
}

fn record_docs(record: &Record) -> String {
    let docs = indented(&wrapped(&record.docs, WIDTH - 4), 4);
    let docs = docs.trim_start();
    if record.fields.is_empty() {
        return format!("    \"\"\"{docs}\"\"\"\n");
    }
    let entries = record.fields.iter().filter(|field| field.name != "extensions").map(|field| {
        let entry = wrapped(&format!("{}: {}", field.name, field.docs.replace("\n\n", " ")), WIDTH - 16);
        indented(&entry.replace('\n', "\n    "), 8)
    });
    format!("    \"\"\"{docs}\n\n    Attributes:\n{}\n    \"\"\"\n", entries.collect::<Vec<_>>().join("\n"))
}

/// Writes names as a tuple.
fn names(fields: &[&Field]) -> String {
    match fields {
        [one] => format!("(\"{}\",)", one.name),
        fields => {
            let names: Vec<String> = fields.iter().map(|field| format!("\"{}\"", field.name)).collect();
            format!("({})", names.join(", "))
        }
    }
}

/// A parameter of `__init__`.
fn argument(field: &Field) -> String {
    let Field { name, kind, default, .. } = field;
    let given = match kind.coerce {
        "items" | "items_or_none" => {
            kind.python.replacen("tuple[", "Iterable[", 1).replacen(", ...]", "]", 1)
        }
        "pairs" => "Pairs".to_owned(),
        "changes" => "Changes".to_owned(),
        _ => kind.python.clone(),
    };
    match default.as_deref() {
        // One object must not be the default of all calls.
        Some("HookResults()") => format!("{name}: HookResults | None = None"),
        Some(default) => format!("{name}: {given} = {default}"),
        None => format!("{name}: {given}"),
    }
}

/// What `__init__` puts into a field.
fn value(field: &Field) -> String {
    let name = &field.name;
    match (field.kind.coerce, field.default.as_deref()) {
        (_, Some("HookResults()")) => format!("HookResults() if {name} is None else {name}"),
        ("", _) => name.clone(),
        (coerce, _) => format!("{coerce}({name})"),
    }
}

fn words(words: &Words) -> String {
    let listed = words.words.iter().map(|(word, _)| format!("\"{word}\"")).collect::<Vec<_>>();
    let mut alias = format!("{}: TypeAlias = Literal[{}]", words.name, listed.join(", "));
    if alias.chars().count() > WIDTH {
        let inner: String = listed.iter().map(|word| format!("    {word},\n")).collect();
        alias = format!("{}: TypeAlias = Literal[\n{inner}]", words.name);
    }
    let meanings = words
        .words
        .iter()
        .map(|(word, docs)| format!("- `{word}`: {}", docs.split_whitespace().collect::<Vec<_>>().join(" ")));
    let meanings = meanings.collect::<Vec<_>>().join("\n");
    format!("{alias}\n\"\"\"{}\n\n{meanings}\n\"\"\"", wrapped(&words.docs, WIDTH))
}

fn union(union: &Union) -> String {
    let cases = union.cases.join(" | ");
    let body = match cases.chars().count() < 80 {
        true => cases,
        false => format!("(\n    {}\n)", union.cases.join("\n    | ")),
    };
    format!("{}: TypeAlias = {body}\n\"\"\"{}\"\"\"", union.name, wrapped(&union.docs, WIDTH))
}

/// Indents all lines that hold something.
fn indented(text: &str, by: usize) -> String {
    let indent = " ".repeat(by);
    let lines =
        text.lines().map(|line| if line.is_empty() { String::new() } else { format!("{indent}{line}") });
    lines.collect::<Vec<_>>().join("\n")
}

const REGISTERING_HEAD: &str = "# Written by `cargo xtask contract` from `wit/`; do not edit.
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar, overload, type_check_only

from . import records
from ._handler import Handler
from ._registration import Registration
from ._samuel import Call

";

/// Writes `_registering.pyi`: one signature for each point.
pub(super) fn registering(contract: &Contract) -> String {
    let mut out = REGISTERING_HEAD.to_owned();
    for point in &contract.points {
        let name = &point.name;
        let _ = writeln!(
            out,
            "@type_check_only\nclass {name}Handler(Protocol):\n    \
             def __call__(self, call: Call[records.{name}Input, records.{name}Output], /) -> (\n        \
             records.{name}Output | None | Awaitable[records.{name}Output | None]\n    ): ...\n"
        );
    }
    for point in &contract.points {
        let _ = writeln!(out, "_{0} = TypeVar(\"_{0}\", bound={0}Handler)", point.name);
    }
    out.push_str(
        "\nclass Registering:\n    _registrations: list[Registration]\n    \
         def __init__(self) -> None: ...\n    @property\n    \
         def handlers(self) -> tuple[Handler[Any], ...]:\n        \
         \"\"\"The handlers, in the order they were registered; those of plugins are the plugins'.\"\"\"\n    \
         def _remove(self, registration: Registration) -> None: ...\n",
    );
    hooks(&mut out, contract, "PluginRegistering", |_| true);
    hooks(&mut out, contract, "LoopRegistering", |point| !OF_COMMANDS.contains(&point));
    hooks(&mut out, contract, "SessionRegistering", |point| OF_SESSIONS.contains(&point));
    out
}

/// The points that the commands fire, and no run or session.
const OF_COMMANDS: [&str; 4] = ["init.before", "init.after", "sync.before", "sync.after"];

/// The points that a session without a loop fires.
const OF_SESSIONS: [&str; 8] = [
    "session.start",
    "prompt.submit",
    "ability.before",
    "ability.after",
    "task.completed",
    "iteration.error",
    "session.stop",
    "session.end",
];

/// Writes a class with a signature for each of these points.
fn hooks(out: &mut String, contract: &Contract, class: &str, fires: impl Fn(&str) -> bool) {
    let _ = writeln!(out, "\nclass {class}(Registering):");
    for point in contract.points.iter().filter(|point| fires(&point.row.id)) {
        let (id, name) = (&point.row.id, &point.name);
        let _ = writeln!(
            out,
            "    @overload\n    def hook(\n        \
             self, point: Literal[\"{id}\"], name: str | None = None, *, order: int | None = None,\n        \
             timeout: float | None = None, strict: bool | None = None, inline: bool = False,\n        \
             isolate: Literal[\"process\"] | None = None,\n    ) -> Callable[[_{name}], Handler[_{name}]]:\n        \
             \"\"\"{}\"\"\"",
            first_sentence(&point.docs)
        );
    }
}
