//! What holds for every renderer, whatever the texts are that it is given: they
//! stay in their line, and nothing in them acts on a terminal.
#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::path::{Path, PathBuf};

use proptest::prelude::*;
use samuel_core::{
    engine::{
        AskedReport, ChainReport, Checkup, EntryReport, Finding, HandlerReport, Health, OriginReport,
        SettingReport, SkippedReport, Subject,
    },
    history::{
        Activity, AgentShare, Eta, EventRef, FailureNote, Now, TaskFigures, UnreadRun, Why, WhyReason,
    },
    hook::{ChainMode, HookLayer, HookPoint, Kind, OnFailure, Tier},
    model::{
        AgentTotal, Claim, ClaimPhase, Doing, ErrorCode, ExitReason, LiveState, LiveWorker, Location, Plan,
        Progress, Question, Status, Task, TaskCounts, TaskId, Usage, WaitingCall, payload::Turn,
    },
    plan::{TaskFilter, TaskList, WorkRemedy},
    project::{
        Attempt, AttemptEnd, HistoryChange, NextStep, OpenQuestion, OtherPlan, ProjectStatus, RelatedTask,
        RelatedTasks, TaskHistory,
    },
    state::{Actor, Called, LeftRow, Repair, RestoredRow, RunEnd},
};

use super::{
    Places, chain_table, checkup_text, columns, repair_text, safe, safe_lines, status_text, task_table,
    task_text, why_text,
};
use crate::{failure::Failure, reply::described};

fn task(text: &str) -> Task {
    Task {
        status: Status::Pending,
        commit_sha: Some(text.to_owned()),
        skip_reason: Some(text.to_owned()),
        question: Some(Question { text: text.to_owned(), ..Question::default() }),
        owner: Some(text.to_owned()),
        depends_on: vec![TaskId::new(text)],
        ..Task::new(TaskId::new(text), text)
    }
}

fn list(text: &str) -> TaskList {
    TaskList::of(&Plan { tasks: vec![task(text)], ..Plan::default() }, &TaskFilter::default())
}

fn history(text: &str) -> TaskHistory {
    let related = |status| RelatedTasks {
        tasks: vec![RelatedTask { id: TaskId::new(text), title: text.to_owned(), status }],
        more: 1,
    };
    let attempt = Attempt {
        run: Some(text.to_owned()),
        iteration: Some(1),
        owner: Some(text.to_owned()),
        agents: vec![text.to_owned()],
        began_at: jiff::Timestamp::MIN,
        ended_at: Some(jiff::Timestamp::MAX),
        end: AttemptEnd::Failed,
        failures: vec![text.to_owned()],
        usage: None,
        logs: vec![PathBuf::from(text)],
    };
    let change = HistoryChange {
        change: 1,
        at: jiff::Timestamp::MAX,
        actor: Actor::User,
        by: Some(text.to_owned()),
        what: text.to_owned(),
        before: None,
        after: Some(Status::Pending),
        details: vec![text.to_owned()],
    };
    let words = || vec![text.to_owned()];
    let task = Task {
        files_to_create: words(),
        files_to_modify: words(),
        acceptance: words(),
        guardrails: words(),
        description: "described".to_owned(),
        ..task(text)
    };
    TaskHistory {
        revision: 1,
        task,
        ready: false,
        waits_for: vec![TaskId::new(text)],
        group: None,
        claim: Some(claim(text, ClaimPhase::Released)),
        gone: Some(text.to_owned()),
        parents: related(Some(Status::Pending)),
        parts: RelatedTasks::default(),
        depends_on: related(None),
        dependents: RelatedTasks::default(),
        commits: words(),
        attempts: vec![attempt],
        more_attempts: 1,
        changes: vec![change],
        more_changes: 1,
        whole: false,
        diagnostics: Vec::new(),
    }
}

fn claim(text: &str, phase: ClaimPhase) -> Claim {
    Claim {
        task: TaskId::new(text).into(),
        token: 7,
        worker: Some(text.to_owned()),
        phase,
        attempt: 2,
        branch: Some(text.to_owned()),
        commit: None,
        since: jiff::Timestamp::MAX,
        base: None,
        tree: None,
        landed: None,
        why: Some(text.to_owned()),
        files: vec![text.to_owned()],
    }
}

