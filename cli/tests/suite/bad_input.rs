//! What cannot work ends with one clear error, and nothing is lost.

use std::os::unix::fs::PermissionsExt;

use crate::bench::{Bench, Ran, says};

fn error_of(ran: &Ran) -> (i32, String) {
    assert_eq!(ran.stdout, "");
    (ran.code, ran.stderr.clone())
}

#[test]
fn a_corrupt_plan_is_reported_with_its_place_and_kept() {
    let bench = Bench::with_tasks(&["First"]);
    std::fs::write(bench.prd(), b"# toon v3\n\xff\xfe").unwrap();
    let before = std::fs::read(bench.prd()).unwrap();
    for args in [
        &["run"][..],
        &["run", "tasks"],
        &["run", "done", "1"],
        &["run", "init"],
        &["run", "start", "--yes", "--agent-command", "true"],
    ] {
        let (code, stderr) = error_of(&bench.samuel(args));
        assert_eq!(code, 5, "{args:?}: {stderr}");
        assert!(stderr.contains("prd.toon is corrupt") && stderr.contains("help: "), "{stderr}");
    }
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    let document = bench.samuel(&["run", "tasks", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_STATE_CORRUPT");
    assert!(document["error"]["location"]["file"].as_str().unwrap().ends_with("prd.toon"));
}

#[test]
fn an_agent_or_a_sandbox_that_is_unknown_is_refused_before_anything_runs() {
    let bench = Bench::with_tasks(&["First"]);
    let before = bench.files();
    for (args, message, help) in [
        (["--agent", "cluade"], "unknown agent \"cluade\"", "Did you mean \"claude\"?"),
        (
            ["--sandbox", "dokcer"],
            "unknown sandbox \"dokcer\"",
            "Use host, which is no sandbox, bwrap or oci.",
        ),
        (["--max-failures", "0"], "0 is out of range, expected a whole number of at least 1", "--help"),
        (
            ["--max-iterations", "99999999999999999999"],
            "99999999999999999999 is out of range, expected a whole number of at most 4294967295",
            "--help",
        ),
        (["--max-iterations", "many"], "expected a whole number, found text", "--help"),
        (["--pause", "25h"], "25h is out of range, expected a duration from 0s to 24h", "--help"),
        (["--pause", "soon"], "invalid value 'soon'", "--help"),
        (["--agent", "command"], "agent_command names no program", "help: Pass --agent-command, or"),
        (["--agent-command", "a 'b"], "open quote", "Close the quote"),
    ] {
        let (code, stderr) = error_of(&bench.samuel(&[&["run", "start", "--yes"][..], &args].concat()));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(message) && stderr.contains(help), "{stderr}");
    }
    let (code, stderr) = error_of(&bench.samuel(&["run", "start", "--yes", "--sandbox", "oci"]));
    assert_eq!(code, 1, "{stderr}");
    says(
        &stderr,
        &["sandbox.image: the sandbox oci needs an image", "`samuel run sandbox image` builds one"],
    );
    assert_eq!(bench.files(), before);
}

#[test]
fn a_number_that_is_none_is_refused_with_the_numbers_there_are() {
    let bench = Bench::with_tasks(&["First"]);
    for (args, range) in [
        (&["run", "done", "1", "--iteration=-1"][..], "from 1 to 4294967295"),
        (&["run", "restore", "first"], "from 1 to 18446744073709551615"),
        (&["run", "restore", "0"], "from 1 to 18446744073709551615"),
        (&["toon", "encode", "--indent", "17"], "from 1 to 16"),
        (&["toon", "decode", "--indent", "2.5"], "from 1 to 16"),
    ] {
        let (code, stderr) = error_of(&bench.samuel(args));
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(&format!("must be a whole number {range}")), "{stderr}");
    }
}

