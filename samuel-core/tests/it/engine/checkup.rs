//! The checkup: what keeps a project from being run, all of it at once.

use std::{
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    process::Command,
    sync::Arc,
};

use samuel_core::{
    clock::SystemClock,
    engine::{Checkup, Finding, Health, Subject},
    git::Caller,
    hook::{Call, points},
    model::{ProgressStatus, Remedy, payload::ContextExtraOutput},
    plugin::Catalog,
    project::{NewPlan, Project},
    state::{Actor, Mutation},
    trust::TrustPolicy,
};

/// A project, and the directory its programs are found in.
struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    /// A project that has everything, with an agent that is called `claude`.
    fn healthy() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        bench.write("samuel.toml", "[methodology.ralph]\nquality_checks = [\"cargo test\"]\n");
        Project::open(bench.root(), None, Arc::new(SystemClock::new()))
            .unwrap()
            .make_plan(&NewPlan::default())
            .unwrap();
        bench.repository();
        for program in ["claude", "git", "cargo"] {
            bench.write(&format!("bin/{program}"), "#!/bin/sh\n");
            fs::set_permissions(bench.bin().join(program), fs::Permissions::from_mode(0o755)).unwrap();
        }
        bench
    }

    /// A repository without commits.
    fn repository(&self) {
        self.write(".git/HEAD", "ref: refs/heads/main\n");
        ["objects", "refs"].iter().for_each(|name| self.write(&format!(".git/{name}/.keep"), ""));
    }

    fn root(&self) -> &Path {
        self.dir.path()
    }

    fn bin(&self) -> PathBuf {
        self.root().join("bin")
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn check(&self) -> Checkup {
        self.check_with(&self.bin().display().to_string(), None)
    }

    fn check_with(&self, path: &str, state_dir: Option<&Path>) -> Checkup {
        let env = [("PATH".to_owned(), path.to_owned())];
        let caller = Caller::of_process();
        let opened = Project::open_for(caller.clone(), self.root(), None, Arc::new(SystemClock::new()));
        let opened = match state_dir {
            Some(state_dir) => opened.map(|project| project.keeping_plans_in(Some(state_dir.to_owned()))),
            None => opened,
        };
        Checkup::of(self.root(), &caller, opened, &env, |project, run| {
            Catalog::read(project.root(), project.config())?;
            let run = run.trust(TrustPolicy::TrustAll);
            Ok(run.hook::<points::ContextExtra, _>("notes", async |_: Call<points::ContextExtra>| {
                Ok(ContextExtraOutput::default())
            }))
        })
    }

    fn finding(&self, subject: Subject) -> Finding {
        self.check().findings.into_iter().find(|finding| finding.subject == subject).unwrap()
    }
}

fn healths(checkup: &Checkup) -> Vec<(&str, &str)> {
    checkup.findings.iter().map(|finding| (finding.subject.as_str(), finding.health.as_str())).collect()
}

#[test]
fn a_project_that_has_everything_is_healthy() {
    let bench = Bench::healthy();
    let checkup = bench.check();
    let subjects = [
        "configuration",
        "plugins",
        "hooks",
        "templates",
        "agent",
        "checks",
        "trust",
        "git",
        "processes",
        "state",
    ];
    assert_eq!(healths(&checkup), subjects.map(|subject| (subject, "ok")), "{checkup:#?}");
    assert!(checkup.is_healthy());
    let messages: Vec<&str> = checkup.findings.iter().map(|finding| finding.message.as_str()).collect();
    assert_eq!(messages[2], "11 handlers at 11 points", "the ten defaults, and the caller's own");
    assert_eq!(messages[4], "claude can be called");
    assert_eq!(messages[7], "a repository on branch main");
}

#[test]
fn looking_changes_nothing() {
    let bench = Bench::healthy();
    let files = || {
        let mut files: Vec<_> = walk(bench.root()).map(|path| (fs::read(&path).unwrap(), path)).collect();
        files.sort();
        files
    };
    let before = files();
    bench.check();
    assert_eq!(files(), before);
}

