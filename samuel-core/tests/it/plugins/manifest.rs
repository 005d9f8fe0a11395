//! Manifests: what is read, and how what is wrong is said.

use std::path::Path;

use samuel_core::{
    config::ProblemKind,
    hook::HookPoint,
    model::Coded,
    plugin::{Capability, Manifest, PluginError, PluginKind, manifest_schema},
};
use serde_json::Value;

const HEAD: &str =
    "[plugin]\nname = \"samuel-python\"\nkind = \"wasm\"\nversion = \"1.2.0\"\nsamuel = \"^2.0\"\n";

fn parse(text: &str) -> Result<Manifest, PluginError> {
    Manifest::parse(Path::new("samuel-plugin.toml"), text)
}

/// The problems of a text: line, column, words and help.
fn problems(text: &str) -> Vec<String> {
    let Err(PluginError::Manifest(error)) = parse(text) else { panic!("accepted: {text}") };
    let told = |problem: &samuel_core::config::Problem| {
        let (line, column) = (problem.location.line.unwrap(), problem.location.column.unwrap());
        format!("{line}:{column} {problem} | {}", problem.help().prose())
    };
    error.problems().iter().map(told).collect()
}

fn wasm(rest: &str) -> String {
    format!("{HEAD}{rest}\n[wasm]\nmodule = \"plugin.wasm\"\n")
}

fn skill(rest: &str) -> String {
    HEAD.replace("wasm", "skill") + rest
}

#[test]
fn a_whole_manifest_is_read() {
    let manifest = parse(
        r#"
[plugin]
name = "samuel-python"
kind = "wasm"
version = "1.2.0"
samuel = "^2.0"
namespace = "python"
description = "Python projects"

[capabilities]
filesystem.read = ["/workspace/**"]
exec = { targets = ["ruff"], reason = "runs the linter" }
"network.outbound" = ["*.pypi.org"]
assistant.invoke = []

[provides]
hooks = ["context.extra", "quality.check"]

[hooks]
"context.extra" = "on-context-extra"
"quality.check" = { handler = "on-quality-check", order = 150 }

[wasm]
module = "./plugin.wasm"

[[methodology]]
name = "tdd-strict"
aliases = ["tdd"]
templates = "templates/"
pilot = true
max_iterations = 7
[methodology.hooks."iteration.gate"]
handlers = ["samuel-tdd:gate", "default"]
"#,
    )
    .unwrap();
    assert_eq!((manifest.name.as_str(), manifest.kind), ("samuel-python", PluginKind::Wasm));
    assert_eq!((manifest.namespace.as_str(), manifest.module.as_deref()), ("python", Some("plugin.wasm")));
    assert_eq!(manifest.capabilities.targets(Capability::FilesystemRead), ["/workspace/**"]);
    assert_eq!(manifest.capabilities.targets(Capability::NetworkOutbound), ["*.pypi.org"]);
    assert!(manifest.capabilities.has(Capability::AssistantInvoke));
    assert_eq!(manifest.reasons[&Capability::Exec], "runs the linter");
    let check = manifest.binding(HookPoint::QualityCheck).unwrap();
    assert_eq!(
        (check.handler.as_str(), check.order, check.place.line),
        ("on-quality-check", Some(150), Some(21))
    );
    let profile = &manifest.profiles[0];
    assert_eq!((profile.name.as_str(), profile.aliases[0].as_str()), ("tdd-strict", "tdd"));
    let settings = profile.settings();
    assert!(settings.pilot.enabled && settings.max_iterations == std::num::NonZero::new(7));
    assert_eq!(profile.chain(HookPoint::IterationGate).handlers.unwrap().len(), 2);
    assert_eq!(parse(&wasm("")).unwrap().namespace, "samuel_python");
}

