//! The commands on real directories, with handlers that pass, refuse, skip
//! and break.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing, reason = "tests")]

use std::{
    fs,
    path::{Path, PathBuf},
    sync::{Arc, Mutex},
};

use super::*;
use crate::{
    clock::SystemClock,
    hook::{Answer, BreakClass, Call, HookFailure, Point, RegistryBuilder, blocking, points},
    model::{Coded, ErrorCode, payload::*},
    project::{NewPlan, Project},
    state::Existing,
};

struct Bench {
    dir: tempfile::TempDir,
}

impl Bench {
    fn new(files: &[(&str, &str)]) -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap() };
        files.iter().for_each(|(name, text)| bench.write(name, text));
        bench
    }

    /// A Rust project with one folder worth a context file.
    fn rust() -> Self {
        Self::new(&[("Cargo.toml", "[package]"), ("src/a.rs", ""), ("src/b.rs", ""), ("src/c.rs", "")])
    }

    fn path(&self, name: &str) -> PathBuf {
        self.dir.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        let path = self.path(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }

    fn read(&self, name: &str) -> String {
        fs::read_to_string(self.path(name)).unwrap()
    }

    fn builder(&self) -> LifecycleBuilder {
        let clock = Arc::new(SystemClock::new());
        Lifecycle::builder(Project::open(self.dir.path(), None, clock).unwrap())
    }

    fn lifecycle(&self) -> Lifecycle {
        self.builder().build().unwrap()
    }

    async fn sync(&self) -> SyncReport {
        self.lifecycle().sync(&SyncOptions::default()).await.unwrap()
    }

    /// Every file and directory, with what it holds.
    fn everything(&self) -> Vec<(PathBuf, Option<Vec<u8>>)> {
        fn below(directory: &Path, found: &mut Vec<(PathBuf, Option<Vec<u8>>)>) {
            for entry in fs::read_dir(directory).unwrap().map(Result::unwrap) {
                found.push((entry.path(), fs::read(entry.path()).ok()));
                if entry.file_type().unwrap().is_dir() {
                    below(&entry.path(), found);
                }
            }
        }
        let mut found = Vec::new();
        below(self.dir.path(), &mut found);
        found.sort();
        found
    }
}

fn paths(changes: &[FileChange]) -> Vec<&str> {
    changes.iter().map(|change| change.path.as_str()).collect()
}

#[tokio::test]
async fn init_makes_a_project_and_sync_finds_its_notes_up_to_date() {
    let bench = Bench::rust();
    let report = bench.lifecycle().init(&InitOptions::default()).await.unwrap();
    assert_eq!(paths(&report.changes), ["samuel.toml", ".samuel/.gitignore", "AGENTS.md"]);
    assert_eq!((report.languages, report.quality_checks), (vec!["rust".into()], vec!["cargo test".into()]));
    assert!(bench.read("samuel.toml").contains("quality_checks = [\"cargo test\"]"));
    assert!(bench.read("AGENTS.md").contains("- `cargo test`\n"), "{}", bench.read("AGENTS.md"));
    assert!(bench.read(".samuel/.gitignore").contains("\n/run/\n"));
    assert_eq!(paths(&bench.sync().await.changes), ["src/AGENTS.md"]);
}

