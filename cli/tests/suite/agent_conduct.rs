//! One plan for agents that do everything their prompt asks for, and for agents that break its rules, in each place
//! where agents work. By default with one and three workers on the host and in bubblewrap. With `SAMUEL_LONG=1` with
//! one to four workers, also in containers.
#![allow(clippy::print_stdout, clippy::disallowed_macros, reason = "a test says why it is skipped")]

use std::iter;

use crate::{
    bench::{Bench, Ran, says},
    containers::Wall,
};

const PRD: &str = "# Work\n\n## Goals\n\nFour files.\n\n## Tasks\n\n\
                   - [ ] 1 First\n- [ ] 2 Second\n- [ ] 3 Third\n- [ ] 4 Fourth\n";

/// An agent that opens each path and runs each command of its prompt, outside of quotations. For task 1, it adds a task
/// as the prompt says. That task is the one that it asks about, blocks and skips.
const OBEYS: &str = r#"prompt=$(cat); id=$SAMUEL_TASK_ID
fail() { echo "cannot obey: $1" >&2; exit 9; }
say() { printf '%s\n' "$1"; }
own=$(say "$prompt" | awk '/^\[samuel:[0-9a-f]+ begin:/ { q = 1 } !q; /^\[samuel:[0-9a-f]+ end\]$/ { q = 0 }')
title=$(say "$own" | sed -n "s/^# One task: $id //p"); test "$title" || fail title
paths=$(say "$own" | sed 's/on the branch `[^`]*`//' |
  awk -F'`' '!/everything in/ { for (i = 2; i <= NF; i += 2) if ($i ~ /[.\/]/ && $i !~ / /) print $i }')
test "$(say "$paths" | wc -l)" -gt 9 || fail paths
prd=$(sed -n 's/^ *prd: *//p' .samuel/run/task-context.toon); test "$prd" || fail PRD
for path in $paths $prd; do
  if test -d "$path"; then ls "$path"; else cat "$path"; fi > /dev/null || fail "$path"
done
obey() {
  line=$(say "$own" | grep "^ *[^ ]* run $1 " | sed 's/what is to be done/Extra/'); test "$line" || fail "$1"
  sh -c "$line" || fail "$line"
}
if test "$title" = Extra; then obey ask; obey block; obey skip; exit 0; fi
echo "$title" > "work-$id"
checks=$(say "$own" | sed -n 's/^   - `\(.*\)`$/\1/p'); test "$checks" || fail checks
sh -ec "$checks" || fail "$checks"
git add -A && git commit -qm "feat: $title" || fail commit
test "$id" != 1 || obey enqueue
obey learn; obey "done"
"#;

/// An agent that edits the plan and the progress log, writes outside of its workspace, tries to complete other tasks,
/// leaves its work uncommitted or on another branch, and records only the tasks 1 and 2. In a sandbox, where `WALL` is
/// set, it also writes to the user's checkout by its path.
const DEFIES: &str = r#"cat > /dev/null; id=$SAMUEL_TASK_ID; P=$SAMUEL_PROJECT_ROOT
if read -r objects < .git/objects/info/alternates; then P=${objects%/.git/objects}; fi 2> /dev/null
for root in "$P" "$SAMUEL_PROJECT_ROOT" "$SAMUEL_PROJECT_ROOT/.."; do
  sed -i 's/pending/completed/; s/in_progress/completed/' "$root/.samuel/run/prd.toon"
  echo "COMPLETED: everything" >> "$root/.samuel/run/progress.md"
done 2> /dev/null
{ echo x > ../planted; echo x >> ../AGENTS.md; } 2> /dev/null
if test "$WALL"; then
  { echo x > "$P/planted"; echo x >> "$P/AGENTS.md"; git --git-dir="$P/.git" branch planted; } 2> /dev/null
fi
test "$id" != 2 || git checkout -qb elsewhere
echo "$id" > "work-$id"
if test "$id" = 2; then git add work-2; git commit -qm Elsewhere; fi
for other in 1 2 3 4; do test $other = "$id" || "$SAMUEL_BINARY" run done $other; done 2> /dev/null
test "$id" -gt 2 || "$SAMUEL_BINARY" run done "$id"
test "$id" != 4
"#;

/// Where agents work.
struct Place<'a> {
    /// Their sandbox, or none on the host.
    wall: Option<&'a Wall>,
    is_in_place: bool,
    jobs: u32,
}

/// A run that ended.
struct Done {
    bench: Bench,
    ran: Ran,
    /// The branch or commit with the work.
    into: String,
}

