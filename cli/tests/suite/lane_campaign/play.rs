//! One plan, played to its end and looked at all the while.

use std::{
    collections::HashSet,
    fs,
    io::{BufRead as _, BufReader, Read as _, Seek as _, SeekFrom},
    path::Path,
    process::Child,
    sync::{
        Arc, Mutex,
        atomic::{AtomicBool, Ordering},
    },
    thread,
    time::{Duration, Instant},
};

use samuel_core::testing::ScriptedLanes;
use serde_json::Value;

use super::plans::{Made, Manner, Numbers, hangs, made, takes_area};
use crate::lane_ground::{Ground, commits_on};

/// How many lanes there are.
const JOBS: u32 = 4;
/// How long after the moment a kill comes at most, in microseconds.
const LATER: u64 = 12_000;
/// How long a call of an agent may take: one of them hangs.
const WALL: &str = "5s";
/// How often the task is tried that never passes, which is more often than any other has to be.
const ATTEMPTS: u32 = 12;
/// How often somebody else tries to commit.
const TRIES: u32 = 20;

/// What a campaign came to.
#[derive(Debug, Default)]
pub(super) struct Figures {
    /// How work landed, of one plan.
    #[expect(dead_code, reason = "it is shown")]
    manner: Option<Manner>,
    pub(super) plans: u64,
    pub(super) kills: u64,
    pub(super) landed: usize,
    /// The tasks that were blocked in the end.
    pub(super) blocked: usize,
    /// How often somebody else committed, work came back, and the plan was looked at.
    pub(super) pushes: u64,
    pub(super) returned: u64,
    pub(super) looks: u64,
    pub(super) seconds: f64,
}

impl Figures {
    pub(super) fn add(&mut self, other: &Self) {
        let Self { plans, kills, landed, blocked, pushes, returned, looks, seconds, .. } = other;
        self.plans += plans;
        self.kills += kills;
        self.landed += landed;
        self.blocked += blocked;
        self.pushes += pushes;
        self.returned += returned;
        self.looks += looks;
        self.seconds += seconds;
    }
}

/// When Samuel is killed.
#[derive(Clone, Copy, Debug)]
enum Moment {
    /// When so many events were told.
    Events(u64),
    /// When so many landings were written down, each of which a move of the branch follows.
    Landings(u64),
    /// When the branch was moved so many times, which is to be written down next.
    Moves(u64),
    Never,
}

pub(super) struct Play {
    seed: u64,
    pub(super) ground: Ground,
    manner: Manner,
    figures: Figures,
    /// The commits of somebody else.
    theirs: Vec<String>,
    /// The task that never passes.
    blocked: Option<String>,
}

/// Plays a plan to its end, killed so often, and holds what must hold.
pub(super) fn play(seed: u64, size: u64, kills: u64) -> Figures {
    let begun = Instant::now();
    let mut numbers = Numbers::of(seed);
    let Made { tasks, manner, blocked, areas, agents } = made(seed, size, &mut numbers);
    let mut ground = Ground::with_tasks(tasks).agents(agents);
    ground.first = takes_area(&areas, &ground.notes());
    let mut play = Play::begun(seed, ground, manner, blocked);
    let mut is_over = false;
    for _ in 0..kills {
        let several = 1 + numbers.below(size.div_ceil(6));
        let moment = match numbers.below(10) {
            0..4 => Moment::Events(5 + numbers.below(8 * size)),
            4..7 => Moment::Landings(several),
            _ => Moment::Moves(several),
        };
        is_over = play.run(moment, &mut numbers).is_some();
        if is_over {
            break;
        }
        play.figures.kills += 1;
        play.look(&format!("killed at {moment:?}"));
        if numbers.chance(60) {
            play.push();
        }
    }
    if !is_over {
        let code = play.run(Moment::Never, &mut numbers);
        assert!(code.is_some(), "seed {seed}");
    }
    play.look("at the end");
    play.holds();
    play.figures.seconds = begun.elapsed().as_secs_f64();
    play.figures
}

impl Play {
    /// Gets a project ready whose work lands in some manner, and a user who is at something there.
    pub(super) fn begun(seed: u64, ground: Ground, manner: Manner, blocked: Option<String>) -> Self {
        let attempts = if blocked.is_some() { ATTEMPTS } else { 0 };
        let clocks = if hangs(seed) { format!("clocks = {{ wall = \"{WALL}\" }}\n") } else { String::new() };
        ground.configure(&format!(
            "max_iterations = 0\nmax_consecutive_failures = 100000\ntask_budget = {{ max_attempts = {attempts} }}\n\
             {clocks}\
             parallel = {{ merge = \"{}\" }}",
            manner.merge
        ));
        ground.bench.git(&["commit", "--quiet", "--all", "--message", "Configure"]);
        ground.bench.git(&["branch", "trunk"]);
        // What the user is at, which is to stay as it is.
        ground.bench.write("a.txt", "mine\n");
        let figures = Figures { plans: 1, manner: Some(manner), ..Figures::default() };
        Self { seed, ground, manner, figures, theirs: Vec::new(), blocked }
    }

