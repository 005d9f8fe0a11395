//! What samuel.toml means, and how it is refused.
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "tests")]

use std::{fs, path::Path, time::Duration};

use proptest::prelude::*;

use super::*;
use crate::{
    hook::{ChainSpec, HandlerInfo, HookPoint, Layer, OnFailure, resolve},
    model::{Coded, ErrorCode},
};

fn parse(text: &str) -> Result<Config, ConfigError> {
    Config::parse(Path::new("samuel.toml"), text)
}

/// The problems of a text as they are displayed, each with its help.
fn problems(text: &str) -> String {
    let error = parse(text).expect_err("the text has problems");
    let lines = error.problems().iter().map(|problem| {
        let place = &problem.location;
        format!("{}:{} {problem} | {}", place.line.unwrap(), place.column.unwrap(), problem.help())
    });
    lines.collect::<Vec<_>>().join("\n")
}

/// A project directory whose samuel.toml has these bytes.
fn project(bytes: &[u8]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    fs::write(directory.path().join("samuel.toml"), bytes).unwrap();
    directory
}

const FULL: &str = r#"
version = "2"
default_methodology = "tdd-strict"
[project]
name = "app"
[methodology.ralph]
agent = "command"
agent_command = ["my-agent", "--fast"]
agent_args = ["-v"]
max_iterations = 7
pause = 0
max_consecutive_failures = 2
quality_checks = ["cargo test", { command = "cargo clippy", timeout = "5m" }]
sandbox = "bwrap"
session_budget = { max_cost_usd = 2, max_tokens = 1_000, max_wall_time = "48h" }
[methodology.ralph.clocks]
first_byte = 5
idle = "1m"
linger = "2s"
wall = "1h30m"
[methodology.ralph.pilot]
enabled = true
discover_interval = 3
max_discovery_tasks = 4
focus = "testing"
[methodology.ralph.context]
max_learnings = 0
max_completed = 1
max_progress_lines = 2
snapshot_tokens = 3
[guardrails]
max_function_lines = 60
max_file_lines = 400
require_tests = false
commit_convention = "angular"
branch_convention = "feat/x"
extra = ["No globals."]
[[plugins]]
name = "samuel-python"
source = "plugins/python"
[[plugins]]
name = "samuel-lint"
[hooks."context.snapshot".order]
"samuel-python" = 50
"samuel-default" = 100
[hooks."quality.check"]
timeout = 10
enabled = true
on_failure = "abort_loop"
[methodology.ralph.hooks."quality.check"]
handlers = ["samuel-security:run_security_scan", "default", "samuel-lint:check"]
strict = true
"#;

#[test]
fn every_key_is_read() {
    let config = parse(FULL).unwrap();
    assert_eq!((config.default_methodology.as_str(), config.project_name.as_str()), ("tdd-strict", "app"));
    let settings = config.methodology("ralph");
    let expected = MethodologySettings {
        agent: "command".to_owned(),
        agent_command: vec!["my-agent".to_owned(), "--fast".to_owned()],
        agent_args: vec!["-v".to_owned()],
        max_iterations: 7,
        pause: Duration::ZERO,
        max_consecutive_failures: 2,
        quality_checks: vec![
            CheckCommand { command: "cargo test".to_owned(), timeout: Duration::from_secs(1800) },
            CheckCommand { command: "cargo clippy".to_owned(), timeout: Duration::from_secs(300) },
        ],
        sandbox: Sandbox::Bwrap,
        session_budget: SessionBudget {
            max_cost_usd: Some(2.0),
            max_tokens: Some(1000),
            max_wall_time: Some(Duration::from_secs(48 * 3600)),
        },
        clocks: AgentClocks {
            first_byte: Duration::from_secs(5),
            idle: Duration::from_secs(60),
            linger: Duration::from_secs(2),
            wall: Duration::from_secs(5400),
        },
        pilot: PilotSettings {
            enabled: true,
            discover_interval: 3,
            max_discovery_tasks: 4,
            focus: "testing".to_owned(),
        },
        context: ContextSettings {
            max_learnings: 0,
            max_completed: 1,
            max_progress_lines: 2,
            snapshot_tokens: 3,
        },
    };
    assert_eq!(settings, expected);
    assert_eq!(
        (
            config.guardrails.max_function_lines,
            config.guardrails.max_file_lines,
            config.guardrails.require_tests
        ),
        (60, 400, false)
    );
    assert_eq!(
        (config.guardrails.commit_convention.as_str(), config.guardrails.branch_convention.as_str()),
        ("angular", "feat/x")
    );
    assert_eq!(config.guardrails.extra, ["No globals."]);
    let plugins: Vec<_> =
        config.plugins.iter().map(|plugin| (plugin.name.as_str(), plugin.source.as_deref())).collect();
    assert_eq!(plugins, [("samuel-python", Some("plugins/python")), ("samuel-lint", None)]);
    assert_eq!(config.methodologies().collect::<Vec<_>>(), ["ralph"]);
}

