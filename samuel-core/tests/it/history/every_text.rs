//! Records in which every text of every event is hostile, and a page with all that pages have.

use samuel_core::{
    event::Event,
    history::{ChangedFile, ReportedChange, RunPage, WhyQuestion, event_name},
    testing::Bench,
};
use serde_json::{Value, json};

use crate::history::{
    kit::{RUN, history, on_disk, tell},
    pages::HOSTILE,
};

/// An event of each kind, with all its fields.
fn events() -> Vec<Value> {
    let usage = json!({ "input_tokens": 1_000, "output_tokens": 200, "cost_usd": 0.25 });
    let failure = json!({ "class": "quality-check", "message": "lint: exit code 1" });
    let broke = json!({ "class": "timeout", "message": "no answer", "details": ["it was busy"] });
    let outcome = json!({
        "refused": "not today", "advice": "one more test",
        "said": [{ "handler": "lint:x", "point": "quality.check", "item": { "content": "mind the gap" } }],
        "broken": [{ "handler": "lint:x", "point": "quality.check", "failure": broke, "abandoned": false }],
        "abort": { "handler": "lint:x", "point": "quality.check", "action": "abort_loop", "failure": broke },
        "warnings": [{ "handler": "lint:x", "class": "slow", "message": "it took long" }],
        "timings": [{ "handler": "lint:x", "took": { "secs": 2, "nanos": 0 }, "status": "ok" }],
        "logged": [{ "handler": "lint:x", "level": "info", "message": "a line" }],
    });
    let agent = |report: Value| json!({ "event": "agent", "iteration": 1, "report": report });
    let report = json!({
        "exit_reason": "cancelled", "detail": "somebody wanted it", "iterations": 1, "failed_iterations": 1,
        "interrupted_iterations": 0,
        "completed": ["2"], "unrecorded": ["3"], "skipped": ["4"], "left": ["1"], "undelivered": 1, "settled": false,
        "usage": usage, "agents": [{ "agent": "claude", "usage": usage }], "swept": true, "limit": "max_iterations",
        "fault": { "code": "E_RUN_FAILED", "message": "it broke", "help": "look there",
            "location": { "file": "samuel.toml", "line": 3, "column": null } },
        "submitted": ["5"], "unmerged": "samuel/work", "into": "main",
    });
    let mut finished = report.clone();
    finished["event"] = "run_finished".into();
    let task = json!({ "id": "1", "title": "First", "description": "What it is", "priority": "high" });
    let of_task = |event: &str, more: Value| {
        let mut told = json!({ "event": event, "task": "1", "title": "First" });
        told.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
        told
    };
    let check = json!({
        "command": "sh lint.sh", "message": "exit code 1", "exit_code": 1, "tail": "parser.rs:3 is wrong\n", "log": "check.log",
    });
    vec![
        json!({ "event": "run_started", "resumed": true, "agent": "claude", "model": "large", "routing": "by cost",
            "max_iterations": 5, "tasks": ["1"], "guards": [{ "setting": "max_iterations", "words": "at most 5" }],
            "commit": "1111111111", "goes_on_from": "20261120T100000Z-abcd" }),
        json!({ "event": "landing_started", "into": "main" }),
        of_task("task_claimed", json!({ "attempt": 1, "branch": "samuel/1", "base": "1111111111" })),
        json!({ "event": "iteration_started", "iteration": 1, "mode": "implementation", "task": task }),
        json!({ "event": "agent_started", "iteration": 1, "turn": "main", "agent": "claude", "model": "large", "why": "it is cheap" }),
        agent(json!({ "type": "ready", "session_id": "a", "model": "large" })),
        agent(json!({ "type": "text", "text": "I begin" })),
        agent(
            json!({ "type": "tool_call", "call_id": "c", "ability_id": "Bash", "input": "ls", "parent_id": "p" }),
        ),
        agent(json!({ "type": "permission_denied", "tool": "Bash", "message": "no" })),
        agent(json!({ "type": "rate_limited", "resets_at": null, "message": "5-hour limit" })),
        agent(json!({ "type": "unreadable", "line": "{{" })),
        json!({ "event": "agent_finished", "iteration": 1, "turn": "main", "exit_code": 1, "failure": failure,
            "usage": usage, "duration_ms": 61_000, "logs": ["call.log"] }),
        json!({ "event": "hook_fired", "point": "quality.check", "iteration": 1, "turn": "main", "outcome": outcome }),
        of_task("task_completed", json!({ "provisional": true })),
        json!({ "event": "quality_checked", "iteration": 1, "ok": false, "result": "failed", "failures": [check],
            "reason": "lint: 3 warnings", "commit": "2222222222", "merged": ["1"] }),
        json!({ "event": "tasks_taken_back", "tasks": ["1"], "reasons": ["sh lint.sh: exit code 1"] }),
        json!({ "event": "ability_blocked", "iteration": 1, "ability_id": "Bash", "reason": "no", "prevented": true }),
        json!({ "event": "request_refused", "iteration": 1, "task": "1", "verb": "answer", "code": "E_TASK_DENIED",
            "message": "only people answer", "count": 2 }),
        json!({ "event": "approval_asked", "iteration": 1, "call": 7, "ability_id": "Bash", "input": "rm x",
            "reason": "a command", "wait_ms": 1_000 }),
        json!({ "event": "approval_given", "call": 7, "approved": false, "reason": "not that one" }),
        json!({ "event": "iteration_finished", "iteration": 1, "outcome": "failed", "failure": failure,
            "completed": ["2"], "usage": usage, "consecutive_failures": 1, "commit": "3333333333" }),
        of_task("plan_changed", json!({ "change": "added", "reason": "it was missing", "actor": "agent" })),
        of_task("task_submitted", json!({ "branch": "samuel/1", "commit": "3333333333" })),
        of_task(
            "task_returned",
            json!({ "attempt": 1, "reason": "conflict in a.txt", "kept": "samuel/1-1" }),
        ),
        of_task("task_landed", json!({ "into": "main", "commit": "4444444444" })),
        json!({ "event": "landing_held", "into": "main", "reason": "a.txt is in the way" }),
        json!({ "event": "waiting", "wait_ms": 1_000, "reason": "a usage limit", "until": null }),
        json!({ "event": "commanded", "command": "stop", "by": "1000/pts-3", "text": "enough" }),
        json!({ "event": "paused" }),
        json!({ "event": "resumed" }),
        json!({ "event": "stopping", "reason": "cancelled", "detail": "somebody wanted it" }),
        json!({ "event": "warning", "message": "the disk is nearly full" }),
        json!({ "event": "swept", "swept": false, "ended": [{ "pid": 7, "name": "sleep" }], "left": [] }),
        json!({ "event": "lagged", "lost": 3 }),
        finished,
    ]
}

