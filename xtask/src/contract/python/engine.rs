//! The classes that mirror types of samuel-core: tasks, events, reports.
//!
//! Their sources are parsed, not compiled. What is not understood is an error,
//! never a guess.

use std::{collections::BTreeMap, fs};

use anyhow::{Context as _, Result, bail};
use syn::{
    Attribute, Expr, Fields, Ident, Lit, LitStr, Meta, Token, Type, Visibility,
    parse::{Parse, ParseStream},
};

use super::{Field, Item, Kind, Record, Union, Words, ident, payload};
use crate::{
    contract::{model::Contract, text::snake},
    workspace::root,
};

/// A source file, and the types that Python sees of it: by their name in Rust,
/// and in Python where it is another.
type Source = (&'static str, &'static [(&'static str, &'static str)]);

/// What stands before the classes of the contract.
const PLAN: &[Source] = &[
    ("model/task.rs", &[("Status", ""), ("Source", ""), ("Task", "")]),
    ("model/question.rs", &[("Question", "")]),
    ("model/live.rs", &[("Doing", ""), ("WaitingCall", ""), ("LiveState", "")]),
    ("model/plan.rs", &[("ProgressStatus", ""), ("Progress", "")]),
    ("model/outcome.rs", &[("ExitReason", ""), ("FailureClass", "")]),
];

