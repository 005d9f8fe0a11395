//! Files that are not what they are called: pipes that nobody writes to, links
//! to what has no end, links that lead out of the project.

use std::{
    fs,
    os::unix::{fs::symlink, net::UnixListener},
    path::{Path, PathBuf},
};

use crate::attacks::kit::{
    HANG, PASSES, Ran, SCRIPT, SCRIPTED, Target, at_once, copied, make_fifo, ran, times,
};

/// Every file that Samuel reads in a project.
const FILES: &str = "samuel.toml samuel.lock script.toml prd.md tasks-prd.md AGENTS.md CLAUDE.md src/AGENTS.md \
    package.json .gitignore src/.gitignore .samuel/templates/ralph/prompt.md.tmpl \
    .samuel/templates/ralph/discovery-prompt.md.tmpl .samuel/templates/ralph/agents.md.tmpl \
    .samuel/templates/ralph/folder.md.tmpl .samuel/plugins/lint/samuel-plugin.toml \
    .samuel/plugins/lint/hook.sh .samuel/plugins/.lock .samuel/run/prd.toon .samuel/run/journal.jsonl \
    .samuel/run/journal.1.jsonl .samuel/run/progress.md .samuel/run/progress-archive.md \
    .samuel/run/lock .samuel/run/loop.lock .samuel/run/project-snapshot.toon \
    .samuel/run/cache/counts.bin";

/// Directories that something else can stand in for.
const DIRECTORIES: &str = ".samuel .samuel/run .samuel/run/logs .samuel/run/cache .samuel/run/plugins .samuel/plugins \
    .samuel/plugins/lint .samuel/templates/ralph";

/// Both of them.
fn names() -> impl Iterator<Item = &'static str> {
    FILES.split(' ').chain(DIRECTORIES.split(' '))
}

/// Every command that reads any of them.
const VERBS: &str = "run start --yes, run start --dry-run, run prompt, run vars, run status, run tasks, run done 1, \
     run skip 1, run reset 1, run enqueue more, run init, run init --force, run convert prd.md --force, doctor, \
     doctor --hooks, hooks show quality.check, init --force, sync, ls, info lint, verify, \
     install plugin --yes, uninstall lint, plugin validate .samuel/plugins/lint";

fn words(line: &str) -> Vec<&str> {
    line.split(' ').collect()
}

/// What an exit code may be.
const CODES: [i32; 8] = [0, 1, 2, 3, 4, 5, 75, 78];

/// A project in which each of the files is there.
fn project() -> Target {
    let target = Target::with_tasks(&["one", "two"]);
    target.configure(&format!("{SCRIPTED}max_iterations = 2"));
    target.write("script.toml", SCRIPT);
    target.write("prd.md", "# Title\n\n## Tasks\n\n- [ ] 1.0 One\n- [ ] 2.0 Two\n");
    target.write("package.json", "{}");
    for name in ["a", "b", "c"] {
        target.write(&format!("src/{name}.rs"), "fn main() {}\n");
    }
    target.plugin("plugin", "lint", "quality.check", PASSES);
    for line in ["install plugin --yes", "sync", "run start --yes --max-iterations 1"] {
        let ran = target.run(&words(line));
        assert!(matches!(ran.code, Some(0 | 4)), "{line}: {}", ran.text());
    }
    for name in FILES.split(' ') {
        if !target.path(name).exists() {
            target.write(name, "");
        }
    }
    fs::remove_file(target.path("made")).unwrap();
    // An empty one would be another attack.
    for name in ["tasks-prd.md", "CLAUDE.md", ".samuel/run/journal.1.jsonl"] {
        fs::remove_file(target.path(name)).unwrap();
    }
    for name in ["prompt", "discovery-prompt", "agents", "folder"] {
        target.write(&format!(".samuel/templates/ralph/{name}.md.tmpl"), "text\n");
    }
    target
}

/// Copies a project with its permissions, so that each attack has its own.
fn copy_of(base: &Target) -> Target {
    let target = Target::new();
    copied(&base.path("."), &target.root());
    target
}

/// Takes away what is at a path.
fn clear(path: &Path) {
    if path.is_dir() && !path.is_symlink() {
        fs::remove_dir_all(path).unwrap();
    } else {
        let _ = fs::remove_file(path);
    }
    fs::create_dir_all(path.parent().unwrap()).unwrap();
}

/// Runs a command with a gibibyte of address space, which holds what it needs
/// several times.
fn limited(target: &Target, line: &str) -> Ran {
    ran(target.samuel_after("ulimit -v 1048576", &words(line)), HANG)
}

