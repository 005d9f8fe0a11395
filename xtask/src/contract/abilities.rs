//! What a handler may say in an output, as traits: in samuel-contract, and in the
//! crate that plugins are written with.

use std::fmt::Write as _;

use anyhow::{Result, ensure};

use super::{
    model::{Contract, Point, Ty},
    table::Kind,
};

/// The methods by which an output has an ability, where it has it.
type Methods = fn(&Contract, &Point) -> Option<String>;

/// What an output can contain.
struct Ability {
    /// The name of the trait.
    name: &'static str,
    docs: &'static str,
    /// What the compiler says of an output that has it not.
    message: &'static str,
    label: &'static str,
    /// What it says of those that have it, before their ids.
    places: &'static str,
    advice: &'static str,
    /// The declarations of the methods.
    declared: &'static str,
    methods: Methods,
}

const TEXT: Ability = Ability {
    name: "Text",
    docs: "An output that can carry text for the agent.",
    message: "takes no text for the agent",
    label: "the output of a point that takes no text",
    places: "text is taken at",
    advice: "what every prompt should hold is a section of context.extra",
    declared: "/// Returns the text so far.\nfn text_mut(&mut self) -> &mut Vec<types::TextItem>;",
    methods: |contract, point| {
        let methods = "fn text_mut(&mut self) -> &mut Vec<types::TextItem> { &mut self.text }";
        contract.output(point).has_text().then(|| methods.to_owned())
    },
};

const RESULTS: Ability = Ability {
    name: "Results",
    docs: "An output that can carry what a repository hook reports.",
    message: "takes no hook results",
    label: "the output of a point that takes no results",
    places: "results are taken at",
    advice: "",
    declared: "/// Returns the results so far.\nfn results_mut(&mut self) -> &mut types::HookResults;",
    methods: |contract, point| {
        let methods = "fn results_mut(&mut self) -> &mut types::HookResults { &mut self.results }";
        contract.output(point).has_results().then(|| methods.to_owned())
    },
};

const BLOB: Ability = Ability {
    name: "Blob",
    docs: "An output that is one piece of text which the next handler builds on.",
    message: "is not a blob",
    label: "not the output of a point that makes a blob",
    places: "blobs are made at",
    advice: "at context.extra a handler adds sections to `extras`",
    declared: "/// Returns the text.\nfn blob(&self) -> &str;\n\n\
               /// Returns the text, to be changed.\nfn blob_mut(&mut self) -> &mut String;",
    methods: |contract, point| {
        let blob = contract.output(point).fields.iter().find(|field| field.ty == Ty::Text)?.ident();
        (point.row.kind == Kind::Blob).then(|| {
            format!(
                "fn blob(&self) -> &str {{ &self.{blob} }}\n\n\
                 fn blob_mut(&mut self) -> &mut String {{ &mut self.{blob} }}"
            )
        })
    },
};

/// What stops something.
const GATE: Ability = Ability {
    name: "Gate",
    docs: "An output that can refuse.",
    message: "cannot refuse",
    label: "not the output of a gate",
    places: "handlers refuse at",
    advice: "elsewhere set `ok` and `reason` where the output has them, or return a `HookFailure` if the \
             handler cannot do its work",
    declared: "/// Makes the outcome that refuses for a reason.\nfn refused(reason: String) -> Self;",
    methods: |contract, point| {
        let field = contract.output(point).field(point.row.verdict.as_deref()?)?;
        let no = format!("{}: {}", field.ident(), field.wit == "block");
        Some(format!(
            "fn refused(reason: String) -> Self {{ Self {{ {no}, reason: Some(reason), ..Self::default() }} }}"
        ))
    },
};

/// What says no, also where that is a warning.
const VERDICT: Ability = Ability {
    name: "Verdict",
    docs: "An output that can say no.",
    message: "cannot say no",
    label: "the output of a point at which nobody says no",
    places: "no is said at",
    advice: "elsewhere return a `HookFailure` if the handler cannot do its work",
    declared: "/// Says no, for a reason.\nfn refuse_for(&mut self, reason: String);",
    methods: |contract, point| {
        let output = contract.output(point);
        let field = ["ok", "block", "continue"].into_iter().find_map(|name| output.field(name))?;
        let no = format!("self.{} = {};", field.ident(), field.wit == "block");
        Some(format!("fn refuse_for(&mut self, reason: String) {{ {no} self.reason = Some(reason); }}"))
    },
};

/// Writes the traits of samuel-contract.
///
/// # Errors
/// Fails where a verdict of the table is no truth of the output.
pub(super) fn core(contract: &Contract) -> Result<String> {
    for point in &contract.points {
        let fits =
            |name: &String| contract.output(point).field(name).is_some_and(|field| field.ty == Ty::Bool);
        ensure!(
            point.row.verdict.iter().all(fits),
            "{}: the verdict is no truth of the output",
            point.row.id
        );
    }
    let traits: String =
        [GATE, TEXT, RESULTS, BLOB].iter().map(|ability| ability.written(contract, "Output")).collect();
    Ok(format!(
        "//! What a handler may say, as traits on the outputs.\n\n{}\
         use crate::{{Output, payload::{{self as types, *}}}};\n\n{traits}",
        super::GENERATED
    ))
}

/// Writes the traits of the crate for plugins.
pub(super) fn guest(contract: &Contract) -> String {
    [VERDICT, TEXT, RESULTS, BLOB].iter().map(|ability| ability.written(contract, "Answer")).collect()
}

impl Ability {
    fn written(&self, contract: &Contract, above: &str) -> String {
        let Self { name, docs, message, label, places, advice, declared, methods } = self;
        let having: Vec<(&Point, String)> =
            contract.points.iter().filter_map(|point| Some((point, methods(contract, point)?))).collect();
        let ids: Vec<&str> = having.iter().map(|(point, _)| point.row.id.as_str()).collect();
        let advice = if advice.is_empty() { String::new() } else { format!(", note = \"{advice}\"") };
        let mut out = format!(
            "/// {docs}\n#[diagnostic::on_unimplemented(message = \"`{{Self}}` {message}\", \
             label = \"{label}\", note = \"{places} {}\"{advice})]\n\
             pub trait {name}: {above} {{\n{declared}\n}}\n\n",
            listed(&ids)
        );
        for (point, methods) in having {
            let _ = write!(out, "impl {name} for {}Output {{\n{methods}\n}}\n\n", point.name);
        }
        out
    }
}

/// Writes `a, b and c`.
fn listed(names: &[&str]) -> String {
    match names {
        [] => String::new(),
        [one] => (*one).to_owned(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}
