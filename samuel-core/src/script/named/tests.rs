//! What is executed by command lines as people write them.
#![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

use std::{
    fs,
    os::unix::fs::PermissionsExt as _,
    path::PathBuf,
    time::{Duration, Instant},
};

use super::{
    executed::{Executed, in_command_line},
    places::started_places,
    programs::programs_of_shell,
};

/// A project's root, which goes with the first.
struct Files(#[expect(dead_code, reason = "it is removed when it is dropped")] tempfile::TempDir, PathBuf);

impl Files {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().canonicalize().unwrap();
        fs::create_dir_all(root.join("ci/deep")).unwrap();
        for file in [
            "check.sh",
            "ci/check.sh",
            "ci/only.sh",
            "ci/with space.py",
            "*",
            "claude",
            "data",
            "ci/agent.json",
        ] {
            fs::write(root.join(file), "exit 1").unwrap();
        }
        fs::write(root.join("shebang"), "#!/bin/sh\n").unwrap();
        fs::write(root.join("able"), "").unwrap();
        fs::set_permissions(root.join("able"), fs::Permissions::from_mode(0o755)).unwrap();
        Self(dir, root)
    }

    fn shown(&self, found: Vec<PathBuf>) -> String {
        let found = found.iter().map(|path| path.strip_prefix(&self.1).unwrap().display().to_string());
        found.collect::<Vec<_>>().join(" ")
    }
}

#[test]
fn a_file_that_a_check_runs_is_found_however_it_is_run() {
    let files = Files::new();
    let whole = format!("sh {}/check.sh", files.1.display());
    for (command, expected) in [
        ("./check.sh", "check.sh"),
        ("cd . && sh ./ci/deep/../check.sh; true", "ci/deep/../check.sh"),
        ("cd ci && ./only.sh", "ci/only.sh"),
        ("(cd ci/deep; cd ..; sh ./only.sh)", "ci/only.sh"),
        ("env -C ci ./only.sh", "ci/only.sh"),
        ("env --chdir=ci sh only.sh data", "ci/only.sh"),
        ("make -sC ci -f only.sh data", "ci/only.sh"),
        ("make --directory=ci --file=only.sh", "ci/only.sh"),
        ("sh $PWD/ci/check.sh data", "ci/check.sh"),
        ("$PWD/ci/check.sh data", "ci/check.sh"),
        ("sh $(pwd)/ci/check.sh", "ci/check.sh"),
        ("cd \"$PWD\"/ci; sh only.sh", "ci/only.sh"),
        ("bash -euo pipefail ci/check.sh", "ci/check.sh"),
        ("python 'ci/with space.py' --all", "ci/with space.py"),
        ("python3.12 -W ignore ci/with\\ space.py data", "ci/with space.py"),
        (&whole, "check.sh"),
        ("bash -c 'set -e; sh ci/check.sh'", "ci/check.sh"),
        ("sh -c \"bash -ec 'sh ci/check.sh'\"", "ci/check.sh"),
        ("sh -c ./check.sh", "check.sh"),
        ("timeout -k 5 60 sh -e -o pipefail ci/check.sh data | tee check.sh", "ci/check.sh"),
        ("X=1 nice -n 5 ./check.sh && env -u A B=2 . ci/check.sh", "check.sh ci/check.sh"),
        ("if ! sh check.sh; then exit 1; fi", "check.sh"),
        ("uv run python ci/check.sh", "ci/check.sh"),
        ("node -r ./check.sh ci/check.sh data", "check.sh ci/check.sh"),
        ("cat ci/check.sh | sh", "ci/check.sh"),
        ("sh < ci/check.sh", "ci/check.sh"),
        ("sh -c \"$(cat ci/check.sh)\"", "ci/check.sh"),
        ("eval \"$(cat ci/check.sh)\"", "ci/check.sh"),
        ("$RUNNER ci/check.sh", "ci/check.sh"),
        ("make -f ci/check.sh", "ci/check.sh"),
        ("awk -fci/check.sh data", "ci/check.sh"),
        ("runner able shebang data", "able shebang"),
        ("sh ci/check.sh > check.sh 2>>'check.sh'; grep '>' ci/check.sh", "ci/check.sh"),
        ("sh 'check.sh", "check.sh"),
        ("true # don't\n./check.sh", "check.sh"),
        ("# it's `only\nsh -c \"true # isn't\nsh ci/check.sh\"", "ci/check.sh"),
    ] {
        assert_eq!(files.shown(Executed::by_shell(command, &files.1).files), expected, "{command}");
    }
}

