//! Files that people get wrong: told with their place, and nothing is run.

use std::{fs, os::unix::fs::symlink, path::Path};

use samuel_core::{dialect::HookFiles, hook::Registry, model::Coded};

use crate::session_hooks::kit::{FILE, problems, read};

/// Returns what is said of a file that cannot be used, with its place.
fn refused(text: impl AsRef<[u8]>) -> String {
    let error = read(text).unwrap_err();
    let place = error.location().unwrap();
    assert_eq!(place.file, Path::new(FILE));
    assert!(place.line.is_some() && place.column.is_some(), "{place:?}");
    error.to_string()
}

#[test]
fn files_with_nothing_in_them_have_no_hooks() {
    for text in ["", "\n", "# none\n", "\u{feff}", "---\n", "null\n"] {
        let files = read(text).unwrap();
        assert_eq!((files.hooks().count(), files.problems().len()), (0, 0), "{text:?}");
    }
    for text in [
        "version: 1\n",
        "version: 1\nhooks:\n",
        "version: 1\nhooks: {}\n",
        "version: 1\nhooks:\n  on_error:\n",
    ] {
        let files = read(text).unwrap();
        assert_eq!((files.hooks().count(), files.problems().len()), (0, 0), "{text:?}");
    }
    let files = read("hooks: {}\n").unwrap();
    assert!(files.problems().is_empty() && files.remarks()[0].contains("version is missing"), "{files:?}");
}

#[test]
fn files_of_any_line_ends_and_with_a_mark_are_read() {
    let text =
        "\u{feff}version: 1\r\nhooks:\r\n  on_error:\r\n    - command: \"true\"\r\n      timeout: 5\r\n";
    let files = read(text).unwrap();
    let hook = files.hooks().next().unwrap();
    assert_eq!((hook.timeout.as_secs(), hook.entry().line, hook.entry().column), (5, 4, 7));
}

#[test]
fn files_that_are_no_yaml_are_refused_with_the_place() {
    let bomb = (1..40).fold("a0: &a0 [x, x]\n".to_owned(), |text, n| {
        format!("{text}a{n}: &a{n} [*a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}, *a{0}]\n", n - 1)
    });
    let deep = format!("version: 1\nhooks: {}{}", "[".repeat(40), "]".repeat(40));
    for text in [
        "version: 1\nhooks: [",
        "hooks:\n\ton_error: []\n",
        "a: b: c\n",
        "x: *y\n",
        "version: 1\n---\nversion: 2\n",
    ] {
        assert!(refused(text).starts_with(&format!("{FILE}:")), "{text}: {}", refused(text));
    }
    for text in [&bomb, &deep] {
        refused(text);
    }
    assert!(refused(b"version: 1\nhooks:\n  on_error:\n    - command: \xff\n").contains("UTF-8"));
    assert!(refused("# x\n".repeat(300_000)).contains("1 MiB"), "{}", refused("# x\n".repeat(300_000)));
    for (text, expected) in [
        ("- a\n", "expected a mapping with version and hooks, found a list"),
        ("version: 3\n", "version: version 3 is not supported"),
        ("version: two\n", "version: expected 1 or 2, found text"),
        ("version: 1\nhooks: x\n", "hooks: expected a mapping of hook types, found text"),
    ] {
        assert!(refused(text).ends_with(expected), "{text}: {}", refused(text));
    }
}

/// Puts something in the place of a hook file.
type Make<'a> = &'a dyn Fn(&Path);