/// Holds a command against what every command promises.
fn check(what: &str, line: &str, ran: &Ran) {
    let text = ran.text();
    assert!(!ran.hung, "{what}: {line} hangs: {text}");
    assert!(ran.code.is_some_and(|code| CODES.contains(&code)), "{what}: {line} {:?}: {text}", ran.code);
    assert!(!text.contains("panicked at"), "{what}: {line}: {text}");
}

/// Tries attacks, each in a project of its own.
fn try_all(attacks: &[(String, &str)], prepare: impl Fn(&Target, &str) + Sync) {
    let base = project();
    at_once(attacks, |_, (what, line)| {
        let target = copy_of(&base);
        prepare(&target, what);
        check(what, line, &limited(&target, line));
    });
}

/// Takes so many of all pairs, spread over both.
fn spread(names: &[String], count: usize) -> Vec<(String, &'static str)> {
    let verbs: Vec<&str> = VERBS.split(", ").collect();
    let pairs = names.len() * verbs.len();
    let count = count.min(pairs);
    let chosen = (0..count).map(|number| number * pairs / count);
    chosen.map(|number| (names[number / verbs.len()].clone(), verbs[number % verbs.len()])).collect()
}

#[test]
fn no_command_waits_for_a_pipe() {
    let names: Vec<String> = names().map(str::to_owned).collect();
    let attacks = spread(&names, times(165, usize::MAX));
    try_all(&attacks, |target, name| {
        clear(&target.path(name));
        make_fifo(&target.path(name));
    });
}

/// Ways to have no end, or to be no file.
const ENDLESS: [&str; 6] = ["/dev/zero", "/proc/self/mem", "/dev/tty", "sparse", "socket", "directory"];

fn make_endless(target: &Target, what: &str) {
    let (name, kind) = what.split_once(' ').unwrap();
    let path = target.path(name);
    clear(&path);
    match kind {
        "sparse" => fs::File::create(&path).unwrap().set_len(100 << 30).unwrap(),
        // What it is stays when nobody listens any more.
        "socket" => drop(UnixListener::bind(&path).unwrap()),
        "directory" => fs::create_dir(&path).unwrap(),
        device => symlink(device, &path).unwrap(),
    }
}

#[test]
fn no_command_reads_what_has_no_end() {
    let both = FILES.split(' ').flat_map(|name| ENDLESS.iter().map(move |kind| format!("{name} {kind}")));
    let names: Vec<String> = both.collect();
    let attacks = spread(&names, times(143, usize::MAX));
    try_all(&attacks, make_endless);
}

#[test]
fn a_command_says_which_file_it_cannot_read_and_what_that_is() {
    let base = project();
    for (name, line) in [
        ("samuel.toml", "run start --yes"),
        ("samuel.lock", "run start --yes"),
        (".samuel/run/prd.toon", "run status"),
        (".samuel/run/lock", "run done 1"),
        (".samuel/run/loop.lock", "run start --yes"),
        (".samuel/run/journal.jsonl", "run enqueue more"),
        (".samuel/run/progress.md", "doctor"),
        (".samuel/templates/ralph/prompt.md.tmpl", "run prompt"),
        ("script.toml", "run start --yes"),
        ("prd.md", "run convert prd.md --force"),
        ("AGENTS.md", "sync"),
        (".samuel/plugins/lint/samuel-plugin.toml", "run start --yes"),
    ] {
        let target = copy_of(&base);
        clear(&target.path(name));
        make_fifo(&target.path(name));
        let ran = target.run(&words(line));
        let (text, file) = (ran.text(), Path::new(name).file_name().unwrap().to_str().unwrap());
        assert!(!ran.hung && ran.code != Some(0), "{name}: {text}");
        let names_it =
            text.contains(file) && (text.contains("a named pipe") || text.contains("not a regular file"));
        assert!(names_it, "{name}: {text}");
        // The recording of an agent and a PRD are for the user to choose.
        if text.contains("a named pipe") && !["script.toml", "prd.md"].contains(&name) {
            assert!(text.contains("Remove it"), "{name}: {text}");
        }
    }
    symlink_out(&base);
}

/// A link that leads out is named with where it points.
fn symlink_out(base: &Target) {
    let target = copy_of(base);
    let template = target.path(".samuel/templates/ralph/prompt.md.tmpl");
    clear(&template);
    symlink("/dev/zero", &template).unwrap();
    let text = target.run(&["run", "prompt"]).text();
    let expected = format!("the link \"{}\" leads out of the project, to \"/dev/zero\"", template.display());
    assert!(text.contains(&expected), "{text}");
}

