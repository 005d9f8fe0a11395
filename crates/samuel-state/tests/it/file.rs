//! What `prd.toon` looks like, and what survives in it.

use std::{fs, path::Path, sync::Arc, time::Duration};

use async_trait::async_trait;
use jiff::Timestamp;
use samuel_model::{Coded, ErrorCode, Plan, Status, Task, TaskId, Usage, clock::Clock, payload::Mode};
use samuel_state::{
    Actor, DiagnosticKind, Existing, FileStore, LoadedPlan, Mutation, NewTask, PlanStore, RunDir,
    StateDiagnostic, StateError, TaskChange, TaskCredit,
};

/// A clock that stands still.
#[derive(Debug)]
struct Noon;

#[async_trait]
impl Clock for Noon {
    fn now(&self) -> Timestamp {
        "2026-11-21T12:00:00Z".parse().unwrap()
    }

    fn elapsed(&self) -> Duration {
        Duration::ZERO
    }

    async fn sleep(&self, _: Duration) {}
}

struct Project {
    _root: tempfile::TempDir,
    store: FileStore,
}

impl Project {
    fn new() -> Self {
        let root = tempfile::tempdir().unwrap();
        let store = FileStore::new(RunDir::new(root.path()), Arc::new(Noon));
        Self { _root: root, store }
    }

    /// A project whose plan somebody wrote by hand.
    fn with(prd: impl AsRef<[u8]>) -> Self {
        let project = Self::new();
        project.store.dir().create().unwrap();
        fs::write(project.store.dir().prd(), prd).unwrap();
        project
    }

    fn text(&self) -> String {
        fs::read_to_string(self.store.dir().prd()).unwrap()
    }

    fn load(&self) -> LoadedPlan {
        self.store.load().unwrap()
    }

    fn fail(&self) -> StateError {
        self.store.load().unwrap_err()
    }

    fn done(&self, id: &str) -> TaskChange {
        let done = Mutation::Done { id: TaskId::new(id), commit_sha: None, iteration: None };
        self.store.mutate(done, Actor::User).unwrap().change
    }
}

/// A short plan with the rows given.
fn prd(rows: &[&str]) -> String {
    let rows: Vec<String> = rows.iter().map(|row| format!("  {row}\n")).collect();
    format!(
        "# toon v3\nversion: \"2\"\nrevision: 1\ntasks[{}]{{id,title,status}}:\n{}",
        rows.len(),
        rows.concat()
    )
}

/// Where a diagnostic is and what it is about.
fn places(loaded: &LoadedPlan) -> Vec<(Option<usize>, Option<usize>, DiagnosticKind)> {
    loaded
        .diagnostics
        .iter()
        .map(|StateDiagnostic { line, column, kind, .. }| (*line, *column, *kind))
        .collect()
}

fn ids(loaded: &LoadedPlan) -> Vec<&str> {
    loaded.plan.tasks.iter().map(|task| task.id.as_str()).collect()
}

