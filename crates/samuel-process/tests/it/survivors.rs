//! Nothing survives: hostile commands, dropped calls, killed callers, leaks of our own.

use rustix::process::{Pid, PidfdFlags, PidfdGetfdFlags, Signal, kill_process, pidfd_getfd, pidfd_open};
use samuel_process::{
    CommandSpec, End, ProcessError, SupervisorId, run, spawn, sweep_remains, this_process, wait_for_sweep,
};
use std::{
    fs,
    io::{BufRead, BufReader},
    path::Path,
    process::{Command, Stdio},
    time::{Duration, Instant},
};
use tokio_util::sync::CancellationToken;

use crate::support::{Mark, plays, role_args, run_supervised, shell, supervisor};

const SECOND: Duration = Duration::from_secs(1);

/// Says whether the suites run in full.
fn is_long() -> bool {
    std::env::var_os("SAMUEL_LONG").is_some()
}

/// Ways to outlive one's parent. Each prints a line once it is in place.
const HOSTILE: [&str; 6] = [
    // Ignores SIGTERM.
    "trap '' TERM HUP INT; echo ready; while :; do sleep 30; done",
    // A grandchild in a session of its own holds the output open.
    "setsid sh -c \"trap '' TERM; echo ready; sleep 30; sleep 31\" & sleep 32",
    // A double fork whose middle process is gone.
    "(setsid sh -c 'sleep 30 & echo ready' &) ; sleep 31",
    // Stops itself.
    "echo ready; kill -STOP $$; sleep 30",
    // Starts children as fast as it can, each in a session of its own.
    "trap '' TERM; echo ready; i=0; while [ $i -lt 40 ]; do setsid sleep 30 & i=$((i+1)); done; wait",
    // Goes on when its input ends.
    "echo ready; setsid cat & cat; sleep 30",
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn very_many_hostile_commands_end_on_time_and_leave_no_process() {
    // In short ten commands of each kind.
    let batches = if is_long() { 20 } else { 6 };
    let mark = Mark::new("hostile");
    let timeout = Duration::from_millis(400);
    let mut supervisors = Vec::new();
    let mut latest = Duration::ZERO;
    for batch in 0..batches {
        let commands = (0..10).map(|n| {
            let spec = shell(HOSTILE[(batch * 10 + n) % HOSTILE.len()], Path::new("/"));
            let spec = mark.on(spec.timeout(timeout).grace(Duration::from_millis(20)));
            tokio::spawn(async move {
                let called = Instant::now();
                (run_supervised(spec).await.unwrap(), called.elapsed())
            })
        });
        for command in commands.collect::<Vec<_>>() {
            let (output, took) = command.await.unwrap();
            assert_eq!(output.end, End::TimedOut);
            supervisors.extend(output.supervisor);
            latest = latest.max(took);
        }
    }
    assert!(latest < timeout + 5 * SECOND, "one took {latest:?}");
    assert_eq!(supervisors.len(), batches * 10);
    assert_eq!(wait_for_sweep(&supervisors, &[], 5 * SECOND).await, []);
    mark.assert_gone();
}

#[tokio::test]
async fn a_grandchild_in_its_own_session_is_swept_after_a_normal_exit() {
    let mark = Mark::new("session");
    let line = "setsid sleep 30 & (setsid sleep 31 >/dev/null 2>&1 &); echo done";
    let output = run_supervised(mark.on(shell(line, Path::new("/")).timeout(10 * SECOND))).await.unwrap();
    assert!(output.success());
    assert_eq!(
        (output.left_running.map(|left| left.count), output.swept, mark.processes()),
        (Some(2), true, vec![])
    );
}

#[tokio::test]
async fn dropping_the_call_ends_the_command() {
    let mark = Mark::new("dropped");
    let mut running = spawn(mark.on(shell(HOSTILE[1], Path::new("/"))), &supervisor()).await.unwrap();
    assert_eq!(running.next_line().await.unwrap().text, "ready");
    let id = running.supervisor().unwrap();
    assert!(!mark.processes().is_empty());
    drop(running);
    assert_eq!(wait_for_sweep(&[id], &[], 5 * SECOND).await, []);
    mark.assert_gone();
}

#[tokio::test]
async fn a_command_that_kills_its_supervisor_is_an_error_and_does_not_win() {
    let mark = Mark::new("murder");
    let line = "trap '' TERM; sleep 30 & kill -9 $PPID; sleep 31";
    let error = run_supervised(mark.on(shell(line, Path::new("/")).timeout(10 * SECOND))).await.unwrap_err();
    let ProcessError::SupervisorLost { pid, .. } = error else { panic!("{error:?}") };
    assert!(pid > 1);
    // What was killed is reaped by somebody else, whenever they come to it.
    let gone = Instant::now() + 5 * SECOND;
    while !mark.processes().is_empty() {
        assert!(Instant::now() < gone, "left: {:?}", mark.processes());
        tokio::task::yield_now().await;
    }
}

#[test]
fn the_loss_of_both_supervisors_is_told_although_the_call_does_not_wait_for_what_is_left() {
    // One thread for what blocks, and it is taken: so the sweep outlasts the call for certain.
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .max_blocking_threads(1)
        .enable_all()
        .build()
        .unwrap();
    let (release, held) = std::sync::mpsc::channel::<()>();
    let mark = Mark::new("untold");
    runtime.block_on(async {
        let spec = mark.on(shell("echo ready; sleep 30", Path::new("/")));
        let mut running = spawn(spec, &supervisor()).await.unwrap();
        assert_eq!(running.next_line().await.unwrap().text, "ready");
        let held = tokio::task::spawn_blocking(move || held.recv());
        let stat = fs::read_to_string(format!("/proc/{}/stat", running.pid())).unwrap();
        let keeper = stat.rsplit_once(')').unwrap().1.split_whitespace().nth(1).unwrap();
        for pid in [running.supervisor().unwrap().pid.cast_signed(), keeper.parse().unwrap()] {
            kill_process(Pid::from_raw(pid).unwrap(), Signal::KILL).unwrap();
        }
        running.kill();
        let output = running.wait().await.unwrap();
        assert_eq!((output.swept, output.left_behind), (false, Some(vec![])));
        release.send(()).unwrap();
        held.await.unwrap().unwrap();
        let gone = Instant::now() + 5 * SECOND;
        while !mark.processes().is_empty() {
            assert!(Instant::now() < gone, "left: {:?}", mark.processes());
            tokio::task::yield_now().await;
        }
    });
}

/// The client half of the tests below: starts a hostile command, reports its
/// supervisor and waits for its own end.
#[test]
fn doomed_client_entry() {
    if !plays("as-doomed-client") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let line = std::env::var("LINE").unwrap();
        let mark = std::env::var("SAMUEL_TEST_MARK").unwrap();
        let spec = shell(&line, Path::new("/")).env("SAMUEL_TEST_MARK", mark).timeout(60 * SECOND);
        let mut running = spawn(spec.stdin_piped(), &supervisor()).await.unwrap();
        let _input = running.take_input();
        assert_eq!(running.next_line().await.unwrap().text, "ready");
        eprintln!("{}", serde_json::to_string(&running.supervisor()).unwrap());
        running.wait().await.unwrap();
    });
}

