//! Commands that change the plan, killed at any moment and failing at any write.
//!
//! What was acknowledged with exit code 0 has happened; whatever else a command
//! came to, its change happened as a whole or not at all, and the next command
//! works. That command may be the one that completes a change which was killed
//! between the journal and the plan. System calls fail by `strace`, where it may trace, and at a limit on
//! the size of files, everywhere.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    thread,
    time::{Duration, Instant},
};

use crate::attacks::{
    kit::{Dice, HANG, Target, kill_group, ran, times},
    writers::store,
};

/// What a plan says, by id: title and status.
type Tasks = BTreeMap<String, (String, String)>;

/// A project under attack, and what its plan is known to say.
struct Victim {
    target: Target,
    known: Tasks,
    /// Changes that were cut short and that the next writer may complete.
    pending: Vec<Effect>,
    dice: Dice,
    added: usize,
}

/// A command, and what it makes of a plan.
struct Verb {
    args: Vec<String>,
    effect: Effect,
}

impl Verb {
    fn args(&self) -> Vec<&str> {
        self.args.iter().map(String::as_str).collect()
    }
}

#[derive(Clone)]
enum Effect {
    Status(String, &'static str),
    Task(Option<String>, String),
    Plan,
    Nothing,
}

impl Effect {
    /// Returns what a plan becomes by it; the id of a new task is the one that
    /// the plan has `now`. Nothing if it cannot have happened.
    fn on(&self, base: &Tasks, now: &Tasks) -> Option<Tasks> {
        let mut tasks = base.clone();
        match self {
            Self::Status(id, status) => tasks.get_mut(id)?.1 = (*status).to_owned(),
            Self::Task(own, title) => {
                let is_it = |id: &str| !base.contains_key(id) && own.as_ref().is_none_or(|own| own == id);
                let (id, _) = now.iter().find(|(id, task)| task.0 == *title && is_it(id))?;
                tasks.insert(id.clone(), (title.clone(), "pending".to_owned()));
            }
            Self::Plan => {
                tasks = now.clone();
                let titles: Vec<&str> = now.values().map(|(title, _)| title.as_str()).collect();
                if titles != ["First", "Second", "Third"]
                    || now.values().any(|(_, status)| status != "pending")
                {
                    return None;
                }
            }
            Self::Nothing => {}
        }
        Some(tasks)
    }
}

impl Victim {
    fn new(seed: u64) -> Self {
        let target = Target::with_tasks(&["one", "two", "three"]);
        target.write("prd.md", "# A PRD\n\n## Tasks\n\n- [ ] 1.0 First\n- [ ] 2.0 Second\n- [ ] 3.0 Third\n");
        let mut victim =
            Self { target, known: Tasks::new(), pending: Vec::new(), dice: Dice(seed), added: 0 };
        victim.known = victim.tasks();
        victim
    }

    /// Reads the plan; it can be read at any moment, and has nothing wrong.
    fn tasks(&self) -> Tasks {
        let loaded = store(&self.target).load().expect("prd.toon can be read at any moment");
        assert!(loaded.diagnostics.is_empty(), "{:?}", loaded.diagnostics);
        let tasks = loaded.plan.tasks.iter();
        tasks.map(|task| (task.id.to_string(), (task.title.clone(), task.status.to_string()))).collect()
    }

    fn verb(&mut self) -> Verb {
        let at = self.dice.below(self.known.len() as u64) as usize;
        let id = self.known.keys().nth(at).unwrap().clone();
        self.added += 1;
        let title = format!("Added {}", self.added);
        let verb =
            |args: &[&str], effect| Verb { args: args.iter().map(|arg| (*arg).to_owned()).collect(), effect };
        match self.dice.below(16) {
            0..4 => verb(&["run", "done", &id], Effect::Status(id.clone(), "completed")),
            4..6 => verb(&["run", "skip", &id], Effect::Status(id.clone(), "skipped")),
            6..8 => verb(&["run", "reset", &id], Effect::Status(id.clone(), "pending")),
            8..11 => verb(&["run", "enqueue", &title], Effect::Task(None, title.clone())),
            11..13 => {
                let own = format!("own-{}", self.added);
                verb(&["run", "task", "add", &own, &title], Effect::Task(Some(own.clone()), title.clone()))
            }
            13 => verb(&["run", "convert", "--force", "prd.md"], Effect::Plan),
            14 => verb(&["run", "init"], Effect::Nothing),
            _ => verb(&["doctor", "--fix", "--yes"], Effect::Nothing),
        }
    }

