//! What is installed is exchanged while it is loaded and run.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::PermissionsExt,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
    thread,
};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use samuel_core::{
    clock::SystemClock,
    config::Config,
    hook::{CallScope, Dispatched, Registry, points},
    model::payload::{QualityCheckInput, QualityCheckOutput},
    plugin::{Catalog, FetchOptions, InstallSource, LoadOptions, PluginError, Plugins},
    process::Supervisor,
};
use tokio::runtime::Runtime;

use crate::attacks::{
    component::passes,
    kit::{Target, manifest, program, times},
};

/// Looks at two files beside it, one by its own name and one by the variable.
const GOOD: &str = "#!/bin/sh
cat >/dev/null
. \"$(dirname \"$0\")/lib.sh\"
[ \"$(cat \"$SAMUEL_PLUGIN_DIR/data/words\")\" = good ] || echo words >>MARK
echo '{\"ok\": true, \"reason\": \"good\"}'
";
const EVIL: &str = "#!/bin/sh
echo script >>MARK
echo '{\"ok\": true, \"reason\": \"evil\"}'
";
const EVIL_LIB: &str = "echo lib >>MARK\n";
/// The name of the mark.
const MARK: &str = "ran";

/// A project with a plugin, and beside it what an attacker puts in its place.
struct Bench {
    target: Target,
    runtime: Runtime,
}

/// What came of raced calls.
#[derive(Debug, Default)]
struct Tally {
    /// How often the plugin was refused as a whole.
    refused: usize,
    calls: usize,
    /// Calls that were answered as the plugin that was installed does.
    good: usize,
    /// Calls that were answered by something else.
    evil: usize,
}

impl Bench {
    /// Installs a plugin of a kind, made of some files.
    fn new(kind: &str, files: impl Fn(&Target) -> Vec<(&'static str, Vec<u8>)>) -> Self {
        let target = Target::new();
        let (hook, more) = match kind {
            "wasm" => ("quality-check", "[wasm]\nmodule = \"plugin.wasm\"\n"),
            _ => ("hook.sh", ""),
        };
        let hooks = format!("[hooks]\n\"quality.check\" = \"{hook}\"\n{more}");
        target.write("../source/samuel-plugin.toml", manifest(kind, "lint", &hooks));
        for (name, bytes) in files(&target) {
            program(&target.path("../source").join(name), &bytes);
        }
        let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build().unwrap();
        let source = InstallSource::Directory {
            path: target.path("../source").canonicalize().unwrap(),
            is_relative: false,
        };
        let plugins = Plugins::of(target.root());
        let fetched = runtime.block_on(plugins.fetch(&source, &FetchOptions::default())).unwrap();
        let granted = fetched.manifest().capabilities.clone();
        plugins.install(fetched, &granted).unwrap();
        Self { target, runtime }
    }

    /// Installs a plugin of a script that uses two files beside it.
    fn script() -> Self {
        Self::new("skill", |target| {
            vec![
                ("hook.sh", marking(GOOD, target)),
                ("lib.sh", b":\n".to_vec()),
                ("data/words", b"good\n".to_vec()),
            ]
        })
    }

    /// Returns how often something ran, or was read, that was not installed.
    fn marks(&self) -> usize {
        fs::read_to_string(self.target.mark(MARK)).unwrap_or_default().lines().count()
    }

    fn installed(&self) -> PathBuf {
        self.target.path(".samuel/plugins/lint")
    }

    fn state(&self) -> PathBuf {
        self.target.path("../state")
    }

    fn load(&self) -> Result<Registry, PluginError> {
        let root = self.target.root();
        let options = LoadOptions {
            env: vec![("PATH".to_owned(), std::env::var("PATH").unwrap())],
            supervisor: Supervisor::GroupOnly,
            cache_dir: Some(self.target.path("../cache")),
            state_dir: Some(self.state()),
            store: None,
            containers: None,
        };
        let loaded = Catalog::read(&root, &Config::load(&root).unwrap())?.load(&options)?;
        let mut builder = Registry::builder();
        loaded.register(&mut builder);
        Ok(builder.build(&BTreeMap::new()).unwrap())
    }

    fn call(&self, registry: &Registry) -> Dispatched<QualityCheckOutput> {
        let scope = CallScope { run_id: "r1".into(), ..CallScope::new(Arc::new(SystemClock::new())) };
        self.runtime.block_on(registry.dispatch::<points::QualityCheck>(QualityCheckInput::default(), &scope))
    }

    /// Loads the plugin and calls it, each time a few times, while `race` is at
    /// work beside it.
    fn race(&self, calls: usize, calls_each: usize, race: impl Fn() + Sync) -> Tally {
        let mut tally = Tally::default();
        beside(race, || {
            while tally.calls < calls {
                let Ok(registry) = self.load() else {
                    tally.refused += 1;
                    assert!(tally.refused < 100 * calls, "it is never loaded: {tally:?}");
                    continue;
                };
                for _ in 0..calls_each {
                    let done = self.call(&registry);
                    tally.calls += 1;
                    match done.output.reason.as_deref() {
                        Some("good") if done.outcome.broken.is_empty() => tally.good += 1,
                        _ if !done.outcome.broken.is_empty() => {}
                        _ => tally.evil += 1,
                    }
                }
            }
        });
        tally
    }
}

/// Does something while a race goes on beside it.
fn beside(race: impl Fn() + Sync, work: impl FnOnce()) {
    let done = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !done.load(Ordering::Relaxed) {
                race();
            }
        });
        let _ending = Ending(&done);
        work();
    });
}