    /// Makes a run until it ends or is killed; returns the exit code, unless it was.
    fn run(&mut self, moment: Moment, numbers: &mut Numbers) -> Option<i32> {
        let later = Duration::from_micros(if numbers.chance(70) { numbers.below(LATER) } else { 0 });
        let mut child = self.ground.spawn(JOBS, &["--into", self.manner.into]);
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let child = Arc::new(Mutex::new(child));
        let (is_killed, is_over) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        let kill = {
            let (child, is_killed) = (Arc::clone(&child), Arc::clone(&is_killed));
            move || {
                // The moment is what is tried out.
                thread::park_timeout(later);
                is_killed.store(true, Ordering::SeqCst);
                let mut child: std::sync::MutexGuard<'_, Child> = child.lock().unwrap();
                child.kill().unwrap();
            }
        };
        let watch = self.watch(moment).map(|(mut count, wanted)| {
            let (kill, is_over) = (kill.clone(), Arc::clone(&is_over));
            thread::spawn(move || {
                while !is_over.load(Ordering::SeqCst) {
                    if count() >= wanted {
                        return kill();
                    }
                    thread::park_timeout(Duration::from_micros(300));
                }
            })
        });
        let mut last = String::new();
        for (count, line) in (1..).zip(lines.map_while(Result::ok)) {
            if line.contains("\"event\":\"task_returned\"") {
                self.figures.returned += 1;
            }
            if matches!(moment, Moment::Events(wanted) if wanted == count) {
                kill();
            }
            if !is_killed.load(Ordering::SeqCst) {
                match numbers.below(80) {
                    0 => self.push(),
                    1 => self.look("while it runs"),
                    _ => {}
                }
            }
            last = line;
        }
        is_over.store(true, Ordering::SeqCst);
        watch.into_iter().for_each(|watch| watch.join().unwrap());
        let status = child.lock().unwrap().wait().unwrap();
        let ends = if self.blocked.is_some() { 3 } else { 0 };
        if status.code().is_some_and(|code| code != ends) {
            let document: Value = serde_json::from_str(&last).unwrap_or_default();
            panic!("seed {}, {moment:?}: {status}: {document:#}", self.seed);
        }
        status.code()
    }

    /// Returns what counts up to a moment that no event tells of, and how far.
    fn watch(&self, moment: Moment) -> Option<(Box<dyn FnMut() -> u64 + Send>, u64)> {
        match moment {
            Moment::Landings(wanted) => {
                let mut journal = Journal::at_its_end(&self.ground.bench.path(".samuel/run/journal.jsonl"));
                Some((Box::new(move || journal.landings()), wanted))
            }
            Moment::Moves(wanted) => {
                let branch = self.ground.bench.path(&format!(".git/refs/heads/{}", self.manner.into));
                let (mut at, mut moves) = (fs::read(&branch).unwrap_or_default(), 0);
                let count = move || {
                    let now = fs::read(&branch).unwrap_or_default();
                    moves += u64::from(!now.is_empty() && now != at);
                    at = now;
                    moves
                };
                Some((Box::new(count), wanted))
            }
            Moment::Events(_) | Moment::Never => None,
        }
    }

    /// Has somebody commit on the branch that work lands on, where git lets them.
    pub(super) fn push(&mut self) {
        let name = format!("theirs-{}", self.theirs.len());
        let line = match self.manner.into {
            "main" => format!(
                "echo x > {name} && git add {name} && git commit --quiet --message {name} -- {name} || \
                 {{ git reset --quiet -- {name}; rm -f {name}; false; }}"
            ),
            into => commits_on(into, &name),
        };
        for _ in 0..TRIES {
            if self.ground.tries(&line).is_ok() {
                self.theirs.push(name);
                self.figures.pushes += 1;
                return;
            }
        }
    }

    /// Holds what must hold whenever somebody looks.
    pub(super) fn look(&mut self, when: &str) {
        let seed = self.seed;
        self.figures.looks += 1;
        // What is listed as completed has landed before it is.
        let tasks = self.ground.bench.tasks();
        let landed = self.set(&format!("git rev-list {}", self.manner.into));
        for task in tasks.iter().filter(|task| task["status"] == "completed") {
            let commit = task["commit_sha"].as_str().unwrap_or_default();
            assert!(landed.contains(commit), "seed {seed}, {when}: completed and not landed: {task}");
        }
        let clashes = fs::read_to_string(self.ground.notes().join("clashes")).unwrap_or_default();
        assert_eq!(clashes, "", "seed {seed}, {when}: two were at work on the same files");
        let mine = fs::read_to_string(self.ground.bench.path("a.txt")).unwrap();
        assert_eq!(mine, "mine\n", "seed {seed}, {when}: the user's file");
    }