#[test]
fn an_empty_file_is_the_default_and_other_methodologies_have_the_defaults() {
    for text in ["", "\n", "\u{feff}", "# nothing\r\n", "[hooks]\n[methodology]\n"] {
        let config = parse(text).unwrap();
        assert_eq!(config.methodology("ralph"), MethodologySettings::default());
        assert_eq!(config.default_methodology, "ralph");
    }
    assert_eq!(parse(FULL).unwrap().methodology("tdd-strict"), MethodologySettings::default());
}

#[test]
fn a_methodologys_own_defaults_stand_below_the_file() {
    let config = parse("[methodology.tdd-strict]\npause = 9\nclocks.idle = 7").unwrap();
    let mut defaults = MethodologySettings { max_iterations: 4, ..Default::default() };
    defaults.clocks.wall = Duration::from_secs(8);
    let settings = config.methodology_over("tdd-strict", defaults);
    assert_eq!((settings.max_iterations, settings.pause), (4, Duration::from_secs(9)));
    assert_eq!(
        settings.clocks,
        AgentClocks { idle: Duration::from_secs(7), wall: Duration::from_secs(8), ..Default::default() }
    );
}

#[test]
fn the_hooks_of_a_methodology_win_field_by_field() {
    let config = parse(FULL).unwrap();
    let chain = config.chain(HookPoint::QualityCheck, "ralph");
    assert_eq!(chain.timeout, Some(Duration::from_secs(10)), "from [hooks]");
    assert_eq!(
        chain.failure_action(HookPoint::QualityCheck),
        OnFailure::AbortIteration,
        "a later strict wins"
    );
    assert_eq!(
        chain.handlers.unwrap(),
        ["samuel-security:run_security_scan", "default", "samuel-lint:check"],
        "exactly this order"
    );
    let other = config.chain(HookPoint::QualityCheck, "tdd-strict");
    assert_eq!((other.on_failure, other.handlers), (Some(OnFailure::AbortLoop), None));
    let order = config.chain(HookPoint::ContextSnapshot, "ralph").order;
    assert_eq!(
        order.into_iter().collect::<Vec<_>>(),
        [("default".to_owned(), 100), ("samuel-python".to_owned(), 50)]
    );
    assert_eq!(config.chain(HookPoint::AfterLoop, "ralph"), ChainSpec::default());
}

#[test]
fn a_plugins_chain_stands_below_the_file() {
    let config = parse("[hooks.\"quality.check\"]\nstrict = false").unwrap();
    let defaults = ChainSpec {
        handlers: Some(vec!["default".to_owned()]),
        on_failure: Some(OnFailure::AbortLoop),
        ..Default::default()
    };
    let chain = config.chain_over(HookPoint::QualityCheck, "ralph", &defaults);
    assert_eq!((chain.on_failure, chain.handlers), (Some(OnFailure::Warn), defaults.handlers));
}

#[test]
fn every_key_that_is_set_knows_its_place() {
    let config = parse(FULL).unwrap();
    let place = |key: &str| config.origin(key).map(|origin| (origin.line, origin.column));
    assert_eq!(place("default_methodology"), Some((3, 1)));
    assert_eq!(place("methodology.ralph.session_budget.max_tokens"), Some((15, 38)));
    assert_eq!(place("methodology.ralph.quality_checks[1].timeout"), Some((13, 61)));
    assert_eq!(place("hooks.context.snapshot.order.samuel-python"), Some((44, 1)));
    assert_eq!(place("hooks.quality.check.timeout"), Some((47, 1)));
    assert_eq!(place("hooks.\"quality.check\".timeout"), Some((47, 1)));
    assert_eq!(place("methodology.ralph.hooks.quality.check.strict"), Some((52, 1)));
    assert_eq!(place("methodology.ralph.max_tokens"), None);
    assert_eq!(config.origin("version").unwrap().to_string(), "samuel.toml:2:1");
    assert_eq!(Config::default().origin("version"), None);
}