/// Starts a client with a command and returns it with its supervisor's identity.
fn doomed_client(line: &str, mark: &Mark) -> (std::process::Child, SupervisorId) {
    let (name, value) = mark.variable();
    let mut client = Command::new(std::env::current_exe().unwrap())
        .args(role_args("survivors::doomed_client_entry", "as-doomed-client"))
        .env("LINE", line)
        .env(name, value)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let stderr = BufReader::new(client.stderr.take().unwrap());
    let report = stderr.lines().map(Result::unwrap).find(|line| line.starts_with('{')).unwrap();
    (client, serde_json::from_str(&report).unwrap())
}

#[tokio::test]
async fn nothing_survives_when_the_calling_program_is_killed() {
    for (round, line) in HOSTILE.iter().cycle().take(18).enumerate() {
        let mark = Mark::new(&format!("killed-{round}"));
        let (mut client, id) = doomed_client(line, &mark);
        assert!(mark.processes().len() >= 2, "the client and its command");
        client.kill().unwrap();
        client.wait().unwrap();
        assert_eq!(wait_for_sweep(&[id], &[], 5 * SECOND).await, []);
        mark.assert_gone();
    }
}

#[tokio::test]
async fn nothing_survives_when_a_fork_of_the_caller_keeps_its_descriptors() {
    let mark = Mark::new("forked");
    let (mut client, id) = doomed_client(HOSTILE[1], &mark);
    let handle = pidfd_open(Pid::from_child(&client), PidfdFlags::empty()).unwrap();
    let open = fs::read_dir(format!("/proc/{}/fd", client.id())).unwrap();
    let numbers = open.map(|entry| entry.unwrap().file_name().to_str().unwrap().parse().unwrap());
    // Holds all that the client holds, the socket to the supervisor too.
    let held: Vec<_> =
        numbers.map(|number| pidfd_getfd(&handle, number, PidfdGetfdFlags::empty()).unwrap()).collect();
    client.kill().unwrap();
    client.wait().unwrap();
    assert_eq!(wait_for_sweep(&[id], &[], 5 * SECOND).await, []);
    mark.assert_gone();
    drop(held);
}

