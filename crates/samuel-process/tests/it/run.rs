//! How one command is run: deadlines, output, input, environment, errors.

use rustix::io::{FdFlags, fcntl_setfd};
use samuel_process::{
    CommandSpec, Containment, End, ExitStatus, OutputLimits, ProcessError, Spill, Supervisor, run,
    strongest_containment,
};
use std::{
    fs,
    io::Read,
    os::unix::fs::PermissionsExt,
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tempfile::tempdir;
use tokio_util::sync::CancellationToken;

use crate::support::{Mark, plays, role_args, run_supervised, shell, supervisor};

const SECOND: Duration = Duration::from_secs(1);

#[tokio::test]
async fn a_command_is_ended_at_its_timeout_and_nothing_of_it_lives() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("timeout");
    let called = Instant::now();
    let output = run_supervised(mark.on(shell("sleep 5", dir.path()).timeout(SECOND))).await.unwrap();
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
    assert_eq!(output.end, End::TimedOut);
    assert!(output.swept);
    mark.assert_gone();
}

#[tokio::test]
async fn output_before_a_timeout_is_kept_on_both_streams() {
    let dir = tempdir().unwrap();
    let spec = shell("echo a; echo e >&2; sleep 5", dir.path()).timeout(SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert_eq!(output.end, End::TimedOut);
    assert_eq!((output.stdout.text(), output.stderr.text()), ("a\n".into(), "e\n".into()));
}

#[tokio::test]
async fn a_child_left_in_the_background_is_killed_and_does_not_hold_up_the_result() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("left");
    let called = Instant::now();
    let spec = mark.on(shell("sleep 30 & echo done", dir.path()).timeout(10 * SECOND));
    let output = run_supervised(spec).await.unwrap();
    assert!(called.elapsed() < Duration::from_millis(600), "took {:?}", called.elapsed());
    assert!(output.success());
    assert_eq!(output.stdout.text(), "done\n");
    let left = output.left_running.unwrap();
    assert_eq!((left.count, left.named[0].name.as_str(), mark.processes()), (1, "sleep", vec![]));
}

#[tokio::test]
#[allow(clippy::print_stdout, reason = "a test says why it is skipped")]
async fn a_child_that_dies_with_its_command_is_not_left() {
    let dir = tempdir().unwrap();
    // Each is killed by the kernel at the moment that the command ends.
    let child = "setpriv --pdeathsig KILL sh -c 'echo up; exec sleep 30' >> up 2> refused &";
    let line = format!(
        "for n in 1 2 3 4 5 6 7 8; do {child} done; until test \"$(wc -l < up)\" -ge 8 || test -s refused; do sleep 0.01; done; cat refused"
    );
    let output = run_supervised(shell(&line, dir.path()).timeout(10 * SECOND)).await.unwrap();
    match output.stdout.text().as_str() {
        "" => assert_eq!(output.left_running, None),
        refused => println!("skipped: {refused}"),
    }
}

#[tokio::test]
async fn a_child_left_in_the_background_lives_on_if_that_was_asked_for() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("kept");
    let spec = mark.on(shell("sleep 30 >/dev/null 2>&1 & echo $!", dir.path()).background(true));
    let output = run_supervised(spec.timeout(10 * SECOND)).await.unwrap();
    assert!(output.success());
    assert_eq!(output.left_running, None);
    let child: u32 = output.stdout.text().trim().parse().unwrap();
    assert_eq!(mark.processes(), [child]);
    let child = rustix::process::Pid::from_raw(child.cast_signed()).unwrap();
    rustix::process::kill_process(child, rustix::process::Signal::KILL).unwrap();
}

#[tokio::test]
async fn a_background_command_that_times_out_leaves_nothing() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("kept-timeout");
    let spec = shell("sleep 30 & sleep 31", dir.path()).background(true).timeout(SECOND / 2);
    let output = run_supervised(mark.on(spec)).await.unwrap();
    assert_eq!((output.end, output.swept, mark.processes()), (End::TimedOut, true, vec![]));
}

