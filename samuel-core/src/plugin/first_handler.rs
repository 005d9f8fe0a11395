//! What stands in the handler of a new plugin, in each language and form of it.
//!
//! One at `context.extra` adds a section; one at any other point lets things go on and changes nothing, with
//! every field of the answer written out where the language wants that.

use super::{PluginKind, PluginLanguage};
use crate::hook::{HookPoint, Point, PointVisitor};

/// The first handler of a plugin, and its names.
pub(super) struct Handler {
    point: HookPoint,
    /// The interface of the point, such as `quality-check`.
    pub(super) interface: String,
    /// The trait, such as `QualityCheck`.
    pub(super) name: String,
}

impl Handler {
    pub(super) fn of(point: HookPoint) -> Self {
        let interface = point.as_str().replace([':', '.'], "-");
        let name = interface.split('-').map(capital).collect();
        Self { point, interface, name }
    }

    /// Returns the interface as functions and modules are named: `quality_check`.
    pub(super) fn snake(&self) -> String {
        self.interface.replace('-', "_")
    }

    /// Returns it as JavaScript names things: `qualityCheck`.
    pub(super) fn camel(&self) -> String {
        camel(&self.snake())
    }

    /// Says what the plugin does, in a line.
    pub(super) fn about(&self) -> String {
        match self.point {
            HookPoint::ContextExtra => "Adds a section to every prompt".to_owned(),
            point => format!("Handles {point}"),
        }
    }