// Takes about 10 s: each of the 36 attacks has a project and a run of two iterations.
#[test]
fn an_agent_that_exchanges_files_in_the_middle_of_a_run_stops_nothing() {
    let base = project();
    let kinds = ["mkfifo", "ln -s /dev/zero", "mkdir", "truncate -s 100G"];
    let names: Vec<&str> = names().collect();
    let attacks: Vec<(&str, &str)> =
        names.iter().flat_map(|name| kinds.iter().map(move |kind| (*name, *kind))).collect();
    let count = times(names.len() + 1, attacks.len());
    let chosen: Vec<_> = (0..count).map(|number| attacks[number * attacks.len() / count]).collect();
    at_once(&chosen, |_, (name, kind)| exchanged(&base, name, kind));
}

/// Lets an agent exchange a file, and looks how the run ends.
fn exchanged(base: &Target, name: &str, kind: &str) {
    let target = copy_of(base);
    target.program("agent.sh", &format!("#!/bin/sh\nrm -rf \"{name}\"\n{kind} \"{name}\"\n"));
    let line = "run start --yes --agent command --agent-command ./agent.sh";
    let ran = limited(&target, line);
    check(&format!("{kind} {name}"), line, &ran);
    let text = ran.text();
    let decides = ["samuel.toml", "samuel.lock", ".samuel/plugins/lint/hook.sh", ".samuel/run/prd.toon"];
    if decides.contains(&name) {
        let file = Path::new(name).file_name().unwrap().to_str().unwrap();
        assert!(text.contains(file), "{kind} {name}: {text}");
        let is_named = kind != "mkfifo" || name.ends_with("hook.sh") || text.contains("a named pipe");
        assert!(is_named, "{kind} {name}: {text}");
    }
}

/// What lies outside of the project, and what it holds.
fn outside(target: &Target) -> PathBuf {
    let outside = target.home().join("outside");
    fs::create_dir(&outside).unwrap();
    fs::write(outside.join("file"), "precious\n").unwrap();
    fs::create_dir(outside.join("directory")).unwrap();
    fs::write(outside.join("directory/file"), "precious\n").unwrap();
    outside
}

#[test]
fn nothing_is_written_out_of_the_project() {
    let base = project();
    let directories = DIRECTORIES.split(' ').map(|name| (name, "directory"));
    let links: Vec<_> = FILES.split(' ').map(|name| (name, "file")).chain(directories).collect();
    at_once(&links, |_, (name, kind)| linked_out(&base, name, kind));
}

fn linked_out(base: &Target, name: &str, kind: &str) {
    let target = copy_of(base);
    let outside = outside(&target);
    let path = target.path(name);
    clear(&path);
    symlink(outside.join(kind), &path).unwrap();
    let writes = |line: &&str| {
        matches!(
            words(line)[..],
            ["run", "start" | "done" | "enqueue" | "init" | "convert", ..]
                | ["sync" | "install" | "init" | "uninstall", ..]
        )
    };
    let writing: Vec<&str> = VERBS.split(", ").filter(writes).collect();
    let each = times(3, writing.len());
    for number in 0..each {
        let line = writing[(number * writing.len() / each + name.len()) % writing.len()];
        let ran = target.run(&words(line));
        check(&format!("{name} leads out"), line, &ran);
        let mut found: Vec<String> = fs::read_dir(&outside)
            .unwrap()
            .flatten()
            .map(|entry| entry.file_name().into_string().unwrap())
            .collect();
        found.sort();
        assert_eq!(found, ["directory", "file"], "{name}: {line}: {}", ran.text());
        let inside: Vec<_> = fs::read_dir(outside.join("directory")).unwrap().flatten().collect();
        assert_eq!(inside.len(), 1, "{name}: {line}: {inside:?}");
        for file in ["file", "directory/file"] {
            let text = fs::read_to_string(outside.join(file)).unwrap();
            assert_eq!(text, "precious\n", "{name}: {line}: {}", ran.text());
        }
    }
}

#[test]
fn a_run_is_refused_where_its_own_files_lead_out_of_the_project() {
    let base = project();
    for (name, kind) in [
        (".samuel", "directory"),
        (".samuel/run", "directory"),
        (".samuel/run/logs", "directory"),
        (".samuel/run/cache", "directory"),
        (".samuel/run/prd.toon", "file"),
        (".samuel/run/journal.jsonl", "file"),
        (".samuel/run/progress.md", "file"),
        (".samuel/run/task-context.toon", "file"),
        ("samuel.lock", "file"),
        (".samuel/plugins", "directory"),
    ] {
        let target = copy_of(&base);
        let outside = outside(&target);
        let path = target.path(name);
        clear(&path);
        symlink(outside.join(kind), &path).unwrap();
        let ran = target.run(&["run", "start", "--yes"]);
        let text = ran.text();
        assert!(matches!(ran.code, Some(1 | 2)), "{name}: {text}");
        let link = format!("the link \"{}\" leads out of the project, to", path.display());
        assert!(text.contains(&link) && text.contains("outside/"), "{name}: {text}");
        assert!(!target.path("made").exists(), "{name}: the agent was called");
    }
}
