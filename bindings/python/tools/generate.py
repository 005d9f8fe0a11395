"""Writes the record classes of `samuel` from the Rust types they mirror.

The payloads, events and groups of the prompt context are defined once, in
samuel-core. This tool reads their sources and writes `records.py` (the
classes) and `_registering.pyi` (one signature for each hook point). With
`--check` it only says whether the files are what it would write.

A source that it does not understand is an error, never a guess.
"""

from __future__ import annotations

import re
import sys
import textwrap
from dataclasses import dataclass, field
from pathlib import Path

PACKAGE = Path(__file__).resolve().parents[1] / "python" / "samuel"
CORE = Path(__file__).resolve().parents[3] / "samuel-core" / "src"
WIDTH = 100

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
        ["Said", "Broken", "Abort", ("Warning", "HookWarning"), "Timing", ("Outcome", "HookOutcome")],
    ),
    ("engine/trust.rs", ["Executables"]),
    ("agent/event.rs", ["AgentEvent"]),
    ("engine/event.rs", [("Failure", "IterationFailure"), "Event", ("RunReport", "RunReport")]),
    ("state/lock.rs", ["Holder"]),
    ("state/diagnostic.rs", ["DiagnosticKind", ("Diagnostic", "StateDiagnostic")]),
    ("project/status.rs", ["TaskCounts", "NextStep", "ProjectStatus"]),
    ("prd/finding.rs", ["Severity", "FindingKind", "Finding"]),
    ("prd/convert.rs", ["Form"]),
    ("project/init.rs", ["ConvertedPrd", "Initialised"]),
    ("plugin/kind.rs", [("Kind", "PluginKind")]),
    ("plugin/lock.rs", [("LockEntry", "InstalledPlugin")]),
    ("plugin/tree.rs", [("ChangeKind", "PluginChangeKind"), ("Change", "PluginChange")]),
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
    """Reads Rust items, as rustfmt lays them out."""

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
                return {"Mode": '"implementation"', "Status": '"pending"', "Source": '"manual"',
                        "Priority": '"medium"', "Complexity": '"medium"', "Deliver": '"next"',
                        "ProgressStatus": '"not_started"'}[kind]
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


def paragraph(text: str, indent: str, first: str = "") -> str:
    """Wraps documentation, paragraph by paragraph."""
    wrapped = []
    for number, part in enumerate(text.split("\n\n")):
        lead = first if number == 0 else ""
        filled = textwrap.fill(" ".join(part.split()), WIDTH - len(indent) - len(lead))
        wrapped.append(lead + filled)
    return textwrap.indent("\n\n".join(wrapped), indent)


def write_record(record: Record) -> str:
    lines = [f"class {record.name}({record.base}):"]
    doc = record.doc
    if record.fields:
        width = WIDTH - 12
        entries = "\n".join(
            textwrap.fill(f"{each.name}: {' '.join(each.doc.split())}", width, subsequent_indent="    ")
            for each in record.fields
            if each.name != "extensions"
        )
        entries = textwrap.indent(entries, " " * 8)
        lines.append(f'    """{paragraph(doc, "    ").strip()}\n\n    Attributes:\n{entries}\n    """\n')
    else:
        lines.append(f'    """{paragraph(doc, "    ").strip()}"""\n')
    # No field may follow one with a default, so that arguments can be given by place.
    ordered = sorted(record.fields, key=lambda each: each.default is not None)
    names = "".join(f'"{each.name}", ' for each in record.fields).rstrip(" ")
    if len(record.fields) > 1:
        names = names.removesuffix(",")
    lines.append(f"    __slots__ = ({names})")
    match_args = "".join(f'"{each.name}", ' for each in ordered).rstrip(" ")
    if len(record.fields) > 1:
        match_args = match_args.removesuffix(",")
    lines.append(f"    __match_args__ = ({match_args})")
    aliases = {each.wire: each.name for each in record.fields if each.wire != each.name}
    if aliases:
        lines.append(f"    _wire = {aliases!r}")
    if record.tag:
        lines.append(f"    _tag = {record.tag!r}")
    elif record.rust != record.name:
        lines.append(f'    _rust = "{record.rust}"')
    lines += [f"    {each.name}: {each.type}" for each in record.fields]
    lines.append("")
    lines.append("    def __init__(")
    lines.append("        self,")
    for each in ordered:
        kind = {"items": "Iterable", "items_or_none": "Iterable"}.get(each.coerce)
        given = each.type
        if kind:
            given = re.sub(r"tuple\[(.+), \.\.\.\]", r"Iterable[\1]", given)
        elif each.coerce.startswith("pairs"):
            given = "Pairs | None" if each.coerce.endswith("none") else "Pairs"
        default = f" = {each.default}" if each.default is not None else ""
        if default.endswith("()") and each.type == "HookResults":
            given, default = "HookResults | None", " = None"
        lines.append(f"        {each.name}: {given}{default},")
    if record.base == "EventBase":
        lines += ['        *,', '        seq: int = 0,', '        at: str = "",', '        run_id: str = "",']
    lines.append("    ) -> None:")
    if record.base == "EventBase":
        lines.append("        super().__init__(seq=seq, at=at, run_id=run_id)")
    if not record.fields and record.base != "EventBase":
        lines.append("        pass")
    for each in record.fields:
        value = f"{each.coerce}({each.name})" if each.coerce else each.name
        if each.type == "HookResults" and each.default:
            value = f"HookResults() if {each.name} is None else {each.name}"
        lines.append(f'        _set(self, "{each.name}", {value})')
    return "\n".join(lines)