#[test]
fn a_command_that_is_misspelt_or_called_without_run_is_suggested() {
    let bench = Bench::with_tasks(&["First", "Second"]);
    for (args, told, meant) in [
        (&["run", "shwo", "2"][..], "unrecognized subcommand 'shwo'", "exists: 'show'"),
        (
            &["run", "-C", ".", "donne", "1", "--reason", "x"],
            "unrecognized subcommand 'donne'",
            "exists: 'done'",
        ),
        (&["auto", "shwo", "2"], "unrecognized subcommand 'shwo'", "exists: 'show'"),
        (&["start"], "unrecognized subcommand 'start'", "exists: 'run start'"),
        (&["done", "1"], "unrecognized subcommand 'done'", "exists: 'run done'"),
        (&["--json", "tasks"], "unrecognized subcommand 'tasks'", "exists: 'run tasks'"),
    ] {
        let ran = bench.samuel(args).ends(2);
        let (said, help) = match args.contains(&"--json") {
            true => {
                let error = ran.json()["error"].clone();
                (error["message"].to_string(), error["help"].to_string())
            }
            false => (ran.stderr.clone(), ran.stderr.clone()),
        };
        assert!(said.contains(told) && help.contains(meant), "{args:?}: {ran:?}");
    }
    // What is a methodology, or like nothing, is taken as it is.
    for args in [&["run", "ralph", "2"][..], &["run", "xyzzy", "2"]] {
        let ran = bench.samuel(args).fails(2);
        says(&ran.stderr, &["unexpected argument '2' found"]);
    }
}

#[test]
fn an_agent_that_is_not_installed_is_named() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.samuel_where("PATH", "/nowhere", &["run", "start", "--yes"]).ends(1);
    assert!(ran.stderr.contains("agent \"claude\" needs the program \"claude\""), "{ran:?}");
    assert!(!bench.path(".samuel/run/progress.md").exists());
}

#[test]
fn a_loop_works_without_a_repository_that_can_be_read() {
    let bench = Bench::with_tasks(&["First"]);
    std::fs::create_dir(bench.path(".git")).unwrap();
    bench.samuel_where("PATH", "/nowhere", &bench.start_args("\"$SAMUEL_BINARY\" run done 1")).ends(0);
    let snapshot = bench.read(".samuel/run/project-snapshot.toon");
    assert!(snapshot.contains("the repository cannot be read"), "{snapshot}");
}

#[test]
fn the_demonstration_says_that_it_needs_git() {
    let bench = Bench::empty();
    let document = bench.samuel_where("PATH", "/nowhere", &["demo", "--json"]).json();
    assert_eq!(document["error"]["code"], "E_GIT_NOT_FOUND");
    assert_eq!(std::fs::read_dir(bench.tmp()).unwrap().count(), 0);
}

#[test]
fn a_directory_that_cannot_be_written_is_named() {
    if rustix::process::geteuid().is_root() {
        // Nothing is unwritable for root but what is no directory.
        let bench = Bench::empty();
        bench.write(".samuel", "a file");
        let (code, stderr) = error_of(&bench.samuel(&["run", "init"]));
        assert_eq!(code, 1);
        let what = "/.samuel\" is a file, not a directory";
        assert!(stderr.contains("cannot create ") && stderr.contains(what), "{stderr}");
        return;
    }
    let bench = Bench::empty();
    std::fs::set_permissions(bench.root(), std::fs::Permissions::from_mode(0o555)).unwrap();
    let (code, stderr) = error_of(&bench.samuel(&["run", "init"]));
    std::fs::set_permissions(bench.root(), std::fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(code, 1);
    assert!(stderr.contains("cannot create ") && stderr.contains("is writable"), "{stderr}");
}

/// Runs the command where no file can grow past a kilobyte, much as on a disk that
/// is full.
fn without_space(bench: &Bench, args: &[&str]) -> Ran {
    Ran::of(bench.command_below("ulimit -f 2; exec \"$0\" \"$@\"", args))
}

#[test]
fn a_disk_that_is_full_is_an_error_that_names_the_file_and_loses_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let before = std::fs::read(bench.prd()).unwrap();
    let long = "x".repeat(4_000);
    let args = ["run", "enqueue", "Second", "--description", &long];
    let (code, stderr) = error_of(&without_space(&bench, &args));
    assert_eq!(code, 1);
    assert!(stderr.starts_with("error: cannot write ") && stderr.contains("  caused by: "), "{stderr}");
    assert!(stderr.contains(".samuel/run/") && stderr.contains("`ulimit -f`"), "{stderr}");
    let document = without_space(&bench, &[&args[..], &["--json"]].concat()).json();
    assert_eq!(document["error"]["code"], "E_STATE_IO");
    assert!(document["error"]["location"]["file"].as_str().unwrap().contains(".samuel/run/"));
    assert_eq!(std::fs::read(bench.prd()).unwrap(), before);
    bench.ok(&["run", "enqueue", "Second"]);
}

