//! The moving lines of a run with lanes.
#![allow(clippy::indexing_slicing, clippy::panic, reason = "tests")]

use samuel_core::{
    agent::AgentEvent,
    event::{EVENT_SCHEMA_VERSION, Event, EventRecord},
    model::{
        TaskId, Usage,
        payload::{Mode, TaskBrief},
    },
};

use super::now::Now;

/// What a person sees after each event.
struct Screen(Now);

impl Screen {
    fn after(&mut self, lane: Option<u32>, event: Event) -> Vec<String> {
        let (at, schema_version) = (jiff::Timestamp::UNIX_EPOCH, EVENT_SCHEMA_VERSION);
        self.0.follow(&EventRecord {
            schema_version,
            seq: 1,
            at,
            elapsed_ms: 0,
            run_id: "r".into(),
            lane,
            event,
        });
        let (head, below) = self.0.lines();
        std::iter::once(head).chain(below).collect()
    }
}

fn begins(iteration: u32, task: &str, title: &str) -> Event {
    let task = TaskBrief { id: task.to_owned(), title: title.to_owned(), ..TaskBrief::default() };
    Event::IterationStarted { iteration, mode: Mode::Implementation, task: Some(task) }
}

fn says(iteration: u32, text: &str) -> Event {
    Event::Agent { iteration, report: AgentEvent::Text { text: text.to_owned() } }
}

fn submitted(task: &str) -> Event {
    let (branch, commit) = ("b".to_owned(), "c".to_owned());
    Event::TaskSubmitted { task: TaskId::new(task), branch, commit }
}

#[test]
fn each_lane_has_a_line_with_what_it_is_at_and_the_queue_one_with_what_waits() {
    let mut screen = Screen(Now::new());
    let usage = Usage { cost_usd: Some(0.5), ..Usage::default() };
    let consumes = |iteration| Event::Agent { iteration, report: AgentEvent::Usage(usage) };
    screen.after(Some(1), begins(1, "a", "Parse it"));
    screen.after(Some(1), says(1, "reads\nlooks around\n\n"));
    let lines = screen.after(Some(2), consumes(2));
    let [head, first, second, queue] = &lines[..] else { panic!("{lines:?}") };
    assert_eq!(head, "0 tasks landed · $0.50");
    assert!(
        first.starts_with("  [1] ") && first.contains("Parse it") && first.ends_with(" · looks around"),
        "{first}"
    );
    assert_eq!((second.as_str(), queue.as_str()), ("  [2] getting ready", "  queue: empty"));

    let waits = Event::Waiting { wait_ms: 0, reason: "b waits for a".to_owned(), until: None };
    assert_eq!(screen.after(Some(2), waits)[2], "  [2] waits: b waits for a");
    screen.after(Some(1), submitted("a"));
    assert_eq!(screen.after(Some(2), submitted("b"))[3], "  queue: a, b");
    let held = Event::LandingHeld { into: "main".to_owned(), reason: "a.txt is changed".to_owned() };
    assert_eq!(screen.after(None, held)[3], "  queue: a, b, held");
    let landed = |task: &str| Event::TaskLanded {
        task: TaskId::new(task),
        into: "main".to_owned(),
        commit: "c".to_owned(),
    };
    let lines = screen.after(None, landed("a"));
    assert_eq!((lines[0].as_str(), lines[3].as_str()), ("1 task landed · $0.50", "  queue: b"));
    let returned = Event::TaskReturned {
        task: TaskId::new("b"),
        attempt: 1,
        reason: "it is in conflict".to_owned(),
        kept: None,
        excused: true,
    };
    assert_eq!(screen.after(None, returned)[3], "  queue: empty");
}

#[test]
fn no_line_of_a_lane_or_of_the_queue_is_wider_than_a_terminal() {
    let mut screen = Screen(Now::new());
    screen.after(Some(12), begins(1, "a", &"A long title ".repeat(20)));
    let mut lines = screen.after(Some(12), says(1, &"and a long word ".repeat(20)));
    for task in 1..60 {
        lines = screen.after(Some(12), submitted(&format!("task-{task}")));
    }
    for line in &lines {
        assert!(line.chars().count() <= 77, "{line}");
    }
    assert!(lines[1].starts_with("  [12] ") && lines[2].starts_with("  queue: task-1, "), "{lines:?}");
}