#[tokio::test]
async fn a_supervisor_that_is_asked_to_end_takes_its_command_along() {
    let mark = Mark::new("asked");
    let mut running = spawn(mark.on(shell(HOSTILE[1], Path::new("/"))), &supervisor()).await.unwrap();
    assert_eq!(running.next_line().await.unwrap().text, "ready");
    let id = running.supervisor().unwrap();
    kill_process(Pid::from_raw(id.pid.cast_signed()).unwrap(), Signal::TERM).unwrap();
    assert_eq!(running.wait().await.unwrap().status.code(), None);
    mark.assert_gone();
}

/// Starts a process that is nobody's command, with these variables.
fn bystander(variables: &[(&str, &str)]) -> (std::process::Child, SupervisorId) {
    let child = Command::new("sleep").arg("30").envs(variables.iter().copied()).spawn().unwrap();
    // A process that is just being executed shows no environment yet.
    let deadline = Instant::now() + Duration::from_secs(10);
    while fs::read(format!("/proc/{}/environ", child.id())).unwrap().is_empty() {
        assert!(Instant::now() < deadline, "the process shows no environment");
        std::thread::yield_now();
    }
    let id = SupervisorId { pid: child.id(), start_time: start_time(child.id()) };
    (child, id)
}

fn start_time(pid: u32) -> u64 {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).unwrap();
    stat.rsplit_once(')').unwrap().1.split_whitespace().nth(19).unwrap().parse().unwrap()
}

#[tokio::test]
async fn a_forged_note_ends_no_process_and_holds_up_nobody() {
    let live = this_process().unwrap();
    let parent = std::os::unix::process::parent_id();
    let foreign = format!("{parent}.{}.00000000000000ab", start_time(parent));
    let common = ["", "1", ".", "1.", "1.1.", "sleep"];
    let variables = common.iter().map(|value| vec![("SAMUEL_PROCESS_MARK", *value)]);
    let (mut bystanders, mut ids): (Vec<_>, Vec<_>) =
        variables.chain([vec![]]).map(|variables| bystander(&variables)).unzip();
    let (stopped, id) = bystander(&[]);
    kill_process(Pid::from_child(&stopped), Signal::STOP).unwrap();
    bystanders.push(stopped);
    ids.push(id);
    assert_eq!(wait_for_sweep(&ids, &[], Duration::ZERO).await, []);
    // A supervisor whose client lives is somebody's, and is waited for only where that one ran loops here.
    let (other, others) = bystander(&[("SAMUEL_PROCESS_MARK", &foreign)]);
    bystanders.push(other);
    assert_eq!(wait_for_sweep(&[others], &[], Duration::ZERO).await, []);
    let client = SupervisorId { pid: parent, start_time: start_time(parent) };
    assert_eq!(wait_for_sweep(&[others], &[client], Duration::ZERO).await, [others]);
    let mut clients = ids.clone();
    clients.extend([live, SupervisorId { pid: 0, start_time: 0 }, SupervisorId { pid: 1, start_time: 1 }]);
    ids.push(others);
    sweep_remains(&ids, &clients, Duration::ZERO).await;
    for child in &mut bystanders {
        assert_eq!(child.try_wait().unwrap(), None, "{} was ended", child.id());
        child.kill().unwrap();
        child.wait().unwrap();
    }
}