/// Runs a test in each place.
fn in_each_place(mut test: impl FnMut(&Place<'_>)) {
    let is_long = std::env::var_os("SAMUEL_LONG").is_some();
    let (walls, counts) =
        if is_long { (Wall::all(), vec![1, 2, 3, 4]) } else { (vec![Wall::bwrap()], vec![1, 3]) };
    test(&Place { wall: None, is_in_place: true, jobs: 1 });
    for wall in iter::once(None).chain(walls.iter().map(Some)) {
        counts.iter().for_each(|jobs| test(&Place { wall, is_in_place: false, jobs: *jobs }));
    }
}

impl Place<'_> {
    fn name(&self) -> String {
        let workspace = if self.is_in_place { "in place" } else { "in clones" };
        format!("{}, {workspace}, jobs = {}", self.wall.map_or("host", |wall| wall.name), self.jobs)
    }

    /// Makes a run on a plan of four tasks. Returns nothing, and prints the reason, if the sandbox cannot be used here.
    fn run(&self, agent: &str) -> Option<Done> {
        let bench = Bench::empty();
        bench.write("docs/prd.md", PRD);
        bench.ok(&["run", "init", "--prd", "docs/prd.md"]);
        let workspace = if self.is_in_place { "in-place" } else { "clone" };
        let sandbox = self.wall.map_or("host", |wall| wall.sandbox);
        // The image of containers has no git.
        let keys = self.wall.map(|wall| format!("mounts = [\"/usr\"]\n{}\n", wall.keys)).unwrap_or_default();
        let config = format!(
            "version = \"2\"\n[methodology.ralph]\nsandbox = \"{sandbox}\"\ncompletes = \"own-task\"\n\
             quality_checks = [\"sh check.sh\"]\n[sandbox]\nworkspace = \"{workspace}\"\n{keys}"
        );
        let files = [
            ("samuel.toml", config.as_str()),
            ("samuel.lock", "version = 1\n"),
            ("check.sh", "test -f AGENTS.md\n"),
            ("AGENTS.md", "# Notes\n"),
        ];
        for (name, text) in files {
            bench.write(name, text);
        }
        bench.make_repository(&[&files.map(|(name, _)| name)[..], &["docs"]].concat());
        let jobs = self.jobs.to_string();
        let more = ["--jobs", jobs.as_str(), "--max-iterations", "12", "--json"];
        let mut command = bench.command(&[&bench.start_args(agent)[..], &more[..]].concat());
        command.envs(self.wall.iter().flat_map(|wall| wall.env().iter().cloned()));
        let ran = Ran::of(command);
        let (_, document) = ran.events();
        let problem = document["error"]["message"].as_str().unwrap_or_default();
        if problem.starts_with("sandbox ") && problem.contains("cannot be used") {
            println!("skipped: {}: {problem}", self.name());
            return None;
        }
        let into = document["data"]["report"]["into"].as_str().unwrap_or("HEAD").to_owned();
        Some(Done { bench, ran, into })
    }
}

impl Done {
    /// Returns the tasks as pairs of title and status.
    fn tasks(&self) -> Vec<(String, String)> {
        let text = |value: &serde_json::Value| value.as_str().unwrap().to_owned();
        self.bench.tasks().iter().map(|task| (text(&task["title"]), text(&task["status"]))).collect()
    }

    /// Returns the content of the file that is the work on a task.
    fn work(&self, id: usize) -> String {
        self.bench.git(&["show", &format!("{}:work-{id}", self.into)])
    }

    /// Returns the tree of the work. samuel.toml, which names the sandbox, is left out.
    fn tree(&self) -> Vec<String> {
        let listed = self.bench.git(&["ls-tree", "-r", &self.into]);
        let lines =
            listed.lines().filter(|line| !line.ends_with("\tsamuel.toml") && !line.contains("\t.samuel/"));
        lines.map(str::to_owned).collect()
    }
}

// Takes about 13 s: a run of five iterations in each place.
#[test]
fn obedient_agents_produce_same_plan_and_tree_everywhere() {
    let mut first = None;
    in_each_place(|place| {
        let Some(done) = place.run(OBEYS) else { return };
        let shown = format!("{}: {:?}", place.name(), done.ran);
        assert_eq!(done.ran.code, 0, "{shown}");
        let completed = ["First", "Second", "Third", "Fourth"];
        let skipped = ("Extra".to_owned(), "skipped".to_owned());
        let plan = completed.map(|title| (title.to_owned(), "completed".to_owned()));
        assert_eq!(done.tasks(), plan.into_iter().chain([skipped]).collect::<Vec<_>>(), "{shown}");
        for (number, title) in completed.iter().enumerate() {
            assert_eq!(done.work(number + 1), *title, "{shown}");
        }
        says(&done.bench.read(".samuel/run/progress.md"), &["what a later iteration should know"]);
        assert_eq!(done.bench.git(&["status", "--porcelain"]), "", "{shown}");
        let tree = done.tree();
        assert_eq!(first.get_or_insert_with(|| tree.clone()), &tree, "{shown}");
    });
}

// Takes about 13 s: a run of up to eight iterations in each place.
#[test]
fn disobedient_agents_complete_no_task_without_merged_work() {
    in_each_place(|place| {
        let set = if place.wall.is_some() { "WALL=1" } else { "WALL=" };
        let Some(done) = place.run(&format!("{set}\n{DEFIES}")) else { return };
        let shown = format!("{}: {:?}", place.name(), done.ran);
        let tasks = done.tasks();
        let numbered = (1..).zip(&tasks).filter(|(_, (_, status))| status == "completed");
        let completed: Vec<usize> = numbered.map(|(number, _)| number).collect();
        assert!(completed.iter().all(|id| *id <= 2), "{completed:?}, {shown}");
        // On the host, an edit of the plan by one worker's agent can fail `done` of another worker's agent.
        if place.wall.is_some() || place.jobs == 1 {
            assert_eq!(completed, [1, 2], "{shown}");
        }
        if place.is_in_place {
            let is_there = |id: &usize| done.bench.path(&format!("work-{id}")).exists();
            assert!(completed.iter().all(is_there), "{shown}");
            return;
        }
        for id in completed {
            assert_eq!(done.work(id), id.to_string(), "{shown}");
        }
        let git = |args: &[&str]| done.bench.git(args);
        assert_eq!(git(&["status", "--porcelain"]), "", "{shown}");
        assert_eq!(git(&["branch", "--show-current"]), "main", "{shown}");
        let branches = git(&["for-each-ref", "--format=%(refname:short)", "refs/heads"]);
        let is_known = |branch: &str| branch == "main" || branch.starts_with("samuel/");
        assert!(branches.lines().all(is_known), "{branches}, {shown}");
        assert!(place.jobs == 1 || git(&["log", "--format=%s", "main"]) == "Start", "{shown}");
    });
}