#[tokio::test]
async fn whoever_makes_a_project_asks_the_handlers_of_init_and_makes_nothing_where_one_refuses() {
    type Seen = Arc<Mutex<Vec<(String, bool)>>>;
    /// Handlers that write down what they see; the first refuses where `frozen` is there.
    fn watch(seen: &Seen, root: &Path) -> impl FnOnce(&mut RegistryBuilder) + use<> {
        let (before, after) = (Arc::clone(seen), Arc::clone(seen));
        let [frozen, config] = ["frozen", "samuel.toml"].map(|name| root.join(name));
        let there = config.clone();
        move |registry| {
            let refuses = blocking(move |_: &Call<points::InitBefore>| {
                before.lock().unwrap().push(("before".to_owned(), there.exists()));
                Ok(if frozen.exists() {
                    InitBeforeOutput::refuse("frozen")
                } else {
                    InitBeforeOutput::pass()
                })
            });
            registry.api::<points::InitBefore, _>("watch", None, refuses);
            let looks = blocking(move |_: &Call<points::InitAfter>| {
                after.lock().unwrap().push(("after".to_owned(), config.exists()));
                Ok(InitAfterOutput::default())
            });
            registry.api::<points::InitAfter, _>("watch", None, looks);
        }
    }
    for is_ready in [false, true] {
        let bench =
            Bench::new(&[("frozen", ""), ("prd.md", "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n")]);
        let (seen, project) = (Seen::default(), Project::at(bench.dir.path()).unwrap());
        let plan = NewPlan { prd: Some(bench.path("prd.md")), ..NewPlan::default() };
        let init = async || {
            let register = watch(&seen, bench.dir.path());
            if is_ready {
                return make_ready(&project, plan.clone(), register).await;
            }
            let lifecycle = Lifecycle::builder(project.clone()).register(register).build().unwrap();
            let options = InitOptions { plan: Some(plan.clone()), ..InitOptions::default() };
            lifecycle.init(&options).await.map(|report| report.plan.unwrap())
        };
        let before = bench.everything();
        assert!(matches!(init().await, Err(LifecycleError::Refused { .. })));
        assert_eq!(bench.everything(), before);
        fs::remove_file(bench.path("frozen")).unwrap();
        let made = init().await.unwrap();
        assert_eq!((made.converted.unwrap().tasks, made.plan.exists()), (1, true));
        let expected = [("before", false), ("before", false), ("after", true)];
        assert_eq!(*seen.lock().unwrap(), expected.map(|(point, there)| (point.to_owned(), there)));
        // A plan with tasks stays, and so does samuel.toml.
        let files = || [".samuel/run/prd.toon", "samuel.toml"].map(|name| bench.read(name));
        let before = files();
        assert_eq!(init().await.unwrap_err().code(), ErrorCode::STATE_EXISTS);
        assert_eq!(files(), before);
    }
}

