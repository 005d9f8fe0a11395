//! Looking at a clone executes nothing and ends.
//!
//! Clones are made of how a program may be named (filters, monitors, hooks,
//! helpers), of where that is written, and of what is asked. Their files look
//! changed, which is when git would run what it finds.

use std::{
    collections::BTreeMap,
    fs,
    os::unix::fs::symlink,
    path::{Path, PathBuf},
    process::Command,
    sync::Mutex,
};

use crate::attacks::kit::{HANG, Target, at_once, copied, git, make_fifo, program, ran, times};

/// What looks at a project.
const VERBS: &[&[&str]] = &[
    &["run", "prompt"],
    &["run", "vars"],
    &["run", "start", "--dry-run"],
    &["doctor"],
    &["sync", "--dry-run"],
    &["run", "status"],
    &["run", "tasks"],
    &["run"],
    &["doctor", "--hooks"],
    &["hooks", "show"],
    &["ls"],
    &["verify"],
];

/// A repository that clones are copies of.
pub(crate) struct Origin {
    target: Target,
}

impl Origin {
    pub(crate) fn new() -> Self {
        let target = Target::with_tasks(&["First"]);
        target.write(".gitignore", "*.log\n");
        target.write(".gitattributes", "*.dat filter=evil diff=evil merge=evil\n");
        for name in ["a.dat", "src/b.dat", "src/c.rs"] {
            target.write(name, "some text\n");
        }
        git(&target.root(), &["init", "--quiet", "--template=", "--initial-branch=main"]);
        git(&target.root(), &["add", "--all"]);
        git(&target.root(), &["commit", "--quiet", "--message", "Start"]);
        git(&target.root(), &["gc", "--quiet"]);
        fs::create_dir_all(target.path(".git/info")).unwrap();
        Self { target }
    }

    /// Makes a copy, all of whose files look changed.
    pub(crate) fn clone(&self) -> Target {
        let copy = Target::new();
        copied(&self.target.path("."), &copy.root());
        copy
    }
}

/// Something that names a program.
#[derive(Clone, Debug)]
enum Trap {
    /// A setting of the repository, in a file of its configuration.
    Setting {
        section: &'static str,
        key: &'static str,
        value: &'static str,
        place: &'static str,
        attributes: &'static str,
    },
    /// A variable of the caller's environment.
    Variable(&'static str, &'static str),
    /// Another form of repository.
    Form(&'static str),
}

/// Where settings are written.
const PLACES: &[&str] = &[".git/config", "include", "includeIf", "config.worktree"];

/// Settings that name a program; `@` stands for its command line.
const SETTINGS: &[(&str, &str, &str)] = &[
    ("core", "fsmonitor", "@"),
    ("core", "hooksPath", "../hooks"),
    ("core", "pager", "@"),
    ("core", "editor", "@"),
    ("core", "askPass", "@"),
    ("core", "sshCommand", "@"),
    ("core", "gitProxy", "@"),
    ("core", "alternateRefsCommand", "@"),
    ("core", "worktree", "/"),
    ("diff", "external", "@"),
    ("diff \"evil\"", "textconv", "@"),
    ("diff \"evil\"", "command", "@"),
    ("merge \"evil\"", "driver", "@"),
    ("alias", "ls-files", "!@"),
    ("alias", "log", "!@"),
    ("credential", "helper", "!@"),
    ("gpg", "program", "@"),
    ("log", "showSignature", "true\n[gpg]\n\tprogram = @"),
    ("submodule \"src\"", "update", "!@"),
    ("uploadpack", "packObjectsHook", "@"),
    ("extensions", "partialClone", "evil\n[remote \"evil\"]\n\turl = ext::@\n\tpromisor = true"),
];

fn traps() -> Vec<Trap> {
    let mut traps = Vec::new();
    let is_long = times(0, 1) > 0;
    for (number, place) in PLACES.iter().enumerate() {
        for key in ["clean", "smudge", "process"] {
            for attributes in [".gitattributes", ".git/info/attributes", "core.attributesFile"] {
                traps.push(Trap::Setting { section: "filter \"evil\"", key, value: "@", place, attributes });
            }
        }
        for (turn, (section, key, value)) in SETTINGS.iter().enumerate() {
            // In short each setting in the first place and, in turn, one of the others.
            if !is_long && number > 0 && number != 1 + turn % (PLACES.len() - 1) {
                continue;
            }
            traps.push(Trap::Setting { section, key, value, place, attributes: ".gitattributes" });
        }
    }
    let variables = [
        ("GIT_DIR", "%evil"),
        ("GIT_COMMON_DIR", "%evil"),
        ("GIT_INDEX_FILE", "%evil/index"),
        ("GIT_OBJECT_DIRECTORY", "%evil/objects"),
        ("GIT_CONFIG_GLOBAL", "%evil/config"),
        ("GIT_CONFIG_SYSTEM", "%evil/config"),
        ("GIT_CONFIG", "%evil/config"),
        ("GIT_CONFIG_PARAMETERS", "'core.fsmonitor=@'"),
        ("GIT_EXTERNAL_DIFF", "@"),
        ("GIT_SSH_COMMAND", "@"),
        ("GIT_SSH", "%program"),
        ("GIT_PROXY_COMMAND", "%program"),
        ("GIT_PAGER", "@"),
        ("GIT_EDITOR", "@"),
        ("GIT_ASKPASS", "%program"),
        ("GIT_EXEC_PATH", "%hooks"),
        ("GIT_TRACE", "%mark"),
        ("PAGER", "@"),
    ];
    traps.extend(variables.map(|(name, value)| Trap::Variable(name, value)));
    let forms = "hooks file file-inside bare bare-file link submodule nested attributes-link";
    traps.extend(forms.split(' ').map(Trap::Form));
    traps
}

/// A clone with a trap: where a command is given, and what it finds there.
struct Trapped {
    target: Target,
    directory: PathBuf,
    variables: BTreeMap<String, String>,
}

impl Trapped {
    fn of(target: Target) -> Self {
        Self { directory: target.root(), variables: BTreeMap::new(), target }
    }