    /// Compares the plan with what a command came to, and takes it as known.
    fn settle(&mut self, verb: &Verb, code: Option<i32>) {
        let now = self.tasks();
        let healed = self.pending.iter().filter_map(|effect| effect.on(&self.known, &now));
        let bases: Vec<Tasks> = std::iter::once(self.known.clone()).chain(healed).collect();
        let happened = bases.iter().any(|base| verb.effect.on(base, &now).as_ref() == Some(&now));
        let args = &verb.args;
        if code == Some(0) {
            assert!(happened, "{args:?} was acknowledged: {:?} became {now:?}", self.known);
        } else {
            let untouched = bases.contains(&now);
            assert!(happened || untouched, "{args:?} happened in part: {:?} became {now:?}", self.known);
        }
        if now != self.known {
            self.pending.clear();
        }
        if !happened {
            self.pending.push(verb.effect.clone());
        }
        self.known = now;
        let names = fs::read_dir(self.target.path(".samuel/run")).unwrap().flatten();
        let left = names.filter(|entry| entry.file_name().to_string_lossy().ends_with(".tmp")).count();
        assert!(left <= 1, "{left} temporary files are left after {args:?}");
    }

    /// The next command works, and leaves nothing behind.
    fn goes_on(&mut self) {
        let verb = Verb {
            args: ["run", "enqueue", "At last"].map(str::to_owned).to_vec(),
            effect: Effect::Task(None, "At last".to_owned()),
        };
        let ran = self.target.ok(&verb.args());
        self.settle(&verb, ran.code);
    }
}

#[test]
fn a_command_that_is_killed_has_happened_or_has_not() {
    let mut victim = Victim::new(0x0dd_ba11);
    let started = Instant::now();
    victim.target.ok(&["run", "reset", "1"]);
    // Up to a little more than a command takes, so that most are killed.
    let whole = (started.elapsed() * 5 / 4).as_micros() as u64;
    let mut killed = 0;
    for _ in 0..times(200, 1_000) {
        let verb = victim.verb();
        let mut command = victim.target.samuel(&verb.args());
        command.stdout(Stdio::null()).stderr(Stdio::null()).process_group(0);
        let mut child = command.spawn().unwrap();
        thread::sleep(Duration::from_micros(victim.dice.below(whole)));
        kill_group(&child);
        let code = child.wait().unwrap().code();
        killed += usize::from(code.is_none());
        victim.settle(&verb, code);
    }
    assert!(killed > 0, "no command was killed");
    victim.goes_on();
}

#[test]
fn a_write_beyond_a_limit_leaves_the_plan_as_it_was() {
    let mut victim = Victim::new(0x5ca1_ab1e);
    let mut failed = 0;
    for _ in 0..times(40, 400) {
        let verb = victim.verb();
        // In blocks of 512 bytes. The signal is ignored, so that the write fails.
        let blocks = victim.dice.below(24);
        let limit = format!("trap '' XFSZ && ulimit -f {blocks}");
        let ran = ran(victim.target.samuel_after(&limit, &verb.args()), HANG);
        assert!(!ran.hung && ran.code.is_some(), "{:?} within {blocks} blocks: {}", verb.args, ran.text());
        failed += usize::from(ran.code != Some(0));
        victim.settle(&verb, ran.code);
    }
    assert!(failed > 0, "no write failed");
    victim.goes_on();
}

#[test]
fn a_system_call_that_fails_leaves_the_plan_as_it_was() {
    let calls = "write fsync fdatasync rename,renameat,renameat2 ftruncate unlink,unlinkat lseek read";
    let calls: Vec<&str> = calls.split(' ').collect();
    const ERRORS: [&str; 4] = ["ENOSPC", "EIO", "EDQUOT", "EROFS"];
    let traces = Command::new("strace")
        .args(["-f", "-o", "/dev/null", "-e", "inject=fsync:error=EIO:when=99", "true"])
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .status();
    if !traces.is_ok_and(|status| status.success()) {
        println!("skipped: strace is not installed, or may not trace: system calls are not made to fail");
        return;
    }
    let mut victim = Victim::new(0xdeca_fbad);
    let mut failed = 0;
    for round in 0..times(60, 1_000) {
        let verb = victim.verb();
        let call = calls[round % calls.len()];
        let error = ERRORS[victim.dice.below(4) as usize];
        // The first reads are those of the program itself.
        let when = 1 + victim.dice.below(if call == "read" { 40 } else { 5 });
        let inject = format!("inject={call}:error={error}:when={when}");
        let strace = ["strace", "-f", "-o", "/dev/null", "-e", &inject];
        let ran = ran(victim.target.samuel_below(&strace, &verb.args()), Duration::from_secs(30));
        assert!(!ran.hung, "{:?} with {call} failing", verb.args);
        let panicked = ran.text().contains("panicked at");
        assert!(!panicked, "{:?} with {call} failing by {error}: {}", verb.args, ran.text());
        failed += usize::from(ran.code != Some(0));
        victim.settle(&verb, ran.code);
    }
    assert!(failed > 0, "no call failed");
    victim.goes_on();
}
