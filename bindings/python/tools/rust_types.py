"""Reads the Rust types that Python mirrors, as rustfmt lays them out.

A source that it does not understand is an error, never a guess.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path

CORE = Path(__file__).resolve().parents[3] / "samuel-core" / "src"

# Source file, and what of it Python sees. A pair renames: Rust name, Python name.
SOURCES: list[tuple[str, list[str | tuple[str, str]]]] = [
    ("model/task.rs", ["Status", "Priority", "Complexity", "Source", "Task"]),
    ("model/plan.rs", ["ProgressStatus", "Progress"]),
    ("model/usage.rs", ["Usage"]),
    ("model/outcome.rs", ["ExitReason", "IterationOutcome", "FailureClass"]),
    (
        "model/payload/types.rs",
        [
            "Mode", "Turn", "CallHeader", "Deliver", "TextItem", "SuggestedAbility", "SuggestedDocument",
            "HookResults", "TaskBrief",
        ],
    ),
    ("model/payload/lifecycle.rs", ["*"]),
    ("model/payload/session.rs", ["*"]),
    ("model/payload/looping.rs", ["*"]),
    ("model/payload/context.rs", ["*"]),
    ("model/payload/agent.rs", ["*"]),
    (
        "context/prompt.rs",
        [
            "SamuelVars", "ProjectVars", "MethodologyVars", "IterationVars", "PilotVars", "ContextLimits",
            "ConfigVars", "GuardrailVars", "PathVars", "TaskVars", "CompletedTask", "FailedCheck",
            "SuggestionKind", "Suggestion", "StateVars", "ModeVars", "HookVars",
        ],
    ),
    ("hook/chain.rs", ["OnFailure"]),
    ("hook/failure.rs", ["BreakClass", "HookFailure"]),
    (
        "hook/outcome.rs",
        ["Speaker", "Said", "Broken", "Abort", ("Warning", "HookWarning"), "Timing", ("Outcome", "HookOutcome")],
    ),
    ("engine/control_files/change.rs", ["ControlFileChange"]),
    ("engine/executables.rs", ["ExecutableKind", "Executable", "Executables"]),
    ("agent/event.rs", ["AgentEvent"]),
    ("model/code.rs", ["Location"]),
    (
        "engine/event.rs",
        ["PlanChange", "CheckResult", "CheckLog", ("Failure", "IterationFailure"), "Event", "RunFault",
         ("RunReport", "RunReport")],
    ),
    ("process/left.rs", ["Process"]),
    ("state/lock.rs", ["Holder"]),
    ("state/journal/record.rs", ["RunEnd"]),
    ("state/kept.rs", ["KeptPlan", "Restored"]),
    ("state/diagnostic.rs", ["DiagnosticKind", ("Diagnostic", "StateDiagnostic")]),
    ("project/status.rs", ["TaskCounts", "NextStep", "ProjectStatus"]),
    ("prd/finding.rs", ["Severity", "FindingKind", "Finding"]),
    ("prd/convert.rs", ["Form"]),
    ("project/init.rs", ["ConvertedPrd", "Initialised"]),
    ("plugin/kind.rs", [("Kind", "PluginKind")]),
    ("plugin/lock.rs", [("LockEntry", "InstalledPlugin")]),
    ("plugin/tree.rs", [("ChangeKind", "PluginChangeKind"), ("Change", "PluginChange")]),
    ("plugin/installed.rs", [("Difference", "PluginDifference")]),
    ("plugin/install.rs", [("Listed", "ListedPlugin"), ("Verified", "VerifiedPlugin")]),
]

# Enums whose cases are classes: the key that names the case in JSON, and the
# classes that are not called as their case.
UNIONS = {
    "Event": ("event", {"Agent": "AgentReported"}),
    "AgentEvent": ("type", {"Ready": "AgentReady", "Text": "AgentText", "Usage": "AgentUsage",
                            "Unreadable": "AgentUnreadable"}),
    "NextStep": ("kind", {"Task": "NextTask", "Blocked": "NoTaskReady"}),
}
# What the cases with one unnamed record hold.
FLATTENED = {"AbilityCall": "agent/event.rs", "AbilityResult": "agent/event.rs"}

SCALARS = {
    "String": "str", "&'static str": "str", "Arc<str>": "str", "TaskId": "str", "jiff::Timestamp": "str",
    "Timestamp": "str", "PathBuf": "str", "HookPoint": "HookPointId",
    "SkipReason": "str | Mapping[str, str]", "Capabilities": "Mapping[str, list[str]]", "bool": "bool", "u8": "int", "u32": "int",
    "u64": "int", "usize": "int", "i32": "int", "i64": "int", "f64": "float", "Duration": "float",
}
ZEROS = {"str": '""', "bool": "False", "int": "0", "float": "0.0", "Any": "None"}


@dataclass
class Field:
    name: str
    wire: str
    type: str
    doc: str
    default: str | None = None
    coerce: str = ""


@dataclass
class Record:
    name: str
    rust: str
    doc: str
    fields: list[Field]
    tag: tuple[str, str] | None = None
    base: str = "Record"


@dataclass
class Words:
    name: str
    doc: str
    words: list[tuple[str, str]] = field(default_factory=list)


@dataclass
class Union:
    name: str
    doc: str
    cases: list[str] = field(default_factory=list)


class Reader:
    """Reads the items of all sources."""

    def __init__(self) -> None:
        self.python_names: dict[str, str] = {}
        self.words: set[str] = set()
        self.unions: set[str] = set()
        self.items: list[Record | Words | Union] = []
        self.aggregates: dict[str, Record] = {}

    def read_all(self) -> None:
        wanted = []
        for file, names in SOURCES:
            text = (CORE / file).read_text(encoding="utf-8").split("\n#[cfg(test)]")[0]
            found = dict(self.split(text))
            for name in names:
                if name == "*":
                    wanted += [(rust, rust, found[rust]) for rust in found if found[rust][0] != "impl"]
                else:
                    rust, python = name if isinstance(name, tuple) else (name, name)
                    wanted.append((rust, python, found[rust]))
        for rust, python, (kind, *_rest) in wanted:
            self.python_names[rust] = python
            if rust in UNIONS:
                self.unions.add(rust)
            elif kind in ("enum", "words"):
                self.words.add(rust)
        for rust, python, item in wanted:
            self.read(rust, python, *item)

    def split(self, text: str) -> list[tuple[str, tuple[str, str, str, str]]]:
        """Finds the items of a file: name, kind, documentation, attributes, body."""
        # What other tiers and `Default` need says nothing to Python.
        text = re.sub(r"^ *#\[(?:cfg_attr\([^\[\]]*\)|default)\]\n", "", text, flags=re.M)
        items = []
        pattern = re.compile(
            r"^(?P<doc>(?:///[^\n]*\n)*)(?P<attrs>(?:#\[[^\n]*\]\n)*)pub (?P<kind>struct|enum) (?P<name>\w+) \{\n"
            r"(?P<body>.*?)^\}$", re.M | re.S)
        for match in pattern.finditer(text):
            items.append((match["name"], (match["kind"], match["doc"], match["attrs"], match["body"])))
        pattern = re.compile(
            r"^words! \{\n(?P<doc>(?: +///[^\n]*\n)*)(?P<attrs>(?: +#\[[^\n]*\]\n)*) +(?P<name>\w+) \([^\n]*\) \{\n"
            r"(?P<body>.*?)^    \}$", re.M | re.S)
        for match in pattern.finditer(text):
            items.append((match["name"], ("words", match["doc"], match["attrs"], match["body"])))
        return items

    def read(self, rust: str, python: str, kind: str, doc: str, attrs: str, body: str) -> None:
        case = match[1] if (match := re.search(r'rename_all = "([\w-]+)"', attrs)) else ""
        if rust in UNIONS:
            self.read_union(rust, docs(doc), case, body)
        elif kind == "words":
            words = re.findall(r'((?:^ +///.*\n)+)^ +\w+ = "([\w-]+)",', body, re.M)
            self.items.append(Words(python, docs(doc), [(word, docs(text)) for text, word in words]))
        elif kind == "enum":
            cases = re.findall(r"((?:^ +///.*\n)+)^ +(\w+),", body, re.M)
            words = [(renamed(name, case), docs(text)) for text, name in cases]
            self.items.append(Words(python, docs(doc), words))
        else:
            record = Record(python, rust, docs(doc), self.fields(body, case, rust))
            self.aggregates[rust] = record
            self.items.append(record)

    def fields(self, body: str, case: str, owner: str, indent: int = 4) -> list[Field]:
        pad = " " * indent
        pattern = re.compile(
            rf"((?:^{pad}///.*\n)*)((?:^{pad}#\[.*\]\n)*)^{pad}(?:pub )?(\w+): (.+),$", re.M)
        fields = []
        for doc, attrs, name, rust in pattern.findall(body):
            wire = match[1] if (match := re.search(r'rename = "(\w+)"', attrs)) else renamed(name, case)
            kind, coerce = self.type(rust, attrs)
            python = {"class": "class_"}.get(name, name)
            fields.append(Field(python, wire, kind, docs(doc), coerce=coerce))
            is_output = owner.endswith("Output")
            if owner == "CheckFailure" and name == "tail":
                fields[-1].default = '""'
            elif is_output and name in ("ok", "proceed"):
                fields[-1].default = "True"
            elif kind.startswith("Mapping"):
                pass
            elif is_output or name == "extensions" or "default" in attrs:
                fields[-1].default = self.zero(kind)
            elif kind.endswith("| None"):
                fields[-1].default = "None"
        if not fields and body.strip():
            raise SystemExit(f"{owner} has no fields that can be read")
        return fields

    def type(self, rust: str, attrs: str = "") -> tuple[str, str]:
        """Returns the Python type, and how an argument becomes one."""
        rust = rust.removeprefix("Box<").removesuffix(">") if rust.startswith("Box<") else rust
        if rust in ("Extensions", "Vec<(String, String)>"):
            return "tuple[tuple[str, str], ...]", "pairs"
        if rust == "Vec<(String, Option<String>)>":
            return "tuple[tuple[str, str | None], ...]", "changes"
        if match := re.fullmatch(r"Option<(.+)>", rust):
            kind, coerce = self.type(match[1], attrs)
            return (kind if kind == "Any" else f"{kind} | None"), (f"{coerce}_or_none" if coerce else "")
        if "json_text" in attrs:
            return ("tuple[Any, ...]", "items") if "list" in attrs else ("Any", "")
        if match := re.fullmatch(r"Vec<(.+)>", rust):
            return f"tuple[{self.type(match[1])[0]}, ...]", "items"
        if match := re.fullmatch(r"BTreeMap<String, (.+)>", rust):
            return f"Mapping[str, {self.type(match[1])[0]}]", ""
        if rust in SCALARS:
            return SCALARS[rust], ""
        if rust in self.python_names:
            return self.python_names[rust], ""
        raise SystemExit(f"the type {rust} is not known")

    def zero(self, kind: str) -> str:
        if kind.endswith("| None"):
            return "None"
        if kind.startswith("tuple["):
            return "()"
        if kind in ZEROS:
            return ZEROS[kind]
        for item in self.items:
            if isinstance(item, Words) and item.name == kind:
                return {"Speaker": '"handler"', "Mode": '"implementation"', "Status": '"pending"', "Source": '"manual"',
                        "Priority": '"medium"', "Complexity": '"medium"', "Deliver": '"next"',
                        "ProgressStatus": '"not_started"', "CheckResult": '"passed"'}[kind]
        return f"{kind}()" if kind == "HookResults" else "None"

    def union_fields(self, body: str, name: str) -> list[Field]:
        fields = self.fields(body, "", name, indent=8)
        for each in fields:
            each.default = each.default if each.type.endswith("| None") else None
        return fields

    def read_union(self, rust: str, doc: str, case: str, body: str) -> None:
        tag, renames = UNIONS[rust]
        union = Union(rust, doc)
        pattern = re.compile(r"((?:^    ///[^\n]*\n)+)^    (\w+)(?: \{\n(.*?)^    \}|\((\w+)\))?,$", re.M | re.S)
        base = "EventBase" if rust == "Event" else "Record"
        for text, name, inner, wrapped in pattern.findall(body):
            python = renames.get(name, name)
            if wrapped in FLATTENED:
                source = dict(self.split((CORE / FLATTENED[wrapped]).read_text(encoding="utf-8")))
                fields = self.fields(source[wrapped][3], "", wrapped)
            elif wrapped:
                fields = self.aggregates.get(wrapped, Record("", "", "", [])).fields or self.later(wrapped)
            else:
                fields = self.union_fields(inner, name)
            self.items.append(Record(python, "", docs(text), fields, (tag, renamed(name, case)), base))
            union.cases.append(python)
        self.items.append(union)

    def later(self, rust: str) -> list[Field]:
        text = (CORE / "engine/event.rs").read_text(encoding="utf-8")
        return self.fields(dict(self.split(text))[rust][3], "", rust)


def docs(text: str) -> str:
    lines = [line.strip().removeprefix("///").removeprefix(" ") for line in text.strip().splitlines()]
    return re.sub(r"\[`?([^\]`]+)`?\](?:\([^)]*\))?", r"`\1`", "\n".join(lines)).strip()


def renamed(name: str, case: str) -> str:
    words = re.findall(r"[A-Z]?[a-z0-9]+|[A-Z]+(?![a-z])", name)
    match case:
        case "snake_case":
            return "_".join(words).lower()
        case "lowercase":
            return name.lower()
        case "kebab-case":
            return "-".join(words).lower()
        case "PascalCase":
            return "".join(word.capitalize() for word in words)
    return name


def points() -> list[tuple[str, str, str, str, str]]:
    """Returns the hook points: name, id, input, output and documentation."""
    text = (CORE / "hook/point.rs").read_text(encoding="utf-8")
    table = text[text.index("\npoints! {") :]
    pattern = re.compile(r'((?:    ///.*\n)+)    (\w+) "([\w:.]+)" \w+ \w+ (\w+) (\w+)', re.M)
    return [(name, id, given, answer, docs(doc)) for doc, name, id, given, answer in pattern.findall(table)]