    /// Gives commands, and says what went wrong.
    fn all(&self, what: &str, verbs: impl Iterator<Item = &'static &'static [&'static str]>) -> Vec<String> {
        verbs.filter_map(|verb| self.attack(verb)).map(|went| format!("{what}: {went}")).collect()
    }

    fn set(origin: &Origin, trap: &Trap) -> Self {
        let target = origin.clone();
        let program = target.path("program");
        let mark = target.mark("executed");
        target.program("program", &format!("#!/bin/sh\n: > '{}'\ncat\n", mark.display()));
        let command = program.display().to_string();
        let mut trapped = Self::of(target);
        let to = |text: &str, trapped: &Self| {
            let root = trapped.target.root().display().to_string();
            text.replace('@', &command)
                .replace("%mark", &mark.display().to_string())
                .replace('%', &format!("{root}/"))
        };
        match trap {
            Trap::Setting { section, key, value, place, attributes } => {
                if *attributes != ".gitattributes" {
                    trapped.target.write(".gitattributes", "");
                    trapped.target.write(".git/info/evil", "*.dat filter=evil diff=evil\n");
                }
                let text = match *attributes {
                    "core.attributesFile" => "[core]\n\tattributesFile = .git/info/evil\n",
                    _ => "",
                };
                if *attributes == ".git/info/attributes" {
                    trapped.target.write(".git/info/attributes", "*.dat filter=evil diff=evil\n");
                }
                trapped.hooks("hooks", &command);
                let value = to(value, &trapped);
                trapped.configure(place, &format!("{text}[{section}]\n\t{key} = {value}\n"));
            }
            Trap::Variable(name, value) => {
                trapped.hooks("hooks", &command);
                trapped.hostile("evil", &command);
                let value = to(value, &trapped);
                trapped.variables.insert((*name).to_owned(), value);
                if *name == "GIT_CONFIG_PARAMETERS" {
                    let settings = [("COUNT", "1"), ("KEY_0", "core.fsmonitor"), ("VALUE_0", &command)];
                    trapped.variables.extend(
                        settings.map(|(name, value)| (format!("GIT_CONFIG_{name}"), value.to_owned())),
                    );
                }
            }
            Trap::Form(form) => trapped.form(form, &command),
        }
        trapped
    }

    /// Adds settings to a file that configures the repository.
    fn configure(&self, place: &str, text: &str) {
        let add = |name: &str, text: &str| {
            let old = fs::read_to_string(self.target.path(name)).unwrap_or_default();
            self.target.write(name, format!("{old}{text}"));
        };
        match place {
            "include" => {
                add("settings", text);
                add(".git/config", "[include]\n\tpath = ../settings\n");
            }
            "includeIf" => {
                add("settings", text);
                add(".git/config", "[includeIf \"gitdir:**\"]\n\tpath = ../settings\n");
            }
            "config.worktree" => {
                add(".git/config.worktree", text);
                add(".git/config", "[extensions]\n\tworktreeConfig = true\n");
            }
            name => add(name, text),
        }
    }

    /// Makes every hook a program.
    fn hooks(&self, directory: &str, command: &str) {
        let hooks = "post-index-change fsmonitor-watchman post-checkout reference-transaction git-ls-files";
        for hook in hooks.split(' ') {
            self.target.program(&format!("{directory}/{hook}"), &format!("#!/bin/sh\nexec '{command}'\n"));
        }
    }

    /// Makes a directory that is a repository whose filters are programs.
    fn hostile(&self, directory: &str, command: &str) {
        copied(&self.target.path(".git"), &self.target.path(directory));
        self.configure(&format!("{directory}/config"), &hostile_config(command));
    }

    fn form(&mut self, form: &str, command: &str) {
        let target = &self.target;
        match form {
            "hooks" => self.hooks(".git/hooks", command),
            "file" | "file-inside" => {
                let name = if form == "file" { "../evil" } else { "evil" };
                self.hostile(name, command);
                fs::remove_dir_all(target.path(".git")).unwrap();
                target.write(".git", format!("gitdir: {name}\n"));
            }
            "link" => {
                self.hostile("evil", command);
                fs::remove_dir_all(target.path(".git")).unwrap();
                symlink("evil", target.path(".git")).unwrap();
            }
            // A bare repository in a plain clone, in which somebody looks.
            "bare" => {
                self.hostile("lib/evil", command);
                self.configure("lib/evil/config", "[core]\n\tbare = false\n\tworktree = .\n");
                target.write("lib/evil/a.dat", "some other text\n");
                fs::create_dir_all(target.path("lib/evil/.samuel")).unwrap();
                copied(&target.path(".samuel/run"), &target.path("lib/evil/.samuel/run"));
                self.directory = target.path("lib/evil");
            }
            "bare-file" => {
                self.hostile("lib/evil", command);
                fs::remove_dir_all(target.path(".git")).unwrap();
                target.write(".git", "gitdir: lib/evil\n");
            }
            "submodule" | "nested" => {
                self.hostile("lib/.git", command);
                target.write("lib/a.dat", "some other text\n");
                if form == "submodule" {
                    git(
                        &target.root(),
                        &["update-index", "--add", "--cacheinfo", &format!("160000,{},lib", "1".repeat(40))],
                    );
                    let module = "[submodule \"lib\"]\n\tpath = lib\n\turl = ./lib\n\tupdate = !false\n\tactive = true\n\tignore = none\n";
                    target.write(".gitmodules", module);
                    self.configure(".git/config", module);
                }
            }
            _ => {
                fs::remove_file(target.path(".gitattributes")).unwrap();
                target.write("attributes", "*.dat filter=evil\n");
                symlink("attributes", target.path(".gitattributes")).unwrap();
                self.configure(".git/config", &hostile_config(command));
            }
        }
    }

    /// Gives a command and says what went wrong.
    fn attack(&self, verb: &[&str]) -> Option<String> {
        let mut command = self.target.samuel(verb);
        command.current_dir(&self.directory).envs(&self.variables).env("SECRET_KEY", "secret");
        let ran = ran(command, HANG);
        let marks = self.target.marks();
        // So that the next command answers for itself.
        marks.iter().for_each(|mark| fs::remove_file(self.target.mark(mark)).unwrap());
        let what = match (ran.hung, ran.code, marks.as_slice()) {
            (true, ..) => "hung".to_owned(),
            (_, None, _) => "was killed".to_owned(),
            (_, Some(101), _) => format!("panicked: {}", ran.text()),
            (.., []) => return None,
            (.., marks) => format!("left {marks:?}"),
        };
        Some(format!("{verb:?} {what}"))
    }
}

fn hostile_config(command: &str) -> String {
    format!(
        "[core]\n\tfsmonitor = {command}\n\thooksPath = hooks\n[filter \"evil\"]\n\tclean = {command}\n\tsmudge = {command}\n\
         \trequired = true\n[diff]\n\texternal = {command}\n"
    )
}

/// Attacks every clone with some verbs, several clones at a time.
fn every<T: Sync>(all: &[T], attack: impl Fn(usize, &T) -> Vec<String> + Sync) {
    let failed = Mutex::new(Vec::new());
    at_once(all, |number, one| {
        let failures = attack(number, one);
        failed.lock().unwrap().extend(failures);
    });
    let failed = failed.into_inner().unwrap();
    assert!(failed.is_empty(), "{} attacks got through:\n{}", failed.len(), failed.join("\n"));
}

// Takes about 10 s: each of the 105 traps is a clone of its own, which three commands look at.
#[test]
fn looking_at_a_clone_executes_nothing() {
    let origin = Origin::new();
    let traps = traps();
    // The exact prompt looks closest; the others take turns.
    let turns = times(2, VERBS.len() - 1);
    assert!(traps.len() * (turns + 1) >= 300, "{}", traps.len());
    every(&traps, |number, trap| {
        let trapped = Trapped::set(&origin, trap);
        let others = VERBS.iter().skip(1).cycle().skip(number * turns).take(turns);
        let verbs = VERBS.iter().take(1).chain(others);
        trapped.all(&format!("{trap:?}"), verbs)
    });
}

/// Files of a repository that are read.
const FILES: &str = ".git .git/HEAD .git/index .git/config .git/packed-refs .git/refs/heads/main .git/info/exclude \
    .git/info/attributes .git/objects/info/alternates .git/objects/pack/pack-0.idx .git/objects/pack \
    .git/config.worktree .git/shallow .git/sharedindex.0 .gitignore src/.gitignore .gitattributes \
    .gitmodules a.dat";

/// What stands in place of a file.
const KINDS: &[&str] = &["pipe", "zero", "link to itself", "directory", "sparse", "garbage", "empty"];

fn replace(path: &Path, kind: &str) {
    let gone = if path.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) };
    drop(gone);
    fs::create_dir_all(path.parent().unwrap()).unwrap();
    match kind {
        "pipe" => make_fifo(path),
        "zero" => symlink("/dev/zero", path).unwrap(),
        "link to itself" => symlink(path.file_name().unwrap(), path).unwrap(),
        "directory" => fs::create_dir(path).unwrap(),
        "sparse" => fs::File::create(path).unwrap().set_len(1 << 40).unwrap(),
        "garbage" => fs::write(path, [0xff, 0x80, 0, b'\n', b'['].repeat(1_000)).unwrap(),
        _ => fs::write(path, "").unwrap(),
    }
}

