//! Handlers that are built in.

use std::os::unix::fs::{PermissionsExt as _, symlink};

use samuel_core::{hook::points, model::payload::*};
use serde_json::{Value, json};

use crate::repository_hooks::kit::Repository;

const USAGE: &str = "id: usage\nevent_type: PostAbilityCall\nhandler: {kind: builtin, name: usage_log}\n";
const SLOW: &str = "id: slow\nevent_type: PostAbilityCall\nmatch: {min_duration_ms: 50}\nhandler: {kind: builtin, name: slow_calls}\n";

fn call(ability: &str, status: AbilityStatus, duration_ms: u64) -> AbilityAfterInput {
    AbilityAfterInput {
        ability_id: ability.to_owned(),
        status,
        duration_ms: Some(duration_ms),
        input_summary: Some("a secret".to_owned()),
        ..AbilityAfterInput::default()
    }
}

#[tokio::test]
async fn calls_are_logged_and_counted_by_ability_and_status() {
    let repository = Repository::with(&[("usage", USAGE)]);
    for (ability, status) in
        [("Bash", AbilityStatus::Success), ("Bash", AbilityStatus::Error), ("Read", AbilityStatus::Cancelled)]
    {
        let fired = repository.fire::<points::AbilityAfter>(call(ability, status, 7)).await;
        assert!(fired.output.results.usage_recorded, "{:?}", fired.outcome);
    }
    let log = repository.text(".system/logs/tool_call.log");
    let lines: Vec<Value> = log.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.len(), 3);
    assert_eq!(
        (&lines[1]["ability_id"], &lines[1]["status"], &lines[1]["session_id"]),
        (&json!("Bash"), &json!("error"), &json!("tests"))
    );
    assert!(!log.contains("secret"), "arguments are not logged");
    let usage: Value = serde_json::from_str(&repository.text(".system/cache/ability_usage.json")).unwrap();
    let bash = &usage["abilities"]["Bash"];
    assert_eq!(
        (&bash["calls"], &bash["success"], &bash["error"], &bash["total_duration_ms"]),
        (&json!(2), &json!(1), &json!(1), &json!(14))
    );
    assert_eq!(usage["abilities"]["Read"]["cancelled"], 1);
    let mode = repository.root().join(".system/logs/tool_call.log").metadata().unwrap().permissions().mode();
    assert_eq!(mode & 0o777, 0o600);
}

#[tokio::test]
async fn calls_that_took_long_are_logged_and_the_others_are_not() {
    let unbounded = SLOW
        .replace("id: slow", "id: unbounded")
        .replace("match: {min_duration_ms: 50}\n", "")
        .replace("slow_calls}", "slow_calls, log: .system/logs/deep/two.log}");
    let repository = Repository::with(&[("slow", SLOW), ("unbounded", &unbounded)]);
    for took in [49, 50, 1_999, 2_000] {
        repository.fire::<points::AbilityAfter>(call("Bash", AbilityStatus::Success, took)).await;
    }
    let took = |path: &str| -> Vec<u64> {
        let lines = repository.text(path);
        lines
            .lines()
            .map(|line| serde_json::from_str::<Value>(line).unwrap()["duration_ms"].as_u64().unwrap())
            .collect()
    };
    assert_eq!(took(".system/logs/slow_abilities.log"), [50, 1_999, 2_000]);
    assert_eq!(took(".system/logs/deep/two.log"), [2_000]);
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_that_are_counted_at_once_are_all_counted() {
    let repository = Repository::with(&[("usage", USAGE)]);
    let calls =
        (0..24).map(|_| repository.fire::<points::AbilityAfter>(call("Bash", AbilityStatus::Success, 1)));
    for fired in futures_join(calls).await {
        assert!(fired.outcome.warnings.is_empty(), "{:?}", fired.outcome.warnings);
    }
    let usage: Value = serde_json::from_str(&repository.text(".system/cache/ability_usage.json")).unwrap();
    assert_eq!(usage["abilities"]["Bash"]["calls"], 24);
    assert_eq!(repository.text(".system/logs/tool_call.log").lines().count(), 24);
}

/// Waits for all of some futures, which go on side by side.
async fn futures_join<F: Future>(futures: impl Iterator<Item = F>) -> Vec<F::Output> {
    let mut left: Vec<_> = futures.map(|one| (Box::pin(one), None)).collect();
    std::future::poll_fn(|context| {
        for (future, done) in left.iter_mut().filter(|(_, done)| done.is_none()) {
            if let std::task::Poll::Ready(output) = future.as_mut().poll(context) {
                *done = Some(output);
            }
        }
        match left.iter().all(|(_, done)| done.is_some()) {
            true => std::task::Poll::Ready(()),
            false => std::task::Poll::Pending,
        }
    })
    .await;
    left.into_iter().filter_map(|(_, done)| done).collect()
}

#[tokio::test]
async fn nothing_is_written_through_a_link_that_leads_out() {
    let outside = tempfile::tempdir().unwrap();
    let repository = Repository::with(&[("usage", USAGE)]);
    symlink(outside.path(), repository.root().join(".system/logs")).unwrap();
    let fired = repository.fire::<points::AbilityAfter>(call("Bash", AbilityStatus::Success, 1)).await;
    assert_eq!(fired.outcome.broken.len(), 1, "{:?}", fired.outcome);
    assert_eq!(outside.path().read_dir().unwrap().count(), 0);
}
