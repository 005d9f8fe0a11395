//! Commands that start copies of the project's files.

use std::{
    collections::BTreeMap,
    fs,
    ops::Deref,
    os::unix::fs::PermissionsExt as _,
    path::{Path, PathBuf},
    sync::{
        Arc,
        atomic::{AtomicBool, AtomicUsize, Ordering},
    },
};

use samuel_core::{
    hook::{BreakClass, HookFailure},
    process::Supervisor,
    script::{Budget, CommandLine, HookCommand, PinOptions, Pinned, ScriptOutput},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

use super::{PATH, write_script};

/// A command, and the files that it starts.
struct Held {
    command: CommandLine,
    pinned: Arc<Pinned>,
}

impl Deref for Held {
    type Target = Pinned;

    fn deref(&self) -> &Pinned {
        &self.pinned
    }
}

/// A project and a private directory beside it.
struct Bench {
    dir: TempDir,
}

impl Bench {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        fs::create_dir_all(dir.path().join("project")).unwrap();
        Self { dir }
    }

    fn root(&self) -> PathBuf {
        self.dir.path().canonicalize().unwrap().join("project")
    }

    fn write(&self, name: &str, text: &str) {
        write_script(&self.root().join(name), text);
    }

    fn pinned_but(&self, command: &CommandLine, exempt: &str) -> Held {
        let (root, state_dir) = (self.root(), self.dir.path().join("state"));
        let exempt = root.join(exempt);
        let is_exempt = &|path: &Path| path == exempt;
        let budget = Budget::default();
        let options = PinOptions {
            root: &root,
            cwd: &root,
            state_dir: Some(&state_dir),
            budget: &budget,
            is_exempt,
            is_fixed: &|_| true,
        };
        Held { command: command.clone(), pinned: Arc::new(Pinned::of(command, options)) }
    }

    fn pinned(&self, command: &CommandLine) -> Held {
        self.pinned_but(command, "none")
    }

    fn shell(&self, line: &str) -> Held {
        self.pinned(&CommandLine::Shell(line.to_owned()))
    }

    async fn run(&self, held: &Held) -> Result<ScriptOutput, HookFailure> {
        let root = self.root();
        let env = [("PATH", PATH.to_owned()), ("SAMUEL_PROJECT_ROOT", root.display().to_string())];
        let env = env.map(|(name, value)| (name.to_owned(), value));
        let script = HookCommand::new(held.command.clone(), root).envs(env).pinned(Arc::clone(&held.pinned));
        script.run(&Supervisor::GroupOnly, &CancellationToken::new()).await
    }

    async fn said(&self, pinned: &Held) -> String {
        let output = self.run(pinned).await.unwrap();
        assert_eq!(output.failure(), None);
        output.stdout.text()
    }
}

/// Commands that start `ci/a.sh`.
fn forms(root: &Path) -> Vec<CommandLine> {
    let lines = [
        "./ci/a.sh",
        "sh ci/a.sh x",
        "X=1 sh -e 'ci/a.sh' && true",
        ". ./ci/a.sh",
        "\"$SAMUEL_PROJECT_ROOT/ci/a.sh\"",
        "sh $PWD/ci/a.sh | cat",
        "cd ci && ./a.sh",
    ];
    let whole = root.join("ci/a.sh").display().to_string();
    let words: [&[&str]; 4] =
        [&["./ci/a.sh"], &["sh", "ci/a.sh", "x"], &["sh", "-c", "exec ./ci/a.sh"], &[&whole]];
    let lines = lines.map(|line| CommandLine::Shell(line.to_owned())).into_iter();
    lines.chain(words.map(CommandLine::words)).collect()
}

#[tokio::test]
async fn what_was_read_is_what_runs_however_the_script_is_named() {
    let bench = Bench::new();
    for command in forms(&bench.root()) {
        bench.write("ci/a.sh", "#!/bin/sh\necho good\n");
        let pinned = bench.pinned(&command);
        assert_eq!(pinned.unpinned(), [""; 0], "{command}");
        let files: Vec<_> = pinned.files().iter().map(|file| (&*file.path, file.is_copied)).collect();
        assert_eq!(files, [(Path::new("ci/a.sh"), true)], "{command}");
        bench.write("ci/a.sh", "#!/bin/sh\necho evil\n");
        assert_eq!(bench.said(&pinned).await, "good\n", "{command}");
    }
}