fn walk(directory: &Path) -> Box<dyn Iterator<Item = PathBuf>> {
    let entries = fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    Box::new(entries.flat_map(|path| match path.is_dir() {
        true => walk(&path),
        false => Box::new(std::iter::once(path)),
    }))
}

#[test]
fn a_single_problem_of_the_configuration_has_its_place_once() {
    let bench = Bench::healthy();
    bench.write("samuel.toml", "[methodology.ralph]\nagnt = \"x\"\n");
    let finding = bench.finding(Subject::Configuration);
    assert_eq!(finding.message, "methodology.ralph.agnt: unknown key");
    assert_eq!(finding.location.unwrap().line, Some(2));
}

#[test]
fn every_problem_of_the_configuration_is_named_and_what_needs_it_is_skipped() {
    let bench = Bench::healthy();
    bench.write("samuel.toml", "[methodology.ralph]\nagnt = \"x\"\n[hooks.\"quality.chek\"]\n");
    let checkup = bench.check();
    assert_eq!((checkup.is_healthy(), checkup.failed()), (false, 1));
    let (first, rest) = checkup.findings.split_first().unwrap();
    assert_eq!((first.health, first.message.as_str()), (Health::Failed, "samuel.toml has 2 problems"));
    assert_eq!(
        first.details,
        [
            "line 2: methodology.ralph.agnt: unknown key. Did you mean \"agent\"?",
            "line 3: hooks.\"quality.chek\": unknown hook point \"quality.chek\". Did you mean \"quality.check\"?"
        ]
    );
    assert_eq!(first.location.as_ref().and_then(|place| place.line), Some(2));
    let skipped = rest.iter().filter(|finding| finding.health == Health::Skipped).count();
    assert_eq!((rest.len(), skipped), (9, 7), "git and the machine are looked at all the same");
}

#[test]
fn a_plugin_that_is_not_installed_is_found_with_the_command_that_does_it() {
    let bench = Bench::healthy();
    bench.write("samuel.toml", "[[plugins]]\nname = \"lint\"\nsource = \"./lint\"\n");
    let finding = bench.finding(Subject::Plugins);
    assert_eq!(
        (finding.health, finding.help),
        (Health::Failed, Some(Remedy::InstallPlugin { source: Some("./lint".to_owned()) }))
    );
    assert_eq!(bench.finding(Subject::Hooks).health, Health::Skipped);
    assert_eq!(bench.finding(Subject::Agent).health, Health::Ok, "the rest is looked at all the same");
}

#[test]
fn a_handler_that_does_not_exist_is_found_with_its_place() {
    let bench = Bench::healthy();
    bench.write("samuel.toml", "[hooks.\"context.extra\"]\nhandlers = [\"api:nots\"]\n");
    let hooks = bench.finding(Subject::Hooks);
    assert_eq!(hooks.health, Health::Failed);
    assert_eq!(hooks.location.and_then(|place| place.line), Some(2));
    assert!(hooks.help.unwrap().prose().contains("api:notes"));
    assert_eq!(bench.finding(Subject::Agent).health, Health::Ok, "the rest is looked at");
}

#[test]
fn how_chains_were_resolved_is_a_warning_where_it_surprises() {
    let bench = Bench::healthy();
    bench.write("samuel.toml", "[hooks.\"context.extra\"]\nhandlers = [\"default\", \"api:notes\"]\n");
    let hooks = bench.finding(Subject::Hooks);
    assert_eq!((hooks.health, hooks.details.len()), (Health::Warning, 1));
    assert!(bench.check().is_healthy(), "warnings do not keep a run from starting");
}

#[test]
fn a_template_that_cannot_be_used_is_found() {
    let bench = Bench::healthy();
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", "one\n{{ if }}\n");
    let templates = bench.finding(Subject::Templates);
    assert_eq!(templates.health, Health::Failed);
    assert_eq!(templates.location.and_then(|place| place.line), Some(2));
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", "samuel run done 1\n");
    assert_eq!(
        bench.finding(Subject::Templates).message,
        "1 template of the project in place of built-in ones"
    );
}

