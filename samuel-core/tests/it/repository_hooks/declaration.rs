//! Seed 003, section 3: what a file declares.

use samuel_core::{
    dialect::EventType,
    hook::{HookLayer, HookPoint, Tier, points},
    model::payload::*,
};

use crate::repository_hooks::kit::{Repository, hook};

/// The file of the specification, word by word.
const TRACKER: &str = r#"id: post_tool_use_tracker          # globally unique within the repo
event_type: PostAbilityCall        # which event this hook listens to
enabled: true                      # can be toggled per environment

summary: >
  Short human/AI readable description of what this hook does and why it exists.

blocking: false                    # if true, failures can block the main flow

match:                              # optional filters to reduce when this hook fires
  ability_scope: "*"                # glob or list of ability ids
  min_duration_ms: 0                # only run for calls slower than this
  only_if_changed_paths:            # for SessionStop-like hooks
    - "services/**"
    - "apps/**"

handler:
  kind: script                      # or builtin
  command: ./scripts/hooks/post_tool_use_tracker.py

effects:                            # declarative hints about side effects
  - append_to: .system/logs/tool_call.log
  - update_usage_cache: .system/cache/ability_usage.json
  - suggest_abilities
"#;

fn after(ability: &str) -> AbilityAfterInput {
    AbilityAfterInput { ability_id: ability.to_owned(), ..AbilityAfterInput::default() }
}

fn stop(changed_files: Option<&[&str]>) -> SessionStopInput {
    let changed_files = changed_files.map(|files| files.iter().map(|file| (*file).to_owned()).collect());
    SessionStopInput { reason: "completed".to_owned(), changed_files, ..SessionStopInput::default() }
}

#[test]
fn seed_003_section_3_the_file_of_the_specification_is_read_as_it_is() {
    let repository = Repository::with(&[("post_tool_use_tracker", TRACKER)]);
    repository.script("scripts/hooks/post_tool_use_tracker.py", "#!/bin/sh\n");
    assert_eq!(repository.warnings(), [""; 0]);
    let files = repository.files();
    let hook = files.repository_hooks().next().unwrap();
    assert_eq!(
        (hook.handler_id().as_str(), hook.event_type),
        ("repo:post_tool_use_tracker", EventType::PostAbilityCall)
    );
    assert!(hook.summary.starts_with("Short human/AI readable"));
    assert!(!hook.blocking && hook.enabled.is_on(&[]));
    let effects: Vec<_> =
        hook.effects.iter().map(|(name, about)| (name.as_str(), about.as_deref())).collect();
    assert_eq!(
        effects,
        [
            ("append_to", Some(".system/logs/tool_call.log")),
            ("update_usage_cache", Some(".system/cache/ability_usage.json")),
            ("suggest_abilities", None)
        ]
    );
    let registry = repository.registry();
    let registered = &registry.registered(HookPoint::AbilityAfter)[0];
    assert_eq!((registered.info.layer, registered.tier), (HookLayer::Dialect, Tier::Shell));
    assert_eq!(registry.handlers(HookPoint::AbilityAfter).next().map(|(_, order, _)| order), Some(150));
    assert_eq!(registered.timeout, Some(std::time::Duration::from_secs(30)));
    let entry = registered.entry.as_ref().unwrap();
    assert_eq!(entry.matches, "ability_scope=* changed_paths=services/**,apps/**");
    assert!(
        entry.details.contains(&("effect".to_owned(), "append_to: .system/logs/tool_call.log".to_owned()))
    );
}

#[test]
fn seed_003_section_3_1_each_event_type_answers_at_its_point_and_ids_are_kebab_or_snake_case() {
    let hooks: Vec<(String, String)> = EventType::ALL
        .iter()
        .enumerate()
        .map(|(number, event_type)| {
            let id = if number % 2 == 0 { format!("kebab-{number}") } else { format!("snake_{number}") };
            (id.clone(), hook(&id, event_type.as_str(), "", "true"))
        })
        .collect();
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(id, text)| (id.as_str(), text.as_str())).collect();
    let registry = Repository::with(&hooks).registry();
    for ((id, _), point) in hooks.iter().zip([
        HookPoint::PromptSubmit,
        HookPoint::AbilityBefore,
        HookPoint::AbilityAfter,
        HookPoint::SessionStart,
        HookPoint::SessionEnd,
        HookPoint::SessionStop,
    ]) {
        let found: Vec<_> = registry.handlers(point).map(|(id, ..)| id.to_owned()).collect();
        assert_eq!(found, [format!("repo:{id}")], "{point}");
        assert_eq!(EventType::of_point(point).map(EventType::point), Some(point));
    }
}