/// What stands behind them.
const REPORTS: &[Source] = &[
    ("../../crates/samuel-contract/src/point.rs", &[("OnFailure", "")]),
    ("hook/failure.rs", &[("BreakClass", ""), ("HookFailure", "")]),
    (
        "hook/outcome.rs",
        &[
            ("Speaker", ""),
            ("Said", ""),
            ("Broken", ""),
            ("Abort", ""),
            ("HookWarning", ""),
            ("HookStatus", ""),
            ("Timing", ""),
            ("Outcome", "HookOutcome"),
        ],
    ),
    ("hook/chain.rs", &[("Tier", ""), ("HookLayer", "")]),
    ("hook/exchange.rs", &[("LaunchVariable", ""), ("Launch", ""), ("HookExchange", "")]),
    ("engine/hook_list.rs", &[("ListedHook", ""), ("HookList", "")]),
    (
        "engine/hook_report.rs",
        &[
            ("OriginReport", "HookOrigin"),
            ("AskedReport", "HookAsks"),
            ("EntryReport", "HookFileEntry"),
            ("HandlerReport", "HookHandler"),
            ("SkippedReport", "SkippedHook"),
        ],
    ),
    ("engine/hook_trial.rs", &[("HookTrial", ""), ("HookFiring", "")]),
    ("dialect/repository/scaffold.rs", &[("ScaffoldedHook", "")]),
    ("state/hook_log.rs", &[("HookLogLine", ""), ("HookLog", "")]),
    ("context/stats.rs", &[("PromptQuotation", ""), ("PromptSection", ""), ("PromptStats", "")]),
    ("trust/control_file_change.rs", &[("ControlFileChange", "")]),
    ("trust/executables.rs", &[("ExecutableKind", ""), ("Executable", ""), ("Executables", "")]),
    ("trust/store.rs", &[("TrustRecord", "")]),
    ("hook/agent_event.rs", &[("AgentEvent", ""), ("AbilityDecision", "")]),
    ("model/agent_total.rs", &[("AgentTotal", "")]),
    ("model/claim.rs", &[("ClaimPhase", ""), ("Claim", "")]),
    ("model/code.rs", &[("Location", "")]),
    ("session/feedback.rs", &[("Feedback", "")]),
    ("session/ability.rs", &[("AbilityPermission", "")]),
    (
        "event.rs",
        &[
            ("PlanChange", ""),
            ("CheckResult", ""),
            ("IterationFailure", ""),
            ("Event", ""),
            ("Guard", ""),
            ("RunFault", ""),
            ("RunReport", ""),
        ],
    ),
    ("../../crates/samuel-process/src/left.rs", &[("Process", "")]),
    ("state/lock.rs", &[("Holder", "")]),
    ("state/journal/record.rs", &[("Called", "AgentCall"), ("RunEnd", "")]),
    ("state/kept.rs", &[("KeptPlan", "")]),
    ("state/restore.rs", &[("Restored", "")]),
    ("methodology/overrides.rs", &[("Staleness", ""), ("StaleTemplate", "")]),
    ("state/diagnostic.rs", &[("DiagnosticKind", ""), ("StateDiagnostic", "")]),
    ("model/counts.rs", &[("TaskCounts", "")]),
    ("project/other_plans.rs", &[("OtherPlan", "")]),
    ("project/status.rs", &[("NextStep", ""), ("OpenQuestion", ""), ("ProjectStatus", "")]),
    ("plan/list.rs", &[("GroupState", ""), ("ListRow", ""), ("TaskList", "")]),
    ("project/attempts.rs", &[("AttemptEnd", ""), ("Attempt", "")]),
    (
        "project/history.rs",
        &[("HistoryChange", ""), ("RelatedTask", ""), ("RelatedTasks", ""), ("TaskHistory", "")],
    ),
    ("model/severity.rs", &[("Severity", "")]),
    ("plan/choice.rs", &[("CandidateStanding", ""), ("Candidate", ""), ("TaskChoice", "")]),
    (
        "machine/replay.rs",
        &[("DifferenceKind", "ReplayDifferenceKind"), ("ReplayDifference", ""), ("Replay", "")],
    ),
    (
        "history/run_history.rs",
        &[
            ("RunState", ""),
            ("EventRef", ""),
            ("TurnHistory", ""),
            ("IterationHistory", ""),
            ("CheckHistory", ""),
            ("HookFigures", ""),
            ("HistoryNote", ""),
            ("RecordGaps", ""),
            ("RunHistory", ""),
        ],
    ),
    ("history/runs.rs", &[("RunSummary", ""), ("RunList", ""), ("UnreadRun", "")]),
    ("history/eta.rs", &[("Eta", "")]),
    (
        "history/activity.rs",
        &[
            ("Now", "LoopActivity"),
            ("FailureNote", ""),
            ("AgentShare", ""),
            ("TaskFigures", ""),
            ("Activity", ""),
        ],
    ),
    ("history/why/mod.rs", &[("WhyReason", ""), ("Why", "")]),
    (
        "history/report/mod.rs",
        &[("ReportedChange", ""), ("ChangedFile", ""), ("TaskOutcome", ""), ("RunPage", "")],
    ),
    ("prd/remark.rs", &[("RemarkKind", ""), ("Remark", "")]),
    ("prd/form.rs", &[("Form", ""), ("PrdForm", "")]),
    ("plan/long.rs", &[("LongPlan", "")]),
    ("project/init.rs", &[("ConvertedPrd", ""), ("Initialised", ""), ("PrdPreview", "")]),
    ("state/merge.rs", &[("TaskTitle", ""), ("OtherPrd", "")]),
    ("project/plan_diff.rs", &[("FieldDiff", ""), ("TaskDiff", "")]),
    ("project/update.rs", &[("UpdatedPrd", "")]),
    ("plugin/kind.rs", &[("PluginKind", "")]),
    ("plugin/lock.rs", &[("InstalledPlugin", "")]),
    ("plugin/tree.rs", &[("PluginChangeKind", ""), ("PluginChange", "")]),
    ("plugin/installed.rs", &[("PluginDifference", "")]),
    ("plugin/install.rs", &[("ListedPlugin", ""), ("VerifiedPlugin", "")]),
];

/// What only the documents of commands have.
const DOCUMENTS: &[Source] = &[
    ("../../cli/src/render/envelope.rs", &[("Envelope", ""), ("ErrorDocument", "")]),
    ("../../crates/samuel-contract/src/field.rs", &[("Field", "HookField")]),
    (
        "engine/hook_report.rs",
        &[("SettingReport", "HookSetting"), ("ChainReport", "HookChain"), ("PointReport", "ShownPoint")],
    ),
    ("engine/hooks.rs", &[("ShownHook", ""), ("ShownHooks", "")]),
    ("agent/route.rs", &[("Choice", "AgentChoice")]),
    ("engine/preview.rs", &[("PreviewStop", "")]),
    (
        "../../cli/src/render/next_prompt.rs",
        &[("NextPrompt", ""), ("NextPromptStats", ""), ("ExportedTemplates", "")],
    ),
    ("history/activity.rs", &[("StatusReport", "")]),
    ("engine/hook_validation.rs", &[("HookProblem", ""), ("HookValidation", "")]),
];

