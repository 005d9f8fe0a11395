//! Golden traces of `samuel init` and `samuel sync`: which points fire, in
//! which order, with which handlers, what these are given, and what lies on
//! the disk from that moment on.

use std::{
    fs,
    path::Path,
    sync::{Arc, Mutex},
};

use samuel_core::{
    clock::SystemClock,
    hook::{Answer, BreakClass, Call, Handler, HookFailure, Point, points},
    lifecycle::{InitOptions, Lifecycle, LifecycleBuilder, LifecycleError, SyncOptions},
    model::payload::{InitAfterOutput, InitBeforeOutput, SyncAfterOutput, SyncBeforeOutput},
    project::Project,
};

/// What happened, line by line.
#[derive(Clone, Default)]
struct Trace(Arc<Mutex<Vec<String>>>);

impl Trace {
    fn add(&self, line: String) {
        self.0.lock().unwrap().push(line);
    }

    /// Adds what lies on the disk where that has changed since it was last added.
    fn add_disk(&self, files: &str) {
        let (mut lines, line) = (self.0.lock().unwrap(), format!("  on disk: {files}"));
        if lines.iter().rfind(|line| line.starts_with("  on disk: ")) != Some(&line) {
            lines.push(line);
        }
    }

    fn text(&self) -> String {
        self.0.lock().unwrap().join("\n")
    }
}

/// Writes down each call and answers the same each time.
struct Witness<P: Point> {
    trace: Trace,
    answer: Result<P::Output, HookFailure>,
}

#[async_trait::async_trait]
impl<P: Point> Handler<P> for Witness<P> {
    async fn call(&self, call: Call<P>) -> Result<P::Output, HookFailure> {
        let input = serde_json::to_value(call.input())?;
        let mut root = String::new();
        let mut given = Vec::new();
        for (name, value) in input.as_object().unwrap() {
            match name.as_str() {
                "project_root" => value.as_str().unwrap().clone_into(&mut root),
                _ => given.push(format!("{name}={value}")),
            }
        }
        given.sort();
        let (header, given) = (call.header(), given.join(" "));
        self.trace.add(format!("{} {} {given}", header.point, header.handler_id));
        self.trace.add_disk(&files(&root));
        self.answer.clone()
    }
}

/// Lists what lies in a directory, two levels deep.
fn files(root: impl AsRef<Path>) -> String {
    let mut names = Vec::new();
    for entry in fs::read_dir(root.as_ref()).unwrap().map(Result::unwrap) {
        let name = entry.file_name().into_string().unwrap();
        match fs::read_dir(entry.path()) {
            Ok(below) => names.extend(
                below.map(|one| format!("{name}/{}", one.unwrap().file_name().into_string().unwrap())),
            ),
            Err(_) => names.push(name),
        }
    }
    names.sort();
    names.join(" ")
}

struct Bench {
    dir: tempfile::TempDir,
    trace: Trace,
}

impl Bench {
    fn new() -> Self {
        let bench = Self { dir: tempfile::tempdir().unwrap(), trace: Trace::default() };
        fs::create_dir(bench.dir.path().join("src")).unwrap();
        for name in ["Cargo.toml", "src/a.rs", "src/b.rs", "src/c.rs"] {
            fs::write(bench.dir.path().join(name), "").unwrap();
        }
        bench
    }

    /// A project whose lifecycle points all have two handlers that agree.
    fn builder(&self) -> LifecycleBuilder {
        let project = Project::open(self.dir.path(), None, Arc::new(SystemClock::new())).unwrap();
        let mut builder = Lifecycle::builder(project);
        for name in ["one", "two"] {
            builder = self.witness::<points::InitBefore>(builder, name, Ok(InitBeforeOutput::pass()));
            builder = self.witness::<points::InitAfter>(builder, name, Ok(InitAfterOutput::default()));
            builder = self.witness::<points::SyncBefore>(builder, name, Ok(SyncBeforeOutput::pass()));
            builder = self.witness::<points::SyncAfter>(builder, name, Ok(SyncAfterOutput::default()));
        }
        builder
    }

    fn witness<P: Point>(
        &self,
        builder: LifecycleBuilder,
        name: &str,
        answer: Result<P::Output, HookFailure>,
    ) -> LifecycleBuilder {
        builder.hook::<P, _>(name, Witness::<P> { trace: self.trace.clone(), answer })
    }

    async fn init(&self, builder: LifecycleBuilder) {
        let done = builder.build().unwrap().init(&InitOptions::default()).await;
        self.trace.add(match done {
            Ok(report) => format!("done: {} written", report.changes.len()),
            Err(error) => format!("error: {error}"),
        });
    }

