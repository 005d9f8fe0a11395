//! Pages of runs.

use std::process::Command;

use samuel_core::{
    agent::{Script, ScriptedCall},
    event::{CheckResult, Event, IterationFailure},
    history::{ChangedFile, ReportedChange},
    model::{
        FailureClass, IterationOutcome, TaskId,
        payload::{CheckFailure, Mode, TaskBrief, Turn},
    },
    testing::Bench,
};

use crate::history::{
    browser::Browser,
    kit::{RUN, history, on_disk, tell},
};

pub(crate) const HOSTILE: &str = "<script>alert(1)</script><img src=x onerror=alert(2)> \u{1b}[31mred \u{202e}gpj.exe \"'`|](javascript:x)\n# h";

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
            merged: vec![TaskId::new(HOSTILE)],
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

/// A text as long as texts are that are shown whole, each character of which becomes several.
fn long() -> String {
    "&\"<>'".repeat(80)
}

/// How many iterations a page has in the long form.
const TEN_THOUSAND: u32 = 10_000;
/// How many of them a page shows.
const ROWS: u32 = 2_000;
/// How many tasks it shows.
const TASK_ROWS: u32 = 500;

/// Returns how many iterations a page has: fewer than ten thousand by default.
fn iterations(in_short: u32) -> u32 {
    if std::env::var_os("SAMUEL_LONG").is_some() { TEN_THOUSAND } else { in_short }
}

/// Returns the events of so many iterations, all of which fail with long texts that have to be escaped where that is
/// asked for.
fn very_many(iterations: u32, hostile: bool) -> Vec<Event> {
    let words = |plain: &str| if hostile { long() } else { plain.to_owned() };
    let mut events: Vec<Event> =
        (0..if hostile { 600 } else { 0 }).map(|_| Event::Warning { message: long() }).collect();
    for iteration in 1..=iterations {
        let id = if hostile { format!("{}{}", long(), iteration % 600) } else { "1".to_owned() };
        let task = TaskBrief {
            id: id.clone(),
            title: words("A title as long as titles are"),
            ..TaskBrief::default()
        };
        events.push(Event::IterationStarted { iteration, mode: Mode::Implementation, task: Some(task) });
        if hostile && iteration + 400 > iterations {
            events.extend((0..12).map(|_| Event::AgentStarted {
                iteration,
                turn: Turn::Main,
                agent: long(),
                model: Some(long()),
                why: long(),
            }));
            let failure = CheckFailure {
                command: long(),
                message: long(),
                exit_code: Some(1),
                tail: long().repeat(10),
                log: Some(long()),
            };
            events.push(Event::QualityChecked {
                iteration,
                ok: false,
                result: CheckResult::Failed,
                failures: vec![failure; 8],
                reason: Some(long()),
                commit: Some(long()),
                merged: Vec::new(),
            });
            events.push(Event::TasksTakenBack { tasks: vec![TaskId::new(id); 3], reasons: vec![long()] });
        }
        let failure = IterationFailure { class: FailureClass::QualityCheck, message: long() };
        events.push(Event::IterationFinished {
            iteration,
            outcome: if hostile { IterationOutcome::Failed } else { IterationOutcome::Succeeded },
            failure: hostile.then_some(failure),
            completed: Vec::new(),
            usage: Default::default(),
            consecutive_failures: 0,
            excused: false,
            unrecorded: true,
            commit: None,
            uncommitted: Vec::new(),
            committed_for_agent: None,
        });
    }
    events
}

// Takes about 8 s: two records of 2,100 iterations are written and read.
#[test]
fn a_page_of_ten_thousand_iterations_stays_small_whatever_their_texts() {
    // In short more than a page shows, so that it is as large.
    let iterations = iterations(ROWS + 100);
    for hostile in [false, true] {
        let bench = on_disk(&[("1", "First")]);
        tell(&*bench.lane(), RUN, very_many(iterations, hostile));
        let page = history(&bench).report(RUN).unwrap();
        let (html, text) = (page.to_html(), page.to_markdown());
        let (told, tasks) = (iterations as usize, if hostile { 600 } else { 1 });
        assert_eq!((page.run.iterations.len(), page.tasks.len()), (told, tasks));
        assert!(html.len() < if hostile { 5_000_000 } else { 2 << 20 }, "{} bytes", html.len());
        let left_out = format!("The first {}", iterations - ROWS);
        assert!(html.contains(&left_out) && html.ends_with("</body></html>\n"));
        // As much as is taken for the text of a pull request.
        assert!(text.len() < 60_000, "{} bytes", text.len());
        assert_eq!(text.contains("Shortened to fit here: "), hostile, "{text}");
        if hostile {
            // What is left out is counted.
            let shown = text.matches("\n- [ ] ").count();
            assert!(shown >= 25 && text.contains(&format!("\n- and {} tasks\n", 600 - shown)), "{text}");
            assert!(
                html.contains("And 100 tasks more.") && html.contains("And 4 turns more."),
                "{}",
                html.len()
            );
        }
    }
}