#[tokio::test]
async fn no_plan_is_made_or_replaced_where_samuel_toml_cannot_be_written() {
    let bench = Bench::new(&[("prd.md", "# Notes\n\n## Tasks\n\n- [ ] 1.0 Store notes\n")]);
    let project = Project::at(bench.dir.path()).unwrap();
    // Nothing is there, and no directory has so long a name.
    let target = Path::new("missing").join("x".repeat(256)).join("samuel.toml");
    std::os::unix::fs::symlink(target, bench.path("samuel.toml")).unwrap();
    let plan = NewPlan { prd: Some(bench.path("prd.md")), existing: Existing::Replace, ..NewPlan::default() };
    let refused = make_ready(&project, plan.clone(), |_| {}).await.unwrap_err();
    assert!(matches!(refused, LifecycleError::File { action: "write", .. }), "{refused:?}");
    assert!(!bench.path(".samuel").exists());

    project.make_plan(&plan).unwrap();
    let before = bench.everything();
    make_ready(&project, NewPlan { existing: Existing::Replace, ..NewPlan::default() }, |_| {})
        .await
        .unwrap_err();
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn a_backup_goes_with_a_plan_that_is_refused() {
    let bench = Bench::new(&[("samuel.toml", "version = \"2\"\n# mine\n"), ("prd.md", "")]);
    let before = bench.everything();
    let plan = Some(NewPlan { prd: Some(bench.path("none.md")), ..NewPlan::default() });
    let options = InitOptions { force: true, minimal: true, plan };
    bench.lifecycle().init(&options).await.unwrap_err();
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn a_second_init_changes_nothing_and_force_keeps_what_it_replaces() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n# mine\n");
    bench.lifecycle().init(&InitOptions::default()).await.unwrap();
    assert_eq!(bench.read("samuel.toml"), "version = \"2\"\n# mine\n");
    let before = bench.everything();
    let again = bench.lifecycle().init(&InitOptions::default()).await.unwrap();
    assert_eq!((again.changes.len(), again.unchanged), (0, 3));
    assert_eq!(bench.everything(), before);
    let forced =
        bench.lifecycle().init(&InitOptions { force: true, minimal: true, plan: None }).await.unwrap();
    assert_eq!(paths(&forced.changes), ["samuel.toml"]);
    assert_eq!(fs::read_to_string(forced.backup.unwrap()).unwrap(), "version = \"2\"\n# mine\n");
}

#[tokio::test]
async fn a_configuration_that_cannot_be_read_is_backed_up_and_replaced() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = [\n");
    let open = || {
        Project::open_to_configure(
            crate::git::Caller::of_process(),
            bench.dir.path(),
            Arc::new(SystemClock::new()),
        )
    };
    Project::at(bench.dir.path()).unwrap_err();
    let lifecycle = Lifecycle::builder(open().unwrap()).build().unwrap();
    let options = InitOptions { force: true, minimal: true, plan: None };
    let forced = lifecycle.init(&options).await.unwrap();
    assert_eq!(fs::read_to_string(forced.backup.unwrap()).unwrap(), "version = [\n");
    assert_eq!(Project::at(bench.dir.path()).unwrap().methodology(), "ralph");
}

#[tokio::test]
async fn minimal_leaves_the_notes_for_agents_out() {
    let bench = Bench::rust();
    let options = InitOptions { minimal: true, ..Default::default() };
    let report = bench.lifecycle().init(&options).await.unwrap();
    assert_eq!(paths(&report.changes), ["samuel.toml", ".samuel/.gitignore"]);
}

#[tokio::test]
async fn a_gate_that_refuses_leaves_the_directory_as_it_was() {
    let bench = Bench::rust();
    let before = bench.everything();
    let lifecycle = bench
        .builder()
        .hook::<points::InitBefore, _>("no", async |_: Call<points::InitBefore>| {
            Ok(InitBeforeOutput::refuse("not here"))
        })
        .hook::<points::InitAfter, _>("never", async |_: Call<points::InitAfter>| panic!("fired"))
        .build()
        .unwrap();
    let error = lifecycle.init(&InitOptions { force: true, ..Default::default() }).await.unwrap_err();
    assert_eq!((error.to_string().as_str(), error.code().exit_code), ("init.before refused: not here", 1));
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn one_skip_of_many_is_enough_and_a_refusal_beats_it() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    let before = bench.everything();
    let skip = async |_: Call<points::SyncBefore>| {
        Ok(SyncBeforeOutput { skip: true, reason: Some("fresh".into()), ..Default::default() })
    };
    let pass = async |_: Call<points::SyncBefore>| Ok(SyncBeforeOutput::pass());
    let refuse = async |_: Call<points::SyncBefore>| Ok(SyncBeforeOutput::refuse("frozen"));
    let lifecycle = |first: bool| {
        let builder = bench.builder().hook::<points::SyncBefore, _>("a", pass);
        let builder = builder.hook::<points::SyncBefore, _>("b", skip);
        match first {
            true => builder.build().unwrap(),
            false => builder.hook::<points::SyncBefore, _>("c", refuse).build().unwrap(),
        }
    };
    let report = lifecycle(true).sync(&SyncOptions::default()).await.unwrap();
    assert_eq!((report.skipped.as_deref(), report.changes.len(), report.fired.len()), (Some("fresh"), 0, 1));
    assert_eq!(report.fired[0].handlers.len(), 2);
    let error = lifecycle(false).sync(&SyncOptions::default()).await.unwrap_err();
    assert!(matches!(error, LifecycleError::Refused { reason, .. } if reason == "frozen"));
    assert_eq!(bench.everything(), before);
}

fn broken<P: Point>(_: &Call<P>) -> Result<P::Output, HookFailure> {
    Err(HookFailure::new(BreakClass::Failed, "no network"))
}

#[tokio::test]
async fn a_broken_gate_ends_the_command_unless_it_is_told_to_warn() {
    let bench = Bench::rust();
    let broken = async |call: Call<points::SyncBefore>| broken(&call);
    let sync = async |toml: &str| {
        bench.write("samuel.toml", toml);
        let lifecycle = bench.builder().hook::<points::SyncBefore, _>("x", broken).build().unwrap();
        lifecycle.sync(&SyncOptions { dry_run: true }).await
    };
    let error = sync("version = \"2\"\n").await.unwrap_err();
    assert_eq!(error.to_string(), "the handler api:x of sync.before broke: failed: no network");
    assert_eq!(error.code().name, "E_HOOK_FAILED");
    let warned = sync("version = \"2\"\n[hooks.\"sync.before\"]\nstrict = false\n").await.unwrap();
    assert_eq!(warned.warnings, ["sync.before api:x failed: no network"]);
}

#[tokio::test]
async fn after_the_work_a_no_and_a_break_are_warnings_unless_strict() {
    let bench = Bench::rust();
    let object = async |_: Call<points::SyncAfter>| {
        Ok(SyncAfterOutput { ok: false, reason: Some("too much".into()), ..Default::default() })
    };
    let broken = async |call: Call<points::SyncAfter>| broken(&call);
    let sync = async |toml: &str| {
        bench.write("samuel.toml", toml);
        let builder = bench.builder().hook::<points::SyncAfter, _>("object", object);
        builder.hook::<points::SyncAfter, _>("x", broken).build().unwrap().sync(&SyncOptions::default()).await
    };
    let warned = sync("version = \"2\"\n").await.unwrap();
    assert_eq!(
        warned.warnings,
        ["sync.after api:object refused: too much", "sync.after api:x failed: no network"]
    );
    let strict = sync("version = \"2\"\n[hooks.\"sync.after\"]\nstrict = true\n").await;
    assert!(matches!(strict, Err(LifecycleError::Broke { point: crate::hook::HookPoint::SyncAfter, .. })));
}

#[tokio::test]
async fn a_handler_that_is_not_registered_is_refused_at_its_place() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n[hooks.\"init.before\"]\nhandlers = [\"nope:x\"]\n");
    let error = bench.builder().build().unwrap_err();
    assert_eq!(error.location().and_then(|place| place.line), Some(3));
    // A chain of the loop is not this command's to judge.
    bench.write("samuel.toml", "version = \"2\"\n[hooks.\"quality.check\"]\nhandlers = [\"nope:x\"]\n");
    assert!(bench.builder().build().is_ok());
}