#[test]
fn files_without_end_or_writer_hold_nothing_up() {
    let origin = Origin::new();
    let cases: Vec<(&str, &str)> =
        FILES.split(' ').flat_map(|file| KINDS.iter().map(move |kind| (file, *kind))).collect();
    assert!(cases.len() > 100);
    let turns = times(1, 5);
    every(&cases, |number, (file, kind)| {
        let target = origin.clone();
        replace(&target.path(file), kind);
        let trapped = Trapped::of(target);
        let verbs = VERBS.iter().take(5).cycle().skip(number).take(turns);
        trapped.all(&format!("{kind} as {file}"), verbs)
    });
}

#[test]
fn contents_that_ask_for_too_much_are_refused() {
    let origin = Origin::new();
    let index = fs::read(origin.target.path(".git/index")).unwrap();
    let put = |place: usize, bytes: &[u8]| {
        let mut index = index.clone();
        index.splice(place..place + bytes.len(), bytes.iter().copied());
        index
    };
    let path = index.windows(9).position(|window| window == b"src/b.dat").unwrap();
    let mut contents = vec![
        (".git/index", put(8, &u32::MAX.to_be_bytes())),
        (".git/index", put(8, &1_000_000_u32.to_be_bytes())),
        (".git/index", put(4, &9_u32.to_be_bytes())),
        (".git/index", put(path, b"/etc/pass")),
        (".git/index", put(path, b"../../etc")),
        (".git/index", put(path, b".git/conf")),
        (
            ".git/config",
            b"[core]\n\trepositoryformatversion = 1\n[extensions]\n\tobjectformat = sha9\n".to_vec(),
        ),
        (".git/config", b"[a \"\\".repeat(50_000)),
        (".git/HEAD", b"ref: refs/heads/../../../../etc/passwd\n".to_vec()),
        (".git/refs/heads/main", b"ref: refs/heads/main\n".to_vec()),
        (".git/packed-refs", b"x ".repeat(1_000_000)),
        (".git/objects/info/alternates", b".\n../objects\n/\n/dev\n/proc/self\n".repeat(500)),
        (".gitignore", b"*a*b*c*d*e*f*[!x]**/**/\n".repeat(30_000)),
        (".gitignore", b"*a*b*c*d*e*f*[!x]**/**/\n".repeat(9_900)),
        (".gitignore", (0..9_900).flat_map(|n| format!("*{n}*a*b?[a-z]*\n").into_bytes()).collect()),
        (".gitignore", b"*".repeat(900_000)),
    ];
    contents.extend(
        (1..12).map(|part| (".git/index", index.iter().take(index.len() * part / 12).copied().collect())),
    );
    every(&contents, |_, (file, content)| {
        let target = origin.clone();
        target.write(file, content);
        let trapped = Trapped::of(target);
        trapped.all(file, VERBS.iter().take(1))
    });
}

