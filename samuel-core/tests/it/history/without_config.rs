//! What can be told of a project whose samuel.toml an agent has broken.

use std::{fs, sync::Arc};

use samuel_core::{
    clock::SystemClock,
    engine::Run,
    git::Caller,
    history::{History, WhyQuestion},
    model::{Coded as _, ErrorCode},
    project::{NextStep, Project},
    testing::completes_each_task,
};

use crate::history::kit::{checked, on_disk};

#[tokio::test(flavor = "multi_thread")]
async fn what_happened_is_told_without_samuel_toml_and_no_run_is_made_of_it() {
    let bench = on_disk(&[("1", "First")]);
    bench.play(checked(&bench, "true")).await.unwrap();
    let look = |methodology| {
        let clock = Arc::new(SystemClock::new());
        Project::open_to_look(Caller::of_process(), bench.path(), methodology, clock)
    };
    assert!(look(None).unwrap().problem().is_none(), "nothing is wrong");
    for (broken, code) in [
        ("evil\n", ErrorCode::CONFIG_INVALID),
        ("version = \"2\"\ndefault_methodology = \"ralpf\"\n", ErrorCode::METHODOLOGY_NOT_FOUND),
        ("version = \"2\"\nno_such_key = 1\n", ErrorCode::CONFIG_INVALID),
    ] {
        fs::write(bench.path().join("samuel.toml"), broken).unwrap();
        let project = look(None).unwrap();
        let problem = project.problem().map(|problem| problem.code());
        assert_eq!(problem, Some(code), "{broken}: {:?}", project.problem());
        let past = History::of(&project);
        let run = past.resolve(None).unwrap();
        assert_eq!(past.why(&WhyQuestion::Run(None)).unwrap().answer, "it ended as completed");
        assert!(past.replay(&run).unwrap().ended);
        assert!(past.report(&run).unwrap().to_markdown().contains("- [x] 1 First"));
        assert!(matches!(project.status().unwrap().next, NextStep::AllDone));
        assert_eq!(look(Some("ralph")).unwrap().methodology(), "ralph");
        assert!(look(Some("ralf")).is_err(), "there is no such plan");
        let built = Run::builder(project).script(completes_each_task()).build();
        assert_eq!(built.map(drop).unwrap_err().code(), code);
    }
}
