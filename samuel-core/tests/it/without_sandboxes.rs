//! What there is without the feature `sandbox`: a run on the host, and words for what was left out.

use samuel_core::{
    agent::{Script, ScriptedCall},
    model::{Coded as _, ErrorCode, ExitReason},
    sandbox::{BWRAP, Containers, HOST, OCI, Sandboxes, built_in},
    testing::Bench,
};

#[test]
fn a_start_that_chooses_one_is_refused_before_anything_runs() {
    for name in [BWRAP, OCI] {
        let config = format!("[methodology.ralph]\nsandbox = \"{name}\"\n\n[sandbox]\nimage = \"agents\"\n");
        let bench = Bench::builder().config(config).task("1", "Look around").build().unwrap();
        let script = Script::default().call(ScriptedCall::any().write("seen", "yes").done());
        let containers = Containers::of_env(&[], "/no/guest", "/no/sockets");
        let refused = bench.run(script).containers(containers).build().unwrap_err();
        let told = "cannot be used: this program was built without the feature `sandbox`";
        assert_eq!(refused.to_string(), format!("sandbox \"{name}\" {told}"));
        assert_eq!(refused.code(), ErrorCode::SANDBOX_UNAVAILABLE);
        assert!(!bench.path().join("seen").exists());
    }
}

#[test]
fn what_containers_would_do_is_refused() {
    let containers = Containers::of_env(&[], "/no/guest", "/no/sockets");
    let root = std::path::Path::new("/");
    let all = [
        containers.build_image(root).map(drop),
        containers.find_image("agents").map(drop),
        containers.sweep(root).map(drop),
    ];
    for one in all {
        assert_eq!(one.unwrap_err().code(), ErrorCode::SANDBOX_UNAVAILABLE);
    }
}

#[tokio::test]
async fn on_the_host_a_run_is_what_it_always_is() {
    assert_eq!(Sandboxes::with(built_in()).unwrap().names(), [HOST]);
    let bench = Bench::with_tasks(&[("1", "Greet")]).unwrap();
    let script = Script::default().call(ScriptedCall::any().write("hello.txt", "hello").done());
    let played = bench.play(bench.run(script)).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::Completed, "{}", played.transcript());
}