#[test]
fn a_commit_that_grows_when_it_is_read_is_refused() {
    let target = Origin::new().clone();
    let bomb = target.path("bomb");
    fs::File::create(&bomb).unwrap().set_len(64 << 20).unwrap();
    let args = ["hash-object", "-w", "--literally", "-t", "commit", "bomb"];
    let output = Command::new("git").args(args).current_dir(target.root()).output().unwrap();
    target.write(".git/refs/heads/main", output.stdout);
    fs::remove_file(bomb).unwrap();
    for verb in [["run", "prompt"], ["run", "vars"]] {
        target.ok(&verb);
    }
}

#[test]
fn no_git_is_started_by_looking_or_by_a_run() {
    let target = Origin::new().clone();
    let bin = target.home().join("bin");
    for name in ["git", "git-lfs", "ssh"] {
        program(&bin.join(name), format!("#!/bin/sh\n: > '{}'\n", target.mark(name).display()));
    }
    let path = format!("{}:{}", bin.display(), std::env::var("PATH").unwrap());
    let run: &[&str] = &[
        "run",
        "start",
        "--yes",
        "--max-iterations",
        "2",
        "--agent-command",
        "sh -c '\"$SAMUEL_BINARY\" run done 1'",
    ];
    for verb in VERBS.iter().chain([&run]) {
        let mut command = target.samuel(verb);
        command.env("PATH", &path);
        let ran = ran(command, HANG * 4);
        assert!(!ran.hung, "{verb:?}");
        assert_eq!(target.marks(), [""; 0], "{verb:?}: {}", ran.text());
    }
}

