use std::fs;

use super::*;
use crate::{
    git::testing::Repository,
    hook::Answer,
    project::Project,
    state::{HookLog, HookLogFilter},
    trust::TrustPolicy,
};

#[tokio::test(flavor = "multi_thread")]
async fn a_stop_is_put_off_eight_times_in_a_row_and_the_ninth_block_is_not_heard() {
    let guard = FakeHandler::<points::SessionStop>::refuses("no changelog");
    let session = of(&bench()).hook::<points::SessionStop, _>("guard", guard.clone()).open().await.unwrap();
    let events = session.events();
    for count in 0..8 {
        let feedback = session.stop("completed", None).await.unwrap();
        assert_eq!((feedback.blocked.as_deref(), feedback.unheard), (Some("no changelog"), None));
        assert_eq!(guard.last_input().unwrap().stop_block_count, count);
    }
    let ninth = session.stop("completed", None).await.unwrap();
    assert_eq!((ninth.blocked, ninth.unheard.as_deref()), (None, Some("no changelog")));
    assert_eq!(guard.last_input().unwrap().stop_block_count, 8);
    // What a user says next counts anew.
    session.submit_prompt("user", "Then write it").await.unwrap();
    assert!(session.stop("completed", None).await.unwrap().blocked.is_some());
    assert_eq!(guard.last_input().unwrap().stop_block_count, 0);
    session.end("completed").await.unwrap();
    let warned = told(events).await.into_iter().filter(
        |record| matches!(&record.event, Event::Warning { message } if message.contains("8 times in a row")),
    );
    assert_eq!(warned.count(), 1);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_end_fires_once_and_nothing_fires_after_it() {
    let end = FakeHandler::<points::SessionEnd>::passes();
    let start = FakeHandler::<points::SessionStart>::passes();
    let session = of(&bench())
        .hook::<points::SessionEnd, _>("end", end.clone())
        .hook::<points::SessionStart, _>("start", start.clone())
        .open()
        .await
        .unwrap();
    session.end("completed").await.unwrap();
    assert_eq!(session.end("cancelled").await.unwrap(), Feedback::default());
    assert_eq!((end.count(), end.last_input().unwrap().exit_reason.as_str()), (1, "completed"));
    let ended = |error: SessionError| matches!(error, SessionError::Ended { .. });
    assert!(ended(session.start(SessionSource::Startup).await.unwrap_err()));
    assert!(ended(session.before(push()).await.unwrap_err()));
    assert!(ended(session.stop("completed", None).await.unwrap_err()));
    assert_eq!(start.count(), 0);
    assert_eq!(session.events().next().await, None);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_session_goes_on_in_another_process_where_it_stood() {
    let made = Repository::with(&[("a.rs", "a\n")]);
    let project = || Project::at(made.path()).unwrap();
    let guard = FakeHandler::<points::SessionStop>::refuses("no changelog");
    let after = FakeHandler::<points::AbilityAfter>::passes();
    let builder = || {
        Session::builder(project())
            .session("review")
            .hook::<points::SessionStop, _>("guard", guard.clone())
            .hook::<points::AbilityAfter, _>("after", after.clone())
    };
    let first = builder().open().await.unwrap();
    first.start(SessionSource::Startup).await.unwrap();
    let task = first.before(AbilityRequest::new("Task", json!({}))).await.unwrap();
    let call = first.before(push().within(&task.call_id).operation_key("git.push")).await.unwrap();
    made.write("a.rs", "b\n");
    made.commit("A commit");
    first.stop("completed", None).await.unwrap();
    let kept = serde_json::to_string(&first.state()).unwrap();
    drop(first);

    let second = builder().session("another").resume(serde_json::from_str(&kept).unwrap()).await.unwrap();
    assert_eq!((second.name(), second.id().len()), ("review", second.state().id.len()));
    second.after(AbilityReport { call_id: call.call_id, ..Default::default() }).await.unwrap();
    let given = after.last_input().unwrap();
    assert_eq!(
        (given.operation_key.as_deref(), given.tool_call_path),
        (Some("git.push"), vec!["call-1".to_owned()])
    );
    assert!(given.duration_ms.is_some());
    made.write("new.rs", "");
    second.stop("completed", None).await.unwrap();
    let given = guard.last_input().unwrap();
    assert_eq!(given.changed_files.unwrap(), ["a.rs", "new.rs"], "since the start of the session");
    assert_eq!(given.stop_block_count, 1);
    second.end("completed").await.unwrap();
    let ended = builder().resume(second.state()).await.unwrap_err();
    assert_eq!(ended.to_string(), "the session review has ended");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_was_kept_is_not_believed_where_it_cannot_be() {
    let bench = bench();
    let state = of(&bench).open().await.unwrap().state();
    let bad = [
        SessionState { version: 2, ..state.clone() },
        SessionState { head: Some("a".repeat(2_000)), ..state.clone() },
        SessionState { stop_block_count: 9, ..state.clone() },
        SessionState { session: "x".repeat(2_000), ..state.clone() },
    ];
    for bad in bad {
        let refused = of(&bench).resume(bad).await.unwrap_err();
        assert!(matches!(refused, SessionError::State { .. }), "{refused}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_of_a_repository_runs_before_it_is_trusted() {
    let hooks = "version: 1\nhooks:\n  session_start:\n    - command: echo started > started\n";
    let bench = Bench::builder().file(".samuel/hooks.yml", hooks).build().unwrap();
    let builder = || {
        Session::builder(bench.project().clone()).hook_files().env([("PATH".into(), "/bin:/usr/bin".into())])
    };
    let refused = builder().open().await.unwrap_err();
    assert_eq!(refused.to_string(), "nobody has allowed what this project would run");
    assert!(!bench.path().join("started").exists());
    // What would run is shown to whoever decides.
    let mut ready = builder().build().unwrap();
    let digest = ready.executables().unwrap().digest();
    let lines = ready.executables().unwrap().lines();
    assert!(lines.iter().any(|line| line.contains("echo started")), "{lines:?}");
    assert!(!lines.iter().any(|line| line.contains("agent")), "{lines:?}");
    let session = ready.trusting(TrustPolicy::Digest(digest)).open().await.unwrap();
    session.start(SessionSource::Startup).await.unwrap();
    assert_eq!(fs::read_to_string(bench.path().join("started")).unwrap(), "started\n");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_programs_own_handlers_need_nobodys_leave_unless_their_chain_is_configured() {
    let guard = FakeHandler::<points::SessionStop>::refuses("no");
    let open = |bench: &Bench| {
        let session = Session::builder(bench.project().clone());
        session.hook::<points::SessionStop, _>("guard", guard.clone()).open()
    };
    let session = open(&bench()).await.unwrap();
    assert!(session.stop("completed", None).await.unwrap().blocked.is_some());
    let off = "version = \"2\"\n[hooks.\"session.stop\"]\nenabled = false\n";
    let bench = Bench::builder().config(off).build().unwrap();
    assert!(open(&bench).await.is_err());
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_in_the_log_of_hooks_where_there_is_a_run_directory_and_nowhere_else() {
    let leaks = async |call: Call<points::SessionStart>| {
        call.warn("the token is abc123secret");
        Ok::<_, HookFailure>(SessionStartOutput::default())
    };
    let env = || [("API_TOKEN".to_owned(), "abc123secret".to_owned())];
    let bench = Bench::builder().task("1", "Greet").on_disk().build().unwrap();
    let progress = bench.progress().unwrap();
    let session = of(&bench).env(env()).hook::<points::SessionStart, _>("leaks", leaks).open().await.unwrap();
    let feedback = session.start(SessionSource::Startup).await.unwrap();
    assert_eq!(feedback.warnings.len(), 1);
    let log = HookLog::read(&bench.project().run_dir(), &HookLogFilter::default()).unwrap();
    assert_eq!(
        (log.lines.len(), log.lines[0].id.as_str(), log.lines[0].run.as_str()),
        (1, "api:leaks", session.id())
    );
    assert_eq!(log.lines[0].warnings, ["warning: the token is ***"]);
    assert_eq!(bench.progress().unwrap(), progress);

    let empty = tempfile::tempdir().unwrap();
    let project = Project::at(empty.path()).unwrap();
    let session =
        Session::builder(project).hook::<points::SessionStart, _>("leaks", leaks).open().await.unwrap();
    session.start(SessionSource::Startup).await.unwrap();
    assert_eq!(fs::read_dir(empty.path()).unwrap().count(), 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_block_of_a_prompt_is_told_and_handlers_see_the_plan_as_it_is() {
    let bench = bench();
    let seen: Arc<Mutex<Vec<usize>>> = Arc::default();
    let noted = Arc::clone(&seen);
    let guard = move |call: Call<points::PromptSubmit>| {
        noted.lock().unwrap().push(call.plan().tasks.len());
        async { Ok::<_, HookFailure>(PromptSubmitOutput::refuse("not on a Friday")) }
    };
    let session = of(&bench).hook::<points::PromptSubmit, _>("guard", guard).open().await.unwrap();
    let feedback = session.submit_prompt("user", "Deploy").await.unwrap();
    assert_eq!(feedback.blocked.as_deref(), Some("not on a Friday"));
    let task = crate::state::NewTask { title: "Wave".to_owned(), ..Default::default() };
    let mutation = crate::state::Mutation::Enqueue { task };
    bench.store().mutate(mutation, crate::state::Actor::User).unwrap();
    session.submit_prompt("user", "Deploy").await.unwrap();
    assert_eq!(*seen.lock().unwrap(), [1, 2]);
}