#[test]
fn a_file_that_a_check_reaches_by_what_its_line_sets_is_found() {
    let files = Files::new();
    for (command, expected) in [
        ("CHECK=ci/check.sh; sh $CHECK", "ci/check.sh"),
        ("export D=ci; sh ${D}/check.sh", "ci/check.sh"),
        ("D=ci; $D/check.sh", "ci/check.sh"),
        ("D=$(pwd)/ci; F=$D/check.sh; sh \"$F\"", "ci/check.sh"),
        ("CHECK=ci/check.sh sh -c 'sh $CHECK'", "ci/check.sh"),
        ("env CHECK=ci/check.sh bash -c 'sh \"$CHECK\"'", "ci/check.sh"),
        ("RUN='sh ci/check.sh'; $RUN", "ci/check.sh"),
        ("if true; then F=check.sh; else F=ci/only.sh; fi; sh $F", "check.sh ci/only.sh"),
        ("A=check.sh; sh -c 'A=ci/check.sh; sh $A'", "check.sh ci/check.sh"),
        ("sh -c 'sh $1' x ci/check.sh", "ci/check.sh"),
        ("sh ${CHECK:-ci/check.sh}", "ci/check.sh"),
        ("A=data; sh check.sh $A", "check.sh"),
    ] {
        assert_eq!(files.shown(Executed::by_shell(command, &files.1).files), expected, "{command}");
    }
    for (command, expected) in [
        ("for f in ci/*.sh; do sh $f || exit 1; done", "ci/check.sh ci/only.sh"),
        ("sh ci/check.s?", "ci/check.sh"),
        ("cd ci; ./on*.sh", "ci/only.sh"),
        ("bash -c \"bash ci/{check,check}.sh\"", "ci/check.sh"),
        ("cat ci/o*.sh | sh", "ci/only.sh"),
        ("find ci -name 'c*.sh' -exec sh {} \\;", "ci/check.sh"),
        ("find ci -type f -name 'c*.sh' -exec sh -c 'sh $1' x {} +", "ci/check.sh"),
        ("find . -name \"only*\" -print0 | xargs -0 -n1 sh", "ci/only.sh"),
        ("find ci -name 'c*' | xargs -I{} sh {}", "ci/check.sh"),
        ("find ci/check.sh -exec {} \\;", "ci/check.sh"),
        ("uv run ci/check.sh data", "ci/check.sh"),
        ("npx --yes -p data ./check.sh; uvx data", "check.sh"),
        ("poetry run python ci/check.sh", "ci/check.sh"),
        ("ls ci/*.sh; grep hi ci/*; shellcheck ci/*.sh; node --test ci/*.sh; bun test ci/*.sh", ""),
        ("find . -name '*.sh' | xargs grep hi; find ci -exec cat {} +", ""),
    ] {
        assert_eq!(files.shown(Executed::by_shell(command, &files.1).files), expected, "{command}");
    }
    fs::create_dir(files.1.join("ci/pack")).unwrap();
    fs::write(files.1.join("ci/pack/__main__.py"), "").unwrap();
    fs::write(files.1.join("ci/mod.py"), "").unwrap();
    fs::create_dir(files.1.join(".git")).unwrap();
    for (command, expected) in [
        ("cd $(git rev-parse --show-toplevel)/ci && sh only.sh", "ci/only.sh"),
        ("sh \"`git rev-parse --show-toplevel`/ci/check.sh\"", "ci/check.sh"),
        ("cd ci && python3 -m mod", "ci/mod.py"),
        ("python -sm ci.mod data", "ci/mod.py"),
        ("uv run -m ci.pack", "ci/pack/__main__.py"),
        ("uv run --with data python -mci.pack", "ci/pack/__main__.py"),
        ("python -m pytest ci/mod.py; python -c ci.mod", ""),
    ] {
        assert_eq!(files.shown(Executed::by_shell(command, &files.1).files), expected, "{command}");
    }
    for (command, expected) in [
        ("F=new.sh; sh $F", "new.sh"),
        ("F=check; sh $F.sh; F=new; sh ci/$F.sh", ""),
        ("F=new.sh; grep hi $F", ""),
    ] {
        let found: Vec<PathBuf> = Executed::by_shell(command, &files.1).missing.concat();
        assert_eq!(files.shown(found), expected, "{command}");
    }
}

