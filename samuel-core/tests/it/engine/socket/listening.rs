//! Where a run listens, whom it lets in, and what it leaves.

use std::{
    env, fs,
    io::{BufRead as _, BufReader, Write as _},
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    process::{Command, Stdio},
    sync::Arc,
    time::{Duration, SystemTime},
};

use async_trait::async_trait;
use samuel_core::{
    agent::{AgentPort, AgentRequest},
    engine::{
        RunError,
        socket::{AbilityBefore, RunClient},
    },
    event::Event,
    hook::points,
    model::Coded as _,
    testing::{Act, Bench, FakeHandler},
};

use super::kit::*;

#[tokio::test(flavor = "multi_thread")]
async fn a_run_with_gates_does_not_start_where_it_cannot_listen_and_another_warns() {
    let (bench, outside, sockets) = bench();
    fs::create_dir(&sockets).unwrap();
    fs::set_permissions(&sockets, fs::Permissions::from_mode(0o777)).unwrap();
    let long = outside.path().join("x".repeat(90));
    for (directory, expected) in
        [(&sockets, "the run cannot listen in "), (&long, "the socket of the run would be ")]
    {
        let gated = run(&bench, directory, DoesNotAsk).hook("gate", gate(blocks("no")));
        let refused = gated.build().unwrap().start().await.unwrap_err();
        assert!(matches!(&refused, RunError::Socket(_)) && refused.to_string().starts_with(expected));
        assert_eq!(refused.code().name, "E_SOCKET_UNAVAILABLE");
        let played = bench.play(run(&bench, directory, Looks(Arc::default()))).await.unwrap();
        let told = warnings(&played);
        assert!(
            told.len() == 1
                && told[0].starts_with(expected)
                && told[0].ends_with("; nothing can reach the run")
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn people_are_let_in_by_the_runs_own_token_and_foreign_ones_are_told_of() {
    let (bench, _outside, sockets) = bench();
    let run = run(&bench, &sockets, Waits(Arc::default()))
        .hook("gate", FakeHandler::<points::AbilityBefore>::script([Act::Hang]));
    let mut handle = run.build().unwrap().start().await.unwrap();
    let events = handle.events();
    let socket = handle.socket().unwrap().to_owned();
    let run_id = handle.run_id().to_owned();
    let tried = tokio::task::spawn_blocking(move || {
        let token = fs::read_to_string(socket.with_file_name("token")).unwrap();
        let mut people = RunClient::connect(&socket, &token, TIME).unwrap();
        assert_eq!(&people.welcome().run, &run_id);
        let may = &people.welcome().may;
        assert!(may.contains(&"pause".to_owned()) && !may.contains(&"ability_before".to_owned()), "{may:?}");
        let refused = people.ability_before(AbilityBefore {
            ability_id: "Bash".to_owned(),
            input: "{}".to_owned(),
            ..Default::default()
        });
        assert_eq!(refused.unwrap_err().code().name, "E_SOCKET_SCOPE");
        for _ in 0..3 {
            assert_eq!(
                RunClient::connect(&socket, &"1".repeat(64), TIME).unwrap_err().code().name,
                "E_SOCKET_TOKEN"
            );
        }
    });
    tried.await.unwrap();
    handle.stop();
    handle.wait().await.unwrap();
    let mut events = events;
    let mut told = Vec::new();
    while let Some(record) = events.next().await {
        if let Event::Warning { message } = record.event {
            told.extend(Some(message).filter(|message| !is_of_start(message)));
        }
    }
    let expected = "the run's socket refused a connection: the token is none that is in use (E_SOCKET_TOKEN)";
    assert_eq!(told, [expected]);
}

/// Where a child of this test listens.
const CHILD_DIR: &str = "SAMUEL_TEST_SOCKETS";

/// Says where the socket is, and works until it is killed.
struct WorksOn;

#[async_trait]
impl AsyncWork for WorksOn {
    async fn work(&self, request: AgentRequest, _: &dyn AgentPort) {
        let bridge = request.bridge.unwrap();
        let told = format!("SOCKET {}\n", variable(&bridge, "SAMUEL_SOCKET"));
        std::io::stdout().write_all(told.as_bytes()).unwrap();
        std::future::pending().await
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_that_was_killed_leaves_nothing_that_its_successor_trips_over() {
    if let Some(sockets) = env::var_os(CHILD_DIR) {
        let bench = Bench::with_tasks(&[("1", "First")]).unwrap();
        let run = run(&bench, Path::new(&sockets), WorksOn).hook("gate", gate(blocks("no")));
        bench.play(run).await.unwrap();
        return;
    }
    let (bench, _outside, sockets) = bench();
    let name =
        "engine::socket::listening::a_run_that_was_killed_leaves_nothing_that_its_successor_trips_over";
    let mut child = Command::new(env::current_exe().unwrap())
        .args([name, "--exact", "--nocapture"])
        .env(CHILD_DIR, &sockets)
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let mut lines = lines.map_while(Result::ok);
    let left = lines.find_map(|line| line.strip_prefix("SOCKET ").map(PathBuf::from)).unwrap();
    child.kill().unwrap();
    child.wait().unwrap();
    assert!(left.exists());
    // The next run works beside what is left, and removes it once it is surely nobody's.
    let seen = Arc::default();
    let next = || run(&bench, &sockets, Looks(Arc::clone(&seen))).hook("gate", gate(blocks("no")));
    bench.play(next()).await.unwrap();
    assert!(seen.lock().unwrap().take().unwrap().bridge.is_some() && left.exists());
    let directory = left.parent().unwrap();
    let long_ago = fs::FileTimes::new().set_modified(SystemTime::now() - Duration::from_secs(120));
    fs::File::open(directory).unwrap().set_times(long_ago).unwrap();
    bench.play(next()).await.unwrap();
    assert_eq!(fs::read_dir(&sockets).unwrap().count(), 0);
}