/// An enum whose cases are classes.
struct Cases {
    rust: &'static str,
    /// The key that names the case in JSON.
    key: &'static str,
    /// The class that the cases derive from.
    base: &'static str,
    /// The classes that are not called as their case.
    renames: &'static [(&'static str, &'static str)],
}

const CASES: [Cases; 5] = [
    Cases { rust: "Event", key: "event", base: "EventBase", renames: &[("Agent", "AgentReported")] },
    Cases {
        rust: "AgentEvent",
        key: "type",
        base: "Record",
        renames: &[
            ("Ready", "AgentReady"),
            ("Text", "AgentText"),
            ("Usage", "AgentUsage"),
            ("Unreadable", "AgentUnreadable"),
        ],
    },
    Cases {
        rust: "AbilityDecision",
        key: "decision",
        base: "Record",
        renames: &[("Allow", "ToolAllowed"), ("Block", "ToolBlocked")],
    },
    Cases {
        rust: "NextStep",
        key: "kind",
        base: "Record",
        renames: &[("Task", "NextTask"), ("Blocked", "NoTaskReady")],
    },
    Cases {
        rust: "Staleness",
        key: "kind",
        base: "Record",
        renames: &[
            ("NoCommand", "TemplateWithoutCommand"),
            ("OldFile", "OldFileInTemplate"),
            ("UnknownVariable", "UnknownTemplateVariable"),
            ("Older", "OlderTemplate"),
        ],
    },
];

/// Types that Python knows as something simpler.
const SIMPLE: &[(&str, &str)] = &[
    ("String", "str"),
    ("str", "str"),
    ("TaskId", "str"),
    ("ClaimTarget", "str"),
    ("Timestamp", "str"),
    ("PathBuf", "str"),
    ("HookPoint", "HookPointId"),
    ("ChainMode", "str"),
    ("PointKind", "str"),
    ("SkipReason", "str | Mapping[str, str]"),
    ("Capabilities", "Mapping[str, list[str]]"),
    ("bool", "bool"),
    ("u8", "int"),
    ("u32", "int"),
    ("NonZeroU32", "int"),
    ("u64", "int"),
    ("usize", "int"),
    ("i32", "int"),
    ("i64", "int"),
    ("f64", "float"),
    ("Duration", "float"),
    ("Value", "Any"),
];

/// Adds the classes of samuel-core to those of the contract.
pub(super) fn items(contract: &Contract, payloads: Vec<Item>) -> Result<Vec<Item>> {
    let mut reader = Reader::new(contract, &payloads)?;
    let mut items = reader.read(PLAN)?;
    items.extend(payloads);
    items.extend(reader.read(REPORTS)?);
    Ok(items)
}

/// Adds to these what only the documents of commands have.
pub(super) fn with_documents(contract: &Contract, payloads: Vec<Item>) -> Result<Vec<Item>> {
    let documents = Reader::new(contract, &payloads)?.read(DOCUMENTS)?;
    Ok(items(contract, payloads)?.into_iter().chain(documents).collect())
}

/// What a source defines.
enum Definition {
    Struct(syn::ItemStruct),
    Enum(syn::ItemEnum),
    Words(WordsMacro),
}

struct Reader {
    /// Every definition of the sources, by file and name.
    found: BTreeMap<(&'static str, String), Definition>,
    /// Names in Python, by those in Rust.
    names: BTreeMap<String, String>,
    /// The fields of the contract's records.
    payloads: BTreeMap<String, Vec<Field>>,
    /// The default of words.
    defaults: BTreeMap<String, String>,
}

impl Reader {
    fn new(contract: &Contract, payloads: &[Item]) -> Result<Self> {
        let mut reader = Self {
            found: BTreeMap::new(),
            names: BTreeMap::new(),
            payloads: BTreeMap::new(),
            defaults: BTreeMap::new(),
        };
        for item in payloads {
            let name = item.name().to_owned();
            match item {
                Item::Record(record) => _ = reader.payloads.insert(name.clone(), record.fields.clone()),
                Item::Words(words) => {
                    reader.defaults.extend(
                        payload::default_word(contract, &words.name).map(|word| (name.clone(), word)),
                    );
                }
                Item::Union(_) => {}
            }
            reader.names.insert(name.clone(), name);
        }
        for (file, types) in PLAN.iter().chain(REPORTS).chain(DOCUMENTS) {
            reader.parse(file)?;
            for (rust, python) in *types {
                let python = if python.is_empty() { rust } else { python };
                reader.names.insert((*rust).to_owned(), (*python).to_owned());
            }
        }
        Ok(reader)
    }