#[tokio::test]
async fn supervisors_of_a_dead_client_that_are_stuck_are_ended_together() {
    // A client with this start time has long been dead.
    let marks: Vec<String> = (0..4).map(|n| format!("{}.7.{n:016x}", std::process::id() + 1)).collect();
    let (mut stuck, ids): (Vec<_>, Vec<_>) =
        marks.iter().map(|mark| bystander(&[("SAMUEL_PROCESS_MARK", mark)])).unzip();
    for child in stuck.iter().take(2) {
        kill_process(Pid::from_child(child), Signal::STOP).unwrap();
    }
    sweep_remains(&ids, &[], SECOND / 20).await;
    assert_eq!(wait_for_sweep(&ids, &[], Duration::ZERO).await, []);
    for child in &mut stuck {
        assert!(!child.wait().unwrap().success());
    }
}

#[tokio::test]
async fn what_a_dead_client_has_left_is_ended_although_nobody_has_noted_it() {
    // A client with this start time has long been dead, and this process lives.
    let dead = format!("{}.7.00000000000000ab", std::process::id());
    let live = this_process().unwrap();
    let live = format!("{}.{}.00000000000000ab", live.pid, live.start_time);
    let (mut left, _) = bystander(&[("SAMUEL_PROCESS_MARK", &dead)]);
    let (mut other, _) = bystander(&[("SAMUEL_PROCESS_MARK", &live)]);
    sweep_remains(&[], &[], Duration::ZERO).await;
    assert!(!left.wait().unwrap().success());
    assert_eq!(other.try_wait().unwrap(), None);
    other.kill().unwrap();
    other.wait().unwrap();
}

#[tokio::test]
async fn waiting_for_a_sweep_gives_up_at_its_limit_and_names_who_is_left() {
    let running = spawn(shell("sleep 30", Path::new("/")), &supervisor()).await.unwrap();
    let id = running.supervisor().unwrap();
    let reused = SupervisorId { start_time: id.start_time + 1, ..id };
    assert_eq!(wait_for_sweep(&[reused, id], &[], SECOND / 20).await, [id]);
}

/// The client half of the next test, alone in its process so that nothing else
/// opens descriptors meanwhile.
#[test]
fn counting_client_entry() {
    if !plays("as-counting-client") {
        return;
    }
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let supervisor = supervisor();
        let fire = async |hook: usize| {
            let line = ["cat", "echo out; echo err >&2", "exit 3", "sleep 30 & echo x", "sleep 30"][hook % 5];
            let spec = CommandSpec::shell(line, "/").stdin(vec![b'x'; 100_000]);
            let timeout = if line == "sleep 30" { SECOND / 20 } else { 20 * SECOND };
            run(spec.timeout(timeout), &supervisor, &CancellationToken::new()).await.unwrap()
        };
        fire(0).await;
        let open = || fs::read_dir("/proc/self/fd").unwrap().count();
        let before = open();
        for hook in 0..if is_long() { 500 } else { 100 } {
            // The leaking and the sleeping kind are slow by nature.
            let output = fire(if hook % 20 < 2 { 3 + hook % 20 } else { hook % 3 }).await;
            assert!(output.supervisor.is_some());
        }
        // The supervisor of the last one may need a moment to exit.
        let me = std::process::id();
        let children = || fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap();
        let deadline = Instant::now() + 5 * SECOND;
        while open() > before || !children().trim().is_empty() {
            let (open, children) = (open(), children());
            assert!(Instant::now() < deadline, "{open} descriptors, {before} before; children: {children}");
            tokio::task::yield_now().await;
        }
    });
}

#[test]
fn very_many_firings_leave_no_descriptor_and_no_zombie() {
    let output = Command::new(std::env::current_exe().unwrap())
        .args(role_args("survivors::counting_client_entry", "as-counting-client"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}