    /// Returns the table of what a program asks for: nothing, but in the agent's place what has to be asked for there.
    pub(super) fn capabilities(&self, kind: PluginKind) -> &'static str {
        match (self.point, kind) {
            (HookPoint::AgentInvoke, _) => {
                "[capabilities]\nexec = { targets = [\"my-agent\"], reason = \"runs in the agent's place\" }"
            }
            (_, PluginKind::Oci) => {
                "# [capabilities]\n\
                 # filesystem.read = { targets = [\"/workspace/pyproject.toml\"], reason = \"reads the requirements\" }"
            }
            _ => {
                "# [capabilities]\n\
                 # env = { targets = [\"VIRTUAL_ENV\"], reason = \"finds the project's environment\" }"
            }
        }
    }

    /// Lists what a plugin in Rust names of its crate.
    pub(super) fn types(&self) -> String {
        let Self { name, .. } = self;
        let mut names = vec![name.clone(), format!("{name}Input"), format!("{name}Output")];
        names.extend(["CallHeader", "HookFailure"].map(str::to_owned));
        if self.point == HookPoint::ContextExtra {
            names.push("Extra".to_owned());
        }
        names.sort_unstable();
        names.join(", ")
    }

    /// Returns the import of what the point has of its own, in Python.
    pub(super) fn python_imports(&self) -> String {
        format!("from wit_world.exports.{} import Output", self.snake())
    }

    /// Returns the import of what points share.
    pub(super) fn python_shared(&self) -> String {
        let has_results = self.point.output_fields().iter().any(|field| field.holds == "HookResults");
        let names = match self.point {
            HookPoint::ContextExtra => "Extra, Failure",
            _ if has_results => "Failure, HookResults",
            _ => "Failure",
        };
        format!("from wit_world.imports.types import {names}")
    }

    /// Returns the whole handler, of a component.
    pub(super) fn text(&self, kind: PluginKind, language: PluginLanguage) -> String {
        if kind != PluginKind::Wasm {
            return String::new();
        }
        match language {
            PluginLanguage::Rust => self.rust(),
            PluginLanguage::Python => self.python(),
            PluginLanguage::JavaScript | PluginLanguage::Shell => self.javascript(),
        }
    }

    /// Returns what a program answers, as its language writes it.
    pub(super) fn answer(&self, kind: PluginKind, language: PluginLanguage) -> String {
        if kind == PluginKind::Wasm {
            return String::new();
        }
        let is_extra = self.point == HookPoint::ContextExtra;
        match language {
            PluginLanguage::Shell if is_extra => {
                "{\"extras\": [{\"name\": \"{{name}}\", \"content\": \"Hello from {{name}}.\"}]}".to_owned()
            }
            PluginLanguage::Python if is_extra => {
                "{\"extras\": [{\"name\": \"{{name}}\", \"content\": f\"Hello from {{name}}, about {about}.\"}]}".to_owned()
            }
            PluginLanguage::JavaScript if is_extra => {
                "{ extras: [{ name: \"{{name}}\", content: `Hello from {{name}}, about ${about}.` }] }".to_owned()
            }
            PluginLanguage::Rust if is_extra => {
                "{ \"extras\": [{ \"name\": \"{{name}}\", \"content\": format!(\"Hello from {{name}}, about {about}.\") }] }"
                    .to_owned()
            }
            language => self.required(language),
        }
    }

    /// Writes the fields that an answer must have.
    fn required(&self, language: PluginLanguage) -> String {
        let fields = self.point.output_fields().iter().filter(|field| field.required).map(|field| {
            let value = default_of(field.name, field.holds);
            let value = if language == PluginLanguage::Python { in_python(&value) } else { value };
            format!("\"{}\": {value}", field.name)
        });
        format!("{{{}}}", fields.collect::<Vec<_>>().join(", "))
    }

    fn parameters(&self) -> &'static str {
        if passes_previous(self.point) { "call, input, previous" } else { "call, input" }
    }

    fn rust(&self) -> String {
        let Self { name, .. } = self;
        let (input, body) = match self.point {
            HookPoint::ContextExtra => (
                "input",
                "        let about = input.task.map_or(\"no task\".to_owned(), |task| format!(\"the task {}\", task.id));\n        \
                 let section = Extra {\n            name: \"{{name}}\".to_owned(),\n            \
                 content: format!(\"Hello from {{name}}, about {about}.\"),\n            path: None,\n        };\n        \
                 Ok(ContextExtraOutput { extras: vec![section], ..Default::default() })"
                    .to_owned(),
            ),
            // What is left at its default lets things go on and changes nothing.
            _ => ("_", format!("        Ok({name}Output::default())")),
        };
        let previous = match passes_previous(self.point) {
            true => format!("        _: Option<{name}Output>,\n"),
            false => String::new(),
        };
        format!(
            "impl {name} for Plugin {{\n    fn {}(\n        _: CallHeader,\n        {input}: {name}Input,\n{previous}    \
             ) -> Result<{name}Output, HookFailure> {{\n{body}\n    }}\n}}",
            self.snake()
        )
    }

    fn python(&self) -> String {
        let Self { name, .. } = self;
        let body = match self.point {
            HookPoint::ContextExtra => {
                "        about = f\"the task {input.task.id}\" if input.task else \"no task\"\n        \
                 log.write(log.Level.DEBUG, about)\n        \
                 section = Extra(name=\"{{name}}\", content=f\"Hello from {{name}}, about {about}.\", path=None)\n        \
                 return Output(extras=[section], extensions=[])"
                    .to_owned()
            }
            point => {
                let fields = point.output_fields().iter().map(|field| {
                    let key = if field.name == "continue" { "continue_" } else { field.name };
                    format!("{key}={}", in_python(&default_of(field.name, field.holds)))
                });
                let fields = fields.collect::<Vec<_>>().join(", ");
                format!("        log.write(log.Level.DEBUG, \"called\")\n        return Output({fields})")
            }
        };
        format!(
            "class {name}:\n    \"\"\"The point this plugin handles; componentize-py finds it by its name.\"\"\"\n\n    \
             @answers\n    def run(self, {}):\n{body}",
            self.parameters()
        )
    }

    fn javascript(&self) -> String {
        let body = match self.point {
            HookPoint::ContextExtra => {
                "    const about = input.task ? `the task ${input.task.id}` : \"no task\";\n    \
                 write(\"debug\", about);\n    \
                 const section = { name: \"{{name}}\", content: `Hello from {{name}}, about ${about}.`, path: null };\n    \
                 return { extras: [section], extensions: [] };"
                    .to_owned()
            }
            point => {
                let fields = point.output_fields().iter().map(|field| {
                    format!("{}: {}", camel(field.name), default_of(field.name, field.holds))
                });
                let fields = fields.collect::<Vec<_>>().join(", ");
                format!("    write(\"debug\", \"called\");\n    return {{ {fields} }};")
            }
        };
        format!(
            "/** The point this plugin handles, by the name of its interface. */\nexport const {} = {{\n  \
             run: answers(({}) => {{\n{body}\n  }}),\n}};",
            self.camel(),
            self.parameters()
        )
    }
}