#[test]
fn what_is_no_file_of_the_project_is_refused() {
    let outside = tempfile::tempdir().unwrap();
    fs::write(outside.path().join("hooks.yml"), "version: 1\n").unwrap();
    let make: [(&str, Make<'_>); 3] = [
        ("a directory", &|path| fs::create_dir(path).unwrap()),
        ("a named pipe", &|path| {
            assert!(std::process::Command::new("mkfifo").arg(path).status().unwrap().success());
        }),
        ("leads out of the project", &|path| symlink(outside.path().join("hooks.yml"), path).unwrap()),
    ];
    for (expected, make) in make {
        let directory = tempfile::tempdir().unwrap();
        make(&directory.path().join(".iteratr.hooks.yml"));
        let error = HookFiles::read(directory.path()).unwrap_err().to_string();
        assert!(error.contains(".iteratr.hooks.yml") && error.contains(expected), "{error}");
    }
}

#[test]
fn two_files_are_one_too_many() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(".samuel")).unwrap();
    for file in [FILE, ".iteratr.hooks.yml"] {
        fs::write(directory.path().join(file), "version: 1\n").unwrap();
    }
    let error = HookFiles::read(directory.path()).unwrap_err();
    assert!(error.to_string().contains("there is \".samuel/hooks.yml\" too"), "{error}");
    assert_eq!(error.help().prose(), "Put the hooks of both into one, and remove the other.");
}

/// Each entry, with what is said of it at line 4 or below.
#[test]
fn a_bad_entry_is_told_with_its_place_and_left_out_and_its_siblings_are_used() {
    for (entry, expected) in [
        (
            "- {command: a, comand: b}",
            "4:20: session:on_error#1.comand: unknown key. Correct or remove it: command is set already.",
        ),
        (
            "- {timout: 3, command: a}",
            "4:8: session:on_error#1.timout: unknown key. Did you mean \"timeout\"?",
        ),
        (
            "- {command: a, command: b}",
            "4:20: session:on_error#1.command: is given twice, first in line 4. Remove one of the two.",
        ),
        ("- {timeout: 3}", "4:7: session:on_error#1: command is missing. Add command."),
        (
            "- command: 5",
            "4:16: session:on_error#1.command: expected text, found a whole number. Put it in quotes.",
        ),
        ("- command: ' '", "4:16: session:on_error#1.command: must not be empty"),
        ("- command: \"a\\0b\"", "4:16: session:on_error#1.command: holds a NUL byte"),
        (
            "- {command: a, pipe_output: maybe}",
            "4:33: session:on_error#1.pipe_output: expected true or false, found text",
        ),
        (
            "- {command: a, timeout: 30.0}",
            "4:29: session:on_error#1.timeout: expected a whole number of seconds or a text such as \"30s\"",
        ),
        (
            "- command: {echo a: b}",
            "expected text, found a mapping. Put a command that holds \": \" in quotes",
        ),
        ("- {command: a, <<: {timeout: 3}}", "<<: merge keys are not supported. Write the keys out."),
        ("- true", "4:7: session:on_error#1: expected a hook: a mapping with command, found a boolean"),
        ("- {command: a, timeout: 0}", "timeout: 0s is out of range, expected whole seconds, 1s to 24h"),
        ("- {command: a, timeout: -1}", "timeout: -1 is out of range"),
        ("- {command: a, timeout: 1e9}", "timeout: 1000000000 is out of range"),
        ("- {command: a, timeout: 86401}", "timeout: 24h1s is out of range"),
        ("- {command: a, timeout: soon}", "\"soon\" is not a duration"),
        (
            "- {command: a, timeout: [1]}",
            "expected a whole number of seconds or a text such as \"30s\", found a list",
        ),
        ("- {command: a, cwd: src}", "cwd: needs version 2. Write version: 2 at the top of the file."),
        ("- {command: [a]}", "command: a list needs version 2"),
    ] {
        let text = format!("version: 1\nhooks:\n  on_error:\n    {entry}\n    - {{command: good}}\n");
        let told = problems(&text);
        assert_eq!(told.len(), 1, "{entry}: {told:?}");
        assert!(
            told[0].starts_with(".samuel/hooks.yml:4:") && told[0].contains(expected),
            "{entry}: {told:?}"
        );
        let files = read(&text).unwrap();
        let ids: Vec<String> = files.hooks().map(|hook| hook.id()).collect();
        assert_eq!(ids, ["session:on_error#2"], "the number stays with the entry");
    }
}