    async fn sync(&self, builder: LifecycleBuilder, dry_run: bool) -> Result<(), LifecycleError> {
        let done = builder.build()?.sync(&SyncOptions { dry_run }).await;
        self.trace.add(match done {
            Ok(report) => format!("done: {} written, {} kept", report.changes.len(), report.unchanged),
            Err(error) => format!("error: {error}"),
        });
        Ok(())
    }
}

#[tokio::test]
async fn init_and_sync_fire_their_points_around_what_they_write() {
    let bench = Bench::new();
    bench.init(bench.builder()).await;
    bench.sync(bench.builder(), true).await.unwrap();
    bench.sync(bench.builder(), false).await.unwrap();
    bench.sync(bench.builder(), false).await.unwrap();
    insta::assert_snapshot!(bench.trace.text(), @r#"
    init.before api:one force=false minimal=false
      on disk: Cargo.toml src/a.rs src/b.rs src/c.rs
    init.before api:two force=false minimal=false
    init.after api:one plugins_installed=[]
      on disk: .samuel/.gitignore AGENTS.md Cargo.toml samuel.toml src/a.rs src/b.rs src/c.rs
    init.after api:two plugins_installed=[]
    done: 3 written
    sync.before api:one dry_run=true
    sync.before api:two dry_run=true
    done: 1 written, 1 kept
    sync.before api:one dry_run=false
    sync.before api:two dry_run=false
    sync.after api:one files_written=["src/AGENTS.md"]
      on disk: .samuel/.gitignore AGENTS.md Cargo.toml samuel.toml src/AGENTS.md src/a.rs src/b.rs src/c.rs
    sync.after api:two files_written=["src/AGENTS.md"]
    done: 1 written, 1 kept
    sync.before api:one dry_run=false
    sync.before api:two dry_run=false
    sync.after api:one files_written=[]
    sync.after api:two files_written=[]
    done: 0 written, 2 kept
    "#);
}

#[tokio::test]
async fn after_a_no_the_other_handlers_of_the_gate_are_asked_and_nothing_else_happens() {
    let bench = Bench::new();
    let refuse = Ok(InitBeforeOutput::refuse("not today"));
    let builder = bench.witness::<points::InitBefore>(bench.builder(), "no", refuse);
    bench.init(bench.witness::<points::InitBefore>(builder, "zz", Ok(InitBeforeOutput::pass()))).await;
    insta::assert_snapshot!(bench.trace.text(), @r#"
    init.before api:one force=false minimal=false
      on disk: Cargo.toml src/a.rs src/b.rs src/c.rs
    init.before api:two force=false minimal=false
    init.before api:no force=false minimal=false
    init.before api:zz force=false minimal=false
    error: init.before refused: not today
    "#);
}

#[tokio::test]
async fn after_a_break_no_other_handler_of_the_gate_is_asked() {
    let bench = Bench::new();
    let broken = Err(HookFailure::new(BreakClass::Failed, "no network"));
    let builder = bench.witness::<points::InitBefore>(bench.builder(), "x", broken);
    bench.init(bench.witness::<points::InitBefore>(builder, "zz", Ok(InitBeforeOutput::pass()))).await;
    insta::assert_snapshot!(bench.trace.text(), @r#"
    init.before api:one force=false minimal=false
      on disk: Cargo.toml src/a.rs src/b.rs src/c.rs
    init.before api:two force=false minimal=false
    init.before api:x force=false minimal=false
    error: the handler api:x of init.before broke: failed: no network
    "#);
}

#[tokio::test]
async fn one_skip_leaves_everything_as_it_is_and_the_others_are_asked() {
    let bench = Bench::new();
    fs::write(bench.dir.path().join("samuel.toml"), "version = \"2\"\n").unwrap();
    let skip = Ok(SyncBeforeOutput { skip: true, ..Default::default() });
    let builder = bench.witness::<points::SyncBefore>(bench.builder(), "skip", skip);
    let builder = bench.witness::<points::SyncBefore>(builder, "zz", Ok(SyncBeforeOutput::pass()));
    bench.sync(builder, false).await.unwrap();
    insta::assert_snapshot!(bench.trace.text(), @r#"
    sync.before api:one dry_run=false
      on disk: Cargo.toml samuel.toml src/a.rs src/b.rs src/c.rs
    sync.before api:two dry_run=false
    sync.before api:skip dry_run=false
    sync.before api:zz dry_run=false
    done: 0 written, 0 kept
    "#);
}
