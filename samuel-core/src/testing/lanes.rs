//! Agents of several lanes: what each does with its task, right or wrong.
//!
//! [`ScriptedLanes`] is one shell script in two coats: a [`Script`] for a run in a program, and a command
//! line for the agent `command` of the program `samuel`. Agents meet in files only: in their work
//! trees, whose state the [check](ScriptedLanes::check) judges, and in a directory of notes, by which a
//! test learns what they did. What a run makes of it is the test's to see.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    fs, io,
    path::{Path, PathBuf},
    time::Duration,
};

use crate::{
    agent::{Script, ScriptedCall},
    model::TaskId,
};

/// What all agents do: `$id` is the task, `$n` which call of its agents this is, `$notes` where they are noted.
/// What follows on a task is set before.
const WORK: &str = r#"
n=1; while ! mkdir "$notes/call-$id-$n" 2>/dev/null; do test -d "$notes"; n=$((n + 1)); done
echo "$id $(git rev-parse HEAD)" >> "$notes/began"
for other in $meets; do while ! ls -d "$notes/call-$other-"* >/dev/null 2>&1; do test -d "$notes"; sleep 0.02; done; done
if test "$n" -le "$hangs"; then : > "$notes/hangs-$id"; while test -d "$notes"; do sleep 0.05; done; fi
if test "$takes" != 0; then sleep "$takes"; fi
echo "$id" > "made-$id.txt"
for name in $conflicts; do grep -qx "$id" "conflict-$name.txt" 2>/dev/null || echo "$id" >> "conflict-$name.txt"; done
for name in $left; do : > "left-$name"; if test -e "right-$name"; then : > "both-$name"; fi; done
for name in $right; do : > "right-$name"; if test -e "left-$name"; then : > "both-$name"; fi; done
if test "$n" -le "$breaks"; then : > "broken-$id"; else rm -f "broken-$id"; fi
if test "$forgets" = 0; then
  git add --all
  if ! git diff --cached --quiet; then git commit --quiet --no-verify --message "Make $id"; fi
  git rev-parse HEAD >> "$notes/commits"
fi
"#;

/// What holds of a tree in which nothing is broken and nothing clashes. It says what does.
const CHECK: &str = r#"for file in broken-*; do if test -e "$file"; then echo "$file is there"; exit 1; fi; done; for file in left-*; do name=${file#left-}; if test -e "$file" && test -e "right-$name" && ! test -e "both-$name"; then echo "the two sides of $name do not fit"; exit 1; fi; done"#;

/// What the agents of a run with lanes do.
///
/// Each makes the file [`made`](Self::made) with the id of its task, commits it and says that the task is done,
/// but for what was said otherwise. Whatever it does wrong, it does right in a later call, so that each plan can
/// be done. The ids of tasks are to be plain: letters, digits, `-`, `_` and `.`.
///
/// ```
/// use std::{process::Command, sync::Arc};
/// use samuel_core::{
///     clock::SystemClock, config::CheckCommand, engine::Run, event::Event, model::{ExitReason, Plan, Task, TaskId},
///     process::Supervisor, project::Project, state::{Actor, Existing}, testing::ScriptedLanes, trust::TrustPolicy,
/// };
///
/// # let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
/// # runtime.block_on(async {
/// let directory = tempfile::tempdir()?;
/// let (root, notes) = (directory.path().join("project"), directory.path().join("notes"));
/// let made = Command::new("git").args(["init", "--quiet", "--initial-branch=main"]).arg(&root).status()?;
/// assert!(made.success());
/// let commit = ["-c", "user.name=Ada", "-c", "user.email=ada@example.org", "commit", "--quiet"];
/// let rest = ["--allow-empty", "--message", "Start"];
/// assert!(Command::new("git").current_dir(&root).args(commit).args(rest).status()?.success());
///
/// // Two that are at work at once and change the same line, and one that fails its check first.
/// let lanes = ScriptedLanes::noting_in(&notes)?
///     .conflicting("1", "2").meeting(["1", "2"]).breaking("3", 1).forgetting("3");
///
/// let project = Project::open(&root, None, Arc::new(SystemClock::new()))?;
/// let project = project.keeping_plans_in(Some(directory.path().join("state")));
/// let tasks = ["1", "2", "3"].map(|id| Task::new(TaskId::new(id), format!("Do {id}")));
/// let plan = Plan { tasks: tasks.to_vec(), ..Plan::default() };
/// project.plan_store().import(plan, Actor::User, Existing::Refuse)?;
///
/// let run = Run::builder(project)
///     .jobs(2)
///     .script(lanes.script())
///     .settings(|settings| settings.quality_checks = vec![CheckCommand::new(ScriptedLanes::CHECK)])
///     .supervisor(Supervisor::GroupOnly)
///     .trust(TrustPolicy::TrustAll)
///     .env(std::env::vars());
/// let mut handle = run.build()?.start().await?;
/// let (mut events, mut returned) = (handle.events(), 0);
/// while let Some(record) = events.next().await {
///     returned += usize::from(matches!(record.event, Event::TaskReturned { .. }));
/// }
/// let report = handle.wait().await?;
/// assert_eq!((report.exit_reason, report.completed.len()), (ExitReason::Completed, 3));
/// // One of the first two came back, and was done on top of the other.
/// assert_eq!((returned, lanes.calls("1")? + lanes.calls("2")?, lanes.calls("3")?), (1, 3, 2));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// # })?;
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone, Debug)]
pub struct ScriptedLanes {
    notes: PathBuf,
    takes: Duration,
    tasks: BTreeMap<TaskId, Ways>,
}