#[test]
fn an_agent_that_is_not_installed_or_cannot_be_sandboxed_is_found() {
    let bench = Bench::healthy();
    fs::remove_file(bench.bin().join("claude")).unwrap();
    let agent = bench.finding(Subject::Agent);
    assert_eq!(agent.health, Health::Failed);
    assert!(agent.message.contains("\"claude\"") && agent.help.is_some(), "{agent:?}");
    bench.write("samuel.toml", "[methodology.ralph]\nagent = \"command\"\n");
    assert_eq!(bench.finding(Subject::Agent).health, Health::Failed, "it has no command");
    bench.write("samuel.toml", "[methodology.ralph]\nagent_command = [\"git\"]\nsandbox = \"oci\"\n");
    assert!(bench.finding(Subject::Agent).message.contains("oci"));
}

#[test]
fn a_check_whose_program_is_not_there_is_found() {
    let bench = Bench::healthy();
    fs::remove_file(bench.bin().join("cargo")).unwrap();
    let told = format!(
        "quality check `cargo test`: the program `cargo` was not found in {}. Install it, or add its directory to PATH.",
        bench.bin().display()
    );
    let checks = bench.finding(Subject::Checks);
    assert_eq!((checks.health, checks.details), (Health::Warning, vec![told]));
    bench.write("samuel.toml", "[methodology.ralph]\nquality_checks = [\"./nothere.sh\"]\n");
    let checks = bench.finding(Subject::Checks);
    assert_eq!(
        (checks.health, checks.details.len()),
        (Health::Warning, 1),
        "one word is enough: {:?}",
        checks.details
    );
    assert!(checks.details[0].contains("executes nothere.sh, which does not exist"), "{:?}", checks.details);
}

#[test]
fn a_project_without_git_or_checks_can_be_run_and_should_not() {
    let bench = Bench::healthy();
    fs::remove_dir_all(bench.root().join(".git")).unwrap();
    bench.write("samuel.toml", "");
    let checkup = bench.check();
    assert!(checkup.is_healthy());
    assert_eq!(bench.finding(Subject::Checks).health, Health::Warning);
    assert!(bench.finding(Subject::Git).help.unwrap().prose().contains("git init"));
    bench.repository();
    fs::remove_file(bench.bin().join("git")).unwrap();
    assert!(bench.finding(Subject::Git).message.contains("git was not found"));
    bench.write(".git/index", "no index");
    assert!(bench.finding(Subject::Git).message.contains("the repository cannot be read"));
}

#[test]
fn a_repository_that_git_itself_could_not_use_is_not_in_order() {
    let bench = Bench::healthy();
    assert_eq!(bench.finding(Subject::Git).health, Health::Ok);
    let break_and_mend = |what: &str, breaks: &dyn Fn(&Path)| {
        breaks(&bench.root().join(".git"));
        let finding = bench.finding(Subject::Git);
        assert_eq!(finding.health, Health::Warning, "{what}: {finding:?}");
        fs::remove_dir_all(bench.root().join(".git")).unwrap();
        bench.repository();
    };
    break_and_mend("no objects", &|git| fs::remove_dir_all(git.join("objects")).unwrap());
    break_and_mend("no references", &|git| fs::remove_dir_all(git.join("refs")).unwrap());
    break_and_mend("a file of objects", &|git| {
        fs::remove_dir_all(git.join("objects")).unwrap();
        fs::write(git.join("objects"), "").unwrap();
    });
    break_and_mend("a commit that is not there", &|git| {
        fs::create_dir(git.join("refs/heads")).unwrap();
        fs::write(git.join("refs/heads/main"), format!("{}\n", "a".repeat(40))).unwrap();
    });
}

#[test]
fn a_journal_without_what_a_loop_saved_is_no_journal_that_is_gone() {
    let bench = Bench::healthy();
    let project = Project::open(bench.root(), None, Arc::new(SystemClock::new())).unwrap();
    // All that a loop has noted that was killed before it saved anything.
    let running = Mutation::SetProgressStatus { status: ProgressStatus::Running };
    project.plan_store().mutate(running, Actor::Runtime).unwrap();
    let finding = bench.finding(Subject::State);
    assert_eq!(finding.health, Health::Ok, "{finding:?}");
    fs::remove_file(bench.root().join(".samuel/run/journal.jsonl")).unwrap();
    let finding = bench.finding(Subject::State);
    assert!(finding.message.contains("its journal is gone"), "{finding:?}");
}