    fn parse(&mut self, file: &'static str) -> Result<()> {
        let path = root().join("samuel-core/src").join(file);
        let text = fs::read_to_string(&path).with_context(|| format!("{} cannot be read", path.display()))?;
        for item in syn::parse_file(&text).with_context(|| path.display().to_string())?.items {
            let (name, definition) = match item {
                syn::Item::Struct(item) => (item.ident.to_string(), Definition::Struct(item)),
                syn::Item::Enum(item) => (item.ident.to_string(), Definition::Enum(item)),
                syn::Item::Macro(item) if item.mac.path.is_ident("words") => {
                    let words: WordsMacro = item.mac.parse_body()?;
                    (words.name.to_string(), Definition::Words(words))
                }
                _ => continue,
            };
            self.found.insert((file, name), definition);
        }
        Ok(())
    }

    fn read(&mut self, sources: &[Source]) -> Result<Vec<Item>> {
        let mut items = Vec::new();
        for (file, types) in sources {
            for (rust, _) in *types {
                items.extend(self.item(file, rust).with_context(|| format!("{rust} of {file}"))?);
            }
        }
        Ok(items)
    }

    fn item(&mut self, file: &'static str, rust: &str) -> Result<Vec<Item>> {
        let definition = self.found.get(&(file, rust.to_owned())).context("there is no such type")?;
        let python = self.names.get(rust).cloned().unwrap_or_default();
        let words = match definition {
            Definition::Struct(item) => {
                let fields = self.fields(&item.fields, &Serde::of(&item.attrs))?;
                let docs = docs(&item.attrs);
                return Ok(vec![record(python, rust, docs, fields, None, "Record")]);
            }
            Definition::Enum(item) => match CASES.iter().find(|cases| cases.rust == rust) {
                Some(cases) => return self.union(item, python, cases),
                None => self.words(item, python)?,
            },
            Definition::Words(words) => Words {
                name: python,
                docs: docs(&words.attrs),
                words: words.cases.iter().map(|case| (case.word.clone(), docs(&case.attrs))).collect(),
            },
        };
        let default = match definition {
            Definition::Enum(item) => item.variants.iter().position(|case| is_default(&case.attrs)),
            Definition::Words(words) => words.cases.iter().position(|case| is_default(&case.attrs)),
            Definition::Struct(_) => None,
        };
        if let Some((word, _)) = words.words.get(default.unwrap_or_default()) {
            self.defaults.insert(words.name.clone(), word.clone());
        }
        Ok(vec![Item::Words(words)])
    }

    fn words(&self, item: &syn::ItemEnum, name: String) -> Result<Words> {
        let case = Serde::of(&item.attrs).rename_all;
        let words = item.variants.iter().map(|variant| {
            let Fields::Unit = variant.fields else { bail!("{} is no word", variant.ident) };
            Ok((renamed(&variant.ident.to_string(), &case), docs(&variant.attrs)))
        });
        Ok(Words { name, docs: docs(&item.attrs), words: words.collect::<Result<_>>()? })
    }

    fn union(&self, item: &syn::ItemEnum, name: String, known: &Cases) -> Result<Vec<Item>> {
        let case = Serde::of(&item.attrs).rename_all;
        let (mut items, mut cases) = (Vec::new(), Vec::new());
        for variant in &item.variants {
            let rust = variant.ident.to_string();
            let python = known.renames.iter().find(|(from, _)| *from == rust).map_or(&*rust, |(_, to)| to);
            let fields = match &variant.fields {
                Fields::Unit => Vec::new(),
                Fields::Unnamed(wrapped) => self.wrapped(wrapped)?,
                fields => {
                    let mut fields = self.fields(fields, &Serde::default())?;
                    for field in fields.iter_mut().filter(|field| !field.kind.is_optional()) {
                        field.default = None;
                    }
                    fields
                }
            };
            cases.push(python.to_owned());
            let tag = Some((known.key.to_owned(), renamed(&rust, &case)));
            items.push(record(python.to_owned(), "", docs(&variant.attrs), fields, tag, known.base));
        }
        items.push(Item::Union(Union { name, docs: docs(&item.attrs), cases }));
        Ok(items)
    }