#[test]
fn a_journal_that_an_agent_replaces_is_put_back_and_the_run_goes_on() {
    let bench = Bench::with_tasks(&["First"]);
    let journal = bench.path(".samuel/run/journal.jsonl");
    let agent = format!("rm -f '{0}'; mkdir '{0}'; \"$SAMUEL_BINARY\" run done 1", journal.display());
    let ran = bench.start(&agent, &["--max-iterations", "1"]);
    assert!(ran.stderr.contains("journal.jsonl") && ran.stderr.contains("put back"), "{ran:?}");
    assert!(journal.is_file());
    assert_eq!(bench.start("\"$SAMUEL_BINARY\" run done 1", &[]).code, 0);
}

#[test]
fn a_mistake_in_samuel_toml_is_reported_once_with_its_line() {
    let bench = Bench::with_tasks(&[]);
    bench.configure("max_iteration = 3");
    let (code, stderr) = error_of(&bench.samuel(&["run", "done", "1"]));
    assert_eq!((code, stderr.matches("max_iteration").count() >= 1), (2, true));
    says(&stderr, &["samuel.toml:3:1", "max_iterations"]);
}

#[test]
fn a_broken_template_is_an_error_before_the_loop() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(".samuel/templates/ralph/prompt.md.tmpl", "one\n{{ if }}\n");
    let (code, stderr) = error_of(&bench.start("touch ran", &[]));
    assert_eq!(code, 2);
    assert!(stderr.contains("prompt.md.tmpl:2"), "{stderr}");
    assert!(!bench.path("ran").exists());
}

#[test]
fn a_reader_that_goes_away_is_no_error() {
    let bench = Bench::with_tasks(&["First"]);
    let mut child = bench
        .command(&["run", "tasks"])
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::piped())
        .spawn()
        .unwrap();
    drop(child.stdout.take());
    let output = child.wait_with_output().unwrap();
    assert_eq!((output.status.code(), output.stderr.as_slice()), (Some(0), &b""[..]));
}

#[test]
fn output_that_cannot_be_written_is_an_error() {
    let bench = Bench::with_tasks(&["First"]);
    let full = std::fs::OpenOptions::new().write(true).open("/dev/full").unwrap();
    let mut command = bench.command(&["run", "tasks", "--json"]);
    let output = command.stdout(full).stderr(std::process::Stdio::piped()).spawn().unwrap();
    let output = output.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    assert!(String::from_utf8(output.stderr).unwrap().contains("cannot write to stdout"));
}

#[test]
fn what_doctor_found_stands_above_its_verdict() {
    let bench = Bench::with_tasks(&["One"]);
    let ran = Ran::of(bench.command_below("\"$0\" \"$@\" 2>&1", &["doctor"]));
    let last: Vec<&str> = ran.stdout.lines().rev().take(2).collect();
    assert_eq!(
        last,
        ["help: Correct what is marked as failed above.", "error: 1 of 10 checks failed"],
        "{}",
        ran.stdout
    );
}

#[test]
fn a_run_that_reaches_the_limit_of_file_sizes_says_so() {
    let bench = Bench::with_tasks(&["One"]);
    let big = "x".repeat(1 << 20);
    bench.write("samuel.toml", &format!("version = \"2\"\n# {}\n", &big[..200_000]));
    let title = "y".repeat(400);
    let mut added = (0..20).map(|_| without_space(&bench, &["run", "enqueue", &title]));
    let ran = added.find(|ran| ran.code != 0).unwrap();
    assert_eq!(ran.code, 1, "{ran:?}");
    says(
        &ran.stderr,
        &[
            "error: cannot write",
            "File too large",
            "help: Raise the limit of file sizes, which `ulimit -f` shows",
        ],
    );
    let ran = without_space(&bench, &["run", "start", "--yes", "--pause", "0", "--agent-command", "true"]);
    assert!(ran.code > 0 && ran.stderr.contains("File too large"), "{ran:?}");
}

