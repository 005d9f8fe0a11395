//! Seed 003, section 7: the shipped recipes, `examples/repository-hooks/`, each loaded and fired.

use std::{fs, os::unix::fs::PermissionsExt as _, path::Path, process::Command};

use samuel_core::{hook::points, model::payload::*};
use serde_json::{Value, json};

use crate::repository_hooks::kit::{Repository, copy};

/// Copies the recipes into a repository; nothing where there is no Python to run them.
#[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
fn recipes() -> Option<Repository> {
    let has_python =
        Command::new("python3").arg("--version").output().is_ok_and(|output| output.status.success());
    if !has_python {
        println!("skipped: there is no python3");
        return None;
    }
    let repository = Repository::new();
    copy(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../examples/repository-hooks"), &repository.root());
    Some(repository)
}

fn bash(command: &str) -> AbilityBeforeInput {
    AbilityBeforeInput {
        ability_id: "Bash".to_owned(),
        input: json!({ "command": command }).to_string(),
        ..AbilityBeforeInput::default()
    }
}

#[test]
fn seed_003_section_7_every_recipe_is_valid() {
    let Some(repository) = recipes() else { return };
    assert_eq!(repository.warnings(), [""; 0]);
    let ids: Vec<String> = repository.files().repository_hooks().map(|hook| hook.id.clone()).collect();
    assert_eq!(
        ids,
        [
            "guard_risky_commands",
            "post_tool_use_tracker",
            "session_stop_build_check",
            "skill_activation_prompt",
            "slow_abilities"
        ]
    );
}

#[tokio::test]
async fn seed_003_section_7_1_calls_are_tracked() {
    let Some(repository) = recipes() else { return };
    let call = |duration_ms| AbilityAfterInput {
        ability_id: "Bash".to_owned(),
        duration_ms: Some(duration_ms),
        ..AbilityAfterInput::default()
    };
    for took in [5, 2_000] {
        let fired = repository.fire::<points::AbilityAfter>(call(took)).await;
        assert!(fired.outcome.warnings.is_empty(), "{:?}", fired.outcome.warnings);
    }
    assert_eq!(repository.text(".system/logs/tool_call.log").lines().count(), 2);
    assert_eq!(repository.text(".system/logs/slow_abilities.log").lines().count(), 1);
    let usage: Value = serde_json::from_str(&repository.text(".system/cache/ability_usage.json")).unwrap();
    assert_eq!(usage["abilities"]["Bash"]["calls"], 2);
}

#[tokio::test]
async fn seed_003_section_7_2_a_prompt_activates_abilities() {
    let Some(repository) = recipes() else { return };
    let input = PromptSubmitInput {
        user_raw_input: "Add a column to the schema".to_owned(),
        ..PromptSubmitInput::default()
    };
    let results = repository.fire::<points::PromptSubmit>(input).await.output.results;
    let abilities: Vec<_> =
        results.suggested_abilities.iter().map(|one| (one.id.as_str(), one.confidence)).collect();
    assert_eq!(abilities, [("db.migrate", Some(0.67))]);
    assert_eq!(results.suggested_documents[0].path, "docs/database.md");
    assert_eq!(results.new_intent.as_deref(), Some("{\"abilities\":[\"db.migrate\"]}"));
}

#[tokio::test]
async fn seed_003_section_7_3_risky_calls_are_blocked_and_others_are_not() {
    let Some(repository) = recipes() else { return };
    for shell in ["bash", "run_shell_command", "command_execution"] {
        let call = AbilityBeforeInput { ability_id: shell.to_owned(), ..bash("rm -rf ../other") };
        let fired = repository.fire::<points::AbilityBefore>(call).await;
        assert!(fired.output.block, "{shell}");
    }
    let fired = repository.fire::<points::AbilityBefore>(bash("rm -rf ../other")).await;
    assert!(fired.output.block);
    let reason = fired.output.reason.unwrap();
    assert!(
        reason.contains("it deletes files outside of the repository. Ask a person to confirm"),
        "{reason}"
    );
    for harmless in
        [bash("cargo test"), AbilityBeforeInput { ability_id: "delete_draft".to_owned(), ..bash("") }]
    {
        assert!(!repository.fire::<points::AbilityBefore>(harmless).await.output.block);
    }
    let deletes = AbilityBeforeInput { ability_id: "delete_bucket".to_owned(), ..bash("") };
    assert!(repository.fire::<points::AbilityBefore>(deletes).await.output.block);
}

#[tokio::test]
async fn seed_003_section_7_4_a_stop_builds_what_was_changed() {
    let Some(repository) = recipes() else { return };
    let npm = repository.write(
        "bin/npm",
        "#!/bin/sh\necho \"$@\" >> built\n[ \"$3\" != build:api ] || { echo broken; exit 1; }\n",
    );
    fs::set_permissions(&npm, fs::Permissions::from_mode(0o755)).unwrap();
    let path = format!("{}:{}", npm.parent().unwrap().display(), std::env::var("PATH").unwrap());
    let repository = repository.env("PATH", &path);
    let stop = |files: &[&str]| SessionStopInput {
        changed_files: Some(files.iter().map(|file| (*file).to_owned()).collect()),
        ..SessionStopInput::default()
    };
    repository.fire::<points::SessionStop>(stop(&["docs/a.md"])).await;
    assert!(!repository.exists("built"), "nothing of a service was changed");
    let fired = repository
        .fire::<points::SessionStop>(stop(&["services/api/a.ts", "apps/web/b.ts", "README.md"]))
        .await;
    assert_eq!(repository.text("built"), "run --silent build:api\nrun --silent build:web\n");
    let results = fired.output.results;
    assert_eq!(results.messages_to_user, ["The build of api fails:\nbroken"]);
    assert_eq!(results.follow_up_actions.len(), 1);
    assert!(!fired.output.block, "it only tells");
}