#[tokio::test]
async fn a_command_that_ignores_sigterm_is_killed() {
    let dir = tempdir().unwrap();
    let called = Instant::now();
    let spec = shell("trap '' TERM; echo ready; while :; do sleep 30; done", dir.path()).timeout(SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
    assert_eq!((output.end, output.status), (End::TimedOut, ExitStatus::Signaled(9)));
}

#[tokio::test]
async fn a_command_has_its_whole_timeout_and_after_it_its_grace_to_clean_up() {
    let dir = tempdir().unwrap();
    let line = "trap 'echo cleaned; exit 7' TERM; echo ready; while :; do sleep 0.05; done";
    let spec = shell(line, dir.path()).timeout(SECOND).grace(10 * SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert_eq!((output.end, output.status), (End::TimedOut, ExitStatus::Exited(7)));
    assert_eq!(output.stdout.text(), "ready\ncleaned\n");
    assert!(output.duration >= SECOND, "took {:?}", output.duration);
}

#[tokio::test]
async fn nothing_is_sent_to_a_command_that_needs_most_of_its_timeout() {
    let dir = tempdir().unwrap();
    let line = "trap 'echo asked to end' TERM; sleep 1.6 & wait $!; echo done";
    let spec = shell(line, dir.path()).timeout(2 * SECOND).grace(2 * SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert_eq!((output.end, output.stdout.text().as_str()), (End::Exited, "done\n"));
}

#[tokio::test]
async fn a_command_that_was_killed_is_gone_with_its_whole_tree_when_the_call_returns() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("whole-tree");
    // Each takes a moment to stop and to kill.
    let line = "trap '' TERM; for i in $(seq 100); do setsid sleep 30 & done; wait";
    let spec = mark.on(shell(line, dir.path()).timeout(SECOND / 2).grace(SECOND / 10));
    let output = run_supervised(spec).await.unwrap();
    assert_eq!((output.end, output.swept, mark.processes()), (End::TimedOut, true, vec![]));
}

#[tokio::test]
async fn a_call_that_is_dropped_can_leave_the_command_its_grace() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("dropped-politely");
    let cleaned = dir.path().join("cleaned");
    let line = "trap 'sleep 0.2; echo yes > cleaned; exit' TERM; echo > ready; while :; do sleep 0.05; done";
    let spec = mark.on(shell(line, dir.path()).grace(20 * SECOND).grace_when_dropped(true));
    let (supervisor, cancel) = (supervisor(), CancellationToken::new());
    tokio::select! {
        ended = run(spec, &supervisor, &cancel) => unreachable!("{ended:?}"),
        () = until(|| dir.path().join("ready").exists()) => {}
    }
    until(|| cleaned.exists() && mark.processes().is_empty()).await;

    let stubborn = "trap '' TERM; echo > stubborn; while :; do sleep 0.05; done";
    let spec = mark.on(shell(stubborn, dir.path()).grace(SECOND / 10).grace_when_dropped(true));
    tokio::select! {
        ended = run(spec, &supervisor, &cancel) => unreachable!("{ended:?}"),
        () = until(|| dir.path().join("stubborn").exists()) => {}
    }
    until(|| mark.processes().is_empty()).await;
}

/// Waits until something is so, for a time that only a hang takes.
async fn until(mut is_so: impl FnMut() -> bool) {
    let hangs = Instant::now() + 10 * SECOND;
    while !is_so() {
        assert!(Instant::now() < hangs, "it never came");
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn a_stopped_command_is_continued_so_that_sigterm_reaches_it() {
    let dir = tempdir().unwrap();
    let line = "trap 'exit 7' TERM; kill -STOP $$; sleep 30";
    let output = run_supervised(shell(line, dir.path()).timeout(SECOND)).await.unwrap();
    assert_eq!((output.end, output.status), (End::TimedOut, ExitStatus::Exited(7)));
}

#[tokio::test]
async fn input_that_is_never_read_is_no_error_and_does_not_delay_the_timeout() {
    let dir = tempdir().unwrap();
    let payload = vec![b'x'; 1 << 20];
    let spec = |line| shell(line, dir.path()).stdin(payload.clone()).timeout(SECOND);
    let output = run_supervised(spec("exit 0")).await.unwrap();
    assert!(output.success());

    let called = Instant::now();
    let output = run_supervised(spec("sleep 30")).await.unwrap();
    assert_eq!(output.end, End::TimedOut);
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
}

#[tokio::test]
async fn a_mebibyte_goes_through_cat_without_a_deadlock() {
    let dir = tempdir().unwrap();
    let payload: Vec<u8> = (0..1_u32 << 18).flat_map(u32::to_le_bytes).collect();
    let limits = OutputLimits { head: 2 << 20, ..OutputLimits::default() };
    let spec = CommandSpec::new("cat", dir.path()).stdin(payload.clone()).limits(limits);
    let output = run_supervised(spec.timeout(20 * SECOND)).await.unwrap();
    assert!(output.success());
    assert!(output.stdout.head == payload);
}

#[tokio::test]
async fn input_can_come_from_a_file_and_is_empty_by_default() {
    let dir = tempdir().unwrap();
    fs::write(dir.path().join("in"), "from a file").unwrap();
    let spec = CommandSpec::new("cat", dir.path()).timeout(10 * SECOND);
    let output = run_supervised(spec.clone().stdin_file(dir.path().join("in"))).await.unwrap();
    assert_eq!(output.stdout.text(), "from a file");
    let output = run_supervised(spec).await.unwrap();
    assert_eq!((output.success(), output.stdout.total_bytes), (true, 0));
}

#[tokio::test]
async fn output_above_the_cap_is_cut_and_the_text_names_a_private_file_with_all_of_it() {
    let dir = tempdir().unwrap();
    let limits = OutputLimits { head: 600, tail: 400, ..OutputLimits::default() };
    let spill = Spill::WhenNeeded { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
    let spec = |bytes: usize| {
        let line = format!("head -c {bytes} /dev/zero | tr '\\0' x");
        shell(&line, dir.path()).limits(limits).spill(spill.clone()).timeout(10 * SECOND)
    };
    let whole = run_supervised(spec(1000)).await.unwrap().stdout;
    assert_eq!((whole.text(), whole.spill()), ("x".repeat(1000), None));

    let cut = run_supervised(spec(1001)).await.unwrap().stdout;
    assert!(cut.is_truncated());
    let path = cut.spill().unwrap();
    assert!(cut.text().contains(path.to_str().unwrap()));
    assert_eq!(fs::read(path).unwrap(), vec![b'x'; 1001]);
    assert_eq!(fs::metadata(path).unwrap().permissions().mode() & 0o777, 0o600);
}

#[tokio::test]
async fn an_endless_writer_is_counted_capped_and_ended_on_time() {
    let dir = tempdir().unwrap();
    let limits = OutputLimits { head: 10, tail: 10, spill: 1000, ..OutputLimits::default() };
    let spill = Spill::Always { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
    let called = Instant::now();
    let spec = shell("yes & yes >&2", dir.path()).limits(limits).spill(spill).timeout(SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
    assert_eq!(output.end, End::TimedOut);
    for captured in [&output.stdout, &output.stderr] {
        assert_eq!((captured.head.len(), captured.tail.len()), (10, 10));
        assert!(captured.total_bytes > 100_000, "only {} bytes", captured.total_bytes);
        assert!(captured.spill_incomplete);
        assert_eq!(fs::metadata(captured.spill().unwrap()).unwrap().len(), 1000);
    }
}

#[tokio::test]
async fn output_that_is_not_utf8_is_readable_as_text_and_raw_in_the_file() {
    let dir = tempdir().unwrap();
    let spill = Spill::WhenNeeded { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
    let spec = shell(r"printf 'a\377b\000c'", dir.path()).spill(spill).timeout(10 * SECOND);
    let stdout = run_supervised(spec).await.unwrap().stdout;
    assert_eq!((stdout.text().as_str(), stdout.invalid_utf8), ("a\u{fffd}bc", true));
    assert_eq!(fs::read(stdout.spill().unwrap()).unwrap(), b"a\xffb\0c");
}

#[tokio::test]
async fn standard_error_can_be_merged_in_the_order_of_writing() {
    let dir = tempdir().unwrap();
    let spec = shell("echo 1; echo 2 >&2; echo 3", dir.path()).merge_stderr(true);
    let output = run_supervised(spec.timeout(10 * SECOND)).await.unwrap();
    assert_eq!((output.stdout.text(), output.stderr.text()), ("1\n2\n3\n".into(), String::new()));
}

#[tokio::test]
async fn death_by_a_signal_is_never_an_exit_code() {
    let dir = tempdir().unwrap();
    let output = run_supervised(shell("kill -9 $$", dir.path()).timeout(10 * SECOND)).await.unwrap();
    assert_eq!((output.end, output.status), (End::Exited, ExitStatus::Signaled(9)));
    assert_eq!((output.success(), output.status.code()), (false, None));
}

#[tokio::test]
async fn exit_codes_are_those_of_the_system_and_stderr_is_no_failure() {
    let dir = tempdir().unwrap();
    let output = run_supervised(shell("exit 300", dir.path()).timeout(10 * SECOND)).await.unwrap();
    assert_eq!(output.status, ExitStatus::Exited(44));
    let output = run_supervised(shell("echo note >&2", dir.path()).timeout(10 * SECOND)).await.unwrap();
    assert!(output.success());
    assert_eq!((output.stdout.text(), output.stderr.text()), (String::new(), "note\n".into()));
}

#[tokio::test]
async fn a_cancelled_command_is_gone_within_half_a_second() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("cancel");
    let ready = dir.path().join("ready");
    rustix::fs::mkfifoat(rustix::fs::CWD, &ready, rustix::fs::Mode::RWXU).unwrap();
    let spec = mark.on(shell("trap '' TERM; sleep 30 & echo > ready; wait", dir.path()));
    let (cancel, supervisor) = (CancellationToken::new(), supervisor());
    let canceller = async {
        // Opens once the command has its trap and its child.
        let path = ready.clone();
        tokio::task::spawn_blocking(move || fs::read(path)).await.unwrap().unwrap();
        cancel.cancel();
        Instant::now()
    };
    let (output, cancelled) = tokio::join!(run(spec, &supervisor, &cancel), canceller);
    assert!(cancelled.elapsed() < SECOND / 2, "took {:?}", cancelled.elapsed());
    let output = output.unwrap();
    assert_eq!((output.end, output.swept, mark.processes()), (End::Cancelled, true, vec![]));
}

#[tokio::test]
async fn a_command_that_is_cancelled_before_it_starts_ends_as_cancelled() {
    let dir = tempdir().unwrap();
    let cancel = CancellationToken::new();
    cancel.cancel();
    let output = run(shell("sleep 30", dir.path()), &supervisor(), &cancel).await.unwrap();
    assert_eq!(output.end, End::Cancelled);
}

#[tokio::test]
async fn a_timeout_of_almost_nothing_is_a_timeout_and_no_error() {
    let dir = tempdir().unwrap();
    let spec = shell("sleep 30", dir.path()).timeout(Duration::from_micros(1));
    assert_eq!(run_supervised(spec).await.unwrap().end, End::TimedOut);
}

/// The client half of the next test: a process that has a terminal runs a
/// command that tries to use it.
#[test]
fn terminal_client_entry() {
    if !plays("as-terminal-client") {
        return;
    }
    rustix::process::setsid().unwrap();
    // The first terminal that the leader of a session opens becomes its own.
    let _terminal = fs::File::open(std::env::var("TERMINAL").unwrap()).unwrap();
    fs::File::open("/dev/tty").expect("this process should have a terminal");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let line = "if (: </dev/tty) 2>/dev/null; then echo terminal; else echo none; fi";
    let output = runtime.block_on(run_supervised(shell(line, Path::new("/")).timeout(10 * SECOND)));
    fs::write(std::env::var("REPORT").unwrap(), output.unwrap().stdout.text()).unwrap();
}

#[test]
fn a_command_cannot_reach_the_terminal_of_its_caller() {
    use rustix::pty;
    let dir = tempdir().unwrap();
    let report = dir.path().join("report");
    let controller = pty::openpt(pty::OpenptFlags::RDWR | pty::OpenptFlags::NOCTTY).unwrap();
    pty::grantpt(&controller).unwrap();
    pty::unlockpt(&controller).unwrap();
    let terminal = pty::ptsname(&controller, Vec::new()).unwrap();
    let status = Command::new(std::env::current_exe().unwrap())
        .args(role_args("run::terminal_client_entry", "as-terminal-client"))
        .env("TERMINAL", terminal.to_str().unwrap())
        .env("REPORT", &report)
        .stdin(Stdio::null())
        .status()
        .unwrap();
    assert!(status.success());
    assert_eq!(fs::read_to_string(report).unwrap(), "none\n");
}

#[tokio::test]
async fn the_environment_holds_what_the_specification_names_and_a_mark_and_nothing_else() {
    let dir = tempdir().unwrap();
    assert!(std::env::var_os("PATH").is_some(), "there should be something to leak");
    for supervisor in [supervisor(), Supervisor::GroupOnly] {
        let spec = CommandSpec::new("env", dir.path())
            .env("ALLOWED", "first")
            .envs([("OTHER", "a b\n\"c\""), ("ALLOWED", "yes")])
            .timeout(10 * SECOND);
        let output = run(spec, &supervisor, &CancellationToken::new()).await.unwrap();
        let text = output.stdout.text();
        let text = text.strip_suffix('\n').unwrap();
        let (marks, lines): (Vec<&str>, Vec<&str>) =
            text.split('\n').partition(|line| line.starts_with("SAMUEL_PROCESS_MARK="));
        assert_eq!(marks.len(), usize::from(supervisor != Supervisor::GroupOnly));
        let text = lines.join("\n");
        assert!(
            ["ALLOWED=yes\nOTHER=a b\n\"c\"", "OTHER=a b\n\"c\"\nALLOWED=yes"].contains(&text.as_str()),
            "{text}"
        );
    }
}

#[tokio::test]
async fn the_command_inherits_no_descriptor_of_samuel() {
    let dir = tempdir().unwrap();
    let open = fs::File::open(dir.path()).unwrap();
    // As whoever started this process may have left it.
    fcntl_setfd(&open, FdFlags::empty()).unwrap();
    let spec = CommandSpec::new("ls", "/").arg("/proc/self/fd").timeout(10 * SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert_eq!(output.stdout.text(), "0\n1\n2\n3\n", "its streams, and the directory that it reads");
}

#[tokio::test]
async fn long_arguments_arrive_whole() {
    let dir = tempdir().unwrap();
    let args: Vec<String> = (0..20).map(|n| n.to_string().repeat(50_000)).collect();
    let spec = CommandSpec::new("printf", dir.path()).arg("%s").args(args.clone());
    let limits = OutputLimits { head: 4 << 20, ..OutputLimits::default() };
    let output = run_supervised(spec.limits(limits).timeout(20 * SECOND)).await.unwrap();
    assert!(output.stdout.text() == args.concat());
}

#[tokio::test]
async fn each_reason_not_to_start_is_an_error_of_its_own_that_names_the_path() {
    let dir = tempdir().unwrap();
    let script = |name: &str, text: &str, mode| {
        let path = dir.path().join(name);
        fs::write(&path, text).unwrap();
        fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        path
    };
    let plain = script("plain", "#!/bin/sh\n", 0o644);
    let orphan = script("orphan", "#!/nowhere/sh\n", 0o755);
    let garbage = script("garbage", "\u{1}\u{2}\u{3}", 0o755);
    for supervisor in [supervisor(), Supervisor::GroupOnly] {
        let error = async |spec: CommandSpec| {
            run(spec.timeout(10 * SECOND), &supervisor, &CancellationToken::new()).await.unwrap_err()
        };
        let at = |program: &Path| CommandSpec::new(program, dir.path());
        assert!(matches!(
            error(at(Path::new("no-such-program"))).await,
            ProcessError::ProgramNotFound { program, .. } if program == Path::new("no-such-program")
        ));
        assert!(matches!(
            error(at(&plain)).await,
            ProcessError::NotExecutable { path, .. } if path == plain
        ));
        assert!(matches!(
            error(at(&orphan)).await,
            ProcessError::MissingInterpreter { path, interpreter: Some(interpreter) }
                if path == orphan && interpreter == "/nowhere/sh"
        ));
        let found = error(at(&garbage)).await;
        assert!(matches!(&found, ProcessError::UnknownFormat { path } if *path == garbage), "{found:?}");
        let missing = dir.path().join("missing");
        assert!(matches!(
            error(CommandSpec::new("true", &missing)).await,
            ProcessError::BadWorkingDirectory { path, .. } if path == missing
        ));
        assert!(matches!(
            error(CommandSpec::new("true", &plain)).await,
            ProcessError::BadWorkingDirectory { path, .. } if path == plain
        ));
        assert!(matches!(
            error(CommandSpec::new("true", "/").arg("x".repeat(200_000))).await,
            ProcessError::TooLong { .. }
        ));
        assert!(matches!(
            error(CommandSpec::new("true", "/").arg("a").arg("b\0")).await,
            ProcessError::BadArgument { position: 2, .. }
        ));
        assert!(matches!(
            error(CommandSpec::new("true", "/").env("A=B", "c")).await,
            ProcessError::BadVariable { name } if name == "A=B"
        ));
    }
}

#[tokio::test]
async fn a_supervisor_that_is_none_is_an_error_that_names_it() {
    let attempt = async |supervisor: Supervisor| {
        let spec = CommandSpec::shell("exit 0", "/").timeout(10 * SECOND);
        run(spec, &supervisor, &CancellationToken::new()).await.unwrap_err()
    };
    assert!(matches!(
        attempt(Supervisor::Helper("/nowhere/samuel".into())).await,
        ProcessError::SupervisorStart { program, .. } if program == Path::new("/nowhere/samuel")
    ));
    assert!(matches!(
        attempt(Supervisor::Helper("/bin/true".into())).await,
        ProcessError::NotASupervisor { program } if program == Path::new("/bin/true")
    ));
}

/// The harness of a test has a thread beside the one that becomes the supervisor.
#[tokio::test]
async fn a_supervisor_in_a_program_with_other_threads_holds_its_command_as_fast() {
    let spec = CommandSpec::new("cat", "/").arg("/proc/self/cgroup").timeout(10 * SECOND);
    let output = run_supervised(spec).await.unwrap();
    assert_eq!(output.containment, strongest_containment().0);
    let is_in_a_group = output.stdout.text().contains("/samuel-");
    assert_eq!(is_in_a_group, output.containment == Containment::Cgroup);
}

#[tokio::test]
async fn what_a_supervisor_has_started_that_ends_before_it_could_show_itself_is_ended() {
    let dir = tempdir().unwrap();
    let program = dir.path().join("supervisor");
    let attempt = async |script: &str, timeout| {
        fs::write(&program, format!("#!/bin/sh\nsleep 300 <&- >&- 2>&- & echo $! >\"${{0}}.pid\"\n{script}"))
            .unwrap();
        fs::set_permissions(&program, fs::Permissions::from_mode(0o755)).unwrap();
        let spec = CommandSpec::shell("exit 0", "/").timeout(timeout).grace(20 * SECOND);
        let ended = run(spec, &Supervisor::Helper(program.clone()), &CancellationToken::new()).await;
        let started = fs::read_to_string(program.with_extension("pid")).unwrap();
        let state = fs::read_to_string(format!("/proc/{}/stat", started.trim())).unwrap_or_default();
        assert!(state.is_empty() || state.contains(") Z "), "{state}");
        ended
    };
    let error = attempt("", 10 * SECOND).await.unwrap_err();
    assert!(matches!(&error, ProcessError::SupervisorLost { left, .. } if left.is_empty()), "{error:?}");
    // A command whose time is over is no worse off for not having begun.
    let output = attempt("sleep 0.5", SECOND / 10).await.unwrap();
    assert_eq!((output.end, output.swept, output.left_behind), (End::TimedOut, false, Some(vec![])));
}

#[test]
fn a_supervisor_without_a_control_socket_fails_at_once() {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args(role_args("supervisor_entry", "as-supervisor"))
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut rest = String::new();
    child.stdout.take().unwrap().read_to_string(&mut rest).unwrap();
    assert!(child.wait().is_ok());
}

#[tokio::test]
async fn the_process_group_alone_ends_ordinary_commands_too() {
    let dir = tempdir().unwrap();
    let mark = Mark::new("group");
    let run = async |line: &str, timeout| {
        let spec = mark.on(shell(line, dir.path()).timeout(timeout));
        run(spec, &Supervisor::GroupOnly, &CancellationToken::new()).await.unwrap()
    };
    let called = Instant::now();
    let output = run("trap '' TERM; echo a; sleep 30 & sleep 31", SECOND).await;
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
    assert_eq!((output.end, output.stdout.text()), (End::TimedOut, "a\n".into()));
    let output = run("sleep 30 & echo done", 10 * SECOND).await;
    assert_eq!(
        (output.success(), output.stdout.text(), output.left_running.map(|left| left.count)),
        (true, "done\n".into(), Some(1))
    );
    assert_eq!(run("exit 3", 10 * SECOND).await.status, ExitStatus::Exited(3));
    assert_eq!(run("kill -9 $$", 10 * SECOND).await.status, ExitStatus::Signaled(9));
}