#[test]
fn a_plan_that_is_missing_damaged_or_corrupt_is_told_apart() {
    let bench = Bench::healthy();
    let prd = bench.root().join(".samuel/run/prd.toon");
    let text = fs::read_to_string(&prd).unwrap();
    fs::write(&prd, format!("{text}stray\n")).unwrap();
    let damaged = bench.finding(Subject::State);
    assert_eq!((damaged.health, damaged.details.len()), (Health::Warning, 1), "{damaged:?}");
    let text = text.replace("tasks[0]:", "tasks[1]{id,title,depends_on}:\n  1,t,\"[\\\"9\\\"]\"");
    fs::write(&prd, text.replace("1,t,", "1,\"\",")).unwrap();
    assert_eq!(bench.finding(Subject::State).health, Health::Failed, "the loop would not start");
    fs::write(&prd, text).unwrap();
    let waiting = bench.finding(Subject::State);
    assert_eq!((waiting.health, waiting.details.len()), (Health::Warning, 1), "{waiting:?}");
    assert!(waiting.details[0].ends_with("depends on 9, which does not exist"), "{waiting:?}");
    assert_eq!(waiting.help, Some(Remedy::LeaveTasksOut));
    fs::write(&prd, b"# toon v3\n\xff").unwrap();
    let corrupt = bench.finding(Subject::State);
    assert_eq!(corrupt.health, Health::Failed);
    assert!(corrupt.location.unwrap().file.ends_with("prd.toon"));
    fs::remove_dir_all(bench.root().join(".samuel")).unwrap();
    let missing = bench.finding(Subject::State);
    assert_eq!(missing.health, Health::Failed, "the loop would not start");
    assert_eq!(missing.help, Some(Remedy::All(vec![Remedy::MakePlan])));
}

#[test]
fn finds_what_keeps_clones_and_workers_from_starting() {
    let bench = Bench::healthy();
    let git = |args: &str| {
        let made = Command::new("git").args(args.split(' ')).current_dir(bench.root()).output().unwrap();
        assert!(made.status.success(), "{made:?}");
    };
    fs::remove_dir_all(bench.root().join(".git")).unwrap();
    git("init --quiet --initial-branch=main");
    let (path, state_dir) = (std::env::var("PATH").unwrap(), tempfile::tempdir().unwrap());
    let path = format!("{}:{path}", bench.bin().display());
    let repository = |toml: &str| {
        bench
            .write("samuel.toml", &format!("[methodology.ralph]\nquality_checks = [\"cargo test\"]\n{toml}"));
        let checkup = bench.check_with(&path, Some(state_dir.path()));
        checkup.findings.into_iter().find(|finding| finding.subject == Subject::Git).unwrap()
    };
    let (clone, workers) = ("[sandbox]\nworkspace = \"clone\"\n", "[methodology.ralph.parallel]\njobs = 2\n");
    for toml in [clone, workers] {
        let found = repository(toml);
        let is_told = found.message.contains("it has no commit yet");
        assert!(found.health == Health::Failed && is_told && found.help.is_some(), "{found:?}");
    }
    git("add bin");
    git("-c user.name=u -c user.email=u@x commit --quiet --message=start");
    for toml in ["", clone, workers] {
        assert_eq!(repository(toml).health, Health::Ok, "{toml}");
    }
    let nowhere = repository(&format!("{workers}into = \"nosuch\"\n"));
    assert!(
        nowhere.health == Health::Failed && nowhere.message.contains("there is no such branch"),
        "{nowhere:?}"
    );
    assert_eq!(nowhere.location.and_then(|place| place.line), Some(5));
    assert_eq!(repository(&format!("{workers}into = \"main\"\n")).health, Health::Ok);
    bench.write("dirty", "");
    let dirty = repository(clone);
    assert!(dirty.health == Health::Failed && dirty.message.contains("in no commit"), "{dirty:?}");
    assert_eq!(repository(workers).health, Health::Ok, "workers leave it alone");
}
