//! A command attacks the processes that are to end it.
//!
//! Each attack is made ten times, with each containment the machine allows; by default
//! one that kills a whole run three times. No process may survive that is not reported,
//! and nothing may hang. Only processes of the attacked command are touched: whatever an attack signals must
//! have the supervisor's command line, and descend from this test.

use std::{
    sync::atomic::{AtomicU32, Ordering},
    time::{Duration, Instant},
};

use samuel_core::process::{CommandOutput, CommandSpec, Containment, ProcessError, Supervisor, run};
use tokio_util::sync::CancellationToken;

use crate::attacks::kit::{HANG, SAMUEL, Target, containments, end, named, ran, survivors, times};

/// How often each attack is made.
const TIMES: usize = 10;

/// How often a whole run is attacked.
fn runs() -> usize {
    times(3, TIMES)
}

/// What the attacked command may take.
const TIMEOUT: Duration = Duration::from_millis(700);

/// Finds the supervisors: the keeper is the parent, the other one above it.
/// `ours` keeps an attack from anything else.
const FIND: &str = r#"
ours() { tr '\0' ' ' < /proc/$1/cmdline 2>/dev/null | grep -q -- "${2:-__supervise}"; }
above() { cut -d' ' -f4 /proc/$1/stat 2>/dev/null; }
keeper=$PPID; supervisor=$(above $keeper)
ours $keeper || exit 9; ours $supervisor || supervisor=
"#;

/// Describes a command that attacks. `TOKEN` in the script becomes a number
/// that no other process is given.
fn attack(script: &str, token: &str) -> CommandSpec {
    let script = format!("{FIND}{script}").replace("TOKEN", token);
    CommandSpec::shell(script, "/")
        .env("PATH", std::env::var_os("PATH").unwrap())
        .timeout(TIMEOUT)
        .grace(Duration::from_millis(50))
}

/// Returns a length of sleep that nobody else sleeps.
fn token() -> String {
    static COUNT: AtomicU32 = AtomicU32::new(0);
    format!("9{:06}.{:07}", COUNT.fetch_add(1, Ordering::Relaxed), std::process::id())
}

/// Whether what is left was told to the caller.
fn is_reported(ended: &Result<CommandOutput, ProcessError>) -> bool {
    match ended {
        Ok(output) => output.left_behind.is_some(),
        Err(error) => error.left_behind().is_some(),
    }
}

/// What an attack may have left at its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Left {
    /// Nothing.
    Nothing,
    /// Nothing in a control group; elsewhere what was told.
    ToldWithoutGroup,
    /// Whatever was told.
    Told,
}

/// Makes an attack as often as is asked for, and fails if a process survives or
/// the call hangs.
fn withstands(script: &str) {
    leaves(Left::Nothing, script);
}

/// The same of an attack that may leave more.
fn leaves(allowed: Left, script: &str) {
    let runtime = tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build().unwrap();
    for containment in containments() {
        let attacks: Vec<_> = (0..TIMES)
            .map(|_| {
                let token = token();
                let spec = attack(script, &token).containment(containment);
                let attacked = runtime.spawn(async move {
                    let begun = Instant::now();
                    let ended =
                        run(spec, &Supervisor::Helper(SAMUEL.into()), &CancellationToken::new()).await;
                    (ended, begun.elapsed())
                });
                (token, attacked)
            })
            .collect();
        for (token, attacked) in attacks {
            let (ended, took) = runtime.block_on(attacked).unwrap();
            assert!(took < TIMEOUT + HANG, "{containment:?}: it took {took:?}");
            if let Ok(output) = &ended {
                assert_ne!(output.status.code(), Some(9), "the attack found no supervisor");
                assert_eq!(output.containment, containment);
            }
            let is_allowed = match allowed {
                Left::Nothing => false,
                Left::ToldWithoutGroup => containment < Containment::Cgroup,
                Left::Told => true,
            };
            let may_be_left = is_allowed && is_reported(&ended);
            let left = if may_be_left { named(&token) } else { survivors(&token) };
            end(&left);
            assert!(left.is_empty() || may_be_left, "{containment:?}: {left:?} survived: {ended:?}");
        }
    }
}

#[test]
fn killing_the_parent() {
    withstands("setsid sleep TOKEN & kill -9 $keeper; sleep TOKEN");
}

#[test]
fn killing_the_parent_and_the_one_above() {
    withstands("setsid sleep TOKEN & kill -9 $supervisor $keeper; sleep TOKEN");
}

#[test]
fn stopping_the_parent() {
    withstands("setsid sleep TOKEN & kill -STOP $keeper; trap '' TERM; sleep TOKEN; sleep TOKEN");
}

#[test]
fn stopping_the_parent_and_the_one_above() {
    withstands("setsid sleep TOKEN & kill -STOP $supervisor $keeper; trap '' TERM; sleep TOKEN; sleep TOKEN");
}

#[test]
fn killing_both_and_leaving_with_a_clean_environment() {
    leaves(
        Left::ToldWithoutGroup,
        "kill -9 $supervisor $keeper; (env -i setsid sh -c 'sleep TOKEN & sleep TOKEN' &); exit 0",
    );
}

#[test]
fn killing_both_after_leaving_the_control_group() {
    leaves(
        Left::Told,
        "group=$(sed -n 's/^0:://p' /proc/self/cgroup)
mount=$(sed -n 's/.* \\(\\/[^ ]*\\) [^-]* - cgroup2 .*/\\1/p' /proc/self/mountinfo | head -n 1)
case $group in */samuel-*) echo $$ > $mount${group%/samuel-*}/cgroup.procs;; esac
(env -i PATH=$PATH setsid sh -c 'sleep TOKEN & sleep TOKEN' &)
kill -9 $supervisor $keeper; exit 0",
    );
}