#[test]
fn the_file_is_flat_toon_under_the_header() {
    let project = Project::new();
    let tasks = vec![
        Task {
            description: "Two\nlines".into(),
            depends_on: vec![TaskId::new("1.10")],
            acceptance: vec!["says \"hi\"".into(), "a,b".into()],
            ..Task::new(TaskId::new("1.1"), "Say #hi, | or \"hi\" 🚀")
        },
        Task::new(TaskId::new("1.10"), "Plain"),
    ];
    project.store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    project.done("1.10");
    insta::assert_snapshot!(project.text(), @r#"
    # toon v3
    version: "2"
    revision: 2
    project:
      name: ""
      description: ""
      source_prd: null
      created_at: "2026-11-21T12:00:00Z"
      updated_at: "2026-11-21T12:00:00Z"
    tasks[2]{id,title,description,status,priority,complexity,parent_id,depends_on,files_to_create,files_to_modify,guardrails,acceptance,source,created_at,completed_at,commit_sha,iteration,skip_reason,owner}:
      "1.1","Say #hi, | or \"hi\" 🚀","Two\nlines",pending,medium,medium,null,"[\"1.10\"]","[]","[]","[]","[\"says \\\"hi\\\"\",\"a,b\"]",manual,"2026-11-21T12:00:00Z",null,null,null,null,null
      "1.10",Plain,"",completed,medium,medium,null,"[]","[]","[]","[]","[]",manual,"2026-11-21T12:00:00Z","2026-11-21T12:00:00Z",null,null,null,null
    progress:
      status: not_started
      total_tasks: 2
      completed_tasks: 1
      current_iteration: 0
      total_iterations_run: 0
      impl_iterations: 0
      discovery_iterations: 0
      last_discovery_at: null
      last_iteration_at: null
      cost_usd: 0
      tokens: 0
    "#);
}

#[test]
fn a_missing_header_is_a_warning_and_every_write_has_one() {
    let project = Project::with(prd(&["1,a,pending"]).replace("# toon v3\n", ""));
    assert_eq!(places(&project.load()), [(Some(1), Some(1), DiagnosticKind::MissingHeader)]);
    project.done("1");
    assert!(project.text().starts_with("# toon v3\n"));
    assert!(project.load().diagnostics.is_empty());
}

#[test]
fn minor_versions_are_read_and_another_major_version_is_refused() {
    let with = |header| Project::with(prd(&["1,a,pending"]).replace("# toon v3", header));
    assert!(with("# toon v3.1").load().diagnostics.is_empty());
    let error = with("# toon v9").fail();
    assert_eq!(error.code(), ErrorCode::STATE_VERSION);
    assert!(
        error
            .to_string()
            .ends_with("has the toon version \"v9\", which this version of Samuel does not read")
    );
    assert_eq!(error.location().unwrap().line, Some(1));
}

#[test]
fn a_plan_of_another_layout_is_refused() {
    let error = Project::with(prd(&[]).replace("\"2\"", "\"3\"")).fail();
    assert_eq!(error.code(), ErrorCode::STATE_VERSION);
}

#[test]
fn a_corrupt_file_is_reported_as_corrupt_and_never_as_missing() {
    for content in
        ["", "# toon v3\n", "# toon v3\nversion: \"2\"\n", "{\"tasks\": []}", "\0\0\0\0", "tasks: none\n"]
    {
        let project = Project::with(content);
        assert!(project.store.exists().unwrap());
        assert_eq!(project.fail().code(), ErrorCode::STATE_CORRUPT, "{content:?}");
        let done = Mutation::Reset { id: TaskId::new("1") };
        assert_eq!(project.store.mutate(done, Actor::User).unwrap_err().code(), ErrorCode::STATE_CORRUPT);
        assert_eq!(project.text(), content, "it stays as it is");
    }
}

#[test]
fn a_malformed_row_is_skipped_with_its_place_and_kept_by_the_next_save() {
    let rows = ["1,a,pending", "2,b,pending,extra", "3,c,wrong", "\"4,d,pending", "5,e,pending"];
    let project = Project::with(prd(&rows));
    let loaded = project.load();
    assert_eq!(ids(&loaded), ["1", "5"]);
    let lines: Vec<Option<usize>> = loaded.diagnostics.iter().map(|d| d.line).collect();
    assert_eq!(lines, [Some(6), Some(7), Some(8)]);
    assert!(loaded.diagnostics.iter().all(|d| d.kind == DiagnosticKind::Skipped && d.column.is_some()));
    let shown = loaded.diagnostics[1].to_string();
    assert!(shown.contains("prd.toon:7:") && shown.contains("wrong"), "{shown}");

    project.done("1");
    let lost = ["  2,b,pending,extra", "  3,c,wrong", "  \"4,d,pending"];
    assert_eq!(project.load().unparsed, lost);
    assert!(project.load().diagnostics.is_empty(), "they are text now");
    project.done("5");
    assert_eq!(project.load().unparsed, lost);
    assert!(project.text().contains("unparsed[3]: \"  2,b,pending,extra\",\"  3,c,wrong\","));
}

#[test]
fn a_new_task_does_not_take_the_id_of_a_row_that_was_lost() {
    let project = Project::with(prd(&["1,a,pending", "7,b"]));
    let enqueue = Mutation::Enqueue { task: NewTask::new("x") };
    let change = project.store.mutate(enqueue, Actor::User).unwrap().change;
    assert_eq!(change, TaskChange::Added { id: TaskId::new("8") });
}

#[test]
fn a_second_row_with_an_id_is_kept_as_text() {
    let project = Project::with(prd(&["1,a,pending", "1,b,pending", "2,c,pending"]));
    let loaded = project.load();
    assert_eq!((ids(&loaded), loaded.plan.tasks[0].title.as_str()), (vec!["1", "2"], "a"));
    assert!(loaded.diagnostics[0].reason.ends_with("another task has the id 1"), "{:?}", loaded.diagnostics);
    project.done("1");
    assert_eq!(project.load().unparsed, ["  1,b,pending"]);
}

#[test]
fn a_row_that_is_no_text_is_kept_with_its_bytes_spelled_out() {
    let mut content = prd(&["1,a,pending", "2,b?,pending"]).into_bytes();
    *content.iter_mut().find(|byte| **byte == b'?').unwrap() = 0xff;
    let project = Project::with(content);
    assert_eq!(ids(&project.load()), ["1"]);
    project.done("1");
    assert_eq!(project.load().unparsed, ["  2,b\\xff,pending"]);
}

#[test]
fn a_count_that_disagrees_is_a_warning() {
    let project = Project::with(prd(&["1,a,pending", "2,b,pending"]).replace("tasks[2]", "tasks[7]"));
    let loaded = project.load();
    assert_eq!(ids(&loaded), ["1", "2"]);
    assert_eq!(places(&loaded)[0].2, DiagnosticKind::CountMismatch);
    assert_eq!(places(&loaded)[0].0, Some(4));
    project.done("1");
    assert!(project.text().contains("tasks[2]{") && project.load().diagnostics.is_empty());
}

#[test]
fn a_byte_order_mark_and_windows_line_ends_are_tolerated() {
    let content = prd(&["1,a,pending", "2,\"b, c\",completed"]).replace('\n', "\r\n");
    let project = Project::with(format!("\u{feff}{content}"));
    let loaded = project.load();
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert_eq!(ids(&loaded), ["1", "2"]);
    assert_eq!(loaded.plan.tasks[1].status, Status::Completed);
    assert_eq!(loaded.plan.tasks[1].title, "b, c");
    project.done("1");
    assert!(!project.text().contains(['\r', '\u{feff}']));
}

#[test]
fn an_id_without_quotes_stays_text() {
    let project = Project::with(prd(&["1.10,a,pending", "1.1,1e5,pending", "007,true,pending"]));
    let loaded = project.load();
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    assert_eq!(ids(&loaded), ["1.10", "1.1", "007"]);
    assert_eq!(loaded.plan.tasks[1].title, "1e5");
    project.done("1.10");
    let loaded = project.load();
    assert_eq!(ids(&loaded), ["1.10", "1.1", "007"]);
    assert_eq!(loaded.plan.tasks[0].status, Status::Completed);
    assert_eq!(loaded.plan.tasks[1].status, Status::Pending);
    assert_eq!(loaded.plan.tasks[2].title, "true");
}

#[test]
fn unknown_columns_and_keys_survive_a_rewrite() {
    let content = "# toon v3.2\nversion: \"2\"\nrevision: 4\nteam: core\nproject:\n  name: p\n  budget: 1.10\n\
        tasks[2]{id,reviewer,title,status,points,ok}:\n  1,ann,a,pending,3.50,true\n  2,\"b, c\",b,pending,null,false\n\
        progress:\n  mood: good\nlabels[2]{name,color}:\n  x,red\n  y,\"#fff\"\n";
    let project = Project::with(content);
    assert!(project.load().diagnostics.is_empty(), "{:?}", project.load().diagnostics);
    project.done("1");
    let enqueue = Mutation::Enqueue { task: NewTask::new("new") };
    project.store.mutate(enqueue, Actor::User).unwrap();
    let text = project.text();
    for kept in [
        "team: core\n",
        "  budget: 1.10\n",
        "  mood: good\n",
        "labels[2]{name,color}:\n  x,red\n  y,\"#fff\"\n",
    ] {
        assert!(text.contains(kept), "{kept} in {text}");
    }
    assert!(text.contains(",skip_reason,owner,reviewer,points,ok}:\n"), "{text}");
    let rows: Vec<&str> = text.lines().filter(|line| line.starts_with("  \"")).collect();
    let ends = [",ann,3.50,true", ",\"b, c\",null,false", ",null,null,null"];
    assert_eq!(rows.len(), 3, "{text}");
    assert!(rows.iter().zip(ends).all(|(row, end)| row.ends_with(end)), "{text}");
    assert_eq!(project.load().revision, 6);
}

#[test]
fn a_field_that_cannot_be_read_is_left_out_and_kept() {
    let content = prd(&["1,a,pending"]) + "progress:\n  cost_usd: much\n  tokens: 7\n";
    let project = Project::with(content);
    let loaded = project.load();
    assert_eq!((loaded.plan.progress.cost_usd, loaded.plan.progress.tokens), (0.0, 7));
    assert_eq!(loaded.diagnostics.len(), 1, "{:?}", loaded.diagnostics);
    project.done("1");
    assert_eq!(project.load().unparsed, ["  cost_usd: much"]);
}

#[test]
fn lists_written_in_another_way_are_understood() {
    let content = "# toon v3\nversion: \"2\"\nrevision: 1\ntasks[1]:\n  - id: 1.10\n    title: a\n    \
        depends_on[2]: 1.1,\"2\"\n    guardrails[1]: keep\n";
    let project = Project::with(content);
    let loaded = project.load();
    assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
    let task = &loaded.plan.tasks[0];
    assert_eq!(task.depends_on, ["1.1", "2"].map(TaskId::new));
    assert_eq!(task.guardrails, ["keep"]);
}

#[test]
fn a_file_that_is_too_large_is_not_read() {
    let project = Project::with("");
    fs::File::options().write(true).open(project.store.dir().prd()).unwrap().set_len(1 << 40).unwrap();
    assert_eq!(project.fail().location().unwrap().file, project.store.dir().prd());
}

#[test]
fn loading_and_refused_changes_leave_every_byte_alone() {
    let project = Project::with(prd(&["1,a,pending", "2,b"]).replace("# toon v3\n", ""));
    let before = project.text();
    project.load();
    let unknown = Mutation::Done { id: TaskId::new("999"), commit_sha: None, iteration: None };
    let error = project.store.mutate(unknown, Actor::Agent).unwrap_err();
    assert_eq!(
        (error.code(), error.to_string()),
        (ErrorCode::TASK_NOT_FOUND, "there is no task 999".to_owned())
    );
    assert_eq!(project.text(), before);
    let here: Vec<_> =
        fs::read_dir(project.store.dir().path()).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert!(!here.iter().any(|name| Path::new(name).extension().is_some_and(|end| end == "tmp")));
}

#[test]
fn a_text_that_did_not_change_is_not_decoded_again_and_one_that_did_is() {
    let project = Project::new();
    let tasks = ["1", "2"].map(|id| Task::new(TaskId::new(id), "before")).to_vec();
    project.store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let first = project.load();
    assert!(Arc::ptr_eq(&first.plan, &project.load().plan));

    // As many bytes as before, and perhaps within one tick of the file system.
    fs::write(project.store.dir().prd(), project.text().replacen("before", "behind", 1)).unwrap();
    assert_eq!(project.load().plan.tasks[0].title, "behind");

    let done = Mutation::Done { id: TaskId::new("2"), commit_sha: None, iteration: None };
    let applied = project.store.mutate(done, Actor::User).unwrap();
    let after = project.load();
    assert_eq!(
        (&after.plan.tasks[0].title[..], Some(&after.plan.tasks[1])),
        ("behind", applied.task.as_ref())
    );
    let reset = Mutation::Reset { id: TaskId::new("2") };
    project.store.mutate(reset, Actor::User).unwrap();
    assert_eq!(after.plan.tasks[1].status, Status::Completed, "a plan that was handed out stays as it was");
    let decoded_anew = FileStore::new(project.store.dir().clone(), Arc::new(Noon)).load().unwrap();
    assert_eq!(decoded_anew.plan, project.load().plan);
}

#[test]
fn a_store_that_knows_the_plan_and_one_that_reads_the_row_alone_write_the_same() {
    let credit = |id: &TaskId, commit: Option<&str>| {
        let commit = commit.map(str::to_owned);
        TaskCredit { commit, ..TaskCredit::new(id.clone()) }
    };
    let commit = |credits| {
        let (mode, usage) = (Mode::Implementation, Usage::default());
        Mutation::CommitIteration { iteration: 1, mode, usage, credits }
    };
    let mutations = || {
        let (id, other) = (TaskId::new("3"), TaskId::new("2"));
        [
            Mutation::StartTask { id: id.clone(), owner: Some("run-1".into()) },
            Mutation::Done { id: id.clone(), commit_sha: Some("abcd".to_owned()), iteration: Some(1) },
            commit(vec![credit(&id, None)]),
            commit(vec![credit(&id, Some("ef01")), credit(&other, Some("ef02"))]),
            commit(vec![TaskCredit { unchanged: true, ..credit(&id, Some("ef01")) }]),
            Mutation::TakeBack { ids: vec![id.clone()], failures: vec!["tests".to_owned()] },
            Mutation::Block { id: id.clone(), reason: None },
            Mutation::Reset { id },
        ]
    };
    let [known, unknown] = [(); 2].map(|()| {
        let project = Project::new();
        let tasks = ["1", "2", "3", "4"].map(|id| Task::new(TaskId::new(id), "a, \"b\"")).to_vec();
        project.store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        project.done("2");
        project
    });
    for (to_known, to_unknown) in mutations().into_iter().zip(mutations()) {
        known.load();
        let a_process = FileStore::new(unknown.store.dir().clone(), Arc::new(Noon));
        let told = known.store.mutate(to_known, Actor::User).unwrap();
        let told_alone = a_process.mutate(to_unknown, Actor::User).unwrap();
        assert_eq!(told, told_alone);
        assert_eq!(known.text(), unknown.text(), "{:?}", told.change);
    }
    let journals = [&known, &unknown].map(|project| project.store.journal_since(0).unwrap().records);
    assert_eq!(journals[0], journals[1]);
}

#[test]
fn a_change_of_one_task_leaves_a_row_that_cannot_be_read_where_it_stands() {
    let project = Project::new();
    let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), "t")).to_vec();
    project.store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
    let damaged =
        project.text().replace("\n  \"2\",t,\"\",pending,medium", "\n  \"2\",t,\"\",completed,urgent");
    fs::write(project.store.dir().prd(), &damaged).unwrap();

    let a_process = FileStore::new(project.store.dir().clone(), Arc::new(Noon));
    let done = Mutation::Done { id: TaskId::new("3"), commit_sha: None, iteration: None };
    assert_eq!(a_process.mutate(done, Actor::Agent).unwrap().diagnostics, []);
    assert!(project.text().contains("\n  \"2\",t,\"\",completed,urgent,"), "{}", project.text());
    let loaded = project.load();
    let progress = &loaded.plan.progress;
    assert_eq!((loaded.plan.tasks.len(), progress.total_tasks, progress.completed_tasks), (2, 3, 2));
    assert!(matches!(loaded.diagnostics[..], [StateDiagnostic { kind: DiagnosticKind::Skipped, .. }]));

    // A new task needs the others; now the row moves, and is told.
    let new = Mutation::Enqueue { task: NewTask::new("x") };
    let applied = a_process.mutate(new, Actor::Agent).unwrap();
    assert_eq!(
        (applied.diagnostics, applied.change),
        (loaded.diagnostics, TaskChange::Added { id: TaskId::new("4") })
    );
    assert_eq!(project.load().unparsed.len(), 1);
}
