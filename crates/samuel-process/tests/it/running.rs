//! A command at work: lines as they come, input bit by bit, silence, the wish to end it.

use samuel_process::{
    Clocks, CommandSpec, End, ExitStatus, OutputLimits, ProcessError, Running, Spill, StdinPipe, Supervisor,
    spawn,
};
use std::{
    fs,
    path::Path,
    time::{Duration, Instant},
};

use crate::support::{Mark, shell, supervisor};

const SECOND: Duration = Duration::from_secs(1);

async fn start(spec: CommandSpec) -> Running {
    spawn(spec, &supervisor()).await.unwrap()
}

fn agent(line: &str) -> CommandSpec {
    shell(line, Path::new("/")).timeout(20 * SECOND)
}

#[tokio::test]
async fn lines_arrive_while_the_command_works() {
    let dir = tempfile::tempdir().unwrap();
    let go = dir.path().join("go");
    rustix::fs::mkfifoat(rustix::fs::CWD, &go, rustix::fs::Mode::RWXU).unwrap();
    let spec = shell("echo one; read line < go; echo $line; printf last", dir.path()).timeout(20 * SECOND);
    let mut running = start(spec).await;
    let before = running.last_output();
    assert_eq!(running.next_line().await.unwrap().text, "one");
    assert!(running.last_output() >= before);
    // The command cannot go on before this, so the first line was not held back.
    tokio::task::spawn_blocking(move || fs::write(go, "two\n")).await.unwrap().unwrap();
    assert_eq!(running.next_line().await.unwrap().text, "two");
    assert_eq!(running.next_line().await.unwrap().text, "last");
    assert_eq!(running.next_line().await, None);
    let output = running.wait().await.unwrap();
    assert!(output.success());
    assert_eq!(output.stdout.text(), "one\ntwo\nlast");
}

#[tokio::test]
async fn an_overlong_line_is_delivered_cut_and_its_bytes_go_to_the_log() {
    let dir = tempfile::tempdir().unwrap();
    let limits = OutputLimits { line: 1000, ..OutputLimits::default() };
    let spill = Spill::Always { stdout: dir.path().join("out"), stderr: dir.path().join("err") };
    let spec = agent("head -c 500000 /dev/zero | tr '\\0' x; echo; echo next").limits(limits).spill(spill);
    let mut running = start(spec).await;
    let line = running.next_line().await.unwrap();
    assert_eq!((line.text, line.truncated), ("x".repeat(1000), true));
    assert_eq!(running.next_line().await.unwrap().text, "next");
    assert!(running.wait().await.unwrap().success());
    assert_eq!(fs::metadata(dir.path().join("out")).unwrap().len(), 500_006);
}

