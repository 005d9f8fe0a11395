//! A night: a long plan, and an agent that does what agents do when nobody looks.
//!
//! It fails, forgets to record its task, breaks the check, skips, adds tasks, hangs,
//! edits the plan, clears the work tree and gives up. Afterwards the plan is right, and what was printed alone says of
//! each task how it ended, and why.

use std::{collections::BTreeMap, time::Duration};

use crate::attacks::kit::{Ran, Target, git, ran, times};

/// How long a night may last.
const NIGHT: Duration = Duration::from_secs(600);

/// What the agent does: by the last digit of the task's number, and how often it
/// was asked before. It keeps count outside of the project.
const AGENT: &str = r#"
count="$MARKS/count-$SAMUEL_TASK_ID"
echo x >> "$count"
attempt=$(wc -l < "$count")
samuel() { "$SAMUEL_BINARY" run "$@" > /dev/null; }
id=$SAMUEL_TASK_ID
kind=${id#"${id%?}"}
[ "$id" -le "$TASKS" ] || kind=plain
case $kind-$attempt in
1-1) echo "error: no way to do $id" >&2; exit 3 ;;
2-1) exit 0 ;;
3-1) echo "left by $id" > broken ;;
[37]-2) rm broken ;;
4-1) samuel skip "$id" --reason "pointless: $id"; exit 0 ;;
5-1) samuel enqueue "more of $id" ;;
6-1) sleep 1000 ;;
7-1) echo "left by $id" > broken
     sed -i s/,in_progress,/,completed,/ .samuel/run/prd.toon; exit 0 ;;
8-1) git clean -fdxq; exit 0 ;;
9-[12]) echo "error: $id is too hard" >&2; exit 4 ;;
9-3) samuel skip "$id" --reason "given up: $id"; exit 0 ;;
esac
echo "$id" > "work-$id"
samuel done "$id"
"#;

/// The checks that an agent breaks.
const CHECK: &str = "! cat broken 2>/dev/null";

fn night(tasks: usize) -> (Target, Ran) {
    let titles: Vec<String> = (1..=tasks).map(|number| format!("Task number {number}")).collect();
    let target = Target::new();
    let prd: String =
        titles.iter().enumerate().fold("# Night\n\n## Tasks\n".to_owned(), |prd, (at, title)| {
            format!("{prd}\n### {} {title}\n\nDo it.\n", at + 1)
        });
    target.write("prd.md", prd);
    target.configure(&format!(
        "agent = \"command\"\nagent_command = [\"sh\", '{}']\npause = 0\nmax_iterations = 10000\n\
         quality_checks = ['{CHECK}']\n[methodology.ralph.clocks]\nwall = 1",
        target.home().join("agent.sh").display()
    ));
    target.ok(&["run", "init", "--prd", "prd.md"]);
    for args in [&["init", "-q", "."][..], &["add", "samuel.toml", "prd.md"], &["commit", "-qm", "Night"]] {
        git(&target.root(), args);
    }
    let script = AGENT.replace("$MARKS", &target.mark("").display().to_string());
    let script = script.replace("$TASKS", &tasks.to_string());
    std::fs::write(target.home().join("agent.sh"), script).unwrap();
    let ran = ran(target.samuel(&["run", "start", "--yes"]), NIGHT);
    (target, ran)
}

/// What was printed of one task.
#[derive(Debug, Default)]
struct Told {
    /// How it ended: the last word on it.
    end: String,
    /// Why an iteration for it did not end well, in the order told.
    why: Vec<String>,
}

/// Reads what a run printed as a person does.
fn read(stdout: &str) -> BTreeMap<String, Told> {
    let mut told: BTreeMap<String, Told> = BTreeMap::new();
    let mut current = String::new();
    for line in stdout.lines() {
        let first = |text: &str| text.split([' ', ',']).next().unwrap_or_default().to_owned();
        if let Some(id) = line.strip_prefix("  done: ").map(first) {
            told.entry(id).or_default().end = "done".to_owned();
        } else if let Some(rest) = line.strip_prefix("  skipped: ") {
            let reason = rest.split_once(": ").map_or("", |(_, reason)| reason);
            told.entry(first(rest)).or_default().end = format!("skipped: {reason}");
        } else if let Some(id) = line.strip_prefix("  taken back: ").map(first) {
            told.entry(id).or_default().end = "taken back".to_owned();
        } else if let Some(check) = line.strip_prefix("  check failed: ") {
            told.entry(current.clone()).or_default().why.push(format!("check: {check}"));
        } else if let Some(rest) = line.strip_prefix("iteration ") {
            let rest = rest.split_once(": ").map_or("", |(_, rest)| rest);
            match ["succeeded", "failed", "cancelled"].iter().any(|word| rest.starts_with(word)) {
                true => {
                    let why = rest.split_once(", ").map(|(_, why)| why.to_owned());
                    told.entry(current.clone()).or_default().why.extend(why);
                }
                false => current = first(rest),
            }
        }
    }
    told
}

#[test]
fn after_a_night_the_plan_is_right_and_what_was_printed_says_why() {
    // In short each kind of task once, and some of them again.
    let tasks = times(12, 200);
    let (target, ran) = night(tasks);
    assert!(!ran.hung, "{}", ran.text());
    assert_eq!(ran.code, Some(0), "{}", ran.text());
    let listed = target.run(&["run", "tasks", "--json"]).json();
    let listed = listed["data"]["tasks"].as_array().unwrap();
    let added = (1..=tasks).filter(|number| number % 10 == 5).count();
    assert_eq!(listed.len(), tasks + added);
    let stdout = String::from_utf8(ran.stdout.clone()).unwrap();
    let told = read(&stdout);
    for task in listed {
        let id = task["id"].as_str().unwrap();
        let number: usize = id.parse().unwrap();
        let kind = if number <= tasks { number % 10 } else { 0 };
        let (status, end) = match kind {
            4 => ("skipped", format!("skipped: pointless: {id}")),
            9 => ("skipped", format!("skipped: given up: {id}")),
            _ => ("completed", "done".to_owned()),
        };
        assert_eq!(task["status"], status, "{id}");
        let told = told.get(id).unwrap_or_else(|| panic!("nothing is told of {id}: {stdout}"));
        assert_eq!(told.end, end, "{id}: {told:?}");
        let why = told.why.join("\n");
        let (times, words) = match kind {
            1 => (1, format!("agent-exit: command ended with exit code 3: error: no way to do {id}")),
            2 | 8 => (1, "but the task was not recorded as done".to_owned()),
            3 | 7 => (1, format!("quality-check: {CHECK}: exit code 1")),
            6 => (1, "agent-timeout: ".to_owned()),
            9 => (2, format!("exit code 4: error: {id} is too hard")),
            _ => (0, "error".to_owned()),
        };
        assert_eq!(why.matches(&words).count(), times, "{id}: {words:?} in {told:?}");
        assert_eq!(why.is_empty(), times == 0, "{id}: {told:?}");
        if matches!(kind, 3 | 7) {
            assert!(stdout.contains(&format!("    | left by {id}\n")), "{stdout}");
        }
    }
    assert!(stdout.contains("\ncompleted\n"), "{stdout}");
    let warned = String::from_utf8(ran.stderr.clone()).unwrap();
    for words in ["put back", "was in_progress and is completed"] {
        assert!(warned.contains(words), "{words:?} is not in {warned}");
    }
}