/// In what the agent of a task differs from the others.
#[derive(Clone, Debug, Default)]
struct Ways {
    breaks: u32,
    hangs: u32,
    forgets: bool,
    /// The names of what it has part in.
    conflicts: Vec<String>,
    left: Vec<String>,
    right: Vec<String>,
    meets: Vec<String>,
}

impl ScriptedLanes {
    /// The command line of a check that fails where an agent [broke](Self::breaking) something, or two
    /// [clash](Self::clashing), and says so.
    pub const CHECK: &str = CHECK;

    /// Starts with agents that do everything right, and the directory of their notes, which is made where it is
    /// missing. It is to be outside of the project.
    ///
    /// # Errors
    /// Returns an error where the directory cannot be made.
    pub fn noting_in(directory: impl Into<PathBuf>) -> io::Result<Self> {
        let notes = directory.into();
        fs::create_dir_all(&notes)?;
        Ok(Self { notes, takes: Duration::ZERO, tasks: BTreeMap::new() })
    }

    fn ways(&mut self, task: &str) -> &mut Ways {
        self.tasks.entry(TaskId::new(task)).or_default()
    }

    /// Has every call take this long. By default it takes no time but that of its work.
    #[must_use]
    pub fn taking(mut self, time: Duration) -> Self {
        self.takes = time;
        self
    }

    /// Has two tasks change the same line: whichever lands second is in conflict where it did not begin on the
    /// first.
    #[must_use]
    pub fn conflicting(mut self, one: &str, other: &str) -> Self {
        let name = format!("{one}-{other}");
        for task in [one, other] {
            self.ways(task).conflicts.push(name.clone());
        }
        self
    }

    /// Has two tasks pass the check each and fail it together, where neither began on the other.
    #[must_use]
    pub fn clashing(mut self, one: &str, other: &str) -> Self {
        let name = format!("{one}-{other}");
        self.ways(one).left.push(name.clone());
        self.ways(other).right.push(name);
        self
    }

    /// Has the check fail after the first calls for a task, so many of them.
    #[must_use]
    pub fn breaking(mut self, task: &str, calls: u32) -> Self {
        self.ways(task).breaks = calls;
        self
    }

    /// Has the agent of a task say that it is done, and commit nothing.
    #[must_use]
    pub fn forgetting(mut self, task: &str) -> Self {
        self.ways(task).forgets = true;
        self
    }

    /// Has the first calls for a task never end, so many of them; [`hangs`](Self::hangs) tells of them.
    #[must_use]
    pub fn hanging(mut self, task: &str, calls: u32) -> Self {
        self.ways(task).hangs = calls;
        self
    }