    /// The fields of the one record that a case holds.
    fn wrapped(&self, fields: &syn::FieldsUnnamed) -> Result<Vec<Field>> {
        let [field] = &fields.unnamed.iter().collect::<Vec<_>>()[..] else {
            bail!("a case of several values")
        };
        let name = last(&field.ty).context("a case whose value is no record")?.ident.to_string();
        self.fields_of(&name)
    }

    /// The fields of a record by its name in Rust.
    fn fields_of(&self, name: &str) -> Result<Vec<Field>> {
        let found = self.found.iter().find_map(|((_, known), definition)| match definition {
            Definition::Struct(item) if known == name => Some(item),
            _ => None,
        });
        match (found, self.payloads.get(name)) {
            (Some(item), _) => self.fields(&item.fields, &Serde::of(&item.attrs)),
            (None, Some(fields)) => Ok(fields.clone()),
            (None, None) => bail!("{name} is in none of the sources"),
        }
    }

    fn fields(&self, fields: &Fields, owner: &Serde) -> Result<Vec<Field>> {
        let mut read = Vec::new();
        for field in fields {
            // What a crate keeps to itself is not serialised.
            if matches!(field.vis, Visibility::Restricted(_)) {
                continue;
            }
            let name = field.ident.as_ref().context("a field without a name")?.to_string();
            let serde = Serde::of(&field.attrs);
            if serde.is_flat {
                let within = last(&field.ty).context("a field that is no record")?.ident.to_string();
                read.extend(self.fields_of(&within)?);
                continue;
            }
            let kind = self.kind(&field.ty, &serde).with_context(|| format!("the field {name}"))?;
            let words = |name: &str| self.defaults.get(name).cloned();
            let default = match () {
                () if kind.python.starts_with("Mapping") => None,
                () if serde.has_default => Some(kind.zero(&words)),
                () => kind.is_optional().then(|| "None".to_owned()),
            };
            let wire = serde.rename.unwrap_or_else(|| renamed(&name, &owner.rename_all));
            let (docs, may_lack) = (docs(&field.attrs), serde.may_be_skipped);
            read.push(Field { name: ident(&name), wire, kind, docs, default, may_lack });
        }
        Ok(read)
    }