#[test]
fn every_form_of_binding_ends_up_in_one_list() {
    let rest = "[provides]\nhooks = [\"context.extra\", \"quality.check\", \"before:agent.invoke\"]\n\
                [hooks]\n\"context.extra\" = \"on-context-extra\"\n\
                [wasm]\nmodule = \"plugin.wasm\"\n\
                [wasm.hook_handlers]\n\"quality.check\" = \"on_quality_check\"\n\"context.extra\" = \"on_context_extra\"\n\
                [hook.before_agent_invoke]\nhandler = \"on_invoke\"\norder = 50\n";
    let manifest = parse(&(HEAD.to_owned() + rest)).unwrap();
    let bindings: Vec<_> =
        manifest.bindings.iter().map(|one| (one.point.as_str(), one.handler.as_str(), one.order)).collect();
    assert_eq!(
        bindings,
        [
            ("context.extra", "on-context-extra", None),
            ("quality.check", "on_quality_check", None),
            ("before:agent.invoke", "on_invoke", Some(50))
        ]
    );
    let oci = HEAD.replace("wasm", "oci")
        + "[oci]\nimage = \"example/agent:1\"\n[oci.hook_handlers]\n\"agent.invoke\" = \"invoke\"\n";
    let manifest = parse(&oci).unwrap();
    assert_eq!(
        (manifest.image.as_deref(), manifest.bindings[0].handler.as_str()),
        (Some("example/agent:1"), "invoke")
    );
}

#[test]
fn bindings_that_disagree_and_points_without_one_are_refused_at_their_place() {
    let both = "[hooks]\n\"quality.check\" = \"one\"\n[hook.quality_check]\nhandler = \"two\"\n";
    let told = "8:7 hook.quality_check: quality.check is bound to \"two\" here and to \"one\" at line 7 | Remove one of \
                the two.";
    assert_eq!(problems(&wasm(both)), [told]);
    let orders = "[hooks]\n\"quality.check\" = { handler = \"one\", order = 1 }\n[hook.quality_check]\nhandler = \"one\"\norder = 2\n";
    assert_eq!(problems(&wasm(orders)).len(), 1);
    let told = "7:10 provides.hooks[0]: quality.check is provided and bound to no handler | Add \"quality.check\" = \
                \"<handler>\" to [hooks].";
    assert_eq!(problems(&wasm("[provides]\nhooks = [\"quality.check\"]\n")), [told]);
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    let text = HEAD.replace("version", "versoin")
        + "[hooks]\n\"quality.chek\" = \"a\"\n[capabilites]\n[wasm]\nmodul = \"a\"\n";
    let told = problems(&text);
    for problem in [
        "1:2 plugin: version is missing | Add version.",
        "4:1 plugin.versoin: unknown key | Did you mean \"version\"?",
        "7:1 hooks.\"quality.chek\": unknown hook point \"quality.chek\" | Did you mean \"quality.check\"?",
        "8:2 capabilites: unknown key | Did you mean \"capabilities\"?",
        "10:1 wasm.modul: unknown key | Did you mean \"module\"?",
    ] {
        assert!(told.iter().any(|one| one == problem), "{problem} in {told:#?}");
    }
    let told =
        problems(&wasm("[capabilities]\nfilesystem.raed = []\n[hook.quality_chek]\nhandler = \"a\"\n"));
    let read = "7:12 capabilities.filesystem.raed: unknown key | Did you mean \"read\"?";
    assert!(told[0].starts_with(read), "{told:#?}");
    assert!(told[1].ends_with("Did you mean \"quality.check\"?"), "{told:#?}");
}

#[test]
fn a_plugin_for_another_samuel_is_told_of_that_alone() {
    let text = HEAD.replace("^2.0", "^3.1") + "[later]\nkey = 1\n";
    let told = "5:10 plugin.samuel: the plugin needs Samuel ^3.1, and this is 2.0.0 | Use another version of the plugin, \
                or of Samuel.";
    assert_eq!(problems(&text), [told]);
    assert!(problems(&wasm("").replace("^2.0", "two"))[0].contains("\"two\" is not a version"));
    assert!(problems(&wasm("").replace("1.2.0", "1.2"))[0].contains("\"1.2\" is not a version"));
}