fn status(text: &str) -> ProjectStatus {
    ProjectStatus {
        project: text.to_owned(),
        root: PathBuf::from(text),
        methodology: text.to_owned(),
        source_prd: Some(text.to_owned()),
        revision: 1,
        tasks: TaskCounts::default(),
        next: NextStep::Task { task: Box::new(task(text)) },
        more_questions: 1,
        questions: vec![OpenQuestion {
            task: TaskId::new(text),
            title: text.to_owned(),
            question: text.to_owned(),
            options: vec![text.to_owned()],
        }],
        only: vec![TaskId::new(text)],
        claims: vec![claim(text, ClaimPhase::Working), claim(text, ClaimPhase::Landing)],
        remedies: vec![WorkRemedy::LetLand { task: TaskId::new(text) }],
        unmerged: vec![text.to_owned()],
        progress: Progress::default(),
        agents: vec![AgentTotal { agent: text.to_owned(), usage: Usage::default() }],
        calls: vec![Called {
            run_id: text.to_owned(),
            worker: Some(1),
            iteration: 1,
            turn: Turn::Main,
            agent: text.to_owned(),
            model: Some(text.to_owned()),
            why: text.to_owned(),
        }],
        running: false,
        holder: None,
        live: Some(LiveState {
            doing: Doing::Working,
            workers: vec![LiveWorker {
                doing: Doing::Working,
                task: Some(text.to_owned()),
                title: Some(text.to_owned()),
                ..LiveWorker::default()
            }],
            approvals: vec![WaitingCall {
                call: 1,
                ability_id: text.to_owned(),
                input: text.to_owned(),
                reason: text.to_owned(),
            }],
            ..LiveState::default()
        }),
        waits_until: Some(jiff::Timestamp::MAX),
        last_end: Some(RunEnd { reason: ExitReason::Blocked, detail: Some(text.to_owned()) }),
        diagnostics: Vec::new(),
        unparsed: 0,
        other_plans: vec![OtherPlan {
            methodology: text.to_owned(),
            path: PathBuf::from(text),
            tasks: None,
            problem: Some(text.to_owned()),
        }],
    }
}

fn chain(text: &str) -> ChainReport {
    let origin = || OriginReport { file: PathBuf::from(text), line: 1, column: 1 };
    ChainReport {
        point: HookPoint::BeforeLoop,
        kind: Kind::Gate,
        enabled: true,
        mode: ChainMode::Both,
        strict: false,
        on_failure: OnFailure::Warn,
        advisory: false,
        run: vec![HandlerReport {
            order: 1,
            id: text.to_owned(),
            tier: Tier::Wasm,
            layer: HookLayer::Plugin,
            source: text.to_owned(),
            strict: false,
            timeout_ms: None,
            on_failure: OnFailure::Warn,
            asks: AskedReport { timeout_ms: Some(1), strict: Some(true) },
            entry: Some(EntryReport {
                file: PathBuf::from(text),
                line: 1,
                column: 1,
                command: text.to_owned(),
                blocking: false,
                details: vec![(text.to_owned(), text.to_owned())],
                scripts: vec![(text.to_owned(), text.to_owned())],
            }),
            origin: Some(origin()),
        }],
        skipped: vec![SkippedReport {
            id: text.to_owned(),
            tier: None,
            source: text.to_owned(),
            why: text.to_owned(),
            by: None,
            origin: Some(origin()),
        }],
        settings: vec![SettingReport { key: text.to_owned(), value: text.to_owned(), origin: origin() }],
        warnings: Vec::new(),
    }
}

fn checkup(text: &str) -> Checkup {
    let location = Some(Location { file: PathBuf::from(text), line: Some(1), column: None });
    let finding = Finding {
        subject: Subject::Configuration,
        health: Health::Failed,
        message: text.to_owned(),
        details: vec![text.to_owned()],
        help: Some(text.to_owned().into()),
        location,
    };
    Checkup { findings: vec![finding] }
}

