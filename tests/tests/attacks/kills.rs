//! Commands that change the plan, killed at any moment and failing at any write.
//!
//! What was acknowledged with exit code 0 has happened; whatever else a command
//! came to, its change happened as a whole or not at all, and the next command
//! works. System calls fail by `strace`, where it may trace, and at a limit on
//! the size of files, everywhere.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::process::CommandExt,
    process::{Command, Stdio},
    sync::Arc,
    thread,
    time::{Duration, Instant},
};

use samuel_core::{clock::SystemClock, project::Project, state::StateStore};

use crate::kit::{Dice, HANG, SAMUEL, Target, kill_group, ran, times};

/// What a plan says, by id: title and status.
type Tasks = BTreeMap<String, (String, String)>;

/// A project under attack, and what its plan is known to say.
struct Victim {
    target: Target,
    known: Tasks,
    dice: Dice,
    added: usize,
}

/// A command, and what it makes of a plan.
struct Verb {
    args: Vec<String>,
    effect: Effect,
}

enum Effect {
    Status(String, &'static str),
    Task(Option<String>, String),
    Plan,
    Nothing,
}

impl Victim {
    fn new(seed: u64) -> Self {
        let target = Target::with_tasks(&["one", "two", "three"]);
        target
            .write("prd.md", "# A PRD\n\n## Tasks\n\n- [ ] 1.0 First\n  - [ ] 1.1 Second\n- [ ] 2.0 Third\n");
        let mut victim = Self { target, known: Tasks::new(), dice: Dice(seed), added: 0 };
        victim.known = victim.tasks();
        victim
    }

    /// Reads the plan; it can be read at any moment, and has nothing wrong.
    fn tasks(&self) -> Tasks {
        let project = Project::open(self.target.root(), None, Arc::new(SystemClock::new())).unwrap();
        let loaded = project.store().load().expect("prd.toon can be read at any moment");
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

    /// Says whether the plan is what a command makes of it.
    fn happened(&self, effect: &Effect, now: &Tasks) -> bool {
        let mut expected = self.known.clone();
        match effect {
            Effect::Status(id, status) => expected.get_mut(id).unwrap().1 = (*status).to_owned(),
            Effect::Task(own, title) => {
                let new = now.keys().find(|id| !self.known.contains_key(*id));
                let Some(id) = new.filter(|id| own.as_ref().is_none_or(|own| own == *id)) else {
                    return false;
                };
                expected.insert(id.clone(), (title.clone(), "pending".to_owned()));
            }
            Effect::Plan => {
                let titles: Vec<&str> = now.values().map(|(title, _)| title.as_str()).collect();
                return titles == ["First", "Second", "Third"]
                    && now.values().all(|(_, status)| status == "pending");
            }
            Effect::Nothing => {}
        }
        expected == *now
    }

    /// Compares the plan with what a command came to, and takes it as known.
    fn settle(&mut self, verb: &Verb, code: Option<i32>) {
        let now = self.tasks();
        let happened = self.happened(&verb.effect, &now);
        let args = &verb.args;
        if code == Some(0) {
            assert!(happened, "{args:?} was acknowledged: {:?} became {now:?}", self.known);
        } else {
            assert!(
                happened || now == self.known,
                "{args:?} happened in part: {:?} became {now:?}",
                self.known
            );
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
        let args: Vec<&str> = verb.args.iter().map(String::as_str).collect();
        let ran = self.target.run(&args);
        assert_eq!(ran.code, Some(0), "{}", ran.text());
        self.settle(&verb, ran.code);
    }

    fn command(&self, verb: &Verb) -> Command {
        self.target.samuel(&verb.args.iter().map(String::as_str).collect::<Vec<_>>())
    }
}

#[test]
fn a_command_that_is_killed_has_happened_or_has_not() {
    let mut victim = Victim::new(0x0dd_ba11);
    let started = Instant::now();
    assert_eq!(victim.target.run(&["run", "reset", "1"]).code, Some(0));
    // Up to a little more than a command takes, so that most are killed.
    let whole = (started.elapsed() * 5 / 4).as_micros() as u64;
    let mut killed = 0;
    for _ in 0..times(200, 1_000) {
        let verb = victim.verb();
        let mut command = victim.command(&verb);
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
        let plain = victim.command(&verb);
        let mut limited = Command::new("sh");
        limited
            .args(["-c", &format!("trap '' XFSZ; ulimit -f {blocks}; exec \"$0\" \"$@\""), SAMUEL])
            .args(&verb.args)
            .current_dir(victim.target.root())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null());
        let ran = ran(limited, HANG);
        assert!(!ran.hung && ran.code.is_some(), "{:?} within {blocks} blocks: {}", verb.args, ran.text());
        failed += usize::from(ran.code != Some(0));
        victim.settle(&verb, ran.code);
    }
    assert!(failed > 0, "no write failed");
    victim.goes_on();
}

#[test]
fn a_system_call_that_fails_leaves_the_plan_as_it_was() {
    const CALLS: [&str; 8] = [
        "write",
        "fsync",
        "fdatasync",
        "rename,renameat,renameat2",
        "ftruncate",
        "unlink,unlinkat",
        "lseek",
        "read",
    ];
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
        let call = CALLS[round % CALLS.len()];
        let error = ERRORS[victim.dice.below(4) as usize];
        // The first reads are those of the program itself.
        let when = 1 + victim.dice.below(if call == "read" { 40 } else { 5 });
        let plain = victim.command(&verb);
        let mut traced = Command::new("strace");
        traced
            .args(["-f", "-o", "/dev/null", "-e"])
            .arg(format!("inject={call}:error={error}:when={when}"))
            .arg(SAMUEL)
            .args(&verb.args)
            .current_dir(victim.target.root())
            .env_clear()
            .envs(plain.get_envs().filter_map(|(name, value)| Some((name, value?))))
            .stdin(Stdio::null());
        let ran = ran(traced, Duration::from_secs(30));
        assert!(!ran.hung, "{:?} with {call} failing", verb.args);
        let panicked = ran.text().contains("panicked at");
        assert!(!panicked, "{:?} with {call} failing by {error}: {}", verb.args, ran.text());
        failed += usize::from(ran.code != Some(0));
        victim.settle(&verb, ran.code);
    }
    assert!(failed > 0, "no call failed");
    victim.goes_on();
}