#[test]
fn names_handlers_and_targets_must_make_sense() {
    for name in ["x", "Lint", "a_b", "a b", &"a".repeat(65)] {
        let told = problems(&wasm("").replace("samuel-python", name));
        assert!(told[0].contains("use 2 to 64 of a-z, 0-9 and -"), "{name}: {told:?}");
    }
    for (namespace, rule) in [("api", "Samuel's own"), ("a-b", "no digit first"), ("1a", "no digit first")] {
        let told = problems(&wasm("").replace("[wasm]", &format!("namespace = \"{namespace}\"\n[wasm]")));
        assert!(told[0].contains(rule), "{told:?}");
    }
    for handler in ["/bin/sh", "../x.sh", "a/../../b", ""] {
        let told = problems(&skill(&format!("[hooks]\n\"quality.check\" = \"{handler}\"\n")));
        assert_eq!(told.len(), 1, "{handler}: {told:?}");
    }
    assert_eq!(problems(&wasm("[hooks]\n\"quality.check\" = \"hooks/check.sh\"\n")).len(), 1);
    for target in [
        "filesystem.read = [\"/etc/**\"]",
        "filesystem.write = [\"/workspace/../x\"]",
        "exec = [\"'git push\"]",
        "exec = [\"*\"]",
        "exec = [\"git ** push\"]",
        "env = [\"A-B\"]",
        "env = [\"*\"]",
        "env = [\"A*B\"]",
        "env = [\"AWS_*\"]",
        "agent.env = [\"*\"]",
        "agent.env = [\"PATH\"]",
        "agent.env = [\"https_proxy\"]",
        "agent.env = [\"ANTHROPIC_BASE_URL\"]",
        "agent.env = [\"SAMUEL_*\"]",
        "agent.env = [\"MY_TOKEN\"]",
        "network.outbound = [\"https://example.org\"]",
        "network.outbound = [\"example.org:\"]",
        "network.outbound = [\"example.org:70000\"]",
        "samuel.api = [\"admin\"]",
        "exec = []",
        "exec = true",
        "exec = { reason = \"x\" }",
        "filesystem.read = [\"/workspace\"]\n\"filesystem.read\" = [\"/workspace\"]",
    ] {
        let told = problems(&wasm(&format!("[capabilities]\n{target}\n")));
        assert_eq!(told.len(), 1, "{target}: {told:?}");
    }
}

#[test]
fn targets_say_which_arguments_ports_and_variables() {
    let text = "[capabilities]\nexec = [\"git\", \"git log *\", \"cargo test **\"]\nenv = [\"A\", \"MY_*\"]\n\
                agent.env = [\"RUST_LOG\", \"MY_*\"]\n\
                network.outbound = [\"*.pypi.org:8443\", \"127.0.0.1:8080\", \"[::1]:80\"]\n";
    let manifest = parse(&wasm(text)).unwrap();
    assert_eq!(manifest.capabilities.targets(Capability::AgentEnv), ["RUST_LOG", "MY_*"]);
    assert_eq!(manifest.capabilities.targets(Capability::NetworkOutbound).len(), 3);
    let told = problems(&wasm("[capabilities]\nagent.env = [\"GIT_SSH\"]\n"));
    assert!(told[0].contains("decides which program runs"), "{told:?}");
}

#[test]
fn a_table_of_another_kind_and_a_missing_one_are_refused() {
    assert!(problems(HEAD)[0].contains("wasm is missing"));
    assert!(
        problems(&skill("[wasm]\nmodule = \"a.wasm\"\n"))[0].contains("belongs to a plugin of kind wasm")
    );
    let methodology = HEAD.replace("wasm", "methodology") + "[hooks]\n\"quality.check\" = \"a\"\n";
    assert!(problems(&methodology)[0].contains("no handlers of its own"));
    let twice =
        skill("[[methodology]]\nname = \"tdd\"\n[[methodology]]\nname = \"other\"\naliases = [\"tdd\"]\n");
    assert!(problems(&twice)[0].contains("listed twice"));
    assert!(problems(&skill("[[methodology]]\nname = \"-x\"\n"))[0].contains("no - first"));
}

#[test]
fn what_is_no_toml_or_hostile_is_refused_quickly() {
    for text in ["", "[plugin", "plugin = 1\n", "[hooks]\n\"quality.check\" = [[[[[[[1]]]]]]]\n"] {
        assert!(parse(text).is_err(), "{text}");
    }
    assert!(parse(&"[".repeat(200_000)).is_err());
    assert!(parse(&"x = 1\n".repeat(100_000)).is_err());
    let error = parse("").unwrap_err();
    assert_eq!((error.code().name, error.location().unwrap().line), ("E_PLUGIN_INVALID", Some(1)));
}