    /// Holds that each commit of an agent is on a branch, or kept.
    fn no_commit_is_lost(&self, when: &str) {
        // A commit may be noted that was made meanwhile.
        let commits = self.ground.lanes.commits().unwrap();
        let kept = self.set("git rev-list --branches --glob=refs/samuel/*");
        let lost: Vec<&String> = commits.iter().filter(|commit| !kept.contains(*commit)).collect();
        assert!(lost.is_empty(), "seed {}, {when}: commits on no branch: {lost:?}", self.seed);
    }

    fn set(&self, line: &str) -> HashSet<String> {
        self.ground.sh(line).lines().map(str::to_owned).collect()
    }

    /// Holds what must hold once the plan is done.
    pub(super) fn holds(&mut self) {
        let (seed, into) = (self.seed, self.manner.into);
        let ground = &self.ground;
        let all = ground.bench.tasks();
        let is_blocked = |task: &Value| self.blocked.as_deref().is_some_and(|id| task["id"] == id);
        let (blocked, tasks): (Vec<Value>, Vec<Value>) = all.into_iter().partition(is_blocked);
        assert!(blocked.iter().all(|task| task["status"] == "blocked"), "seed {seed}: {blocked:#?}");
        self.figures.blocked = blocked.len();
        let ids: Vec<&str> = tasks.iter().map(|task| task["id"].as_str().unwrap()).collect();
        assert!(tasks.iter().all(|task| task["status"] == "completed"), "seed {seed}: {tasks:#?}");
        assert_eq!(ground.landed(into), ids, "seed {seed}: each lands once");
        self.figures.landed = ids.len();
        // Squashed and rebased work is merged as other commits, and a completed plan keeps no branches with the first.
        if self.manner.merge == "merge" {
            self.no_commit_is_lost("at the end");
        }
        let commit_of = |id: &str| {
            let task = tasks.iter().find(|task| task["id"] == id).unwrap();
            task["commit_sha"].as_str().unwrap().to_owned()
        };
        let files = self.set(&format!("git ls-tree -r --name-only {into}"));
        for id in &ids {
            ground.sh(&format!("git merge-base --is-ancestor {} {into}", commit_of(id)));
            assert!(
                files.contains(&ground.lanes.made(id)),
                "seed {seed}: the work of {id} is not in the tree"
            );
        }
        assert!(
            self.theirs.iter().all(|name| files.contains(name)),
            "seed {seed}: somebody's commit is gone"
        );
        for (began, at) in ground.lanes.began().unwrap() {
            let mut all = tasks.iter().chain(&blocked);
            let task = all.find(|task| task["id"] == began.as_str()).unwrap();
            for other in task["depends_on"].as_array().into_iter().flatten() {
                let other = other.as_str().unwrap();
                let has_landed =
                    ground.tries(&format!("git merge-base --is-ancestor {} {at}", commit_of(other)));
                assert!(has_landed.is_ok(), "seed {seed}: {began} began at {at} without {other}");
            }
        }
        // Commits that are made anew one by one are no heads, but for the last one of a claim.
        let heads = format!(
            "git log --first-parent --format='%(trailers:key=Samuel-Claim,valueonly,separator=%x2C) %H' {into} | \
             sed -n 's/^[0-9][0-9]* //p'"
        );
        let look = format!(
            "git worktree add --quiet --detach ../look {into} && cd ../look && for head in $({heads}); do \
             git checkout --quiet $head && sh -c '{}' || {{ echo $head; exit 1; }}; done",
            ScriptedLanes::CHECK.replace('\'', r"'\''")
        );
        let looked = ground.tries(&look);
        assert!(looked.is_ok(), "seed {seed}: a landed head fails: {looked:?}");
        let status = ground.sh("git status --porcelain --untracked-files=no");
        assert_eq!(status, "M a.txt", "seed {seed}: the user's tree");
        let claims = fs::read_to_string(ground.bench.prd()).unwrap();
        // Of what is blocked it is known where its work is.
        let left = if blocked.is_empty() { "claims[" } else { "claims[2" };
        assert!(!claims.contains(left), "seed {seed}: {claims}");
        // A git of an agent that is killed at its housekeeping may leave that one.
        let locks = ground.sh("find .git -name '*.lock' ! -name maintenance.lock");
        assert_eq!(locks, "", "seed {seed}");
    }
}

/// A journal that is read as it grows.
struct Journal {
    file: fs::File,
    line: Vec<u8>,
    landings: u64,
}

impl Journal {
    fn at_its_end(path: &Path) -> Self {
        let mut file = fs::File::open(path).unwrap();
        file.seek(SeekFrom::End(0)).unwrap();
        Self { file, line: Vec::new(), landings: 0 }
    }

    /// Returns how many landings were written down since.
    fn landings(&mut self) -> u64 {
        let mut read = Vec::new();
        self.file.read_to_end(&mut read).unwrap();
        for byte in read {
            if byte != b'\n' {
                self.line.push(byte);
                continue;
            }
            let record: Value = serde_json::from_slice(&self.line).unwrap_or_default();
            self.landings += u64::from(record["mutation"]["type"] == "landing");
            self.line.clear();
        }
        self.landings
    }
}
