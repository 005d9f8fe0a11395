//! The example plugins: each is built in an empty directory by the commands of
//! its page, what comes out asks for what its manifest says, no more and no less,
//! and it does its work in the host that runs installed plugins. `SAMUEL_LONG=1`
//! runs the one in Python too: 19 MB, which a compiler that was built without
//! optimisation takes minutes for.

use std::{
    collections::BTreeSet,
    path::Path,
    sync::{Arc, Mutex},
};

use async_trait::async_trait;
use samuel_core::{
    hook::{AbilityCall, AbilityDecision, AbilityResult, AgentEvent, AgentPort, points},
    model::payload::{AgentInvokeInput, ContextExtraInput, QualityCheckInput},
    plugin::{Capability, wasm::interface_of},
};
use samuel_tests::example::{Built, Example, NotBuilt};
use serde_json::json;
use wit_component::DecodedWasm;
use wit_parser::{Resolve, WorldKey};

use crate::plugin_host::{Project, broke, contributed};

/// What a component needs no capability for.
const UNGATED: [&str; 8] =
    ["types", "host-types", "log", "config", "plugins", "kv", "prompt-context", "agent-port"];

/// Builds an example, or says why it cannot be built here.
fn build(example: Example) -> Option<Built> {
    match example.build(Path::new(env!("CARGO_TARGET_TMPDIR"))) {
        Ok(built) => Some(built),
        Err(NotBuilt::Skipped(reason)) => {
            println!("skipped: the {example:?} example: {reason}");
            None
        }
        Err(NotBuilt::Failed(said)) => panic!("{said}"),
    }
}

/// The short names of a component's imports and exports of the contract.
#[derive(Debug, PartialEq)]
struct Surface {
    imports: BTreeSet<String>,
    exports: BTreeSet<String>,
}

impl Surface {
    fn of(component: &[u8]) -> Self {
        let DecodedWasm::Component(resolve, world) = wit_component::decode(component).unwrap() else {
            panic!("it is no component")
        };
        let world = &resolve.worlds[world];
        let names = |keys: &mut dyn Iterator<Item = &WorldKey>| -> BTreeSet<String> {
            keys.filter_map(|key| contract_name(&resolve, key)).collect()
        };
        Self { imports: names(&mut world.imports.keys()), exports: names(&mut world.exports.keys()) }
    }
}

/// `samuel:plugin/log@1.0.0` is `log`; what others define has no name here.
fn contract_name(resolve: &Resolve, key: &WorldKey) -> Option<String> {
    let name = resolve.name_world_key(key);
    let (interface, version) = name.strip_prefix("samuel:plugin/")?.split_once('@')?;
    assert_eq!(version, "1.0.0");
    Some(interface.to_owned())
}

#[track_caller]
fn assert_fits(built: &Built) {
    let surface = Surface::of(&built.component);
    let bound = built.manifest.bindings.iter().map(|binding| interface_of(binding.point)).collect();
    assert_eq!(surface.exports, bound, "left the component, right its manifest");

    let gated = surface.imports.iter().filter(|name| !UNGATED.contains(&name.as_str()));
    let needed: BTreeSet<Capability> = gated
        .map(|name| {
            let capability =
                Capability::ALL.into_iter().find(|capability| capability.interface() == Some(name));
            capability.unwrap_or_else(|| panic!("nothing offers {name}"))
        })
        .collect();
    let asked = built.manifest.capabilities.iter().map(|(capability, _)| capability).collect();
    assert_eq!(needed, asked, "left what it needs, right what its manifest asks for");
}