#[tokio::test]
async fn a_slow_consumer_loses_no_line() {
    let mut running = start(agent("seq 1 200000")).await;
    let mut expected = 0_u32;
    while let Some(line) = running.next_line().await {
        expected += 1;
        assert_eq!(line.text, expected.to_string());
        if expected % 10_000 == 1 {
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }
    assert_eq!(expected, 200_000);
    assert!(running.wait().await.unwrap().success());
}

#[tokio::test]
async fn a_consumer_that_only_waits_does_not_block_the_command() {
    let output = start(agent("seq 1 200000; echo end >&2")).await.wait().await.unwrap();
    assert!(output.success());
    assert_eq!(output.stderr.text(), "end\n");
}

#[tokio::test]
async fn a_flood_from_a_child_that_was_left_does_not_fill_the_memory_of_a_slow_consumer() {
    let mut running = start(agent("yes & sleep 0.2; exit 3")).await;
    // Long enough for the whole life of the command.
    tokio::time::sleep(SECOND).await;
    let mut bytes = 0;
    while let Some(line) = running.next_line().await {
        bytes += line.text.len() + 1;
    }
    assert!(bytes < 8 << 20, "{bytes} bytes were waiting");
    assert_eq!(running.wait().await.unwrap().status, ExitStatus::Exited(3));
}

#[tokio::test]
async fn silence_from_the_start_is_no_first_byte() {
    let clocks = Clocks { first_byte: Some(SECOND / 4), idle: Some(10 * SECOND), linger: None };
    let output = start(agent("sleep 30").clocks(clocks)).await.wait().await.unwrap();
    assert_eq!((output.end, output.status), (End::NoFirstByte, ExitStatus::Signaled(15)));
    assert!(output.duration < 5 * SECOND);
}

#[tokio::test]
async fn silence_from_the_start_is_idle_where_no_first_byte_is_waited_for() {
    let clocks = Clocks { idle: Some(SECOND / 4), ..Clocks::default() };
    let output = start(agent("sleep 30").clocks(clocks)).await.wait().await.unwrap();
    assert_eq!(output.end, End::Idle);
}

#[tokio::test]
async fn silence_after_output_is_idle_and_standard_error_is_a_sign_of_life() {
    let clocks = Clocks { first_byte: Some(5 * SECOND), idle: Some(SECOND / 2), linger: None };
    let line = "for i in 1 2 3 4 5 6 7 8; do echo $i >&2; sleep 0.1; done; sleep 30";
    let output = start(agent(line).clocks(clocks)).await.wait().await.unwrap();
    assert_eq!(output.end, End::Idle);
    assert_eq!(output.stderr.text(), "1\n2\n3\n4\n5\n6\n7\n8\n");
    assert!(output.duration > Duration::from_millis(1200), "took {:?}", output.duration);
}

#[tokio::test]
async fn the_silence_of_a_consumer_is_not_the_commands() {
    let clocks = Clocks { idle: Some(SECOND / 2), ..Clocks::default() };
    let mut running = start(agent("seq 1 200000; echo end").clocks(clocks)).await;
    assert_eq!(running.next_line().await.unwrap().text, "1");
    // Longer than the idle clock: the command is held back all the while.
    tokio::time::sleep(SECOND).await;
    let mut last = String::new();
    while let Some(line) = running.next_line().await {
        last = line.text;
    }
    assert_eq!(last, "end");
    assert_eq!(running.wait().await.unwrap().end, End::Exited);
}

#[tokio::test]
async fn a_command_that_has_finished_may_linger_only_so_long() {
    let mark = Mark::new("linger");
    let clocks = Clocks { linger: Some(SECOND / 5), ..Clocks::default() };
    let mut running = start(mark.on(agent("echo result; sleep 30").clocks(clocks))).await;
    assert_eq!(running.next_line().await.unwrap().text, "result");
    running.finishing();
    assert_eq!(running.next_line().await, None);
    let output = running.wait().await.unwrap();
    assert_eq!((output.end, mark.processes()), (End::Linger, vec![]));
    assert!(output.duration < 5 * SECOND);

    let mut running = start(agent("echo result").clocks(clocks)).await;
    running.finishing();
    running.next_line().await.unwrap();
    assert_eq!(running.wait().await.unwrap().end, End::Exited);
}

#[tokio::test]
async fn the_wall_clock_ends_a_busy_command() {
    let spec = shell("while :; do echo x; sleep 0.01; done", Path::new("/")).timeout(SECOND);
    let called = Instant::now();
    let output = start(spec).await.wait().await.unwrap();
    assert_eq!(output.end, End::TimedOut);
    assert!(called.elapsed() < SECOND * 3 / 2, "took {:?}", called.elapsed());
}

#[tokio::test]
async fn a_stopper_ends_the_command_politely_or_at_once() {
    let line = "trap 'echo bye; exit 5' TERM; echo ready; while :; do sleep 0.05; done";
    let mut running = start(agent(line)).await;
    running.next_line().await.unwrap();
    running.stopper().terminate(10 * SECOND);
    assert_eq!(running.next_line().await.unwrap().text, "bye");
    let output = running.wait().await.unwrap();
    assert_eq!((output.end, output.status), (End::Cancelled, ExitStatus::Exited(5)));

    let mut running = start(agent("trap '' TERM; echo ready; sleep 30; sleep 31")).await;
    running.next_line().await.unwrap();
    let (first, second) = (running.stopper(), running.stopper());
    first.terminate(10 * SECOND);
    second.kill();
    let output = running.wait().await.unwrap();
    assert_eq!((output.end, output.status), (End::Cancelled, ExitStatus::Signaled(9)));
    assert!(output.duration < 5 * SECOND);
}

#[tokio::test]
async fn a_program_that_cannot_start_is_an_error_of_spawn() {
    let error = spawn(CommandSpec::new("no-such-program", "/"), &supervisor()).await.unwrap_err();
    assert!(matches!(error, ProcessError::ProgramNotFound { .. }), "{error:?}");
    let spec = CommandSpec::shell("exit 0", "/").timeout(SECOND / 10);
    // Reads the order to start, and never answers.
    let deaf = Supervisor::SelfExec { program: "/bin/cat".into(), args: Vec::new() };
    let error = spawn(spec, &deaf).await.unwrap_err();
    assert!(matches!(error, ProcessError::NoTimeToStart { .. }), "{error:?}");
}

/// Writes a line to a server and returns its answer.
async fn ask(server: &mut Running, input: &mut StdinPipe, question: &str) -> String {
    input.write(format!("{question}\n").as_bytes(), 5 * SECOND).await.unwrap();
    server.next_line().await.unwrap().text
}

#[tokio::test]
async fn a_server_answers_line_by_line_until_its_input_ends() {
    for supervisor in [supervisor(), Supervisor::GroupOnly] {
        let line = "trap 'echo interrupted; again=1' INT; again=1; while [ $again ]; do again=; \
            while read -r line; do echo \"<$line>\"; done; done; echo bye";
        let mut server = spawn(agent(line).stdin_piped(), &supervisor).await.unwrap();
        let mut input = server.take_input().unwrap();
        assert!(server.take_input().is_none());
        for question in ["one", "two", "two more"] {
            assert_eq!(ask(&mut server, &mut input, question).await, format!("<{question}>"));
        }
        server.interrupt();
        assert_eq!(server.next_line().await.unwrap().text, "interrupted");
        assert_eq!(ask(&mut server, &mut input, "three").await, "<three>");
        drop(input);
        assert_eq!(server.next_line().await.unwrap().text, "bye");
        assert!(server.wait().await.unwrap().success());
    }
}

#[tokio::test]
async fn what_a_command_does_not_read_is_written_no_longer_than_its_deadline() {
    let mark = Mark::new("deaf");
    let mut running = start(mark.on(agent("echo ready; sleep 30; sleep 31").stdin_piped())).await;
    assert_eq!(running.next_line().await.unwrap().text, "ready");
    let mut input = running.take_input().unwrap();
    let error = input.write(&vec![b'x'; 4 << 20], SECOND / 4).await.unwrap_err();
    let ProcessError::InputTimeout { written, .. } = error else { panic!("{error:?}") };
    assert!((1..4 << 20).contains(&written), "{written}");
    running.kill();
    let output = running.wait().await.unwrap();
    assert_eq!((output.end, output.swept, mark.processes()), (End::Cancelled, true, vec![]));
}

#[tokio::test]
async fn a_command_that_ends_early_takes_no_more_input_and_its_last_lines_come() {
    let mut running = start(agent("read -r line; echo \"$line\"; exit 4").stdin_piped()).await;
    let mut input = running.take_input().unwrap();
    assert_eq!(ask(&mut running, &mut input, "last").await, "last");
    assert_eq!(running.next_line().await, None);
    let error = input.write(&vec![b'x'; 1 << 20], 5 * SECOND).await.unwrap_err();
    assert!(matches!(error, ProcessError::InputClosed { written: 0 }), "{error:?}");
    assert_eq!(running.wait().await.unwrap().status, ExitStatus::Exited(4));
    // Nobody can write: so there is an end, and no hang.
    assert!(start(agent("cat").stdin_piped()).await.wait().await.unwrap().success());
}

#[test]
fn a_command_is_dropped_with_its_tree_although_the_runtime_rests() {
    let mark = Mark::new("resting");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let line = "trap '' TERM; setsid sleep 30 & echo ready; cat; sleep 31";
    let (running, input) = runtime.block_on(async {
        let mut running = start(mark.on(shell(line, Path::new("/")).stdin_piped())).await;
        assert_eq!(running.next_line().await.unwrap().text, "ready");
        let input = running.take_input();
        (running, input)
    });
    assert!(mark.processes().len() >= 2);
    drop(running);
    let hangs = Instant::now() + 5 * SECOND;
    while !mark.processes().is_empty() {
        assert!(Instant::now() < hangs, "left: {:?}", mark.processes());
        std::thread::yield_now();
    }
    drop((input, runtime));
}

#[tokio::test]
async fn the_pid_is_the_commands_own() {
    let mut running = start(agent("echo $$")).await;
    let pid = running.next_line().await.unwrap().text;
    assert_eq!(pid, running.pid().to_string());
    assert_ne!(running.pid(), running.supervisor().unwrap().pid);
}