#[test]
fn every_typo_gets_the_name_it_is_nearest_to_in_the_order_of_lines() {
    let bench = Bench::with_tasks(&["One"]);
    bench.write(
        "samuel.toml",
        "version = \"2\"\n[methodology.ralph]\npase = \"2s\"\nmax_iteratoins = 3\n[guardrails]\nrequre_tests = true\n",
    );
    let ran = bench.samuel(&["run", "start"]);
    let places: Vec<usize> = [
        ":3:1: methodology.ralph.pase: unknown key. Did you mean \"pause\"?",
        ":4:1: methodology.ralph.max_iteratoins: unknown key. Did you mean \"max_iterations\"?",
        ":6:1: guardrails.requre_tests: unknown key. Did you mean \"require_tests\"?",
        "help: Correct each of the places named above.",
    ]
    .map(|part| ran.stderr.find(part).unwrap_or_else(|| panic!("{part}: {}", ran.stderr)))
    .into();
    assert!(ran.code == 2 && places.is_sorted(), "{}", ran.stderr);

    let chains = "[hooks.\"quality.check\"]\nhandlers = [\"defualt\"]\n[hooks.\"before:loop\"]\nhandlers = [\"lnt\", \"defualt\"]\n";
    bench.write("samuel.toml", &format!("version = \"2\"\n{chains}"));
    let ran = bench.samuel(&["doctor", "--hooks"]);
    let lines: Vec<&str> = ran.stderr.lines().filter(|line| line.contains("unknown handler")).collect();
    assert_eq!(lines.len(), 3, "{}", ran.stderr);
    for (line, part) in lines.iter().zip([":3:13: ", ":5:13: ", ":5:20: "]) {
        assert!(line.contains(part), "{part}: {line}");
    }
    assert!(lines[0].contains("Did you mean \"default\"?") && lines[2].contains("Did you mean \"default\"?"));
}

#[test]
fn no_name_is_suggested_that_would_be_refused() {
    let bench = Bench::with_tasks(&["One"]);
    for (text, refused) in [
        ("[methodology.ralph]\npause = \"1s\"\npaues = \"2s\"\n", "\"pause\""),
        ("[methodology.ralph]\nagent = \"claude\"\nagnet = \"codex\"\n", "agent_args"),
        ("[hooks.\"quality.check\"]\n[hooks.\"quality.chek\"]\n", "Did you mean \"quality.check\""),
    ] {
        bench.write("samuel.toml", &format!("version = \"2\"\n{text}"));
        let ran = bench.samuel(&["run", "done", "1"]);
        assert!(ran.code == 2 && !ran.stderr.contains(refused), "{text}: {}", ran.stderr);
    }
    bench.write("samuel.toml", "version = \"2\"\n[methodology.ralph]\nsandbox = \"bwarp\"\n");
    for args in [&["run", "start", "--yes"][..], &["run", "start", "--dry-run"]] {
        let ran = bench.samuel(args);
        let told = "samuel.toml:3:1: methodology.ralph.sandbox: unknown sandbox \"bwarp\"";
        assert!(
            ran.code == 2 && ran.stderr.contains(told) && ran.stderr.contains("Did you mean \"bwrap\"?"),
            "{}",
            ran.stderr
        );
    }
    bench.write("samuel.toml", "version = \"2\"\n[methodology.ralph]\nsandbox = \"oci\"\n");
    for args in [&["run", "start", "--yes"][..], &["run", "start", "--dry-run"], &["doctor"]] {
        let ran = bench.samuel(args);
        let told = "methodology.ralph.sandbox: the sandbox oci needs an image, pinned by its digest";
        let shown = ran.stdout.clone() + &ran.stderr;
        assert!(ran.code != 0 && shown.contains(told) && shown.contains("samuel.toml:3:1"), "{shown}");
    }
    bench.ok(&["run", "start", "--dry-run", "--sandbox", "host", "--agent-command", "true"]);
    bench.write("samuel.toml", "version = \"2\"\n");
    let ran = bench.samuel(&["run", "pilto"]);
    assert!(
        ran.code == 2 && ran.stderr.contains("Did you mean the command `samuel run pilot`?"),
        "{}",
        ran.stderr
    );
    let ran = bench.samuel(&["run", "start", "--sandbox", "bwarp"]);
    assert!(ran.code == 2 && ran.stderr.contains("Did you mean \"bwrap\"?"), "{}", ran.stderr);
}