/// Returns the event of its JSON, where it is one.
fn event(told: &Value) -> Option<Event> {
    serde_json::from_value(told.clone()).ok()
}

/// Puts the text in the place of every other one that an event takes it for.
fn made_hostile(told: &Value) -> Event {
    fn places(value: &Value, place: &str, all: &mut Vec<String>) {
        match value {
            Value::String(_) => all.push(place.to_owned()),
            Value::Array(items) => {
                items.iter().enumerate().for_each(|(nth, item)| places(item, &format!("{place}/{nth}"), all));
            }
            Value::Object(fields) => {
                fields.iter().for_each(|(name, field)| places(field, &format!("{place}/{name}"), all));
            }
            _ => {}
        }
    }
    let (mut all, mut changed) = (Vec::new(), told.clone());
    places(told, "", &mut all);
    for place in all {
        let before = changed.pointer(&place).unwrap().clone();
        *changed.pointer_mut(&place).unwrap() = HOSTILE.into();
        if event(&changed).is_none() {
            *changed.pointer_mut(&place).unwrap() = before;
        }
    }
    event(&changed).unwrap()
}

/// Returns the page of a run that told these events, with what it learns from a repository.
fn page_of(bench: &Bench, events: Vec<Event>, file: &str) -> RunPage {
    tell(&*bench.lane(), RUN, events);
    let mut page = history(bench).report(RUN).unwrap();
    let change = ReportedChange::Added;
    page.project = "A project".to_owned();
    page.files =
        vec![ChangedFile { path: file.to_owned(), change, added: Some(3), removed: Some(1), binary: false }];
    page
}

/// Checks that a page has no elements but those that it lays itself out with, no attribute that runs or fetches something,
/// and that all are closed; returns its text.
fn text_of(html: &str) -> String {
    let (mut open, mut text) = (Vec::new(), String::new());
    let body = html.split_once("<body>").unwrap().1.split_once("</body>").unwrap().0;
    let mut rest = body;
    while let Some((before, after)) = rest.split_once('<') {
        text.push_str(before);
        let (tag, behind) = after.split_once('>').unwrap();
        let (name, attribute) = tag.split_once(' ').unwrap_or((tag, ""));
        // Whatever stands between the marks is text, which ends neither there nor the element.
        assert!(attribute.matches('"').count() % 2 == 0, "<{tag}>");
        let names = attribute.split('"').step_by(2).map(str::trim).filter(|name| !name.is_empty());
        for name in names {
            assert!(["class=", "role=", "aria-label=", "title=", "style="].contains(&name), "<{tag}>");
        }
        match name.strip_prefix('/') {
            Some(closed) => assert_eq!(open.pop(), Some(closed), "<{tag}> in {body}"),
            None if name == "br" => text.push('\n'),
            None => {
                let known = [
                    "h1", "h2", "p", "b", "i", "div", "span", "table", "tr", "th", "td", "ul", "li",
                    "details", "summary", "code", "pre",
                ];
                assert!(known.contains(&name), "<{tag}>");
                text.push_str(if matches!(name, "th" | "td") { " | " } else { "" });
                open.push(name);
            }
        }
        rest = behind;
    }
    assert!(open.is_empty() && !rest.contains('>'), "{open:?} {rest}");
    text + rest
}