#[test]
fn keys_of_version_2_are_checked_too() {
    for (entry, expected) in [
        ("{command: a, cwd: ../x}", "cwd: \"../x\" is not a directory within the project"),
        ("{command: a, cwd: missing}", "cwd: \"missing\" does not exist"),
        ("{command: a, cwd: .samuel/hooks.yml}", "cwd: \".samuel/hooks.yml\" is not a directory"),
        (
            "{command: a, env: {PATH: \"{{error}}\"}}",
            "env.PATH: a variable decides which program or file is run",
        ),
        (
            "{command: [timeout, '5', \"{{error}}\"]}",
            "command[2]: a variable decides which program or file is run",
        ),
        (
            "{command: [sh, \"scripts/{{error}}.sh\"]}",
            "command[1]: a variable decides which program or file is run",
        ),
        (
            "{command: [sh, -ce, \"echo {{error}}\"]}",
            "command[2]: sh would read the value of {{error}} as code",
        ),
        ("{command: a, cwd: /etc}", "cwd: \"/etc\" is not a directory within the project"),
        (
            "{command: a, deliver: nextt}",
            "deliver: unknown time of delivery \"nextt\". Did you mean \"next\"?",
        ),
        ("{command: a, env: [x]}", "env: expected a mapping of names to text, found a list"),
        ("{command: a, env: {1a: x}}", "env: \"1a\" cannot be the name of a variable"),
        ("{command: a, env: {SAMUEL_RUN_ID: x}}", "cannot be the name of a variable"),
        ("{command: a, env: {A: x, A: y}}", "env: A is given twice"),
        ("{command: a, env: {A: 1}}", "env.A: expected text, found a whole number. Put it in quotes."),
        ("{command: a, background: 1}", "background: expected true or false, found a whole number"),
        ("{command: []}", "command: must not be empty"),
        ("{command: [\"{{error}}\"]}", "command[0]: a variable decides which program or file is run"),
        ("{command: [env, \"{{error}}\"]}", "command[1]: a variable decides which program or file is run"),
        ("{command: [perl, \"-e{{error}}\"]}", "command[1]: perl would read the value of {{error}} as code"),
        (
            "{command: [sh, -c, \"echo {{error}}\"]}",
            "command[2]: sh would read the value of {{error}} as code",
        ),
    ] {
        let told = problems(&format!("version: 2\nhooks:\n  on_error:\n    - {entry}\n"));
        assert_eq!(told.len(), 1, "{entry}: {told:?}");
        assert!(told[0].contains(expected), "{entry}: {told:?}");
    }
}

#[test]
fn an_unknown_type_or_key_of_the_file_is_told_with_the_nearest_and_the_others_are_used() {
    let text = "version: 1\nhook: {}\nhooks:\n  post_iteraton:\n    - command: a\n  on_error: {command: b}\n  pre_iteration:\n    - command: c\n";
    assert_eq!(
        problems(text),
        [
            ".samuel/hooks.yml:2:1: hook: unknown key. Correct or remove it: hooks is set already.",
            ".samuel/hooks.yml:4:3: hooks.post_iteraton: is no type of session hook. Did you mean \"post_iteration\"?",
            ".samuel/hooks.yml:6:13: hooks.on_error: expected a list of hooks, found one hook. Put \"- \" before its first key, and indent the others.",
        ]
    );
    assert_eq!(read(text).unwrap().hooks().count(), 1);
}

#[test]
fn seconds_are_written_as_a_number_or_as_text() {
    let text = "version: 1\nhooks:\n  on_error:\n    - {command: a, timeout: 30}\n    - {command: a, timeout: 30s}\n    - {command: a}\n    - {command: a, timeout: 24h}\n";
    let files = read(text).unwrap();
    assert_eq!(files.hooks().map(|hook| hook.timeout.as_secs()).collect::<Vec<_>>(), [30, 30, 30, 86_400]);
}

#[test]
fn ten_thousand_entries_are_read_and_registered() {
    let entry = |n: usize| format!("    - {{command: 'echo {n}', timeut: 5}}\n    - command: 'echo {n}'\n");
    let text = format!("version: 1\nhooks:\n  on_error:\n{}", (0..10_000).map(entry).collect::<String>());
    let mut files = read(&text).unwrap();
    assert_eq!((files.hooks().count(), files.problems().len(), files.warnings().len()), (10_000, 1_000, 101));
    assert_eq!(files.warnings().last().unwrap(), "9900 problems more in the hook files");
    let mut registry = Registry::builder();
    files.register(&mut registry, Default::default());
    registry.build(&Default::default()).unwrap();
}