/// The keys that the reader knows in the table with the unknown key.
fn known_keys(text: &str) -> Vec<String> {
    let Err(PluginError::Manifest(error)) = parse(text) else { panic!("accepted: {text}") };
    let known = error.problems().iter().find_map(|problem| match &problem.kind {
        ProblemKind::UnknownKey { known, .. } if problem.key.ends_with("zz") => Some(known.clone()),
        _ => None,
    });
    let mut known: Vec<String> = known.expect("an unknown key").into_iter().map(str::to_owned).collect();
    known.sort();
    known
}

#[test]
fn only_a_script_in_the_agents_place_is_replied_to() {
    for (kind, point) in [("skill", "quality.check"), ("wasm", "agent.invoke")] {
        let text = format!(
            "[plugin]\nname = \"p1\"\nkind = \"{kind}\"\nversion = \"1.0.0\"\nsamuel = \"^2.0\"\n\
             [hooks]\n\"{point}\" = {{ handler = \"a\", interactive = true }}\n"
        );
        let error = parse(&text).unwrap_err();
        assert!(error.to_string().contains("kept open for replies"), "{error}");
        let quiet = text.replace("true", "false");
        assert!(!parse(&quiet).err().is_some_and(|error| error.to_string().contains("kept open")));
    }
}

#[test]
fn the_schema_has_the_keys_that_the_reader_knows() {
    let schema = manifest_schema();
    let tables = [
        ("zz = 1\n", ""),
        ("[plugin]\nsamuel = \"^2.0\"\nzz = 1\n", "/properties/plugin"),
        ("[capabilities]\nzz = 1\n", "/properties/capabilities"),
        ("[capabilities.filesystem]\nzz = 1\n", "/properties/capabilities/properties/filesystem"),
        ("[capabilities.network]\nzz = 1\n", "/properties/capabilities/properties/network"),
        ("[capabilities.samuel]\nzz = 1\n", "/properties/capabilities/properties/samuel"),
        ("[capabilities.assistant]\nzz = 1\n", "/properties/capabilities/properties/assistant"),
        ("[capabilities.exec]\nzz = 1\n", "/$defs/capability/oneOf/1"),
        ("[provides]\nzz = 1\n", "/properties/provides"),
        ("[hooks.\"quality.check\"]\nzz = 1\n", "/$defs/binding/oneOf/1"),
        ("[hook.quality_check]\nzz = 1\n", "/properties/hook/properties/quality_check"),
        ("[wasm]\nzz = 1\n", "/properties/wasm"),
        ("[oci]\nzz = 1\n", "/properties/oci"),
        ("[[methodology]]\nzz = 1\n", "/properties/methodology/items"),
        ("[[methodology]]\n[methodology.hooks.\"quality.check\"]\nzz = 1\n", "/$defs/chain"),
    ];
    let tables = tables.map(|(text, pointer)| (text.to_owned(), pointer.to_owned()));
    let profile = [
        ("[methodology.clocks]\nzz = 1", "clocks"),
        ("[methodology.context]\nzz = 1", "context"),
        ("[methodology.session_budget]\nzz = 1", "session_budget"),
        ("[methodology.pilot]\nzz = 1", "pilot/oneOf/1"),
        ("quality_checks = [{ zz = 1 }]", "quality_checks/items/oneOf/1"),
    ];
    let profile = profile.map(|(text, pointer)| {
        (format!("[[methodology]]\n{text}\n"), format!("/properties/methodology/items/properties/{pointer}"))
    });
    for (text, pointer) in tables.iter().chain(&profile) {
        let properties = schema.pointer(&format!("{pointer}/properties")).and_then(Value::as_object);
        let mut keys: Vec<String> = properties.expect(pointer).keys().cloned().collect();
        keys.sort();
        assert_eq!(keys, known_keys(text), "{pointer}");
        assert_eq!(schema.pointer(pointer).unwrap()["additionalProperties"], false, "{pointer}");
    }
    let points = schema["properties"]["hooks"]["properties"].as_object().unwrap();
    assert_eq!(points.len(), HookPoint::ALL.len());
}

#[test]
fn the_schema_in_the_documentation_is_the_one_of_the_code() {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../docs/samuel-plugin.schema.json");
    let text = std::fs::read_to_string(file).unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert!(
        written == manifest_schema(),
        "write it anew: samuel plugin schema > docs/samuel-plugin.schema.json"
    );
}