#[test]
fn a_chain_says_where_each_of_its_fields_comes_from() {
    let config = parse(FULL).unwrap();
    let origins = |point, methodology| -> Vec<String> {
        let origins = config.chain_origins(point, methodology);
        origins.into_iter().map(|(key, origin)| format!("{key} {}", origin.line)).collect()
    };
    assert_eq!(
        origins(HookPoint::QualityCheck, "ralph"),
        [
            "hooks.\"quality.check\".enabled 48",
            "methodology.ralph.hooks.\"quality.check\".strict 52",
            "hooks.\"quality.check\".timeout 47",
            "methodology.ralph.hooks.\"quality.check\".handlers 51",
        ],
        "the on_failure of [hooks] has no say any more"
    );
    assert!(
        origins(HookPoint::QualityCheck, "x").contains(&"hooks.\"quality.check\".on_failure 49".to_owned())
    );
    assert_eq!(
        origins(HookPoint::ContextSnapshot, "ralph"),
        [
            "hooks.\"context.snapshot\".order.\"samuel-default\" 45",
            "hooks.\"context.snapshot\".order.\"samuel-python\" 44",
        ]
    );
}

#[test]
fn a_handler_that_is_not_registered_is_refused_where_the_file_names_it() {
    let config = parse(FULL).unwrap();
    let registered: Vec<HandlerInfo> = [("default", Layer::BuiltIn), ("samuel-lint:chek", Layer::Plugin)]
        .map(|(id, layer)| HandlerInfo { id: id.into(), layer, source: 0, declaration: 0, order: None })
        .into();
    let point = HookPoint::ContextSnapshot;
    let error = resolve(point, &registered, &config.chain(point, "ralph")).expect_err("unknown");
    let located = config.locate("ralph", &error).unwrap();
    assert_eq!(
        located.to_string(),
        "samuel.toml:44:1: hooks.\"context.snapshot\".order.\"samuel-python\": unknown handler \"samuel-python\""
    );
    let error =
        resolve(HookPoint::QualityCheck, &registered, &config.chain(HookPoint::QualityCheck, "ralph"))
            .expect_err("unknown");
    let located = config.locate("ralph", &error).unwrap();
    assert_eq!(located.location().unwrap().line, Some(51));
    assert_eq!(located.problems()[0].location.column, Some(13));
    assert!(config.locate("other", &error).is_none(), "another methodology does not name it");
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    insta::assert_snapshot!(problems(r#"
defaultmethodology = "x"
[methodology.ralph]
max_iteration = 3
agent = "cluade"
sandbox = "docker"
[methodology.ralph.clocks]
zzz = 1
[hooks."quality.chek"]
strict = true
[hooks."quality.check"]
timout = "5m"
mode = "x"
[[plugins]]
nam = "a"
"#), @r#"
2:1 defaultmethodology: unknown key | Did you mean "default_methodology"?
4:1 methodology.ralph.max_iteration: unknown key | Did you mean "max_iterations"?
5:9 methodology.ralph.agent: unknown agent "cluade" | Did you mean "claude"?
6:11 methodology.ralph.sandbox: unknown sandbox "docker" | Known are host, bwrap, oci.
8:1 methodology.ralph.clocks.zzz: unknown key | Known are first_byte, idle, linger, wall.
9:8 hooks."quality.chek": unknown hook point "quality.chek" | Did you mean "quality.check"?
12:1 hooks."quality.check".timout: unknown key | Did you mean "timeout"?
13:1 hooks."quality.check".mode: unknown key | Did you mean "order"?
14:1 plugins[0]: name is missing | Add name.
15:1 plugins[0].nam: unknown key | Did you mean "name"?
"#);
}

#[test]
fn wrong_types_are_refused_at_the_value() {
    insta::assert_snapshot!(problems(r#"
version = 2
[project]
name = ["a"]
"#), @r#"
2:11 version: expected text, found a whole number | Put it in quotes.
"#);
    insta::assert_snapshot!(problems(r#"
default_methodology = true
hooks = 3
plugins = "x"
[methodology]
ralph = 1
tdd = { agent = 1, agent_args = [1, "a", true], max_iterations = "20", quality_checks = [3, {}, { command = 1 }, " "], pilot = [], session_budget = { max_cost_usd = "1" } }
[guardrails]
require_tests = 1
"#), @r#"
2:23 default_methodology: expected text, found true or false | Put it in quotes.
3:9 hooks: expected a table, found a whole number | Give a table.
4:11 plugins: expected a list, found text | Give a list.
6:9 methodology.ralph: expected a table, found a whole number | Give a table.
7:17 methodology.tdd.agent: expected text, found a whole number | Put it in quotes.
7:34 methodology.tdd.agent_args[0]: expected text, found a whole number | Put it in quotes.
7:42 methodology.tdd.agent_args[2]: expected text, found true or false | Put it in quotes.
7:66 methodology.tdd.max_iterations: expected a whole number, found text | Give a whole number.
7:90 methodology.tdd.quality_checks[0]: expected text, found a whole number | Put it in quotes.
7:93 methodology.tdd.quality_checks[1]: command is missing | Add command.
7:109 methodology.tdd.quality_checks[2].command: expected text, found a whole number | Put it in quotes.
7:114 methodology.tdd.quality_checks[3]: must not be empty | Give a value, or remove the key.
7:128 methodology.tdd.pilot: expected a table, found a list | Give a table.
7:166 methodology.tdd.session_budget.max_cost_usd: expected a number, found text | Give a number.
9:17 guardrails.require_tests: expected true or false, found a whole number | Give true or false.
"#);
}

#[test]
fn values_out_of_range_are_refused() {
    insta::assert_snapshot!(problems(r#"
[methodology.ralph]
max_iterations = 0
max_consecutive_failures = -1
pause = "25h"
quality_checks = [{ command = "x", timeout = 0 }]
session_budget = { max_cost_usd = 0.0, max_tokens = 0, max_wall_time = "721h" }
[methodology.ralph.pilot]
discover_interval = 0
max_discovery_tasks = 4294967296
[methodology.ralph.context]
max_learnings = -1
max_progress_lines = 0
[hooks."quality.check".order]
a = 3000000000
"#), @r#"
3:18 methodology.ralph.max_iterations: 0 is out of range, expected a whole number of at least 1 | Give a whole number of at least 1.
4:28 methodology.ralph.max_consecutive_failures: -1 is out of range, expected a whole number of at least 1 | Give a whole number of at least 1.
5:9 methodology.ralph.pause: 25h is out of range, expected a duration from 0s to 24h | Give a duration from 0s to 24h.
6:46 methodology.ralph.quality_checks[0].timeout: 0 is out of range, expected a duration from 1s to 24h | Give a duration from 1s to 24h.
7:35 methodology.ralph.session_budget.max_cost_usd: 0.0 is out of range, expected a number above 0 | Give a number above 0.
7:53 methodology.ralph.session_budget.max_tokens: 0 is out of range, expected a whole number of at least 1 | Give a whole number of at least 1.
7:72 methodology.ralph.session_budget.max_wall_time: 721h is out of range, expected a duration from 1s to 720h | Give a duration from 1s to 720h.
9:21 methodology.ralph.pilot.discover_interval: 0 is out of range, expected a whole number of at least 1 | Give a whole number of at least 1.
10:23 methodology.ralph.pilot.max_discovery_tasks: 4294967296 is out of range, expected a whole number of at most 4294967295 | Give a whole number of at most 4294967295.
12:17 methodology.ralph.context.max_learnings: -1 is out of range, expected a whole number of at least 0 | Give a whole number of at least 0.
13:22 methodology.ralph.context.max_progress_lines: 0 is out of range, expected a whole number of at least 1 | Give a whole number of at least 1.
15:5 hooks."quality.check".order.a: 3000000000 is out of range, expected a whole number of at most 2147483647 | Give a whole number of at most 2147483647.
"#);
}

#[test]
fn hook_timeouts_are_from_a_second_to_a_day() {
    let timeout = |value: &str| {
        let config = parse(&format!("[hooks.\"before:loop\"]\ntimeout = {value}"))?;
        Ok(config.chain(HookPoint::BeforeLoop, "ralph").timeout.unwrap().as_secs())
    };
    for (value, seconds) in
        [("30", 30), ("\"30s\"", 30), ("\"5m\"", 300), ("1", 1), ("\"24h\"", 86_400), ("0x10", 16)]
    {
        assert_eq!(timeout(value).map_err(|error: ConfigError| error.to_string()), Ok(seconds), "{value}");
    }
    for value in ["0", "-1", "1e9", "1e400", "inf", "86401", "\"0s\"", "\"24h1s\"", "99999999999999999999"] {
        let error = timeout(value).expect_err(value).to_string();
        assert!(error.contains("out of range, expected a duration from 1s to 24h"), "{value}: {error}");
    }
    for value in ["1.5", "nan", "true", "[]", "2026-01-01"] {
        assert!(timeout(value).expect_err(value).to_string().contains("expected text such as"), "{value}");
    }
    for value in ["\"\"", "\"30\"", "\"5 m\"", "\"soon\""] {
        assert!(timeout(value).expect_err(value).to_string().contains("is no duration"), "{value}");
    }
}

#[test]
fn a_hook_point_without_quotes_is_refused_with_the_quotes() {
    insta::assert_snapshot!(problems(r#"
[hooks.context.snapshot]
strict = true
[hooks.context.task.order]
a = 1
[methodology.ralph.hooks.quality.check]
strict = true
"#), @r#"
2:16 hooks.context.snapshot: the hook point context.snapshot is not quoted | Write [hooks."context.snapshot"].
4:16 hooks.context.task: the hook point context.task is not quoted | Write [hooks."context.task"].
6:34 methodology.ralph.hooks.quality.check: the hook point quality.check is not quoted | Write [methodology.ralph.hooks."quality.check"].
"#);
    insta::assert_snapshot!(problems("[hooks.quality]\nstrict = true\n[hooks.sessoin.stopp]"), @r#"
    1:8 hooks.quality: unknown hook point "quality" | Did you mean "quality.check"?
    3:8 hooks.sessoin: unknown hook point "sessoin" | Did you mean "session.end"?
    "#);
    insta::assert_snapshot!(problems("[hooks.before:loop]\nstrict = true"), @r#"1:14 invalid unquoted key, expected letters, numbers, `-`, `_` | Quote hook points, as in [hooks."before:loop"]."#);
}

#[test]
fn where_no_hook_point_is_near_all_are_listed() {
    let problems = problems("[hooks.zzz]");
    assert!(HookPoint::ALL.iter().all(|point| problems.contains(point.as_str())), "{problems}");
}

#[test]
fn the_action_on_failure_fits_the_point() {
    let action = |point: &str, action: &str| {
        let config = parse(&format!("[hooks.\"{point}\"]\non_failure = \"{action}\""))?;
        Ok(config.chain(point.parse().unwrap(), "ralph").on_failure.unwrap())
    };
    let works = |point, name| action(point, name).map_err(|error: ConfigError| error.to_string());
    assert_eq!(works("init.before", "abort_command"), Ok(OnFailure::AbortCommand));
    assert_eq!(works("sync.after", "warn"), Ok(OnFailure::Warn));
    assert_eq!(works("quality.check", "abort_iteration"), Ok(OnFailure::AbortIteration));
    assert_eq!(works("quality.check", "abort_loop"), Ok(OnFailure::AbortLoop));
    for (point, name) in
        [("init.before", "abort_loop"), ("quality.check", "abort_command"), ("quality.check", "abort")]
    {
        assert!(works(point, name).is_err(), "{point} {name}");
    }
}

#[test]
fn names_that_cannot_be_are_refused() {
    insta::assert_snapshot!(problems(r#"
default_methodology = "start"
[methodology.pilot]
[methodology.rw]
[methodology.Ralph]
[[plugins]]
name = "x"
[[plugins]]
source = "y"
[[plugins]]
name = "ab"
source = ""
[[plugins]]
name = "ab"
[hooks."quality.check"]
handlers = ["a", "default", "samuel-default", "", "a"]
[hooks."quality.check".order]
default = 1
samuel-default = 2
"#), @r#"
2:23 default_methodology: "start" cannot be the name of a methodology: it is a subcommand of `samuel run` | Choose another name.
3:14 methodology.pilot: "pilot" cannot be the name of a methodology: it is a subcommand of `samuel run` | Choose another name.
4:14 methodology.rw: "rw" is another name of the methodology ralph | Use ralph here.
5:14 methodology.Ralph: "Ralph" cannot be the name of a methodology: use 1 to 64 of a-z, 0-9 and - | Choose another name.
7:8 plugins[0].name: "x" cannot be the name of a plugin: use 2 to 64 of a-z, 0-9 and - | Choose another name.
8:1 plugins[1]: name is missing | Add name.
12:10 plugins[2].source: must not be empty | Give a value, or remove the key.
14:8 plugins[3].name: plugin "ab" is listed twice | Remove one of the two.
16:29 hooks."quality.check".handlers[2]: handler "default" is listed twice | Remove one of the two.
16:47 hooks."quality.check".handlers[3]: must not be empty | Give a value, or remove the key.
16:51 hooks."quality.check".handlers[4]: handler "a" is listed twice | Remove one of the two.
19:1 hooks."quality.check".order.samuel-default: handler "samuel-default" is listed twice | Remove one of the two.
"#);
}

#[test]
fn a_default_methodology_may_be_an_alias() {
    let config = parse("default_methodology = \"rw\"").unwrap();
    assert_eq!(resolve_methodology(None, &config, &[]).as_deref(), Ok("ralph"));
}

#[test]
fn another_version_is_refused_without_a_word_on_its_keys() {
    insta::assert_snapshot!(problems("version = \"3\"\nnew_key = 1\n[hooks.x]\n"), @r#"1:11 version: version "3" is not supported | Write version = "2"."#);
}

#[test]
fn text_that_is_no_toml_is_refused_with_every_place() {
    insta::assert_snapshot!(problems("a = \nb = 1\nb = 2\n日本 = 3\nc = \"x"), @r#"
    1:5 string values must be quoted, expected literal string | Correct the TOML here.
    3:1 duplicate key | Correct the TOML here.
    4:1 invalid unquoted key, expected letters, numbers, `-`, `_` | Correct the TOML here.
    5:7 invalid basic string, expected `"` | Correct the TOML here.
    "#);
}

#[test]
fn tabs_line_breaks_and_a_byte_order_mark_do_not_shift_places() {
    insta::assert_snapshot!(problems("\u{feff}x = 1\r\n\t[project]\r\n\tnom = \"日本\" # é\r\n"), @r#"
    1:1 x: unknown key | Known are version, default_methodology, project, guardrails, plugins, hooks, methodology.
    3:2 project.nom: unknown key | Known are name.
    "#);
}

#[test]
fn an_invalid_file_has_a_code_and_a_place() {
    let error = parse("version = \"2\"\n  zzz = 1\n").expect_err("unknown key");
    assert_eq!(error.code(), ErrorCode::CONFIG_INVALID);
    let place = error.location().unwrap();
    assert_eq!((place.file.to_str(), place.line, place.column), (Some("samuel.toml"), Some(2), Some(3)));
    assert!(error.to_string().starts_with("samuel.toml:2:3: zzz: unknown key"));
}

#[test]
fn only_the_first_problems_are_kept() {
    let text: String = (0..250).map(|place| format!("k{place} = 1\n")).collect();
    let error = parse(&text).expect_err("unknown keys");
    assert_eq!(error.problems().len(), Problems::MAX);
    assert!(error.to_string().ends_with("\nand 150 more"));
}

#[test]
fn a_project_without_the_file_has_the_defaults() {
    let directory = tempfile::tempdir().unwrap();
    assert_eq!(Config::load(directory.path()).unwrap(), Config::default());
}

#[test]
fn a_project_is_configured_by_its_file() {
    let directory = project(b"\xef\xbb\xbf[methodology.ralph]\r\nmax_iterations = 3\r\n");
    let config = Config::load(directory.path()).unwrap();
    assert_eq!(config.methodology("ralph").max_iterations, 3);
    let origin = config.origin("methodology.ralph.max_iterations").unwrap();
    assert_eq!((origin.file, origin.line, origin.column), (directory.path().join("samuel.toml"), 2, 1));
}

#[test]
fn a_file_that_cannot_be_read_is_an_error_not_an_absent_file() {
    let directory = tempfile::tempdir().unwrap();
    let file = directory.path().join("samuel.toml");
    fs::create_dir(&file).unwrap();
    let error = Config::load(directory.path()).expect_err("a directory");
    assert_eq!(error.code(), ErrorCode::CONFIG_IO);
    assert_eq!(error.location().unwrap().file, file);
    fs::remove_dir(&file).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("nowhere", &file).unwrap();
        assert_eq!(Config::load(directory.path()).expect_err("a broken link").code(), ErrorCode::CONFIG_IO);
    }
}

#[test]
fn a_file_that_is_no_text_or_too_large_is_refused() {
    let error = Config::load(project(b"a = 1\nb = \"\xff\"").path()).expect_err("not UTF-8");
    let place = error.location().unwrap();
    assert_eq!(
        (error.problems()[0].kind.clone(), place.line, place.column),
        (ProblemKind::NotUtf8, Some(2), Some(6))
    );
    for filler in ["#", "é"] {
        let text = format!("#{}", filler.repeat(Config::MAX_BYTES));
        let error = Config::load(project(text.as_bytes()).path()).expect_err("too large");
        assert_eq!(error.problems()[0].kind, ProblemKind::TooLarge { max_bytes: Config::MAX_BYTES });
    }
    let fits = format!("#{}", "x".repeat(Config::MAX_BYTES - 1));
    assert!(Config::load(project(fits.as_bytes()).path()).is_ok());
}

/// Checks what holds for any text: an answer, and problems inside the text.
fn check_answer(text: &str) -> Result<(), TestCaseError> {
    let Err(error) = parse(text) else { return Ok(()) };
    prop_assert!(!error.problems().is_empty());
    let lines = text.matches('\n').count() + 1;
    for problem in error.problems() {
        prop_assert!(problem.location.line.is_some_and(|line| (1..=lines).contains(&line)));
        prop_assert!(problem.location.column.is_some_and(|column| column >= 1));
        prop_assert!(!problem.help().is_empty() && !problem.to_string().is_empty());
    }
    Ok(())
}

/// Lines that are nearly those of a samuel.toml.
fn line() -> impl Strategy<Value = String> {
    const TABLES: &[&str] =
        &["hooks", "methodology.ralph", "methodology.ralph.pilot", "guardrails", "project"];
    #[rustfmt::skip]
    const KEYS: &[&str] = &[
        "timeout", "handlers", "order", "hooks", "ralph", "agent", "quality_checks", "extra", "version",
        "\"a.b\"", "name", "methodology",
    ];
    #[rustfmt::skip]
    const VALUES: &[&str] = &[
        "1", "-1", "1e9", "\"5m\"", "\"default\"", "[\"a\"]", "[{}]", "{ timeout = 1 }", "true", "nan",
        "\"日本\"", "",
    ];
    let table = prop::sample::select(TABLES).prop_map(|table| format!("[{table}]"));
    let point = prop::sample::select(HookPoint::ALL).prop_map(|point| format!("[hooks.\"{point}\".order]"));
    let entry = (prop::sample::select(KEYS), prop::sample::select(VALUES));
    let entry = entry.prop_map(|(key, value)| format!("{key} = {value}"));
    prop_oneof![table, point, entry, Just("[[plugins]]".to_owned()), "\\PC{0,12}"]
}

proptest! {
    #[test]
    fn arbitrary_text_never_panics(text in any::<String>()) {
        check_answer(&text)?;
    }

    #[test]
    fn nearly_valid_text_never_panics(lines in prop::collection::vec(line(), 0..20)) {
        check_answer(&lines.join("\n"))?;
    }

    #[test]
    fn a_damaged_file_never_panics(at in 0..FULL.len(), with in any::<char>()) {
        let text: String = FULL.chars().enumerate().map(|(place, c)| if place == at { with } else { c }).collect();
        check_answer(&text)?;
    }
}
