//! Pages of runs.

use samuel_core::{
    event::{CheckResult, Event},
    history::{ChangedFile, ReportedChange},
    model::{
        TaskId,
        payload::{CheckFailure, Mode, TaskBrief},
    },
};

use crate::{
    browser::Browser,
    kit::{RUN, history, on_disk, tell},
};

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

/// Returns the events of ten thousand iterations.
fn ten_thousand() -> Vec<Event> {
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
    events
}

#[test]
fn a_page_of_ten_thousand_iterations_stays_small() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, ten_thousand());
    let page = history(&bench).report(RUN).unwrap();
    let html = page.to_html();
    assert_eq!(page.run.iterations.len(), 10_000);
    assert!(html.len() < 2 << 20, "{} bytes", html.len());
    assert!(html.contains("The first 8000"));
}

/// What a page must not do: hold what runs or fetches, be wider than its window, or hide a part of a text.
const LOOK: &str = "({
    active: document.querySelectorAll('script,img,iframe,object,embed,link,form,a,video,audio,svg').length,
    handlers: [...document.querySelectorAll('*')].filter(e => e.getAttributeNames().some(n => n.startsWith('on'))).length,
    wider: document.documentElement.scrollWidth > window.innerWidth,
    outside: [...document.querySelectorAll('h1,h2,p,pre,.cards,.line')].filter(e => e.getBoundingClientRect().right > window.innerWidth + 1).length,
    back: getComputedStyle(document.body).backgroundColor,
    text: document.body.textContent,
    rows: document.querySelectorAll('tr').length,
})";

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_browser_shows_hostile_words_as_text_at_each_width_light_and_dark_and_asks_for_nothing() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: chromium is not installed");
        return;
    };
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, hostile());
    let mut page = history(&bench).report(RUN).unwrap();
    // Names of files come from the repository, and commits from agents.
    let file = ChangedFile { path: HOSTILE.to_owned(), change: ReportedChange::Added };
    (page.files, page.project) = (vec![file], HOSTILE.to_owned());
    (page.run.first_commit, page.run.last_commit) = (Some("a".repeat(40)), Some("b".repeat(40)));
    page.tasks[0].commits.push(HOSTILE.to_owned());
    let written = bench.path().join("run.html");
    std::fs::write(&written, page.to_html()).unwrap();
    let mut backs = Vec::new();
    for (width, scheme) in [(400, "light"), (400, "dark"), (1_400, "light"), (1_400, "dark")] {
        browser.open(&written, width, scheme);
        let seen = browser.value(LOOK);
        assert_eq!((&seen["active"], &seen["handlers"]), (&0.into(), &0.into()), "{seen}");
        assert_eq!(
            (&seen["wider"], &seen["outside"]),
            (&false.into(), &0.into()),
            "{width} {scheme}: {seen}"
        );
        let text = seen["text"].as_str().unwrap();
        let count = |words: &str| text.matches(words).count();
        // Project, task, warning, file, and the check with its command, message, reason, tail and log.
        assert!(count("<script>alert(1)</script><img src=x onerror=alert(2)>") >= 9, "{text}");
        assert!(
            count("\\u{1b}[31mred \\u{202e}gpj.exe") >= 9 && count("</pre><script>x</script>") == 1,
            "{text}"
        );
        assert!(!text.contains(['\u{1b}', '\u{202e}']), "{text}");
        assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
        assert_eq!(browser.requests(), [format!("file://{}", written.display())]);
        backs.push(seen["back"].clone());
    }
    assert!(backs[0] != backs[1] && backs[0] == backs[2] && backs[1] == backs[3], "{backs:?}");
}

#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_browser_opens_the_page_of_ten_thousand_iterations() {
    let Some(mut browser) = Browser::start() else {
        println!("skipped: chromium is not installed");
        return;
    };
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, ten_thousand());
    let written = bench.path().join("run.html");
    std::fs::write(&written, history(&bench).report(RUN).unwrap().to_html()).unwrap();
    for width in [400, 1_400] {
        browser.open(&written, width, "light");
        let seen = browser.value(LOOK);
        assert!(seen["rows"].as_u64().unwrap() > 2_000 && seen["wider"] == false, "{}", seen["rows"]);
        assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
    }
}