#[tokio::test]
async fn sync_touches_only_its_section_and_a_second_time_nothing() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.write("AGENTS.md", "# Mine\n\n<!-- samuel:begin -->\nold\n<!-- samuel:end -->\n\nmore \t\n");
    let report = bench.sync().await;
    assert_eq!(
        report.changes,
        [
            FileChange { path: "AGENTS.md".into(), kind: FileChangeKind::Update },
            FileChange { path: "src/AGENTS.md".into(), kind: FileChangeKind::Create }
        ]
    );
    let text = bench.read("AGENTS.md");
    assert!(text.starts_with("# Mine\n\n<!-- samuel:begin -->\n<!-- Written"), "{text}");
    assert!(text.ends_with("<!-- samuel:end -->\n\nmore \t\n") && !text.contains("\nold\n"), "{text}");
    assert!(bench.read("src/AGENTS.md").contains("(../AGENTS.md)"));
    let before = bench.everything();
    let again = bench.sync().await;
    assert_eq!((again.changes.len(), again.unchanged), (0, 2));
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn a_dry_run_says_what_it_would_write_and_fires_only_the_gate() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    let before = bench.everything();
    let report = bench.lifecycle().sync(&SyncOptions { dry_run: true }).await.unwrap();
    assert_eq!(paths(&report.changes), ["AGENTS.md", "src/AGENTS.md"]);
    assert_eq!(report.fired.len(), 1);
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn broken_markers_are_an_error_with_their_line_and_nothing_is_written() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.write("src/AGENTS.md", "mine\n<!-- samuel:begin -->\nlost\n");
    let before = bench.everything();
    let error = bench.lifecycle().sync(&SyncOptions::default()).await.unwrap_err();
    let place = error.location().unwrap();
    assert_eq!((place.line, error.code().name), (Some(2), "E_SYNC_MARKERS"));
    assert!(place.file.ends_with("src/AGENTS.md"));
    assert_eq!(bench.everything(), before);
}

#[tokio::test]
async fn templates_of_the_project_and_what_handlers_contribute_make_the_section() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    let template = "{{ .Plugins.api.venv }} {{ .Sync.Folders | len }} {{ .Project.Nmae }}";
    bench.write(".samuel/templates/ralph/agents.md.tmpl", template);
    bench.write(".samuel/templates/ralph/folder.md.tmpl", "");
    let lifecycle = bench
        .builder()
        .hook::<points::SyncBefore, _>("venv", async |call: Call<points::SyncBefore>| {
            call.contribute("venv", ".venv")?;
            Ok(SyncBeforeOutput::pass())
        })
        .build()
        .unwrap();
    let report = lifecycle.sync(&SyncOptions::default()).await.unwrap();
    assert_eq!(bench.read("AGENTS.md"), "<!-- samuel:begin -->\n.venv 1\n<!-- samuel:end -->\n");
    assert_eq!(paths(&report.changes), ["AGENTS.md"], "an empty template makes no file");
    assert!(report.warnings[0].starts_with("agents.md.tmpl:1:"), "{:?}", report.warnings);
}