/// Puts the place of the mark into a script.
fn marking(script: &str, target: &Target) -> Vec<u8> {
    script.replace("MARK", &target.mark(MARK).display().to_string()).into_bytes()
}

/// Ends the race, also where an attack that succeeds fails the test: the thread
/// that races is waited for.
struct Ending<'a>(&'a AtomicBool);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Puts a file or directory in the place of another one, which takes its place.
fn exchange(left: &Path, right: &Path) {
    // What is to be replaced may be gone already.
    let _ = renameat_with(CWD, left, CWD, right, RenameFlags::EXCHANGE);
}

#[test]
fn a_script_and_the_files_beside_it_run_as_they_were_checked() {
    for swapped in ["hook.sh", "lib.sh", "data/words", ""] {
        let bench = Bench::script();
        let evil = bench.target.path("../evil");
        program(&evil.join("hook.sh"), marking(EVIL, &bench.target));
        program(&evil.join("lib.sh"), marking(EVIL_LIB, &bench.target));
        program(&evil.join("data/words"), b"evil\n");
        fs::copy(bench.installed().join("samuel-plugin.toml"), evil.join("samuel-plugin.toml")).unwrap();
        let (left, right) = (bench.installed().join(swapped), evil.join(swapped));
        let tally = bench.race(times(60, 500), 10, || exchange(&left, &right));
        assert_eq!((tally.evil, bench.marks()), (0, 0), "{swapped}: {tally:?}");
        assert_eq!(tally.good, tally.calls, "{swapped}: {tally:?}");
    }
}

#[test]
fn a_component_runs_as_it_was_checked() {
    let bench = Bench::new("wasm", |_| vec![("plugin.wasm", passes("good"))]);
    let evil = bench.target.path("../evil.wasm");
    program(&evil, passes("evil"));
    let installed = bench.installed().join("plugin.wasm");
    let tally = bench.race(times(100, 500), 1, || exchange(&installed, &evil));
    assert_eq!((tally.evil, tally.good), (0, tally.calls), "{tally:?}");
}

#[test]
fn a_template_is_used_as_it_was_checked() {
    let target = Target::with_tasks(&["one"]);
    let tables = "[[methodology]]\nname = \"tdd\"\ntemplates = \"templates\"\n";
    target.write("../source/samuel-plugin.toml", manifest("methodology", "samuel-tdd", tables));
    target.write("../source/templates/prompt.md.tmpl", "good");
    target.ok(&["install", "--yes", "../source"]);
    target.ok(&["run", "tdd", "init"]);
    target.ok(&["run", "tdd", "enqueue", "one"]);
    let (installed, evil) = (target.path(".samuel/plugins/samuel-tdd"), target.path("../evil"));
    program(&evil, b"evil");
    let mut good = 0;
    beside(
        || exchange(&installed.join("templates/prompt.md.tmpl"), &evil),
        || {
            for _ in 0..times(60, 500) {
                let ran = target.run(&["run", "tdd", "prompt"]);
                let text = ran.text();
                if ran.code == Some(0) {
                    assert!(text.contains("good") && !text.contains("evil"), "{text}");
                    good += 1;
                } else {
                    assert!(text.contains("changed"), "{text}");
                }
            }
        },
    );
    assert!(good > 0);
}

/// The copy that is run is the same user's as whoever hunts it, who may win a
/// single race: but that is noticed, its answer is not taken, and it was the
/// last call.
#[test]
fn a_private_copy_that_is_found_answers_nothing_once_it_was_touched() {
    let bench = Bench::script();
    let (evil, copies) = (bench.target.path("../evil.sh"), bench.state().join("plugins"));
    let calls_each = 20;
    let tally = bench.race(times(100, 1_000), calls_each, || {
        // What was exchanged may be running still, and cannot be written to then.
        let _ = fs::remove_file(&evil);
        program(&evil, marking(EVIL, &bench.target));
        for copy in fs::read_dir(&copies).into_iter().flatten().flatten() {
            let _ = fs::set_permissions(copy.path(), fs::Permissions::from_mode(0o700));
            let hook = copy.path().join("hook.sh");
            for _ in 0..100 {
                exchange(&hook, &evil);
            }
        }
    });
    assert_eq!(tally.evil, 0, "{tally:?}");
    assert!(bench.marks() <= tally.calls / calls_each, "{} of {tally:?}", bench.marks());
}