#[test]
fn no_text_of_any_event_becomes_a_part_of_a_page_or_of_a_pull_request() {
    let all = events();
    let bad = all
        .iter()
        .filter_map(|told| serde_json::from_value::<Event>(told.clone()).err().map(|error| (error, told)));
    assert_eq!(bad.map(|bad| format!("{bad:?}")).collect::<Vec<_>>(), [] as [String; 0]);
    let hostile: Vec<Event> = all.iter().map(made_hostile).collect();
    let bench = on_disk(&[("1", "First")]);
    let page = page_of(&bench, hostile, HOSTILE);
    let (html, markdown) = (page.to_html(), page.to_markdown());
    let text = text_of(&html);
    assert!(text.matches("&lt;script&gt;alert(1)").count() >= 20, "{text}");
    for bad in ['\u{1b}', '\u{202e}'] {
        assert!(!html.contains(bad) && !markdown.contains(bad), "{bad:?}");
    }
    for bad in ["<script", "<img", "](javascript", "\n# h"] {
        assert!(!markdown.contains(bad), "{bad:?} in {markdown}");
    }
    // Each event alone, for what others may have kept from the page.
    for told in &all {
        let bench = on_disk(&[("1", "First")]);
        let (event, name) = (made_hostile(told), told["event"].as_str().unwrap());
        assert_eq!(event_name(&event), name);
        let page = page_of(&bench, vec![event], HOSTILE);
        text_of(&page.to_html());
        assert!(!page.to_markdown().contains("<script"), "{name}");
        let why = history(&bench).why(&WhyQuestion::Run(None)).unwrap();
        assert!(why.answer.lines().count() >= 1, "{name}");
    }
}

#[test]
fn a_page_has_all_its_parts() {
    let bench = on_disk(&[("1", "First"), ("2", "Second")]);
    let told: Vec<Event> = events().iter().map(|told| event(told).unwrap()).collect();
    let page = page_of(&bench, told, "parser.rs");
    let text = text_of(&page.to_html());
    let lines: Vec<&str> =
        text.lines().map(str::trim).filter(|line| !line.is_empty() && !line.starts_with("Made ")).collect();
    insta::assert_snapshot!(lines.join("\n"), @r"
    A project
    Run 20261121T100000Z-abcd, started 2096-10-02T07:06:42Z, with claude (large), goes on from 20261120T100000Z-abcd
    Ended as cancelled: somebody wanted it; asked by 1000/pts-3
    1iteration1of them failed1task completed35.0sfrom start to end1200tokens$0.25cost
    TimelineAs wide as they took; red where one failed, yellow where no end is recorded.
    Tasks | Task | Title | Outcome | Iterations | Tokens | Cost | Commits
    | 1 | First | taken back once, 1 attempt did not land: conflict in a.txt | 1 | 1200 | $0.25 | 4444444444
    | 2 | Second | completed | 0 |  |  |
    Iterations | # | Task | Outcome | Took | Tokens | Cost
    | 1 | 1 First | failed, quality-check: lint: exit code 1
    taken back: 1turnsMain: claude (large), exit code 1 after 1m 01s, 1 tool call, 1200 tokens, $0.25 | 17.0s | 1200 | $0.25
    Checks0 passed, 1 failed, 0 advisory, 0 cancelled, 0 without anything to ask.
    Merged work of 1: checks failed at 2222222222
    sh lint.sh: exit code 1
    parser.rs:3 is wrong
    All of it: check.log
    lint: 3 warnings
    Cost | Agent | Tokens | Cost
    | claude | 1200 | $0.25
    Hooks | Point | Handler | Calls | Not ok | Altogether | Longest
    | quality.check | lint:x | 1 | 0 | 2.0s | 2.0s
    FilesFrom commit 1111111111 to 4444444444: +0 -0 in 1 file.
    added parser.rs +3 -1
    Warnings
    quality.check lint:x: it took long
    the disk is nearly full
    ");
}