#[test]
fn a_text_for_a_pull_request_that_fits_is_not_shortened() {
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, hostile());
    let text = history(&bench).report(RUN).unwrap().to_markdown();
    assert!(!text.contains("Shortened"), "{text}");
}

/// Runs git in the project of a bench.
fn git(bench: &Bench, args: &[&str]) {
    let who = ["-c", "user.name=Tester", "-c", "user.email=tester@example.org"];
    let output = Command::new("git").args(who).args(args).current_dir(bench.path()).output().unwrap();
    assert!(output.status.success(), "{output:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn lines_that_a_run_added_and_removed_are_told_in_every_form() {
    let bench = on_disk(&[("1", "First")]);
    std::fs::write(bench.path().join("notes.txt"), "one\ntwo\nthree\n").unwrap();
    git(&bench, &["init", "--quiet"]);
    git(&bench, &["add", "notes.txt"]);
    git(&bench, &["commit", "--quiet", "-m", "One"]);
    let work = "printf 'one\\n2\\n2a\\n2b\\nthree\\n' > notes.txt; printf 'a\\0b' > data; git add notes.txt data; \
                git -c user.name=T -c user.email=t@example.org commit --quiet -m Two";
    let script = Script::default().call(ScriptedCall::any().repeated().run(work).done());
    let played = bench.play(bench.run(script)).await.unwrap();
    assert_eq!(played.report.exit_reason.exit_code(), 0, "{:?}", played.report);
    let past = history(&bench);
    let page = past.report(&past.resolve(None).unwrap()).unwrap();
    let told: Vec<_> =
        page.files.iter().map(|file| (&*file.path, file.added, file.removed, file.binary)).collect();
    assert_eq!(told, [("data", None, None, true), ("notes.txt", Some(3), Some(1), false)]);
    assert_eq!((page.lines_added, page.lines_removed, page.uncounted_files), (3, 1, 0));
    let (html, text) = (page.to_html(), page.to_markdown());
    assert!(text.contains("\n+3 -1 in 2 files\n"), "{text}");
    assert!(text.contains("\n- added data (binary)\n- changed notes.txt (+3 -1)\n"), "{text}");
    assert!(html.contains(": +3 -1 in 2 files.</p>"), "{html}");
    assert!(html.contains("notes.txt</span> <span class=\"dim\">+3 -1</span></li>"), "{html}");
    let json = serde_json::to_value(&page).unwrap();
    assert_eq!((&json["files"][1]["added"], &json["lines_removed"]), (&3.into(), &1.into()));
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
        // As of sandboxes: where they are tried out, so is this.
        assert!(std::env::var_os("SAMUEL_NEEDS_SANDBOX").is_none(), "no browser is installed");
        println!("skipped: chromium is not installed");
        return;
    };
    let bench = on_disk(&[("1", "First")]);
    tell(&*bench.lane(), RUN, hostile());
    let mut page = history(&bench).report(RUN).unwrap();
    // Names of files come from the repository, and commits from agents.
    let change = ReportedChange::Added;
    let file =
        ChangedFile { path: HOSTILE.to_owned(), change, added: Some(1), removed: Some(0), binary: false };
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

// Takes about 15 s: the browser lays out a page of megabytes.
#[test]
#[allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]
fn a_browser_opens_the_page_of_ten_thousand_iterations() {
    let Some(mut browser) = Browser::start() else {
        // As of sandboxes: where they are tried out, so is this.
        assert!(std::env::var_os("SAMUEL_NEEDS_SANDBOX").is_none(), "no browser is installed");
        println!("skipped: chromium is not installed");
        return;
    };
    let bench = on_disk(&[("1", "First")]);
    // In short one more than the page shows, so that it is cut off.
    let iterations = iterations(ROWS + 1);
    tell(&*bench.lane(), RUN, very_many(iterations, true));
    let written = bench.path().join("run.html");
    std::fs::write(&written, history(&bench).report(RUN).unwrap().to_html()).unwrap();
    // In short in the window that is too narrow for a table.
    let widths: &[u32] = if iterations == TEN_THOUSAND { &[400, 1_400] } else { &[400] };
    for &width in widths {
        browser.open(&written, width, "light");
        let seen = browser.value(LOOK);
        // Both tables have a row of headings.
        assert_eq!(
            (&seen["rows"], &seen["wider"]),
            (&(ROWS + TASK_ROWS + 2).into(), &false.into()),
            "{width}"
        );
        assert_eq!(browser.complaints(), Vec::<&serde_json::Value>::new());
    }
}