    fn kind(&self, ty: &Type, serde: &Serde) -> Result<Kind> {
        if let Type::Reference(reference) = ty {
            return self.kind(&reference.elem, serde);
        }
        if let Type::Slice(slice) = ty {
            return Ok(self.kind(&slice.elem, serde)?.list());
        }
        let segment = last(ty).context("a type that is not known")?;
        let name = segment.ident.to_string();
        let inner = inner(segment);
        Ok(match (name.as_str(), &inner[..]) {
            ("Box" | "Arc" | "Cow", [inner]) => self.kind(inner, serde)?,
            ("Option", [inner]) => self.kind(inner, serde)?.optional(),
            _ if serde.is_json => Kind::plain("Any"),
            ("Vec", [Type::Tuple(_)]) => {
                Kind { python: "tuple[tuple[str, str], ...]".into(), coerce: "pairs" }
            }
            ("Vec", [inner]) => self.kind(inner, serde)?.list(),
            ("BTreeMap", [_, value]) => {
                Kind::plain(format!("Mapping[str, {}]", self.kind(value, serde)?.python))
            }
            (name, _) => {
                let simple =
                    SIMPLE.iter().find(|(rust, _)| *rust == name).map(|(_, python)| (*python).to_owned());
                let known = simple.or_else(|| self.names.get(name).cloned());
                Kind::plain(known.with_context(|| format!("the type {name} is not known"))?)
            }
        })
    }
}

fn record(
    name: String,
    rust: &str,
    docs: String,
    fields: Vec<Field>,
    tag: Option<(String, String)>,
    base: &'static str,
) -> Item {
    Item::Record(Record { name, rust: rust.to_owned(), docs, fields, tag, base })
}

/// The last segment of a path.
fn last(ty: &Type) -> Option<&syn::PathSegment> {
    match ty {
        Type::Path(path) => path.path.segments.last(),
        _ => None,
    }
}

/// The types between angle brackets.
fn inner(segment: &syn::PathSegment) -> Vec<&Type> {
    match &segment.arguments {
        syn::PathArguments::AngleBracketed(arguments) => arguments
            .args
            .iter()
            .filter_map(|argument| match argument {
                syn::GenericArgument::Type(ty) => Some(ty),
                _ => None,
            })
            .collect(),
        _ => Vec::new(),
    }
}

/// What serde is told of a type or a field.
#[derive(Default)]
struct Serde {
    rename_all: String,
    rename: Option<String>,
    has_default: bool,
    may_be_skipped: bool,
    is_json: bool,
    is_flat: bool,
}

impl Serde {
    fn of(attrs: &[Attribute]) -> Self {
        let mut found = Self::default();
        for attribute in attrs.iter().filter(|attribute| attribute.path().is_ident("serde")) {
            // What it does not know it passes over.
            let _ = attribute.parse_nested_meta(|meta| {
                let value = match meta.input.peek(Token![=]) {
                    true => meta.value()?.parse::<LitStr>()?.value(),
                    false => String::new(),
                };
                match meta.path.get_ident().map(Ident::to_string).as_deref() {
                    Some("rename_all") => found.rename_all = value,
                    Some("rename") => found.rename = Some(value),
                    Some("default") => found.has_default = true,
                    Some("skip_serializing_if") => found.may_be_skipped = true,
                    Some("flatten") => found.is_flat = true,
                    Some("with") => found.is_json = value.contains("json_text"),
                    _ => {}
                }
                Ok(())
            });
        }
        found
    }
}

fn is_default(attrs: &[Attribute]) -> bool {
    attrs.iter().any(|attribute| attribute.path().is_ident("default"))
}

/// Returns documentation; links become what they are written as.
fn docs(attrs: &[Attribute]) -> String {
    let lines = attrs.iter().filter_map(|attribute| match &attribute.meta {
        Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            Expr::Lit(literal) => match &literal.lit {
                Lit::Str(text) => Some(text.value()),
                _ => None,
            },
            _ => None,
        },
        _ => None,
    });
    let text: Vec<String> = lines.map(|line| line.strip_prefix(' ').unwrap_or(&line).to_owned()).collect();
    without_links(text.join("\n").trim())
}

/// Turns a link such as ``[`Run`](crate::engine::Run)`` into `` `Run` ``.
fn without_links(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some((before, after)) = rest.split_once('[') {
        let Some((name, behind)) = after.split_once(']') else { break };
        out.push_str(before);
        out.push_str(&format!("`{}`", name.trim_matches('`')));
        rest = match behind.strip_prefix('(').and_then(|target| target.split_once(')')) {
            Some((_, behind)) => behind,
            None => behind,
        };
    }
    out + rest
}

fn renamed(name: &str, case: &str) -> String {
    match case {
        "snake_case" => snake(name),
        "lowercase" => name.to_lowercase(),
        "kebab-case" => snake(name).replace('_', "-"),
        _ => name.to_owned(),
    }
}

/// A call of the macro `words!`.
struct WordsMacro {
    attrs: Vec<Attribute>,
    name: Ident,
    cases: Vec<WordCase>,
}

/// One word of it.
struct WordCase {
    attrs: Vec<Attribute>,
    word: String,
}

impl Parse for WordsMacro {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let attrs = input.call(Attribute::parse_outer)?;
        let name = input.parse()?;
        let what;
        syn::parenthesized!(what in input);
        what.parse::<LitStr>()?;
        let body;
        syn::braced!(body in input);
        let mut cases = Vec::new();
        while !body.is_empty() {
            let attrs = body.call(Attribute::parse_outer)?;
            body.parse::<Ident>()?;
            body.parse::<Token![=]>()?;
            cases.push(WordCase { attrs, word: body.parse::<LitStr>()?.value() });
            body.parse::<Option<Token![,]>>()?;
        }
        Ok(Self { attrs, name, cases })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_become_what_they_are_written_as() {
        assert_eq!(without_links("the [`Run`](crate::Run), or [`End`]"), "the `Run`, or `End`");
    }

    #[test]
    fn cases_are_renamed_as_serde_does() {
        assert_eq!(renamed("InProgress", "snake_case"), "in_progress");
        assert_eq!(renamed("NotStarted", "kebab-case"), "not-started");
    }
}