#[test]
fn a_repository_that_is_not_read_is_told_of_with_what_to_do() {
    let elsewhere = tempfile::tempdir().unwrap();
    let separate = format!("--separate-git-dir={}", elsewhere.path().join("git").display());
    let cases: [(&str, &str); 5] = [
        ("--quiet", "git update-index --no-split-index"),
        ("--ref-format=reftable", "git refs migrate --ref-format=files"),
        (&separate, "unset core.worktree"),
        ("--quiet", "line 1 is no setting"),
        ("--quiet", "Put the directory itself in the place of the link"),
    ];
    for (number, (option, help)) in cases.into_iter().enumerate() {
        let target = Target::with_tasks(&["First"]);
        let made = Command::new("git").args(["init", option]).current_dir(target.root()).output();
        if !made.unwrap().status.success() {
            println!("skipped: this git knows no {option}");
            continue;
        }
        match number {
            0 => {
                git(&target.root(), &["add", "--all"]);
                git(&target.root(), &["update-index", "--split-index"]);
            }
            3 => target.write(".git/config", "<<<<<<< HEAD\n[core]\n\tbare = false\n"),
            4 => {
                fs::rename(target.path(".git"), target.home().join("git")).unwrap();
                symlink(target.home().join("git"), target.path(".git")).unwrap();
            }
            _ => {}
        }
        let doctor = target.run(&["doctor"]);
        assert!(doctor.text().contains(help), "{help}: {}", doctor.text());
    }
}
