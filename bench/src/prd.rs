//! `cargo xtask bench prd`: conversion beside the Markdown parser alone.
//!
//! A PRD of 10 MB with 50,000 tasks, as headings and as a checklist, is
//! converted and is only parsed, in turns.

use std::{hint::black_box, time::Duration};

use anyhow::{Result, ensure};
use pulldown_cmark::{Options, Parser};
use rustix::time::{ClockId, clock_gettime};
use samuel_core::{
    clock::{Clock, SystemClock},
    prd::{Document, convert},
};

use super::gate::{self, Gate};

/// How many times the parser a conversion may take.
const LIMIT: f64 = 10.0;
const TASKS: usize = 50_000;
const ROUNDS: usize = 5;

/// Runs the benchmark.
///
/// # Errors
/// Fails when a gate is missed or a document has other tasks than it should.
pub(crate) fn run(_: &[String]) -> Result<()> {
    let body = "Read the file, check every key of it, and report the line and the column of what is wrong, \
                so that nobody has to guess what was meant by whoever wrote it in a hurry.";
    let headings = (1..=TASKS).map(|task| format!("### {task} Title of task {task}\n\n{body}\n\n"));
    let items = (1..=TASKS).map(|task| format!("- [ ] {task} Title of task {task}\n  - {body}\n"));
    let gates = [
        measure("50,000 headings", format!("## Tasks\n\n{}", headings.collect::<String>()))?,
        measure("a checklist of 50,000 items", format!("## Tasks\n\n{}", items.collect::<String>()))?,
    ];
    gate::report(&gates)
}

fn measure(name: &'static str, text: String) -> Result<Gate> {
    let document = Document::new("prd.md", text);
    let mut took = Vec::new();
    let mut probe_took = Vec::new();
    for _ in 0..ROUNDS {
        probe_took.push(timed(|| {
            let options = Options::ENABLE_TASKLISTS | Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH;
            black_box(Parser::new_ext(&document.text, options).count());
        }));
        let mut tasks = 0;
        took.push(timed(|| {
            let converted = convert(&document, None, SystemClock::new().now());
            tasks = converted.map(|converted| converted.tasks.len()).unwrap_or_default();
        }));
        ensure!(tasks == TASKS, "{name}: {tasks} tasks");
    }
    Ok(Gate {
        name,
        took: median(took),
        probe: "pulldown-cmark alone".to_owned(),
        probe_took: median(probe_took),
        limit: LIMIT,
        notes: vec![format!("{} bytes", document.text.len())],
    })
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}

/// Returns the time that this thread had a processor for while it did something.
fn timed(work: impl FnOnce()) -> Duration {
    let now = || {
        let time = clock_gettime(ClockId::ThreadCPUTime);
        Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec as u32)
    };
    let start = now();
    work();
    now().saturating_sub(start)
}
