//! Pages of runs.

use samuel_core::{
    event::{CheckResult, Event},
    model::{
        TaskId,
        payload::{CheckFailure, Mode, TaskBrief},
    },
};

use crate::kit::{RUN, history, on_disk, tell};

const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)> \u{1b}[31mred \u{202e}gpj.exe \"'`|](javascript:x)\n# h";

fn hostile() -> Vec<Event> {
    let failure = CheckFailure {
        command: HOSTILE.to_owned(),
        message: HOSTILE.to_owned(),
        exit_code: Some(1),
        tail: format!("{HOSTILE}\n</pre><script>x</script>"),
        log: Some(HOSTILE.to_owned()),
    };
    vec![
        Event::Warning { message: HOSTILE.to_owned() },
        Event::IterationStarted {
            iteration: 1,
            mode: Mode::Implementation,
            task: Some(TaskBrief { id: "1".to_owned(), title: HOSTILE.to_owned(), ..TaskBrief::default() }),
        },
        Event::QualityChecked {
            iteration: 1,
            ok: false,
            result: CheckResult::Failed,
            failures: vec![failure],
            reason: Some(HOSTILE.to_owned()),
            commit: Some(HOSTILE.to_owned()),
        },
        Event::TasksTakenBack { tasks: vec![TaskId::new("1")], reasons: vec![HOSTILE.to_owned()] },
    ]
}

#[test]
fn hostile_words_stay_words_on_a_page_and_in_a_pull_request() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, hostile());
    let page = history(&bench).report(RUN).unwrap();
    let html = page.to_html();
    assert!(html.contains("&lt;script&gt;alert(1)") && html.contains("\\u{202e}gpj.exe"), "{html}");
    let body = html.split_once("</style>").unwrap().1;
    for bad in ["<script", "<img", "\u{1b}", "\u{202e}", "onerror=alert(2)>"] {
        assert!(!body.contains(bad), "{bad:?} in {body}");
    }
    // Nothing is fetched, and nothing runs.
    assert!(html.contains("default-src 'none'"));
    let text = page.to_markdown();
    for bad in ["<script", "<img", "\u{1b}", "\u{202e}", "](javascript", "\n# h"] {
        assert!(!text.contains(bad), "{bad:?} in {text}");
    }
}

#[test]
fn a_page_of_ten_thousand_iterations_stays_small() {
    let bench = on_disk(&[("1", "First")]);
    let mut events = Vec::new();
    for iteration in 1..=10_000 {
        let task = TaskBrief {
            id: "1".to_owned(),
            title: "A title as long as titles are".to_owned(),
            ..TaskBrief::default()
        };
        events.push(Event::IterationStarted { iteration, mode: Mode::Implementation, task: Some(task) });
        events.push(Event::IterationFinished {
            iteration,
            outcome: samuel_core::model::IterationOutcome::Succeeded,
            failure: None,
            completed: Vec::new(),
            usage: Default::default(),
            consecutive_failures: 0,
            excused: false,
            unrecorded: true,
            commit: None,
        });
    }
    tell(&*bench.lane(), RUN, events);
    let page = history(&bench).report(RUN).unwrap();
    let html = page.to_html();
    assert_eq!(page.run.iterations.len(), 10_000);
    assert!(html.len() < 2 << 20, "{} bytes", html.len());
    assert!(html.contains("The first 8000"));
}
