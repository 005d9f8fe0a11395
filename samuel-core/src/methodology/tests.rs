//! A methodology that a program brings.
#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::sync::Arc;

use super::{Kit, Methodology, built_in};
use crate::{
    agent::{Script, ScriptedCall},
    clock::SystemClock,
    config::MethodologySettings,
    git::Caller,
    hook::{Answer, Call, HookPoint, RegistryBuilder, Tier, points},
    model::{
        Coded, ExitReason,
        payload::{BeforeAgentInvokeOutput, ContextTaskOutput},
    },
    project::{Project, ProjectError},
    testing::Bench,
};

/// Works as the built-in one does, but for its settings, its template and the task's context.
#[derive(Debug)]
struct Terse(&'static str, Vec<&'static str>);

impl Methodology for Terse {
    fn name(&self) -> &str {
        self.0
    }

    fn aliases(&self) -> Vec<&str> {
        self.1.clone()
    }

    fn settings(&self) -> MethodologySettings {
        MethodologySettings { max_iterations: std::num::NonZero::new(7), ..MethodologySettings::default() }
    }

    fn templates(&self) -> Vec<(&str, &str)> {
        vec![("prompt.md.tmpl", "Do {{ .Iteration.TaskID }} by {{ .Methodology.Source }}.\n")]
    }

    fn register(&self, kit: Kit, registry: &mut RegistryBuilder) {
        let root = kit.project_root.display().to_string();
        built_in().register(kit, registry);
        registry.default_handler::<points::ContextTask, _>(move |_: Call<points::ContextTask>| {
            let blob = format!("root: {root}\n");
            async move { Ok(ContextTaskOutput::from_blob(blob)) }
        });
    }
}

fn terse() -> Terse {
    Terse("terse", vec!["tt"])
}

#[tokio::test]
async fn a_methodology_of_the_program_decides_what_the_points_do_by_default() {
    let config = "default_methodology = \"ralph\"\n[methodology.terse]\nkeep_runs = 3\n";
    let bench = Bench::builder().methodology(terse()).config(config).task("1", "Write it").build().unwrap();
    let (told, heard) = std::sync::mpsc::channel();
    let run = bench
        .run(Script::default())
        .settings(|settings| settings.max_iterations = std::num::NonZero::new(1))
        .hook::<points::BeforeAgentInvoke, _>("listen", move |call: Call<points::BeforeAgentInvoke>| {
            told.send(call.previous().and_then(|previous| previous.prompt.clone()).unwrap()).unwrap();
            async { Ok(BeforeAgentInvokeOutput::default()) }
        });
    bench.play(run).await.unwrap();
    let prompt = heard.recv().unwrap();
    assert!(prompt.contains("\n\nDo 1 by program.\n"), "{prompt}");
    assert!(prompt.contains(&format!("root: {}", bench.path().display())), "{prompt}");
    let settings = bench.project().settings();
    assert_eq!(
        (settings.max_iterations, settings.keep_runs),
        (std::num::NonZero::new(7), 3),
        "samuel.toml goes over its settings"
    );
    let registry = bench.run(Script::default()).registry().unwrap();
    let chain: Vec<_> = registry.handlers(HookPoint::ContextTask).collect();
    assert_eq!(chain, [("default", 100, Tier::BuiltIn)], "the later default replaces the earlier");
}

#[tokio::test]
async fn the_project_replaces_a_template_of_the_programs_methodology_and_the_run_watches_it() {
    let own = ".samuel/templates/terse/prompt.md.tmpl";
    let bench =
        Bench::builder().methodology(terse()).file(own, "Mine.\n").task("1", "Write it").build().unwrap();
    let mut run = bench.run(Script::default()).build().unwrap();
    let listed = run.executables().unwrap().lines().join("\n");
    assert!(listed.contains(own), "{listed}");
    let script = Script::default().call(ScriptedCall::any().write(own, "Theirs.\n").done());
    let played = bench.play(bench.run(script)).await.unwrap();
    assert_eq!(played.report.exit_reason, ExitReason::ControlFilesChanged);
}

#[test]
fn a_methodology_of_the_program_cannot_have_a_name_that_means_another_or_a_path() {
    let directory = tempfile::tempdir().unwrap();
    let open = |own: Terse| {
        let (own, clock) = (Arc::new(own), Arc::new(SystemClock::new()));
        Project::open_with(&[own], None, Caller::of_process(), directory.path(), clock)
    };
    for own in [Terse("ralph", vec![]), Terse("terse", vec!["rw"]), Terse("../x", vec![])] {
        let error = open(own).unwrap_err();
        assert!(matches!(&error, ProjectError::MethodologyName(_)), "{error}");
        assert_eq!(error.code().name, "E_CONFIG_INVALID");
    }
    assert_eq!(open(terse()).unwrap().methodology(), "terse");
    let opened = Project::at(directory.path()).unwrap();
    let instead = |own: Terse| opened.clone().with_methodology(Arc::new(own));
    assert!(matches!(instead(Terse("rw", vec![])), Err(ProjectError::MethodologyName(_))));
    let own = instead(terse()).unwrap();
    assert_eq!(
        (own.methodology(), own.methodology_source(), own.settings().max_iterations),
        ("terse", "program", std::num::NonZero::new(7))
    );
    std::fs::write(directory.path().join("samuel.toml"), "[methodology.tt]\n").unwrap();
    let error = open(terse()).unwrap_err();
    assert!(
        error.to_string().contains("methodology.tt: \"tt\" is another name of the methodology terse"),
        "{error}"
    );
    std::fs::write(directory.path().join("samuel.toml"), "[methodology.rw]\n").unwrap();
    let error = Project::open(directory.path(), None, Arc::new(SystemClock::new())).unwrap_err();
    assert!(error.to_string().contains("\"rw\" is another name of the methodology ralph"), "{error}");
}

#[test]
fn of_several_methodologies_of_the_program_the_named_the_default_or_the_first_is_meant() {
    let directory = tempfile::tempdir().unwrap();
    let all: Vec<Arc<dyn Methodology>> = vec![Arc::new(terse()), Arc::new(Terse("haiku", vec!["hk"]))];
    let open = |all: &[Arc<dyn Methodology>], wanted: Option<&str>| {
        let clock = Arc::new(SystemClock::new());
        Project::open_with(all, wanted, Caller::of_process(), directory.path(), clock)
    };
    let named = |wanted| open(&all, wanted).unwrap().methodology().to_owned();
    assert_eq!(
        [None, Some("hk"), Some("terse"), Some("rw")].map(named),
        ["terse", "haiku", "terse", "ralph"]
    );
    let error = open(&all, Some("haikou")).unwrap_err();
    assert_eq!(error.code().name, "E_METHODOLOGY_NOT_FOUND");
    assert!(error.help().prose().contains("Did you mean \"haiku\"?"), "{}", error.help().prose());
    let config = "default_methodology = \"haiku\"\n[methodology.terse]\nmax_iterations = 2\n";
    std::fs::write(directory.path().join("samuel.toml"), config).unwrap();
    assert_eq!([None, Some("terse")].map(named), ["haiku", "terse"]);
    let twice: Vec<Arc<dyn Methodology>> = vec![Arc::new(terse()), Arc::new(Terse("other", vec!["tt"]))];
    let error = open(&twice, None).unwrap_err();
    assert!(error.to_string().contains("another methodology of the program has it"), "{error}");
}