fn names(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn every_page_has_exactly_three_commands() {
    for example in Example::ALL {
        let commands = example.commands();
        assert_eq!(commands.len(), 3, "{example:?}: {commands:#?}");
        assert!(commands[0].starts_with("cp -RL \"$SAMUEL/examples/plugins/"), "{}", commands[0]);
    }
}

// Takes about 13 s: cargo builds the example for WebAssembly, and the host compiles it without optimisation.
#[test]
fn the_rust_example_tells_of_a_python_project() {
    let Some(built) = build(Example::Rust) else { return };
    assert_fits(&built);
    let expected = names(&["files-read", "host-types", "log", "plugins", "types"]);
    assert_eq!(Surface::of(&built.component).imports, expected, "it imports only what it uses");
    let granting = || Project::granting(&built.manifest.capabilities);
    let fire = |project: Project| {
        project.fire::<points::ContextExtra>(&built.component, ContextExtraInput::default()).unwrap()
    };

    let project = granting()
        .file("pyproject.toml", "[project]\nname = \"parser\"\ndependencies = [\"requests>=2\"]\n")
        .file("requirements.txt", "attrs==23.1\n")
        .file(".venv/pyvenv.cfg", "version = 3.12.1\n");
    let told = fire(project);
    assert!(told.outcome.broken.is_empty(), "{:?}", told.outcome.broken);
    let [section] = &told.output.extras[..] else { panic!("{:?}", told.output) };
    assert_eq!(
        section.content,
        "- Python 3.12.1\n- Run Python as `.venv/bin/python`.\n- Requirements: requests>=2, attrs==23.1"
    );
    let requirements = ["requests>=2", "attrs==23.1"];
    assert_eq!(
        contributed(&told),
        json!({"Name": "parser", "Version": "3.12.1", "Venv": ".venv", "Requirements": requirements})
    );

    assert!(fire(granting()).output.extras.is_empty(), "no Python project, nothing to tell");

    let broken = fire(granting().file("pyproject.toml", "["));
    assert_eq!(broke(&broken), ("failed", "TOML parse error at line 1, column 2".to_owned()));

    let denied = fire(granting().denying());
    let message = "filesystem.read is not granted for pyproject.toml";
    assert_eq!(broke(&denied), ("denied", message.to_owned()));
}

#[test]
fn the_python_example_asks_for_an_entry_in_the_changelog() {
    let Some(built) = build(Example::Python) else { return };
    assert_fits(&built);
    if std::env::var_os("SAMUEL_LONG").is_none() {
        println!("skipped: the Python example in the host: compiling Python takes minutes, see --long");
        return;
    }
    let granting = || Project::granting(&built.manifest.capabilities);
    let fire = |project: Project| {
        project.fire::<points::QualityCheck>(&built.component, QualityCheckInput::default()).unwrap()
    };

    let told = fire(granting().file("CHANGELOG.md", "## [Unreleased]\n- dates are parsed\n"));
    assert!(told.outcome.broken.is_empty(), "{:?}", told.outcome.broken);
    assert!(told.output.ok);

    let refused = fire(granting().file("CHANGELOG.md", "## [Unreleased]\n## 1.0\n- dates\n"));
    let failures = &refused.output.failures;
    assert!(!refused.output.ok && failures.len() == 1, "{:?}", refused.output);
    assert_eq!(failures[0].message, "CHANGELOG.md has no entry below Unreleased");

    let elsewhere = granting().config(json!({"path": "docs/CHANGES.md", "heading": "Next"}));
    assert!(fire(elsewhere.file("docs/CHANGES.md", "# Next\n* dates\n")).output.ok);

    let wrong = fire(granting().config(json!({"path": 3})));
    assert_eq!(broke(&wrong), ("failed", "TypeError: the setting path is no text".to_owned()));

    let denied = fire(granting().denying());
    assert_eq!(broke(&denied).0, "denied");
}

#[test]
fn the_javascript_example_tells_of_a_node_project() {
    let Some(built) = build(Example::JavaScript) else { return };
    assert_fits(&built);
    let granting = || Project::granting(&built.manifest.capabilities);
    let fire = |project: Project| {
        project.fire::<points::ContextExtra>(&built.component, ContextExtraInput::default()).unwrap()
    };

    let package = r#"{"name": "bücher", "packageManager": "pnpm@9.1.0", "scripts": {"test": "vitest"}}"#;
    let told = fire(granting().file("package.json", package));
    assert!(told.outcome.broken.is_empty(), "{:?}", told.outcome.broken);
    assert_eq!(told.output.extras[0].content, "- Install with `pnpm install`.\n- `pnpm run test`");
    assert_eq!(
        contributed(&told),
        json!({"Name": "bücher", "PackageManager": "pnpm", "Engine": "", "Scripts": ["test"]})
    );

    assert!(fire(granting()).output.extras.is_empty(), "no Node project, nothing to tell");

    let (class, message) = broke(&fire(granting().file("package.json", "{")));
    assert!(class == "failed" && message.starts_with("SyntaxError: "), "{class}: {message}");

    let denied = fire(granting().denying());
    let message = "filesystem.read is not granted for package.json";
    assert_eq!(broke(&denied), ("denied", message.to_owned()));
}

#[test]
fn the_javascript_agent_reports_and_asks_before_it_runs_a_command() {
    let Some(built) = build(Example::JavaScriptAgent) else { return };
    assert_fits(&built);
    let granting = || Project::granting(&built.manifest.capabilities).file("here.txt", "");
    let tried = |project: Project, may: bool| {
        let port = Arc::new(Port { may, told: Mutex::default() });
        let input = AgentInvokeInput::default();
        let done = project.fire_at::<points::AgentInvoke>(&built.component, input, Arc::clone(&port) as _);
        let told = std::mem::take(&mut *port.told.lock().unwrap());
        (done.unwrap(), told)
    };

    let (done, told) = tried(granting(), true);
    assert!(done.outcome.broken.is_empty(), "{:?}", done.outcome.broken);
    assert_eq!(done.output.usage.map(|usage| usage.input_tokens), Some(10));
    let usage = r#"{"type":"usage","input_tokens":10,"output_tokens":2,"cached_tokens":0,"cost_usd":null}"#;
    let said = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    assert_eq!(
        told,
        [
            &said("I work on no task."),
            r#"asked: Bash {"command":"ls"}"#,
            "ended: Success",
            &said("here.txt\\n"),
            usage
        ]
    );

    let (done, told) = tried(granting(), false);
    assert_eq!(done.outcome.warnings[0].message, "ls may not be run: not here");
    assert_eq!(told, [&said("I work on no task."), r#"asked: Bash {"command":"ls"}"#, usage]);

    let (done, _) = tried(granting().denying(), true);
    assert_eq!(broke(&done).0, "denied");
}

/// Takes down what an agent reports.
struct Port {
    may: bool,
    told: Mutex<Vec<String>>,
}

impl Port {
    fn hear(&self, line: String) {
        self.told.lock().unwrap().push(line);
    }
}

#[async_trait]
impl AgentPort for Port {
    fn emit(&self, event: AgentEvent) {
        self.hear(serde_json::to_string(&event).unwrap());
    }

    async fn supervised_by(&self, _: u32, _: u64) {}

    async fn before_ability(&self, call: AbilityCall) -> AbilityDecision {
        self.hear(format!("asked: {} {}", call.ability_id, call.input));
        match self.may {
            true => AbilityDecision::Allow { input: call.input },
            false => AbilityDecision::Block { reason: "not here".to_owned() },
        }
    }

    async fn after_ability(&self, result: AbilityResult) -> Vec<String> {
        self.hear(format!("ended: {:?}", result.status));
        Vec::new()
    }
}
