//! Ends, output, input and what is left of a command.

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    time::{Duration, Instant},
};

use samuel_core::{
    hook::BreakClass,
    model::payload::{CallHeader, Mode, Turn},
    process::{End, ExitStatus, OutputLimits},
    script::{CommandLine, HookCommand, MAX_DEPTH, ScriptOutput, depth_of, hook_env},
};
use tempfile::tempdir;
use tokio_util::sync::CancellationToken;

use super::{both_forms, run};
use crate::process_support::{Mark, supervisor};

const SECOND: Duration = Duration::from_secs(1);
/// Longer than anything here takes, on a busy machine too.
const LATE: Duration = Duration::from_secs(20);

fn class(output: &ScriptOutput) -> Option<BreakClass> {
    output.failure().map(|failure| failure.class)
}

#[tokio::test]
async fn a_command_is_ended_at_its_timeout_with_what_it_printed_and_nothing_of_it_lives() {
    for command in both_forms("echo a; echo e >&2; sleep 60") {
        let mark = Mark::new("script-timeout");
        let (name, value) = mark.variable();
        let called = Instant::now();
        let output = run(HookCommand::new(command, "/").env(name, value).timeout(SECOND)).await.unwrap();
        assert!(called.elapsed() >= SECOND && called.elapsed() < LATE);
        assert_eq!((output.stdout.text(), output.stderr.text()), ("a\n".into(), "e\n".into()));
        let failure = output.failure().unwrap();
        assert_eq!((failure.class, &*failure.message), (BreakClass::Timeout, "no answer within 1s"));
        assert!(failure.details.contains(&"e".to_owned()), "{failure:?}");
        assert_eq!(output.status_line(), "timed out after 1s");
        mark.assert_gone();
    }
}