#[tokio::test]
async fn a_script_that_is_swapped_all_the_time_never_runs_other_bytes_than_were_read() {
    let bench = Bench::new();
    let text = |word: &str| format!("#!/bin/sh\necho {word}\n");
    bench.write("a.sh", &text("one"));
    let (root, stop, swaps) = (bench.root(), Arc::new(AtomicBool::new(false)), Arc::new(AtomicUsize::new(0)));
    let swapper = std::thread::spawn({
        let (stop, swaps) = (Arc::clone(&stop), Arc::clone(&swaps));
        move || {
            let mut words = ["one", "two"].iter().cycle();
            while !stop.load(Ordering::Relaxed) {
                let word = words.next().unwrap();
                write_script(&root.join("new"), &text(word));
                fs::rename(root.join("new"), root.join("a.sh")).unwrap();
                swaps.fetch_add(1, Ordering::Relaxed);
            }
        }
    });
    let starts = if std::env::var_os("SAMUEL_LONG").is_some() { 1_000 } else { 200 };
    let mut known: BTreeMap<String, String> = BTreeMap::new();
    for number in 0..starts {
        let line = ["./a.sh", "sh a.sh"][number % 2];
        let pinned = bench.shell(line);
        // Of a file that was exchanged at the very moment it is none, and nothing is run.
        let Some(file) = pinned.files().first().filter(|file| file.is_copied) else { continue };
        let seen = swaps.load(Ordering::Relaxed);
        while swaps.load(Ordering::Relaxed) < seen + 2 {
            std::thread::yield_now();
        }
        let said = bench.said(&pinned).await;
        let before = known.entry(file.digest.clone()).or_insert_with(|| said.clone());
        assert_eq!(*before, said, "the digest is that of what ran");
    }
    stop.store(true, Ordering::Relaxed);
    swapper.join().unwrap();
    assert!(swaps.load(Ordering::Relaxed) >= 2 * starts - 2);
    assert!(known.len() <= 2 && !known.is_empty(), "{known:?}");
    let said: std::collections::BTreeSet<&String> = known.values().collect();
    assert_eq!(said.len(), known.len(), "each digest has its own words");
}

#[tokio::test]
async fn what_is_not_certain_runs_where_it_is_and_a_change_is_refused() {
    let bench = Bench::new();
    for line in ["cd ci; ./a.sh", "F=ci/a.sh; sh $F", "sh ./ci/*.sh", "env -C ci ./a.sh"] {
        bench.write("ci/a.sh", "#!/bin/sh\necho good\n");
        let pinned = bench.shell(line);
        assert!(
            pinned.unpinned()[0].starts_with("`ci/a.sh` is started where it is"),
            "{:?}",
            pinned.unpinned()
        );
        assert!(pinned.files().iter().all(|file| !file.is_copied));
        assert_eq!(bench.said(&pinned).await, "good\n", "{line}");
        bench.write("ci/a.sh", "#!/bin/sh\ntouch ../ran ran\n");
        let failure = bench.run(&pinned).await.unwrap_err();
        assert_eq!(
            (failure.class, &*failure.details),
            (BreakClass::Untrusted, &["changed: ci/a.sh".to_owned()][..])
        );
        assert!(!bench.root().join("ran").exists(), "{line}");
    }
    bench.write("ci/a.sh", "#!/bin/sh\ntrue\n");
    let pinned = bench.shell("cd ci; ./a.sh; touch -h a.sh");
    let failure = bench.run(&pinned).await.unwrap_err();
    assert_eq!(failure.details, ["written to: ci/a.sh"], "{failure}");
    for line in ["$RUNNER x", "sh $SCRIPT", "\"$(cat name)\" x"] {
        let told = bench.shell(line).unpinned().join("\n");
        assert!(told.starts_with("only the shell knows which file"), "{line}: {told}");
    }
    for line in ["echo hi", "git diff HEAD", "cargo test && echo \"$X\"", "$HOME/bin/x"] {
        assert_eq!(bench.shell(line).unpinned(), [""; 0], "{line}");
    }
}

#[tokio::test]
async fn a_script_finds_its_siblings_by_its_own_place_and_the_project_by_the_working_directory() {
    let bench = Bench::new();
    bench.write("ci/lib.sh", "said=hello\n");
    bench.write("ci/a.sh", "#!/bin/sh\n. \"$(dirname \"$0\")/lib.sh\"\necho \"$said\"\npwd\necho \"$0\"\n");
    fs::create_dir_all(bench.root().join("ci/.git")).unwrap();
    fs::create_dir_all(bench.root().join("node_modules/left")).unwrap();
    let pinned = bench.shell("./ci/a.sh");
    let copy = pinned.copy_of(&pinned.files()[0]).unwrap();
    let root = bench.root();
    assert_eq!(bench.said(&pinned).await, format!("hello\n{}\n{}\n", root.display(), copy.display()));
    assert!(copy.starts_with(bench.dir.path().canonicalize().unwrap().join("state/commands")), "{copy:?}");
    assert_eq!(copy.file_name(), Some("a.sh".as_ref()));
    let beside = |name: &str| copy.parent().unwrap().join(name).exists();
    assert_eq!([beside("lib.sh"), beside("node_modules/left"), beside(".git")], [true, true, false]);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    let directory = copy.ancestors().nth(2).unwrap();
    assert_eq!([mode(&copy), mode(directory), mode(&bench.dir.path().join("state"))], [0o500, 0o500, 0o700]);
    drop(pinned);
    assert!(!directory.exists(), "it is gone with its last user");
}