#[test]
fn a_samuel_toml_that_links_to_nothing_is_told_as_a_link() {
    let bench = Bench::with_tasks(&["One"]);
    let _ = std::fs::remove_file(bench.path("samuel.toml"));
    std::os::unix::fs::symlink("gone/there.toml", bench.path("samuel.toml")).unwrap();
    for args in [&["run", "start", "--yes"][..], &["run", "done", "1"], &["doctor"]] {
        let ran = bench.samuel(args);
        let shown = ran.stdout.clone() + &ran.stderr;
        assert!(ran.code != 0, "{args:?}: {shown}");
        let told = "it is a link to \"gone/there.toml\", which does not exist";
        assert!(
            shown.contains(told) && shown.contains("Restore what the link leads to"),
            "{args:?}: {shown}"
        );
    }
}

#[test]
fn a_directory_in_the_place_of_a_plan_is_not_to_be_forced() {
    let bench = Bench::empty();
    std::fs::create_dir_all(bench.path(".samuel/run/prd.toon")).unwrap();
    bench.write("prd.md", "# P\n\n## Tasks\n\n- [ ] Work\n");
    for args in [&["run", "init", "--prd", "prd.md"][..], &["run", "init"], &["run", "convert", "prd.md"]] {
        for force in [&[][..], &["--force"]] {
            let ran = bench.samuel(&[args, force].concat());
            let told = "it is a directory, not a file";
            let is_told = ran.stderr.contains(told) && ran.stderr.contains("Remove it, or restore");
            assert!(ran.code != 0 && is_told && !ran.stderr.contains("--force"), "{args:?}: {}", ran.stderr);
        }
    }
}

#[test]
fn a_plan_of_nothing_but_zeros_is_refused_in_a_few_words() {
    let bench = Bench::with_tasks(&["One"]);
    std::fs::write(bench.prd(), vec![0; 5_000_000]).unwrap();
    for args in [&["run", "tasks"][..], &["run", "tasks", "--json"], &["run", "done", "1"], &["doctor"]] {
        let ran = bench.samuel(args);
        assert!(ran.code == 5 || args == ["doctor"], "{args:?}: {}", ran.code);
        let shown = ran.stdout.len() + ran.stderr.len();
        assert!(shown < 10_000, "{args:?}: {shown} bytes");
    }
}

#[test]
fn several_unknown_handlers_have_a_line_each_and_no_empty_list_is_offered() {
    let bench = Bench::with_tasks(&["First"]);
    bench.write(
        "samuel.toml",
        "version = \"2\"\n[hooks.\"quality.check\"]\nhandlers = [\"lint\"]\n[hooks.\"context.extra\"]\nhandlers = \
         [\"foo\"]\n",
    );
    let doctor = bench.samuel(&["doctor"]);
    assert!(doctor.stdout.contains("hooks           samuel.toml has 2 problems\n"), "{doctor:?}");
    says(&doctor.stdout, &[" line 5: hooks.\"context.extra\".handlers[0]: unknown handler"]);
    for args in [&["doctor"][..], &["run", "start", "--yes"], &["doctor", "--hooks"]] {
        let ran = bench.samuel(args);
        let told = ran.text();
        assert!(!told.contains("\\u{a}") && !told.contains("one of ."), "{args:?}: {told}");
        assert!(
            told.contains("Remove it: there is no handler that could be named here."),
            "{args:?}: {told}"
        );
    }
}

#[test]
fn advice_about_a_directory_in_the_place_of_a_prd_removes_nothing() {
    let bench = Bench::with_tasks(&["First"]);
    let ran = bench.samuel(&["run", "convert", "."]);
    assert!(ran.stderr.contains("help: Give the path of a PRD, a Markdown file."), "{ran:?}");
}

#[test]
fn doctor_says_what_an_agent_needs_that_is_not_configured() {
    let bench = Bench::with_tasks(&["First"]);
    let of = |agent: &str| {
        bench.configure(agent);
        bench.samuel(&["doctor"]).stdout
    };
    let doctor = of("agent = \"command\"");
    assert!(doctor.contains("help: Pass --agent-command, or set agent_command in samuel.toml."), "{doctor}");
    bench.write("script.toml", "[[calls]]\nsteps = [{ dance = {} }]\n");
    let doctor = of("agent = \"scripted\"\nagent_command = [\"script.toml\"]");
    assert!(doctor.contains("cannot be used: line 2, column 12: unknown variant `dance`"), "{doctor}");
    assert!(doctor.contains("help: Correct the recording") && !doctor.contains("\\u{a}"), "{doctor}");
}