#[tokio::test]
async fn what_is_left_running_holds_up_nothing_and_is_ended_or_lives_on() {
    for (in_background, lives) in [(false, false), (true, true)] {
        for command in both_forms("sleep 60 & echo done") {
            let mark = Mark::new("script-left");
            let (name, value) = mark.variable();
            let script = HookCommand::new(command, "/").env(name, value).timeout(3 * LATE);
            let called = Instant::now();
            let output = run(script.in_background(in_background)).await.unwrap();
            assert!(called.elapsed() < LATE, "it waits for no child");
            assert_eq!((output.failure(), output.stdout.text()), (None, "done\n".into()));
            assert_eq!(mark.processes().len(), usize::from(lives));
            assert_eq!(output.left_running.is_some(), !lives, "{:?}", output.left_running);
            for pid in mark.processes() {
                let pid = rustix::process::Pid::from_raw(pid.try_into().unwrap()).unwrap();
                rustix::process::kill_process(pid, rustix::process::Signal::KILL).unwrap();
            }
        }
    }
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed_and_one_that_is_done_in_time_is_left_alone() {
    for command in both_forms("trap 'echo asked' TERM; while :; do sleep 1; done") {
        let output = run(HookCommand::new(command, "/").timeout(SECOND)).await.unwrap();
        assert_eq!((output.end, output.status), (End::TimedOut, ExitStatus::Signaled(9)));
        assert!(output.duration >= SECOND, "no signal before the timeout");
    }
    let output =
        run(HookCommand::new(CommandLine::words(["sleep", "0.2"]), "/").timeout(LATE)).await.unwrap();
    assert_eq!(output.failure(), None);
}

#[tokio::test]
async fn input_that_is_never_read_is_no_error_and_a_mebibyte_goes_there_and_back() {
    let input = vec![b'x'; 1 << 20];
    for command in both_forms("exec true") {
        let output = run(HookCommand::new(command, "/").stdin(input.clone())).await.unwrap();
        assert_eq!(output.failure(), None);
    }
    for command in both_forms("exec sleep 60") {
        let output = run(HookCommand::new(command, "/").stdin(input.clone()).timeout(SECOND)).await.unwrap();
        assert_eq!(class(&output), Some(BreakClass::Timeout));
    }
    let all = OutputLimits { head: input.len(), tail: 0, ..OutputLimits::default() };
    let cat = HookCommand::new(CommandLine::words(["cat"]), "/").stdin(input.clone()).limits(all);
    let output = run(cat).await.unwrap();
    assert!(!output.stdout.is_truncated() && output.stdout.head == input);
}

#[tokio::test]
async fn output_beyond_the_cap_is_whole_in_a_private_file_up_to_a_cap_of_its_own() {
    let dir = tempdir().unwrap();
    let limits = OutputLimits { head: 40, tail: 60, spill: 150, ..OutputLimits::default() };
    let print = |bytes: usize| format!("head -c {bytes} /dev/zero | tr '\\0' x");
    for command in both_forms(&print(100)) {
        let output = run(HookCommand::new(command, "/").limits(limits).spill(dir.path())).await.unwrap();
        assert!(!output.stdout.is_truncated() && output.stdout.spill().is_none());
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 0);
    for command in both_forms(&print(101)) {
        let output = run(HookCommand::new(command, "/").limits(limits).spill(dir.path())).await.unwrap();
        let spill = output.stdout.spill().unwrap();
        assert!(output.stdout.is_truncated() && spill.starts_with(dir.path()));
        assert!(output.stdout.text().contains(&*spill.to_string_lossy()), "{}", output.stdout.text());
        assert_eq!(fs::read(spill).unwrap(), [b'x'; 101]);
        assert_eq!(fs::metadata(spill).unwrap().permissions().mode() & 0o777, 0o600);
    }
    assert_eq!(fs::read_dir(dir.path()).unwrap().count(), 2, "each call has a file of its own");
    let more = HookCommand::new(CommandLine::Shell(print(151)), "/").limits(limits).spill(dir.path());
    let output = run(more).await.unwrap();
    assert!(output.stdout.spill_incomplete);
    assert_eq!(fs::metadata(output.stdout.spill().unwrap()).unwrap().len(), 150);
}

#[tokio::test]
async fn output_that_is_not_utf_8_is_shown_told_and_kept_raw() {
    let dir = tempdir().unwrap();
    for command in both_forms(r"printf 'a\377b\0c'") {
        let output = run(HookCommand::new(command, "/").spill(dir.path())).await.unwrap();
        assert_eq!((output.stdout.text().as_str(), output.stdout.invalid_utf8), ("a\u{fffd}bc", true));
        assert_eq!(fs::read(output.stdout.spill().unwrap()).unwrap(), b"a\xffb\0c");
    }
}

#[tokio::test]
async fn a_signal_is_no_exit_code_and_standard_error_alone_is_no_failure() {
    for (text, expected, line) in [
        ("kill -9 $$", Some((BreakClass::Signaled, "ended by signal 9")), "ended by signal 9"),
        ("exit 300", Some((BreakClass::Failed, "exit code 44")), "exit code 44"),
        ("echo one >&2; echo two >&2; exit 1", Some((BreakClass::Failed, "two")), "exit code 1"),
        ("echo note >&2", None, "exit code 0"),
    ] {
        for command in both_forms(text) {
            let output = run(HookCommand::new(command, "/")).await.unwrap();
            let failure = output.failure();
            let told = failure.as_ref().map(|failure| (failure.class, &*failure.message));
            assert_eq!((told, &*output.status_line()), (expected, line), "{text}");
        }
    }
}

#[tokio::test]
async fn a_cancelled_command_is_gone_with_its_group() {
    for command in both_forms("echo begun; sleep 60 & sleep 60") {
        let mark = Mark::new("script-cancel");
        let (name, value) = mark.variable();
        let cancel = CancellationToken::new();
        let script =
            HookCommand::new(command, "/").env("PATH", super::PATH).env(name, value).timeout(3 * LATE);
        let stop = async {
            while mark.processes().len() < 2 {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            cancel.cancel();
            Instant::now()
        };
        let supervisor = supervisor();
        let (output, cancelled) = tokio::join!(script.run(&supervisor, &cancel), stop);
        assert!(cancelled.elapsed() < LATE);
        let failure = output.unwrap().failure().unwrap();
        assert_eq!((failure.class, &*failure.message), (BreakClass::Cancelled, "the run was cancelled"));
        mark.assert_gone();
    }
}

#[tokio::test]
async fn a_command_has_no_terminal_and_no_variable_that_it_was_not_given() {
    for command in both_forms("(: < /dev/tty) 2>/dev/null && echo terminal; env; exit 0") {
        let output = run(HookCommand::new(command, "/").env("GIVEN", "yes")).await.unwrap();
        let text = output.stdout.text();
        assert!(!text.contains("terminal") && text.contains("GIVEN=yes"), "{text}");
        let is_known = |line: &str| {
            ["PATH=", "GIVEN=", "PWD=", "OLDPWD=", "SHLVL=", "_=", "SAMUEL_PROCESS_MARK="]
                .iter()
                .any(|name| line.starts_with(name))
        };
        assert!(text.lines().all(is_known), "{text}");
    }
}

#[tokio::test]
async fn many_commands_leave_neither_descriptors_nor_zombies() {
    let open = || fs::read_dir("/proc/self/fd").unwrap().count();
    let children = || {
        let stats = fs::read_dir("/proc")
            .unwrap()
            .filter_map(|entry| fs::read_to_string(entry.ok()?.path().join("stat")).ok());
        let own = std::process::id().to_string();
        let is_zombie = |stat: &String| {
            let mut rest = stat.rsplit(')').next().unwrap_or_default().split_whitespace();
            rest.next() == Some("Z") && rest.next() == Some(&*own)
        };
        stats.filter(is_zombie).count()
    };
    let times = if std::env::var_os("SAMUEL_LONG").is_some() { 5_000 } else { 200 };
    // Only this test counts what is its own: others run beside it in threads of this process.
    let before = open();
    for _ in 0..times {
        let script = HookCommand::new(CommandLine::words(["true"]), "/").env("PATH", super::PATH);
        let output =
            script.run(&samuel_core::process::Supervisor::GroupOnly, &CancellationToken::new()).await;
        assert_eq!(output.unwrap().failure(), None);
    }
    let waited = Instant::now();
    while open() > before + 40 || children() > 20 {
        assert!(waited.elapsed() < LATE, "{} descriptors of {before}, {} zombies", open(), children());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn hooks_that_start_hooks_end_at_the_third_level() {
    let header = CallHeader {
        point: "before:loop".into(),
        handler_id: "lint".into(),
        run_id: "run-7".into(),
        session: "session".into(),
        iteration: 7,
        mode: Mode::Implementation,
        turn: Turn::Main,
        deadline_ms: 0,
        namespace: "lint".into(),
        preview: false,
    };
    let mut env = Vec::new();
    for level in 1..=MAX_DEPTH {
        env = hook_env(&header, "/project".as_ref(), "ralph", depth_of(&env));
        assert_eq!(depth_of(&env), level);
        for command in both_forms("echo $SAMUEL_HOOK_DEPTH $SAMUEL_ITERATION $SAMUEL_PROJECT_ROOT") {
            let output = run(HookCommand::new(command, "/").envs(env.clone())).await.unwrap();
            assert_eq!(output.stdout.text(), format!("{level} 7 /project\n"));
        }
    }
    let dir = tempdir().unwrap();
    let deeper = hook_env(&header, "/project".as_ref(), "ralph", depth_of(&env));
    for command in both_forms("touch ran") {
        let failure = run(HookCommand::new(command, dir.path()).envs(deeper.clone())).await.unwrap_err();
        assert_eq!(failure.class, BreakClass::Failed);
        assert!(failure.message.contains("3 levels deep"), "{failure}");
    }
    assert!(!dir.path().join("ran").exists());
}