    /// Has the agents of some tasks wait until each of them has been called, so that they are at work at once. There
    /// have to be as many lanes, and nothing that keeps one of these tasks waiting.
    #[must_use]
    pub fn meeting<const N: usize>(mut self, tasks: [&str; N]) -> Self {
        for task in tasks {
            let others = tasks.into_iter().filter(|other| *other != task).map(str::to_owned);
            self.ways(task).meets.extend(others);
        }
        self
    }

    /// Returns the script of an agent that works so.
    pub fn script(&self) -> Script {
        Script::default().call(ScriptedCall::any().repeated().run(self.work()).done())
    }

    /// Returns the command line of such an agent for `/bin/sh -c`, of which `samuel run start` is told as the agent
    /// `command`. It keeps its prompts ([`prompt`](Self::prompt)).
    pub fn command(&self) -> String {
        let work = self.work();
        let keep = r#"cat > "$notes/prompt-$id-$n""#;
        format!("{work}{keep}\n\"$SAMUEL_BINARY\" run done \"$id\"\n")
    }

    fn work(&self) -> String {
        let quoted = |text: &str| format!("'{}'", text.replace('\'', r"'\''"));
        let (notes, takes) = (self.notes.display().to_string(), self.takes.as_secs_f64());
        let mut text = format!(
            "set -eu\nid=$SAMUEL_TASK_ID notes={} takes={takes} breaks=0 hangs=0 forgets=0\n\
             conflicts= left= right= meets=\ncase $id in\n",
            quoted(&notes)
        );
        for (task, ways) in &self.tasks {
            let Ways { breaks, hangs, forgets, conflicts, left, right, meets } = ways;
            let list = |names: &[String]| quoted(&names.join(" "));
            // Writing to a string cannot fail.
            let _ = writeln!(
                text,
                "{}) breaks={breaks} hangs={hangs} forgets={} conflicts={} left={} right={} meets={};;",
                quoted(task.as_str()),
                u8::from(*forgets),
                list(conflicts),
                list(left),
                list(right),
                list(meets),
            );
        }
        text.push_str("esac\n");
        text.push_str(WORK.trim_start());
        text
    }

    /// Returns the path of the file that a task's agent makes, from the project's root.
    pub fn made(&self, task: &str) -> String {
        format!("made-{task}.txt")
    }

    // What they noted.

    /// Returns every commit that an agent made, in the order in which they noted it. One may be there more than once.
    ///
    /// # Errors
    /// Returns an error where the note cannot be read.
    pub fn commits(&self) -> io::Result<Vec<String>> {
        Ok(read(&self.notes.join("commits"))?.lines().map(str::to_owned).collect())
    }

    /// Returns the task of each call and the commit that was checked out as it began, in the order in which they began.
    ///
    /// # Errors
    /// Returns an error where the note cannot be read.
    pub fn began(&self) -> io::Result<Vec<(TaskId, String)>> {
        let note = read(&self.notes.join("began"))?;
        let pairs = note.lines().filter_map(|line| line.split_once(' '));
        Ok(pairs.map(|(task, commit)| (TaskId::new(task), commit.to_owned())).collect())
    }

    /// Returns how often an agent was called for a task.
    ///
    /// # Errors
    /// Returns an error where the directory of the notes cannot be read.
    pub fn calls(&self, task: &str) -> io::Result<u32> {
        let start = format!("call-{task}-");
        let mut calls = 0;
        for entry in fs::read_dir(&self.notes)? {
            calls += u32::from(entry?.file_name().to_string_lossy().starts_with(&start));
        }
        Ok(calls)
    }

    /// Says whether an agent hangs, or has hung, in a task.
    pub fn hangs(&self, task: &str) -> bool {
        self.notes.join(format!("hangs-{task}")).exists()
    }

    /// Returns what the agent `command` was told in a call for a task, from 1; empty where there was none.
    ///
    /// # Errors
    /// Returns an error where the note cannot be read.
    pub fn prompt(&self, task: &str, call: u32) -> io::Result<String> {
        read(&self.notes.join(format!("prompt-{task}-{call}")))
    }
}

/// Reads a note, which is empty where it is not there yet.
fn read(path: &Path) -> io::Result<String> {
    match fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        read => read,
    }
}