#[tokio::test]
async fn a_template_that_cannot_be_used_is_an_error_with_its_place() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    for (template, line) in
        [("a\n{{ if }}", Some(2)), ("{{ index 1 2 }}", Some(1)), ("<!-- samuel:end -->", None)]
    {
        bench.write(".samuel/templates/ralph/agents.md.tmpl", template);
        let error = bench.lifecycle().sync(&SyncOptions::default()).await.unwrap_err();
        assert_eq!((error.code().name, error.location().unwrap().line), ("E_TEMPLATE_INVALID", line));
        assert!(!bench.path("AGENTS.md").exists());
    }
}

#[tokio::test]
async fn links_are_followed_within_the_project_and_refused_beyond() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n");
    bench.write("NOTES.md", "notes\n");
    std::os::unix::fs::symlink("NOTES.md", bench.path("AGENTS.md")).unwrap();
    std::os::unix::fs::symlink("../AGENTS.md", bench.path("src/AGENTS.md")).unwrap();
    let report = bench.sync().await;
    assert_eq!(paths(&report.changes), ["AGENTS.md"]);
    assert_eq!(report.warnings, ["src/AGENTS.md is the same file as another one and was left out"]);
    assert!(
        bench.path("AGENTS.md").is_symlink() && bench.read("NOTES.md").starts_with("notes\n\n<!-- samuel")
    );
    let elsewhere = tempfile::NamedTempFile::new().unwrap();
    fs::remove_file(bench.path("src/AGENTS.md")).unwrap();
    std::os::unix::fs::symlink(elsewhere.path(), bench.path("src/AGENTS.md")).unwrap();
    let error = bench.lifecycle().sync(&SyncOptions::default()).await.unwrap_err();
    assert!(matches!(error, LifecycleError::Outside { .. }), "{error}");
    assert_eq!(fs::read(elsewhere.path()).unwrap(), b"");
}

#[tokio::test]
async fn a_directory_that_is_no_project_is_not_synced() {
    let bench = Bench::rust();
    let error = bench.lifecycle().sync(&SyncOptions::default()).await.unwrap_err();
    assert_eq!(
        (error.code().name, error.help()),
        ("E_STATE_NOT_INITIALISED", crate::model::Remedy::MakeProject)
    );
}

#[tokio::test]
async fn handlers_are_given_what_the_contract_says() {
    let bench = Bench::rust();
    bench.write("samuel.toml", "version = \"2\"\n[[plugins]]\nname = \"samuel-python\"\n");
    let seen: Arc<Mutex<Vec<String>>> = Arc::default();
    let (a, b, c, d) = (Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&seen), Arc::clone(&seen));
    let keep = |seen: &Arc<Mutex<Vec<String>>>, text: String| seen.lock().unwrap().push(text);
    let lifecycle = bench
        .builder()
        .hook::<points::InitBefore, _>(
            "a",
            crate::hook::blocking(move |call: &Call<points::InitBefore>| {
                keep(
                    &a,
                    format!("init.before force={} minimal={}", call.input().force, call.input().minimal),
                );
                Ok(InitBeforeOutput::pass())
            }),
        )
        .hook::<points::InitAfter, _>(
            "b",
            crate::hook::blocking(move |call: &Call<points::InitAfter>| {
                keep(&b, format!("init.after {:?}", call.input().plugins_installed));
                Ok(InitAfterOutput::default())
            }),
        )
        .hook::<points::SyncBefore, _>(
            "c",
            crate::hook::blocking(move |call: &Call<points::SyncBefore>| {
                keep(&c, format!("sync.before dry_run={}", call.input().dry_run));
                Ok(SyncBeforeOutput::pass())
            }),
        )
        .hook::<points::SyncAfter, _>(
            "d",
            crate::hook::blocking(move |call: &Call<points::SyncAfter>| {
                keep(&d, format!("sync.after {:?}", call.input().files_written));
                Ok(SyncAfterOutput::default())
            }),
        )
        .build()
        .unwrap();
    lifecycle.init(&InitOptions { force: false, minimal: true, plan: None }).await.unwrap();
    lifecycle.sync(&SyncOptions::default()).await.unwrap();
    assert_eq!(
        *seen.lock().unwrap(),
        [
            "init.before force=false minimal=true",
            "init.after [\"samuel-python\"]",
            "sync.before dry_run=false",
            "sync.after [\"AGENTS.md\", \"src/AGENTS.md\"]"
        ]
    );
}