#[test]
fn killing_both_from_a_chain_of_daemons_that_fork_and_exit() {
    withstands(
        "cat > /dev/null << 'END'
END
chain() { if [ $1 -gt 0 ]; then (setsid sh -c 'sleep TOKEN' & chain $(($1 - 1)) &); else sleep TOKEN; fi; }
chain 50; kill -9 $supervisor $keeper; sleep TOKEN",
    );
}

#[test]
fn killing_every_new_parent() {
    withstands(
        "setsid sleep TOKEN &
while :; do parent=$(above $$); ours $parent || break; kill -9 $parent; done; sleep TOKEN",
    );
}

#[test]
fn stopping_both_again_and_again_without_any_descriptor() {
    withstands(
        "exec 0<&- 1>&- 2>&-
setsid sleep TOKEN &
trap '' TERM
while kill -STOP $supervisor $keeper; do :; done; sleep TOKEN",
    );
}

#[test]
fn holding_both_by_a_tracer() {
    let has_python = std::process::Command::new("python3").arg("-c").arg("import ctypes").status();
    if !has_python.is_ok_and(|status| status.success()) {
        println!("skipped: there is no python3 to trace with");
        return;
    }
    withstands(
        "setsid sleep TOKEN &
python3 -c '
import ctypes, sys, time
trace = ctypes.CDLL(None).ptrace
trace.argtypes = [ctypes.c_long] * 4
for pid in sys.argv[1:]:
    trace(0x4206, int(pid), 0, 0)
    trace(0x4207, int(pid), 0, 0)
time.sleep(900)
' $supervisor $keeper; sleep TOKEN",
    );
}

/// Kills all three. They are stopped before, since each could end the attack between two signals.
const KILL_ALL: &str = "all=\"$samuel $supervisor $keeper\"; kill -STOP $all; kill -9 $all; sleep TOKEN";

/// A loop whose agent makes an attack, which reaches Samuel itself as well. Returns
/// the project with what the attack has left.
fn killed_run(attack: &str, token: &str) -> Target {
    let target = Target::with_tasks(&["Never ends"]);
    let find_samuel = "samuel=$(above $supervisor); ours $samuel 'run start' || exit 9\n";
    let attack = attack.replace("TOKEN", token);
    target.write("agent.sh", format!("{FIND}{find_samuel}touch up\n{attack}"));
    let start = ["run", "start", "--agent", "command", "--agent-command", "sh agent.sh", "--yes"];
    let killed = ran(target.samuel(&start), HANG);
    assert_eq!((killed.code, killed.hung), (None, false), "{}", killed.text());
    assert!(target.path("up").exists());
    target
}

/// The next start works at once, ends what was left, and says so.
fn starts_anew(target: &Target, token: &str) {
    let start = ["run", "start", "--agent", "command", "--agent-command", "true", "--yes"];
    let ran = target.run(&[&start[..], &["--max-iterations", "1"]].concat());
    let text = ran.text();
    let left = survivors(token);
    end(&left);
    assert!(!ran.hung && ran.code.is_some_and(|code| code != 75), "{:?}: {text}", ran.code);
    assert!(left.is_empty(), "{left:?} survived: {text}");
}

#[test]
fn killing_both_and_samuel_and_then_a_new_start() {
    let (mut told, mut played) = (0, 0);
    // A start beside this one, of another test, may have ended what was left before: so until it was told once.
    while played < runs() || told == 0 && played < TIMES {
        played += 1;
        let token = token();
        let target = killed_run(&format!("setsid sleep TOKEN &\n{KILL_ALL}"), &token);
        starts_anew(&target, &token);
        let log = std::fs::read_to_string(target.path(".samuel/run/progress.md")).unwrap();
        told += u32::from(log.contains("ended what a killed run had left") && log.contains("(sleep)"));
    }
    assert!(told > 0);
}

#[test]
fn killing_both_and_samuel_and_the_journal_and_then_a_new_start() {
    let alone = format!("setsid sleep TOKEN &\nrm -f .samuel/run/journal*\n{KILL_ALL}");
    let with_a_clean_environment = format!(
        "(env -i setsid sh -c 'sleep TOKEN & sleep TOKEN' &)\nrm -f .samuel/run/journal*\n{KILL_ALL}"
    );
    let strongest = containments().into_iter().max();
    for _ in 0..runs() {
        let token = token();
        let target = killed_run(&alone, &token);
        starts_anew(&target, &token);
        if strongest == Some(Containment::Cgroup) {
            let target = killed_run(&with_a_clean_environment, &token);
            starts_anew(&target, &token);
        }
    }
}

#[test]
fn stopping_both_and_killing_samuel_and_then_a_new_start() {
    for _ in 0..runs() {
        let token = token();
        let attack = "setsid sleep TOKEN &\nkill -STOP $supervisor $keeper; kill -9 $samuel; sleep TOKEN";
        starts_anew(&killed_run(attack, &token), &token);
    }
}

#[test]
fn an_agent_that_kills_who_watches_over_it_is_told_as_one_that_did_run() {
    let target = Target::with_tasks(&["One"]);
    target.write("../home/agent", format!("cat >/dev/null; {SAMUEL} run done 1; kill -9 $PPID; sleep 5"));
    let agent = format!("sh {}", target.home().join("agent").display());
    let start = ["run", "start", "--yes", "--max-iterations", "1", "--agent-command", &agent];
    let ran = ran(target.samuel(&start), HANG * 2);
    let text = ran.text();
    assert!(!ran.hung, "{text}");
    assert!(text.contains("was ended while it worked: the supervisor (pid "), "{text}");
    for untrue in ["could not be run", "could not be started", "cannot be started"] {
        assert!(!text.contains(untrue), "{untrue}: {text}");
    }
}