#[tokio::test]
async fn what_stands_in_the_place_of_a_copied_file_later_has_no_say() {
    let bench = Bench::new();
    let (file, evil) = (bench.root().join("ci/a.sh"), bench.root().join("evil.sh"));
    bench.write("evil.sh", "#!/bin/sh\necho evil\n");
    let links = [None, Some(&*evil), Some(Path::new("/proc/self/cwd/evil.sh"))];
    for (line, link) in ["./ci/a.sh", "sh ci/a.sh", "cd ci && ./a.sh", "sh ci/../ci/a.sh"]
        .into_iter()
        .flat_map(|line| links.map(|link| (line, link)))
    {
        bench.write("ci/a.sh", "#!/bin/sh\necho good\n");
        let pinned = bench.shell(line);
        fs::remove_file(&file).unwrap();
        if let Some(link) = link {
            std::os::unix::fs::symlink(link, &file).unwrap();
        }
        assert_eq!(bench.said(&pinned).await, "good\n", "{line} {link:?}");
        let _ = fs::remove_file(&file);
    }
}

#[tokio::test]
async fn another_command_than_the_one_that_was_read_is_refused_and_lines_before_it_are_not() {
    let bench = Bench::new();
    bench.write("ci/a.sh", "#!/bin/sh\necho good\n");
    let mut held = bench.shell("cd ci && ./a.sh");
    held.command = CommandLine::Shell("X=$(head -c 0 && printf x) || exit 127\ncd ci && ./a.sh".to_owned());
    assert_eq!(bench.said(&held).await, "good\n");
    held.command = CommandLine::Shell("cd ci && ./a.sh; ./b.sh".to_owned());
    assert_eq!(bench.run(&held).await.unwrap_err().class, BreakClass::Untrusted);
    let mut held = bench.pinned(&CommandLine::words(["sh", "ci/a.sh", "x"]));
    held.command = CommandLine::words(["sh", "ci/a.sh", "x/y.z"]);
    assert_eq!(bench.said(&held).await, "good\n");
    held.command = CommandLine::words(["sh", "ci/b.sh", "x"]);
    assert_eq!(bench.run(&held).await.unwrap_err().class, BreakClass::Untrusted);
}

#[tokio::test]
async fn rejects_script_changed_in_workspace() {
    let bench = Bench::new();
    bench.write("ci/a.sh", "#!/bin/sh\necho good\n");
    let held = bench.shell("cd ci; ./a.sh");
    let workspace = bench.root().with_file_name("workspace");
    let run = async || {
        let script = HookCommand::new(held.command.clone(), &workspace).env("PATH", PATH);
        let script = script.pinned(Arc::clone(&held.pinned)).in_workspace(&workspace);
        script.run(&Supervisor::GroupOnly, &CancellationToken::new()).await
    };
    write_script(&workspace.join("ci/a.sh"), "#!/bin/sh\necho good\n");
    assert_eq!(run().await.unwrap().stdout.text(), "good\n");
    write_script(&workspace.join("ci/a.sh"), "#!/bin/sh\ntouch ../canary\n");
    let failure = run().await.unwrap_err();
    assert_eq!(
        (failure.class, failure.details),
        (BreakClass::Untrusted, vec!["changed: ci/a.sh".to_owned()])
    );
    assert!(!workspace.join("canary").exists());
}

#[tokio::test]
async fn an_executable_that_is_only_named_is_compared_too() {
    let bench = Bench::new();
    bench.write("s.sh", "#!/bin/sh\necho good\n");
    for line in ["flock lock ./s.sh", "timeout --kill-after 5 10 ./s.sh", "watch ./s.sh", "trap ./s.sh EXIT"]
    {
        bench.write("s.sh", "#!/bin/sh\necho good\n");
        let pinned = bench.shell(line);
        assert_eq!(
            pinned.files().iter().map(|file| &*file.path).collect::<Vec<_>>(),
            [Path::new("s.sh")],
            "{line}"
        );
        bench.write("s.sh", "#!/bin/sh\necho evil\n");
        let ran = bench.run(&pinned).await;
        assert!(ran.map_or(true, |output| output.stdout.text() != "evil\n"), "{line}");
    }
}