def write_words(words: Words) -> str:
    if not words.words:
        raise SystemExit(f"{words.name} has no words that can be read")
    listed = ", ".join(f'"{word}"' for word, _ in words.words)
    alias = f"{words.name}: TypeAlias = Literal[{listed}]"
    if len(alias) > WIDTH:
        inner = "".join(f'    "{word}",\n' for word, _ in words.words)
        alias = f"{words.name}: TypeAlias = Literal[\n{inner}]"
    meanings = "\n".join(f"- `{word}`: {' '.join(doc.split())}" for word, doc in words.words)
    text = f"{words.doc}\n\n" if words.doc else ""
    return f'{alias}\n"""{paragraph(text.strip(), "")}\n\n{meanings}\n"""'


def write_union(union: Union) -> str:
    cases = " | ".join(union.cases)
    inner = "\n    | ".join(union.cases)
    body = cases if len(cases) < 80 else f"(\n    {inner}\n)"
    return f'{union.name}: TypeAlias = {body}\n"""{paragraph(union.doc, "")}"""'


RECORDS_HEAD = '''\
"""What handlers are given and answer, what runs tell, and what the prompt holds.

Generated by `tools/generate.py` from the types of samuel-core; do not edit.
Records are immutable, compare by value and can be matched, pickled and copied.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Final, Literal, TypeAlias

from ._record import EventBase, Pairs, Record, items, items_or_none, pairs, pairs_or_none

_set = object.__setattr__
'''


def write_records(reader: Reader) -> str:
    listed = "".join(f'    "{id}",\n' for _, id, *_ in points())
    named = "\n".join(
        f'    {id.replace(":", "_").replace(".", "_").upper()}: Final = "{id}"\n    """{doc}"""'
        for _, id, _, _, doc in points()
    )
    parts = [
        RECORDS_HEAD,
        f'HookPointId: TypeAlias = Literal[\n{listed}]\n"""The id of a hook point."""',
        f'class HookPoint:\n    """The ids of the hook points, by name."""\n\n{named}',
    ]
    writers = {Record: write_record, Words: write_words, Union: write_union}
    parts += [writers[type(item)](item) for item in reader.items]  # type: ignore[operator]
    names = sorted(item.name for item in reader.items) + ["HookPoint", "HookPointId"]
    exported = "".join(f'    "{name}",\n' for name in sorted(names))
    parts.append(f"__all__ = [\n{exported}]")
    return "\n\n\n".join(part.strip("\n") for part in parts) + "\n"


REGISTERING_HEAD = '''\
# Generated by tools/generate.py from the hook points of samuel-core; do not edit.
from collections.abc import Awaitable, Callable
from typing import Any, Literal, Protocol, TypeVar, overload, type_check_only

from . import records
from ._samuel import Call


'''


REGISTRATION = '''
class Registration:
    point: str
    name: str
    plugin: tuple[str, str, int] | None
    order: int | None
    timeout: float | None
    strict: bool | None
    tier: str
    function: Callable[..., Any]
    target: tuple[str, str] | None
    def __init__(
        self,
        point: str,
        name: str,
        function: Callable[..., Any],
        *,
        plugin: tuple[str, str, int] | None = None,
        order: int | None = None,
        timeout: float | None = None,
        strict: bool | None = None,
        tier: str = "thread",
    ) -> None: ...

def is_async(function: Any) -> bool: ...
'''


def write_registering() -> str:
    parts = [REGISTERING_HEAD.rstrip("\n"), REGISTRATION]
    for name, _id, given, answer, doc in points():
        parts.append("@type_check_only")
        parts.append(f"class {name}Handler(Protocol):")
        parts.append(f"    def __call__(self, call: Call[records.{given}, records.{answer}], /) -> (")
        parts.append(f"        records.{answer} | None | Awaitable[records.{answer} | None]")
        parts.append("    ): ...\n")
    for name, *_ in points():
        parts.append(f'_{name} = TypeVar("_{name}", bound={name}Handler)')
    parts.append("\nclass Registering:")
    parts.append("    _registrations: list[Registration]")
    parts.append("    def __init__(self) -> None: ...")
    for name, id, _given, _answer, doc in points():
        parts.append("    @overload")
        parts.append("    def hook(")
        parts.append(f'        self, point: Literal["{id}"], name: str | None = None, *, order: int | None = None,')
        parts.append("        timeout: float | None = None, strict: bool | None = None, inline: bool = False,")
        parts.append('        isolate: Literal["process"] | None = None,')
        parts.append(f"    ) -> Callable[[_{name}], _{name}]:")
        parts.append(f'        """{doc}"""')
    return "\n".join(parts) + "\n"


def main() -> None:
    reader = Reader()
    reader.read_all()
    wanted = {"records.py": write_records(reader), "_registering.pyi": write_registering()}
    stale = []
    for name, text in wanted.items():
        path = PACKAGE / name
        if not path.exists() or path.read_text(encoding="utf-8") != text:
            stale.append(name)
            if "--check" not in sys.argv:
                path.write_text(text, encoding="utf-8")
    if stale and "--check" in sys.argv:
        raise SystemExit(f"not up to date, run tools/generate.py: {', '.join(stale)}")


if __name__ == "__main__":
    main()