fn repair(text: &str) -> Repair {
    let row = RestoredRow { text: text.to_owned(), id: TaskId::new(text), changes: vec![text.to_owned()] };
    let left = LeftRow { text: text.to_owned(), reason: text.to_owned() };
    let backup = Some(PathBuf::from(text));
    Repair { diagnostics: Vec::new(), restored: vec![row], left: vec![left], backup }
}

fn event(text: &str) -> EventRef {
    EventRef { run: text.to_owned(), seq: 1, at: jiff::Timestamp::UNIX_EPOCH, event: text.to_owned() }
}

fn activity(text: &str) -> Activity {
    let task = TaskId::new(text);
    let now = Now {
        run: text.to_owned(),
        lane: None,
        iteration: Some(1),
        mode: None,
        task: Some(task.clone()),
        title: text.to_owned(),
        began_at: None,
        agent: Some(text.to_owned()),
        doing: text.to_owned(),
        event: event(text),
    };
    let failure = FailureNote {
        iteration: 1,
        task: Some(task.clone()),
        class: text.to_owned(),
        message: text.to_owned(),
        event: event(text),
    };
    let usage = Usage { input_tokens: 1, ..Usage::default() };
    let figures = TaskFigures { task, iterations: 2, failed: 1, taken_back: 1, took_ms: 1, usage };
    Activity {
        lanes: vec![Now { lane: Some(2), ..now.clone() }],
        now: Some(now),
        last_failures: vec![failure],
        agents: vec![AgentShare { agent: text.to_owned(), calls: 1, usage }],
        tasks: vec![figures],
        eta: Eta { tasks: 1, unknown: Some(text.to_owned()), ..Eta::default() },
        runs: 1,
        more_runs: 0,
        unread_runs: 1,
    }
}

fn why(text: &str) -> Why {
    let reason =
        WhyReason { text: text.to_owned(), details: vec![text.to_owned()], events: vec![event(text)] };
    let unread = vec![UnreadRun { run: text.to_owned(), problem: text.to_owned() }];
    let remedies = vec![WorkRemedy::LetLand { task: TaskId::new(text) }];
    Why { about: text.to_owned(), answer: text.to_owned(), reasons: vec![reason], unread, remedies }
}

/// Every page with a text in every place that can hold one.
fn pages(text: &str) -> Vec<(&'static str, String)> {
    let step = NextStep::Blocked { reasons: vec![text.to_owned(), text.to_owned()] };
    let failure = Failure::new(ErrorCode::STATE_IO, text).at(Path::new(text));
    let places = Places::default();
    vec![
        ("tasks", task_table(&list(text))),
        ("task", task_text(&history(text), &places)),
        ("status", status_text(&status(text), &activity(text), &places, "")),
        (
            "blocked",
            status_text(&ProjectStatus { next: step, ..status(text) }, &Activity::default(), &places, ""),
        ),
        ("why", why_text(&why(text))),
        ("checkup", checkup_text(&checkup(text))),
        ("repair", repair_text(&repair(text))),
        ("chains", chain_table(&[chain(text)])),
        ("columns", columns(&[[text.to_owned(), text.to_owned()]])),
        ("failure", described(&failure.detail([text.to_owned()]))),
    ]
}

/// Joiners stay where emoji and some scripts need them, and act on nothing.
fn acts(c: char) -> bool {
    !matches!(c, '\n' | '\u{200c}' | '\u{200d}') && safe(&c.to_string()) != c.to_string()
}

proptest! {
    #[test]
    fn no_renderer_lets_a_text_act_or_begin_a_line(
        text in prop_oneof![any::<String>(), "[\\x00-\\x9f\\u200b-\\u206f\\ufeff\\u{e0020}a-z]{0,30}"]
    ) {
        let plain = pages("x");
        for ((name, page), (_, plain)) in pages(&format!("x{text}x")).into_iter().zip(plain) {
            // A failure moves in what goes on in another line.
            let own = |page: &str| page.lines().filter(|line| !line.starts_with("    ")).count();
            match name {
                "failure" => prop_assert_eq!(own(&page), own(&plain), "{}", page),
                _ => prop_assert_eq!(page.lines().count(), plain.lines().count(), "{}", page),
            }
            prop_assert!(!safe_lines(&page).chars().any(|c| acts(c) && c != '\t'), "{}: {:?}", name, page);
        }
    }
}