#[test]
fn what_works_and_may_not_be_meant_is_a_warning() {
    let text = "version: 2\nhooks:\n  on_error:\n    - {command: 'echo {{session', deliver: now}\n    - {command: 'echo {{}}', pipe_output: on}\n  session_end:\n    - {command: a, pipe_output: yes}\n    - {command: a, pipe_output: no}\n";
    let files = read(text).unwrap();
    assert_eq!((files.problems().len(), files.hooks().count()), (0, 4), "{:?}", files.warnings());
    for (remark, expected) in files.remarks().iter().zip([
        "4:17: session:on_error#1.command: {{session is not closed with }}",
        "session:on_error#1.deliver: has no effect without pipe_output: true. Remove the key.",
        "5:17: session:on_error#2.command: {{}} names no variable",
        "session:session_end#1.pipe_output: has no effect when the session is over",
    ]) {
        assert!(remark.contains(expected), "{remark}");
    }
    assert_eq!(files.remarks().len(), 4, "{:?}", files.remarks());
    let piped: Vec<bool> = files.hooks().map(|hook| hook.pipe_output).collect();
    assert_eq!(piped, [true, false, false, true], "session_end is before on_error");
}

#[test]
fn files_of_nearly_the_right_name_are_told() {
    let directory = tempfile::tempdir().unwrap();
    fs::create_dir(directory.path().join(".samuel")).unwrap();
    fs::write(directory.path().join(".samuel/hooks.yaml"), "version: 1\n").unwrap();
    symlink("missing.yml", directory.path().join(".iteratr.hooks.yml")).unwrap();
    let warnings = HookFiles::read(directory.path()).unwrap().warnings();
    assert_eq!(
        warnings,
        [
            ".samuel/hooks.yaml: this file is not read. Rename it to .samuel/hooks.yml.",
            ".iteratr.hooks.yml: this link leads to nothing. Correct or remove it.",
        ]
    );
}

#[test]
fn large_files_are_read_in_little_time() {
    // In short they are half as large, and have half of the time.
    let part = if std::env::var_os("SAMUEL_LONG").is_some() { 1 } else { 2 };
    let many = |line: fn(usize) -> String| (0..100_000 / part).map(line).collect::<String>();
    let names = many(|n| format!("A{n}: x,"));
    let begun = std::time::Instant::now();
    let braces = "{".repeat(((1 << 20) - 100) / part);
    assert_eq!(
        read(format!("version: 1\nhooks:\n  on_error:\n    - command: '{braces}'\n"))
            .unwrap()
            .hooks()
            .count(),
        1
    );
    let env = format!(
        "version: 2\nhooks:\n  on_error:\n    - {{command: a, env: {{{}}}}}\n",
        names.get(..1_000_000).unwrap_or(&names)
    );
    assert_eq!(read(env).unwrap().hooks().count(), 1);
    let keys = format!("version: 1\nhooks: {{}}\n{}", many(|n| format!("k{n}: 1\n")));
    assert_eq!(read(keys).unwrap().problems().len(), 1_000);
    assert!(begun.elapsed().as_secs() < if part == 1 { 120 } else { 60 }, "{:?}", begun.elapsed());
}

#[test]
fn documents_beyond_the_first_are_told_in_words() {
    let error = refused("version: 1\n---\nversion: 2\n");
    assert!(error.contains("there is more than one document"), "{error}");
}

#[test]
fn secrets_that_commands_get_are_named() {
    let env = ["PATH", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"].map(|name| (name.to_owned(), "x".to_owned()));
    let files = read("version: 1\nhooks:\n  on_error:\n    - command: a\n").unwrap();
    assert_eq!(files.secrets(&env), ["AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN"]);
    assert!(read("version: 1\n").unwrap().secrets(&env).is_empty());
}
