//! Why handlers did or did not run, from the record alone.

use samuel_core::{
    agent::Script,
    history::WhyQuestion,
    hook::{HookPoint, points},
    model::{Coded as _, Remedy},
    testing::{Act, Bench, FakeHandler, FakePlugin, completes_each_task},
};

use crate::history::kit::{checked, history, on_disk, told};

#[tokio::test(flavor = "multi_thread")]
async fn how_a_handler_ended_is_told_and_that_nobody_called_it() {
    let bench = on_disk(&[("1", "First")]);
    let first = FakeHandler::<points::IterationGate>::script([Act::pass(), Act::refuse("not today")]);
    let run = bench.run(Script::default()).hook("a-first", first);
    let run = run.hook("b-second", FakeHandler::<points::IterationGate>::passes());
    bench.play(run).await.unwrap();
    let ask = |id: &str| told(&history(&bench).why(&WhyQuestion::Handler(id.to_owned())).unwrap());
    let called = ask("api:a-first");
    assert!(called.starts_with("it was called at iteration.gate, and ended refused"), "{called}");
    let other = ask("api:b-second");
    assert!(
        other.starts_with("it was called at iteration.gate, and ended ok\n- iteration.gate called default ok, api:a-first refused, api:b-second ok ["),
        "{other}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn reports_handler_that_no_run_called() {
    let bench = on_disk(&[("1", "First")]);
    let gate = FakeHandler::<points::IterationGate>::passes();
    bench.play(bench.run(completes_each_task()).hook("a-first", gate)).await.unwrap();
    let ask = |id: &str| history(&bench).why(&WhyQuestion::Handler(id.to_owned())).unwrap_err();
    let (nobody, mistyped) = (ask("api:nobody"), ask("api:a-frist"));
    let told = "handler api:nobody was not called in the last run: no chain that fired has it";
    assert_eq!((nobody.to_string().as_str(), nobody.help()), (told, Remedy::SeeChains));
    assert!(mistyped.help().prose().contains("Did you mean \"api:a-first\"?"), "{mistyped}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_handler_is_told_whose_fault_ended_its_chain() {
    let strict = "version = \"2\"\n[hooks.\"iteration.gate\"]\nstrict = true\n";
    let bench =
        Bench::builder().task("1", "First").task("2", "Second").config(strict).on_disk().build().unwrap();
    let passes = FakeHandler::<points::IterationGate>::passes();
    let broken = FakeHandler::<points::IterationGate>::script([Act::pass(), Act::fail("a fault")]);
    let run = checked(&bench, "true").hook("a-first", broken).hook("b-second", passes);
    bench.play(run).await.unwrap();
    let ask = |id: &str| told(&history(&bench).why(&WhyQuestion::Handler(id.to_owned())).unwrap());
    let second = ask("api:b-second");
    assert!(
        second.starts_with(
            "it was not called at iteration.gate: api:a-first broke before it, which ended the chain\n"
        ),
        "{second}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn plugin_name_stands_for_its_only_handler() {
    let bench = on_disk(&[("1", "First")]);
    let run = || {
        let lint = FakePlugin::new("lint").handler("check", FakeHandler::<points::IterationGate>::passes());
        bench.run(completes_each_task()).register(|handlers| lint.register(handlers))
    };
    bench.play(run()).await.unwrap();
    let why = history(&bench).why(&WhyQuestion::Handler("lint".to_owned())).unwrap();
    assert!(why.answer.starts_with("it was called at iteration.gate, and ended ok"), "{why:#?}");
    let hooks = run().hooks().unwrap();
    assert_eq!(hooks.show("lint", false).unwrap().id, "lint:check");
    assert_eq!(hooks.find("lint", None).unwrap(), HookPoint::IterationGate);
    let executables = |id: &str| hooks.executables(HookPoint::IterationGate, Some(id));
    assert_eq!(executables("lint"), executables("lint:check"), "what is asked about is what runs");
    let trial = hooks.test(HookPoint::IterationGate, "lint", None).await.unwrap();
    assert_eq!(trial.id, "lint:check");
}