#[tokio::test]
async fn seed_003_section_3_2_a_hook_that_is_not_enabled_is_listed_and_does_not_run() {
    let note = "echo ran >> notes";
    let hooks = [
        ("off", hook("off", "PostAbilityCall", "enabled: false", note)),
        ("ci", hook("ci", "PostAbilityCall", "enabled: {default: true, env: {CI: false}}", note)),
        ("dev", hook("dev", "PostAbilityCall", "enabled: {default: false, env: {DEV: true}}", note)),
    ];
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(name, text)| (*name, text.as_str())).collect();
    for (variable, ran) in [("NONE", "repo:ci"), ("DEV", "repo:ci repo:dev"), ("CI", "")] {
        let repository = Repository::with(&hooks).env(variable, "1");
        let registry = repository.registry();
        let ids: Vec<&str> = registry.handlers(HookPoint::AbilityAfter).map(|(id, ..)| id).collect();
        assert_eq!(ids.join(" "), ran, "{variable}");
        let skipped = &registry.resolved(HookPoint::AbilityAfter).unwrap().skipped;
        assert_eq!(skipped.len() + ids.len(), 3, "{skipped:?}");
        assert!(skipped.iter().all(|one| one.why.to_string() == "disabled in its file"), "{skipped:?}");
        repository.fire::<points::AbilityAfter>(after("Bash")).await;
        assert_eq!(repository.text("notes").lines().count(), ids.len(), "{variable}");
    }
}

#[tokio::test]
async fn seed_003_section_3_2_a_hook_that_does_not_match_is_not_started() {
    let note = |id: &str| format!("echo {id} >> notes");
    let hooks = [
        ("a", hook("a", "PostAbilityCall", "match: {ability_scope: ['edit_*', '!edit_docs']}", &note("a"))),
        ("b", hook("b", "PostAbilityCall", "match: {min_duration_ms: 100}", &note("b"))),
        (
            "c",
            hook(
                "c",
                "PostAbilityCall",
                "match: {ability_scope: '*', only_if_changed_paths: 'src/**'}",
                &note("c"),
            ),
        ),
    ];
    let hooks: Vec<(&str, &str)> = hooks.iter().map(|(name, text)| (*name, text.as_str())).collect();
    let files = |files: &[&str]| Some(files.iter().map(|file| (*file).to_owned()).collect());
    let bash = || AbilityAfterInput { changed_files: files(&[]), ..after("Bash") };
    for (input, ran) in [
        (bash(), ""),
        (AbilityAfterInput { ability_id: "edit_code".to_owned(), ..bash() }, "a"),
        (AbilityAfterInput { ability_id: "edit_docs".to_owned(), ..bash() }, ""),
        (AbilityAfterInput { duration_ms: Some(99), ..bash() }, ""),
        // The bound itself counts.
        (AbilityAfterInput { duration_ms: Some(100), ..bash() }, "b"),
        (AbilityAfterInput { changed_files: files(&["src/a.rs"]), ..bash() }, "c"),
        (AbilityAfterInput { changed_files: files(&["Src/a.rs", "docs/a.md"]), ..bash() }, ""),
        // Unknown means run.
        (AbilityAfterInput { changed_files: None, ..bash() }, "c"),
    ] {
        let repository = Repository::with(&hooks);
        let fired = repository.fire::<points::AbilityAfter>(input.clone()).await;
        assert_eq!(
            repository.text("notes").split_whitespace().collect::<Vec<_>>().join(" "),
            ran,
            "{input:?}"
        );
        assert_eq!(fired.outcome.timings.len(), ran.split_whitespace().count(), "only what ran was called");
        assert!(fired.outcome.warnings.is_empty(), "{:?}", fired.outcome.warnings);
    }
}

#[tokio::test]
async fn seed_003_section_3_2_changed_paths_decide_whether_a_stop_is_checked() {
    let more = "match: {only_if_changed_paths: ['services/**', 'apps/**']}";
    let check = hook("check", "SessionStop", more, "echo ran >> notes");
    for (changed, runs, warnings) in [
        (Some(&["services/a/b.rs"][..]), true, 0),
        (Some(&["Services/a/b.rs"]), false, 0),
        (Some(&["README.md", "apps/x"]), true, 0),
        (Some(&[]), false, 0),
        // Where there is no git: it runs, and says so.
        (None, true, 1),
    ] {
        let repository = Repository::with(&[("check", &check)]);
        let fired = repository.fire::<points::SessionStop>(stop(changed)).await;
        assert_eq!(repository.exists("notes"), runs, "{changed:?}");
        assert_eq!(fired.outcome.warnings.len(), warnings, "{changed:?}: {:?}", fired.outcome.warnings);
    }
}

#[tokio::test]
async fn seed_003_section_3_2_a_command_is_a_line_or_a_list_with_a_timeout_of_its_own() {
    let list = "id: list\nevent_type: SessionStart\nhandler:\n  kind: script\n  command: [sh, -c, 'echo \"$0\" > notes', 'a  b']\n  timeout: 1m\n";
    let repository = Repository::with(&[("list", list)]);
    repository.fire::<points::SessionStart>(SessionStartInput::default()).await;
    assert_eq!(repository.text("notes"), "a  b\n");
    let registry = repository.registry();
    assert_eq!(
        registry.registered(HookPoint::SessionStart)[0].timeout,
        Some(std::time::Duration::from_secs(60))
    );
}