#[test]
fn a_script_that_goes_on_from_its_own_place_is_told_of() {
    let bench = Bench::new();
    for (text, line) in [
        ("#!/bin/sh\ncd \"$(dirname \"$0\")/..\"\n", Some(2)),
        ("#!/bin/bash\n\nROOT=\"${BASH_SOURCE[0]%/*}/..\"\n", Some(3)),
        ("import os\nos.chdir(os.path.dirname(__file__))\n", Some(2)),
        ("#!/bin/sh\n# cd $0/..\n. \"$(dirname \"$0\")/lib.sh\"\ncd ..\n", None),
    ] {
        bench.write("a.sh", text);
        let lints = bench.shell("./a.sh").lints().to_vec();
        let expected = line.map(|line| format!("line {line} of `a.sh` goes elsewhere"));
        assert_eq!(lints.len(), usize::from(expected.is_some()), "{lints:?}");
        assert!(expected.is_none_or(|start| lints[0].starts_with(&start)), "{lints:?}");
    }
}

#[tokio::test]
async fn a_copy_that_was_touched_is_not_run_and_one_that_changes_itself_has_not_answered() {
    let bench = Bench::new();
    bench.write("a.sh", "#!/bin/sh\necho ran >> log\n");
    let pinned = bench.shell("./a.sh");
    let copy = pinned.copy_of(&pinned.files()[0]).unwrap();
    fs::set_permissions(&copy, fs::Permissions::from_mode(0o700)).unwrap();
    let failure = bench.run(&pinned).await.unwrap_err();
    assert_eq!(
        (failure.class, &*failure.details),
        (BreakClass::Untrusted, &["touched: 0/a.sh".to_owned()][..])
    );
    assert!(!bench.root().join("log").exists());
    bench.write("a.sh", "#!/bin/sh\nchmod 700 \"$0\"\n");
    let failure = bench.run(&bench.shell("./a.sh")).await.unwrap_err();
    assert_eq!(failure.class, BreakClass::Untrusted, "{failure}");
}

#[tokio::test]
async fn what_cannot_be_started_is_told_by_its_name_in_the_project() {
    let bench = Bench::new();
    bench.write("ci/a.sh", "#!/no/such/interpreter\n");
    let words = CommandLine::words(["./ci/a.sh"]);
    let failure = bench.run(&bench.pinned(&words)).await.unwrap_err();
    assert!(failure.message.starts_with("`ci/a.sh` is a script for"), "{failure}");
    fs::set_permissions(bench.root().join("ci/a.sh"), fs::Permissions::from_mode(0o644)).unwrap();
    let failure = bench.run(&bench.pinned(&words)).await.unwrap_err();
    assert!(failure.message.ends_with("Run `chmod +x ci/a.sh`."), "{failure}");
    let output = bench.run(&bench.shell("./ci/a.sh --all")).await.unwrap();
    let failure = output.failure().unwrap();
    assert_eq!(failure.class, BreakClass::Spawn);
    assert!(failure.message.ends_with("Run `chmod +x ci/a.sh`."), "{failure}");
}

#[tokio::test]
async fn a_product_of_the_work_runs_as_it_is_then_and_a_file_that_appears_is_refused() {
    let bench = Bench::new();
    bench.write("build/tool", "#!/bin/sh\necho old\n");
    let command = CommandLine::Shell("./build/tool && ./new.sh".to_owned());
    let pinned = bench.pinned_but(&command, "build/tool");
    assert_eq!((pinned.files(), pinned.unpinned()), (&[][..], &[][..]));
    assert_eq!(pinned.missing(), [[bench.root().join("new.sh")]]);
    bench.write("build/tool", "#!/bin/sh\necho new\n");
    let output = bench.run(&pinned).await.unwrap();
    assert_eq!(output.stdout.text(), "new\n");
    bench.write("new.sh", "#!/bin/sh\ntrue\n");
    let failure = bench.run(&pinned).await.unwrap_err();
    assert_eq!((failure.class, &*failure.details), (BreakClass::Untrusted, &["new: new.sh".to_owned()][..]));
}

#[tokio::test]
async fn a_file_outside_of_the_project_is_none_of_it() {
    let bench = Bench::new();
    write_script(&bench.dir.path().join("outside.sh"), "#!/bin/sh\n");
    std::os::unix::fs::symlink("../outside.sh", bench.root().join("link.sh")).unwrap();
    for line in ["../outside.sh", "/bin/true", "sh /nowhere.sh"] {
        let pinned = bench.shell(line);
        assert!(pinned.files().is_empty() && pinned.unpinned().is_empty(), "{line}: {:?}", pinned.files());
    }
    let pinned = bench.shell("./link.sh");
    let told = "the command is not run, since `link.sh` cannot be compared: ";
    assert!(pinned.unpinned()[0].starts_with(told), "{:?}", pinned.unpinned());
    assert_eq!(bench.run(&pinned).await.unwrap_err().class, BreakClass::Untrusted);
}
