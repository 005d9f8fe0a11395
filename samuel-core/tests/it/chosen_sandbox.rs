//! The sandbox of a run: one that the program brings, chosen by settings, by samuel.toml or by a handler.

use std::sync::Arc;

use samuel_core::{
    agent::{Script, ScriptedCall},
    config::CheckCommand,
    engine::RunError,
    hook::{Call, points},
    model::{Coded as _, ExitReason, payload::BeforeAgentInvokeOutput},
    process::CommandSpec,
    sandbox::{BWRAP, HOST, OCI, Sandbox, SandboxError, Sandboxes, built_in},
    testing::{Bench, Played},
};

/// A sandbox that its commands can see.
#[derive(Debug)]
struct Marked;

impl Sandbox for Marked {
    fn name(&self) -> &str {
        "marked"
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        Ok(spec.within("/usr/bin/env", ["INSIDE=yes"]))
    }
}

/// Makes one run in which a handler chooses the sandbox of each call, if one is named; says where
/// the agent was.
async fn seen_by_the_agent(chosen: Option<&'static str>) -> (String, Played) {
    let bench = Bench::with_tasks(&[("1", "Look around")]).unwrap();
    let script =
        Script::default().call(ScriptedCall::any().repeated().run("echo \"inside=$INSIDE\" > seen").done());
    let mut run = bench.run(script).sandbox(Arc::new(Marked)).settings(|settings| {
        settings.max_iterations = std::num::NonZero::new(1);
        settings.quality_checks = vec![CheckCommand::new("test \"$INSIDE\" = yes")];
    });
    if let Some(name) = chosen {
        run = run.hook::<points::BeforeAgentInvoke, _>(
            "choose",
            move |_: Call<points::BeforeAgentInvoke>| async move {
                Ok(BeforeAgentInvokeOutput { sandbox: Some(name.to_owned()), ..Default::default() })
            },
        );
    }
    let played = bench.play(run).await.unwrap();
    (std::fs::read_to_string(bench.path().join("seen")).unwrap_or_default(), played)
}

#[tokio::test]
async fn agents_and_checks_run_in_the_sandbox_that_the_program_brings() {
    let (seen, played) = seen_by_the_agent(None).await;
    assert_eq!(seen, "inside=yes\n");
    assert_eq!(played.report.exit_reason, ExitReason::Completed, "{}", played.transcript());
}

#[tokio::test]
async fn a_handler_chooses_the_sandbox_of_one_call_by_its_name() {
    let (seen, played) = seen_by_the_agent(Some(HOST)).await;
    assert_eq!(seen, "inside=\n");
    assert_eq!(played.report.exit_reason, ExitReason::Completed, "the check stays where it was");
    let (seen, played) = seen_by_the_agent(Some("bwarp")).await;
    assert_eq!(seen, "", "nothing ran");
    assert!(played.transcript().contains("unknown sandbox \"bwarp\""), "{}", played.transcript());
}

#[tokio::test]
async fn a_sandbox_that_cannot_be_used_is_refused_before_anything_runs() {
    let bench = Bench::with_tasks(&[("1", "Look around")]).unwrap();
    let error = bench.run(Script::default()).sandbox(Arc::new(Broken("vm"))).build().unwrap_err();
    assert!(matches!(&error, RunError::Sandbox(SandboxError::Unusable { .. })), "{error}");
    let unknown = bench.run(Script::default()).settings(|settings| settings.sandbox = "vm".to_owned());
    assert!(matches!(unknown.build(), Err(RunError::Sandbox(SandboxError::Unknown { .. }))));
}

#[tokio::test]
async fn samuel_toml_names_a_sandbox_of_the_program() {
    let config = |name| format!("[methodology.ralph]\nsandbox = \"{name}\"\n");
    let bench = Bench::builder().config(config("marked")).task("1", "Look around").build().unwrap();
    let script = || {
        let call = ScriptedCall::any().run("echo \"inside=$INSIDE\" > seen").done();
        bench.run(Script::default().call(call)).sandboxes([Arc::new(Marked) as Arc<dyn Sandbox>])
    };
    bench.play(script()).await.unwrap();
    assert_eq!(std::fs::read_to_string(bench.path().join("seen")).unwrap(), "inside=yes\n");
    let told = |error: RunError| {
        let place = error.location().map(|place| (place.line, place.column));
        format!("{error} | {} | {place:?}", error.help().prose())
    };
    let unknown = |name| Bench::builder().config(config(name)).task("1", "Look around").build().unwrap();
    let (near, far) = (unknown("makred"), unknown("docker"));
    let refused = |bench: &Bench, brought: Option<Arc<dyn Sandbox>>| {
        told(bench.run(Script::default()).sandboxes(brought).build().unwrap_err())
    };
    let place = "methodology.ralph.sandbox: unknown sandbox";
    let told_near = refused(&near, Some(Arc::new(Marked)));
    assert!(
        told_near.contains(&format!(":2:1: {place} \"makred\" | Did you mean \"marked\"?")),
        "{told_near}"
    );
    assert!(told_near.ends_with("Some((Some(2), Some(1)))"), "{told_near}");
    let told_far = refused(&far, None);
    assert!(told_far.contains(&format!("{place} \"docker\" | Use one of host, bwrap, oci.")), "{told_far}");
    let selected = far.run(Script::default()).sandbox(Arc::new(Marked));
    assert!(
        told(selected.build().unwrap_err()).contains("Use one of host, bwrap, oci, marked."),
        "a misspelt name is one all the same"
    );
}

/// A sandbox in which nothing can run.
#[derive(Debug)]
struct Broken(&'static str);

impl Sandbox for Broken {
    fn name(&self) -> &str {
        self.0
    }

    fn check(&self) -> Result<(), SandboxError> {
        Err(SandboxError::Unusable { name: self.0.to_owned(), problem: "no kernel for it".to_owned() })
    }

    fn wrap(&self, spec: CommandSpec) -> Result<CommandSpec, SandboxError> {
        self.check().map(|()| spec)
    }
}

#[test]
fn built_in_sandboxes_refuse_until_described() {
    let all = Sandboxes::with(built_in()).unwrap();
    assert_eq!(all.names(), [HOST]);
    for name in [BWRAP, OCI] {
        assert!(all.find(name).is_err(), "{name}");
        assert_eq!(all.named(name).unwrap().name(), name);
    }
}

#[test]
fn no_sandbox_of_a_program_stands_for_another() {
    let bench = Bench::with_tasks(&[("1", "Look around")]).unwrap();
    for name in [HOST, OCI, BWRAP] {
        let brought = [Arc::new(Broken(name)) as Arc<dyn Sandbox>];
        let refused = bench.run(Script::default()).sandboxes(brought).build().unwrap_err();
        let is_taken =
            matches!(&refused, RunError::Sandbox(SandboxError::Taken { name: told }) if told == name);
        assert!(is_taken, "{refused}");
    }
}