#[test]
fn a_file_that_a_check_would_execute_is_missed_and_one_that_it_would_read_is_not() {
    let files = Files::new();
    for (command, expected) in [
        ("sh new.sh", "new.sh"),
        ("./new && true", "new"),
        ("cd ci && sh new.sh", "new.sh ci/new.sh"),
        ("cd ci && sh only.sh", ""),
        ("env -C ci ./new", "new ci/new"),
        ("sh $PWD/new.sh", "new.sh"),
        ("timeout 9 bash -euo pipefail ci/new --all", "ci/new"),
        ("python3 new.py check.sh", "new.py"),
        ("sh -c 'sh new.sh'; bash -ec ./new", "new.sh new"),
        ("sh -c 'mkdir -p ci && cp check.sh ci/new && ./ci/new'", "ci/new"),
        (". ./new; source ci/new", "new ci/new"),
        ("make -f new.mk; sh < new.sh", "new.mk new.sh"),
        ("grep -q hi new.txt; test -f new.txt; test -x ./new.txt", ""),
        ("cat new.txt | sort > new.sh; cargo test new", ""),
        ("deno test; java com.example.Main; bun run lint; make new", ""),
        ("sh $NEW; sh ~/new.sh; sh ../new.sh; ./*.sh; sh /new.sh", ""),
        ("python -m pytest new.py; sh -c 'true' new.sh; bash -s < /dev/null", ""),
    ] {
        let found: Vec<PathBuf> = Executed::by_shell(command, &files.1).missing.concat();
        assert_eq!(files.shown(found), expected, "{command}");
    }
}

#[test]
fn a_script_that_only_the_shell_knows_is_unknown() {
    let files = Files::new();
    for (command, expected) in [
        ("sh $CHECK", true),
        ("python \"$(cat name)\"", true),
        ("for f in $(ls ci); do sh ci/$f; done", true),
        ("ls | while read f; do sh $f; done", true),
        ("sh -c \"$CODE\"", true),
        ("sh -c 'set -e; sh `cat name`'", true),
        ("make test; cargo test; npm test; pytest $ARGS", false),
        ("test -f x && sh y.sh", false),
        ("sh -c 'mkdir -p build && ./build/t'", false),
        ("F=check.sh; sh $F $1; sh $PWD/ci/check.sh", false),
        ("sh $HOME/check.sh; python \"$@\"; $CARGO test", false),
        ("python -m pytest $X; sh ci/check.sh $X", false),
        ("cd $(git rev-parse --show-toplevel) && sh check.sh", false),
    ] {
        assert_eq!(Executed::by_shell(command, &files.1).is_unknown, expected, "{command}");
    }
}

#[test]
fn a_program_that_only_the_shell_knows_is_unknown_and_an_argument_is_none() {
    let files = Files::new();
    for (command, expected) in [
        ("$TOOL run", true),
        ("true && ${A}b/run", true),
        ("sh -c '$TOOL run'", true),
        ("echo \"$TOOL run\"", false),
        ("echo \"${A} is done\" >> log", false),
        ("sh -c 'echo \"$A is done\"'", false),
    ] {
        let found = Executed::by_hook(command, &files.1, &files.1);
        assert_eq!(found.unknown_program.is_some(), expected, "{command}");
    }
}

#[test]
fn a_file_that_a_check_only_reads_or_writes_is_the_work() {
    let files = Files::new();
    for command in [
        "grep -q hi data",
        "test -f data && test -s ./data",
        "timeout 60 grep -q hi data",
        "sh -c 'grep -q hi data'",
        "env A=1 nice wc -l < data > check.sh",
        "python -m pytest data",
        "python -c 'import sys' data",
        "perl -ne 'exit 1' data",
        "diff data ci/agent.json",
        "cargo test ci ci/deep /bin/sh ../etc missing.sh",
        "make data",
    ] {
        assert_eq!(files.shown(Executed::by_shell(command, &files.1).files), "", "{command}");
    }
    assert_eq!(files.shown(Executed::by_shell("sh check.sh shebang able", &files.1).started), "check.sh");
}