/// Says whether handlers of a point are given what those before them answered.
fn passes_previous(point: HookPoint) -> bool {
    struct Passes;
    impl PointVisitor for Passes {
        type Out = bool;

        fn visit<P: Point>(self) -> bool {
            P::PREVIOUS
        }
    }
    point.visit(Passes)
}

/// Returns what lets things go on in a field of an answer, as JSON and JavaScript have it.
fn default_of(name: &str, holds: &str) -> String {
    match holds {
        "bool" => (matches!(name, "ok" | "continue")).to_string(),
        "integer" => "0".to_owned(),
        "text" => "\"\"".to_owned(),
        "HookResults" => RESULTS.to_owned(),
        holds if holds.starts_with("list of ") => "[]".to_owned(),
        _ => "null".to_owned(),
    }
}

/// What a hook reports that reports nothing.
const RESULTS: &str = "{ logs: [], messagesToUser: [], suggestedAbilities: [], suggestedDocuments: [], followUpActions: \
                       [], newIntent: null, usageRecorded: false, blockExecution: false }";

/// Writes such a value in Python.
fn in_python(value: &str) -> String {
    match value {
        "true" => "True".to_owned(),
        "false" => "False".to_owned(),
        "null" => "None".to_owned(),
        RESULTS => "HookResults([], [], [], [], [], None, False, False)".to_owned(),
        other => other.to_owned(),
    }
}

fn capital(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

fn camel(snake: &str) -> String {
    let mut words = snake.split('_');
    let first = words.next().unwrap_or_default().to_owned();
    words.map(capital).fold(first, |name, word| name + &word)
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use super::*;

    #[test]
    fn a_handler_of_each_point_writes_its_whole_answer() {
        for point in HookPoint::ALL {
            let handler = Handler::of(*point);
            for field in point.output_fields() {
                let value = default_of(field.name, field.holds);
                let known = field.holds.starts_with("optional ") || value != "null";
                assert!(known, "{point}: {} holds {}", field.name, field.holds);
            }
            let rust = handler.text(PluginKind::Wasm, PluginLanguage::Rust);
            let has_previous = rust.contains(&format!("_: Option<{}Output>", handler.name));
            assert_eq!(has_previous, passes_previous(*point), "{point}");
        }
        let check = Handler::of(HookPoint::QualityCheck);
        assert_eq!(check.answer(PluginKind::Skill, PluginLanguage::Shell), "{\"ok\": true}");
        assert_eq!(check.answer(PluginKind::Skill, PluginLanguage::Python), "{\"ok\": True}");
        assert_eq!((check.camel().as_str(), check.snake().as_str()), ("qualityCheck", "quality_check"));
    }

    /// Returns the types that an interface of the contract defines, as Python names them.
    fn defined(interface: &str) -> Vec<String> {
        let contract = Path::new(env!("CARGO_MANIFEST_DIR")).join("../wit/v1");
        let files = fs::read_dir(contract).expect("the contract is there").flatten();
        let texts = files.filter_map(|file| fs::read_to_string(file.path()).ok());
        let body = texts.filter_map(|text| {
            let (_, after) = text.split_once(&format!("\ninterface {interface} {{\n"))?;
            after.split_once("\n}").map(|(body, _)| body.to_owned())
        });
        let body: String = body.collect();
        let names = body.lines().filter_map(|line| line.trim().strip_prefix("record ")?.strip_suffix(" {"));
        names.map(|name| name.split('-').map(capital).collect()).collect()
    }

    #[test]
    fn what_a_plugin_in_python_imports_is_defined_where_it_is_imported_from() {
        for point in HookPoint::ALL {
            let handler = Handler::of(*point);
            for (import, interface) in
                [(handler.python_imports(), handler.interface.as_str()), (handler.python_shared(), "types")]
            {
                let (_, names) = import.split_once(" import ").expect("it is an import");
                let defined = defined(interface);
                for name in names.split(", ") {
                    assert!(defined.iter().any(|one| one == name), "{import}: {interface} has {defined:?}");
                }
            }
        }
    }
}