#[test]
fn of_an_agents_words_its_program_scripts_and_settings_count() {
    let files = Files::new();
    let line = "set -e; X=1 exec sh ci/check.sh | tee check.sh; cat check.sh > ci/check.sh";
    for (words, expected) in [
        (&["sh", "check.sh", "data"][..], "check.sh"),
        (&["./check.sh", "ci", "data"], "check.sh"),
        (&["claude", "--settings=ci/agent.json", "--log", "data"], "ci/agent.json"),
        (&["claude", "--mcp-config", "ci/agent.json"], "ci/agent.json"),
        (&["claude", "--hook=shebang"], "shebang"),
        (&["claude", "-p"], ""),
        (&["env", "A=1", "timeout", "60", "sh", "check.sh"], "check.sh"),
        (&["sh", "-c", line], "ci/check.sh"),
        (&["sh", "-c", "cat > check.sh; echo >> ci/check.sh"], ""),
    ] {
        let words: Vec<String> = words.iter().map(|word| (*word).to_owned()).collect();
        assert_eq!(files.shown(in_command_line(&words, &files.1)), expected, "{words:?}");
    }
}

#[test]
fn a_line_that_stands_for_a_great_many_words_is_read_so_far_and_unknown() {
    let files = Files::new();
    let numbers: String = (0..200).map(|number| format!(" {number}")).collect();
    let each = |body: String| format!("for a in{numbers}; do {body}; done");
    let long = "b".repeat(3_000);
    let runners = format!("cd ci; cd deep; echo {}", "sh ".repeat(900));
    let nested = |quote: &str, inner: &str| format!("sh -c {quote}{inner}{quote}");
    for (name, line) in [
        ("all values in all words", each(format!("echo{}", " $a".repeat(2_000)))),
        ("all values in plain words", each(format!("echo $a{}", " x".repeat(40_000)))),
        ("all values in a word", each(format!("b={long}; c=; echo $a$b{}", "$c".repeat(20_000)))),
        ("all values in lines", each(format!("sh -c $a '{}'", "x;".repeat(40_000)))),
        ("interpreters", format!("{runners};").repeat(30)),
        ("finds", "find ci -name a -exec find b -exec sh {} + ;".repeat(2_000)),
        ("assignments", each("A=$a$A ".repeat(14_000))),
        ("code in code", nested("'", &nested("\"", &"sh -c sh ".repeat(10_000)))),
    ] {
        let found = Executed::by_shell(&line, &files.1);
        assert!(found.is_unknown, "{name}");
    }
    let line = format!("A={}; sh ci/check.sh $A$A", "b".repeat(4_000));
    assert_eq!(files.shown(Executed::by_shell(&line, &files.1).files), "ci/check.sh", "a value is too long");
    let known = Executed::by_shell(&each("sh ci/check.sh $a".to_owned()), &files.1);
    assert!(!known.is_unknown && files.shown(known.files) == "ci/check.sh", "200 values are read");
}

#[test]
fn a_long_line_is_read_in_time() {
    let files = Files::new();
    for (name, line) in [
        (";", ";".repeat(100_000)),
        ("commands", "true;".repeat(20_000)),
        ("&&", "./a && ".repeat(15_000)),
        ("(", "(".repeat(50_000) + &")".repeat(50_000)),
        ("(commands", "(cd a;".repeat(16_000)),
        ("$(", "$(".repeat(50_000)),
        ("$( )", "$(".repeat(50_000) + ")"),
        ("`", "`a".repeat(50_000)),
        ("${", "${".repeat(50_000)),
        ("${:-", "${A:-".repeat(20_000) + "}"),
        ("assignments", "A=b ".repeat(25_000)),
        ("variables", (0..9_000).map(|number| format!("A{number}=$A ")).collect()),
        ("directories", (0..9_000).map(|number| format!("cd {number}; ")).collect()),
        ("long directories", format!("cd {0}; cd {0}/b; sh a b c d e f;", "a/".repeat(10_000)).repeat(2)),
        ("-C", format!("make {}", "-Ca ".repeat(25_000))),
        ("quotes", "\"'\"'".repeat(25_000)),
        (">", ">".repeat(100_000)),
        ("#", "#".repeat(100_000)),
        ("a word", "a".repeat(100_000)),
        ("a path", "./".repeat(50_000)),
        ("braces", "{a,".repeat(33_000)),
    ] {
        let begun = Instant::now();
        Executed::by_hook(&line, &files.1, &files.1);
        started_places(&line, &files.1, &files.1);
        programs_of_shell(&line);
        assert!(begun.elapsed() < Duration::from_secs(20), "{name}: {:?}", begun.elapsed());
    }
}
