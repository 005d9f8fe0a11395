//! How samuel.toml is refused: every problem, at its place, with help.

use samuel_hook::{HandlerInfo, HookLayer, HookPoint, OnFailure, resolve};
use samuel_model::{Coded, ErrorCode};

use super::{super::*, FULL, parse, problems};

#[test]
fn a_handler_that_is_not_registered_is_refused_where_the_file_names_it() {
    let config = parse(FULL).unwrap();
    let registered: Vec<HandlerInfo> =
        [("default", HookLayer::BuiltIn), ("samuel-lint:chek", HookLayer::Plugin)]
            .map(|(id, layer)| HandlerInfo {
                id: id.into(),
                layer,
                source: 0,
                declaration: 0,
                order: None,
                enabled: true,
            })
            .into();
    let point = HookPoint::ContextSnapshot;
    let error = resolve(point, &registered, &config.chain(point, "ralph")).expect_err("unknown");
    let located = config.locate("ralph", &error).unwrap();
    assert_eq!(
        located.to_string(),
        "samuel.toml:68:1: hooks.\"context.snapshot\".order.\"samuel-python\": unknown handler \"samuel-python\""
    );
    let error =
        resolve(HookPoint::QualityCheck, &registered, &config.chain(HookPoint::QualityCheck, "ralph"))
            .expect_err("unknown");
    let located = config.locate("ralph", &error).unwrap();
    assert_eq!(located.location().unwrap().line, Some(75));
    assert_eq!(located.problems()[0].location.column, Some(13));
    assert!(config.locate("other", &error).is_none(), "another methodology does not name it");
}

#[test]
fn of_two_layers_that_name_a_handler_the_later_one_is_to_blame() {
    let text = r#"
[hooks."quality.check"]
handlers = ["x"]
[methodology.ralph.hooks."quality.check"]
handlers = ["default", "x"]
"#;
    let config = parse(text).unwrap();
    let point = HookPoint::QualityCheck;
    let error = resolve(point, &[], &config.chain(point, "ralph")).expect_err("not registered");
    let place = config.locate("ralph", &error).unwrap().location().unwrap();
    assert_eq!((place.line, place.column), (Some(5), Some(24)));
}

#[test]
fn unknown_names_are_refused_with_the_nearest_one() {
    insta::assert_snapshot!(problems(r#"
defaultmethodology = "x"
[methodology.ralph]
max_iteration = 3
agent = "cluade"
rate_limit = "later"
[methodology.ralph.clocks]
zzz = 1
[hooks."sesion.start"]
strict = true
[hooks."quality.check"]
timout = "5m"
mode = "discover"
[[plugins]]
nam = "a"
"#), @r#"
2:1 defaultmethodology: unknown key | Did you mean "default_methodology"?
4:1 methodology.ralph.max_iteration: unknown key | Did you mean "max_iterations"?
5:9 methodology.ralph.agent: unknown agent "cluade" | Did you mean "claude"?
6:14 methodology.ralph.rate_limit: unknown rate_limit "later" | Use one of wait, stop.
8:1 methodology.ralph.clocks.zzz: unknown key | Use one of first_byte, idle, linger, wall.
9:8 hooks."sesion.start": unknown hook point "sesion.start" | Did you mean "session.start"?
12:1 hooks."quality.check".timout: unknown key | Did you mean "timeout"?
13:8 hooks."quality.check".mode: unknown mode "discover" | Did you mean "discovery"?
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
4:8 project.name: expected text, found a list | Put it in quotes.
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
3:9 hooks: expected a table, found a whole number | Change the value, or remove the key.
4:11 plugins: expected a list, found text | Write a list in brackets, or remove the key.
6:9 methodology.ralph: expected a table, found a whole number | Change the value, or remove the key.
7:17 methodology.tdd.agent: expected text, found a whole number | Put it in quotes.
7:34 methodology.tdd.agent_args[0]: expected text, found a whole number | Put it in quotes.
7:42 methodology.tdd.agent_args[2]: expected text, found true or false | Put it in quotes.
7:66 methodology.tdd.max_iterations: expected a whole number, found text | Change the value, or remove the key.
7:90 methodology.tdd.quality_checks[0]: expected text, or a table with `command`, found a whole number | Change the value, or remove the key.
7:93 methodology.tdd.quality_checks[1]: command is missing | Add command.
7:109 methodology.tdd.quality_checks[2].command: expected text, found a whole number | Put it in quotes.
7:114 methodology.tdd.quality_checks[3]: must not be empty | Give a value, or remove the key.
7:128 methodology.tdd.pilot: expected a table, found a list | Change the value, or remove the key.
7:166 methodology.tdd.session_budget.max_cost_usd: expected a number, found text | Change the value, or remove the key.
9:17 guardrails.require_tests: expected true or false, found a whole number | Change the value, or remove the key.
"#);
}

#[test]
fn text_that_no_command_line_can_hold_is_refused() {
    insta::assert_snapshot!(problems(r#"
[methodology.ralph]
agent_command = ["sh", "a\u0000b"]
agent_args = ["\u0000"]
quality_checks = ["x\u0000", { command = "true\u0000" }]
[hooks."quality.check"]
handlers = ["a\u0000"]
"#), @r#"
3:24 methodology.ralph.agent_command[1]: holds a NUL byte | Remove it.
4:15 methodology.ralph.agent_args[0]: holds a NUL byte | Remove it.
5:19 methodology.ralph.quality_checks[0]: holds a NUL byte | Remove it.
5:42 methodology.ralph.quality_checks[1].command: holds a NUL byte | Remove it.
7:13 hooks."quality.check".handlers[0]: holds a NUL byte | Remove it.
"#);
    let checks = vec![CheckCommand::new("true\0")];
    let settings = MethodologySettings { quality_checks: checks, ..MethodologySettings::default() };
    let error = settings.check().expect_err("a caller's NUL byte").to_string();
    assert!(error.contains("quality_checks[0].command: holds a NUL byte"), "{error}");
}

#[test]
fn values_out_of_range_are_refused() {
    insta::assert_snapshot!(problems(r#"
[methodology.ralph]
max_iterations = -1
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
3:18 methodology.ralph.max_iterations: -1 is out of range, expected a whole number of at least 0 | Change the value, or remove the key.
4:28 methodology.ralph.max_consecutive_failures: -1 is out of range, expected a whole number of at least 1 | Change the value, or remove the key.
5:9 methodology.ralph.pause: 25h is out of range, expected a duration from 0s to 24h | Change the value, or remove the key.
6:46 methodology.ralph.quality_checks[0].timeout: 0 is out of range, expected a duration from 1s to 24h | Change the value, or remove the key.
7:35 methodology.ralph.session_budget.max_cost_usd: 0.0 is out of range, expected a number above 0 | Change the value, or remove the key.
7:53 methodology.ralph.session_budget.max_tokens: 0 is out of range, expected a whole number of at least 1 | Change the value, or remove the key.
7:72 methodology.ralph.session_budget.max_wall_time: 721h is out of range, expected a duration from 1s to 720h | Change the value, or remove the key.
9:21 methodology.ralph.pilot.discover_interval: 0 is out of range, expected a whole number of at least 1 | Change the value, or remove the key.
10:23 methodology.ralph.pilot.max_discovery_tasks: 4294967296 is out of range, expected a whole number of at most 4294967295 | Change the value, or remove the key.
12:17 methodology.ralph.context.max_learnings: -1 is out of range, expected a whole number of at least 0 | Change the value, or remove the key.
13:22 methodology.ralph.context.max_progress_lines: 0 is out of range, expected a whole number of at least 1 | Change the value, or remove the key.
15:5 hooks."quality.check".order.a: 3000000000 is out of range, expected a whole number of at most 2147483647 | Change the value, or remove the key.
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
        assert!(timeout(value).expect_err(value).to_string().contains("is not a duration"), "{value}");
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
    // One that is known is not called unknown.
    insta::assert_snapshot!(problems(r#"
[hooks."before:loop"]
on_failure = "abort_command"
[hooks."init.before"]
on_failure = "abort_loop"
[hooks."after:loop"]
on_failure = "abort"
"#), @r#"
    3:14 hooks."before:loop".on_failure: "abort_command" is no action on failure at before:loop | Use one of warn, abort_iteration, abort_loop.
    5:14 hooks."init.before".on_failure: "abort_loop" is no action on failure at init.before | Use one of warn, abort_command.
    7:14 hooks."after:loop".on_failure: unknown action on failure "abort" | Did you mean "abort_loop"?
    "#);
}

#[test]
fn a_setting_outside_of_the_table_of_its_methodology_is_sent_there() {
    insta::assert_snapshot!(problems("agent = \"claude\"\nmax_iterations = 3\nmax_iteration = 3\n"), @r#"
    1:1 agent: belongs in [methodology.ralph] | Move it there.
    2:1 max_iterations: belongs in [methodology.ralph] | Move it there.
    3:1 max_iteration: unknown key | Use one of version, default_methodology, project, guardrails, sandbox, plugins, hooks, methodology.
    "#);
    insta::assert_snapshot!(problems("agent = \"claude\"\ndefault_methodology = \"tdd\"\n"), @"1:1 agent: belongs in [methodology.tdd] | Move it there.");
}

#[test]
fn a_point_that_is_most_like_one_that_is_set_is_told_so() {
    for name in ["extension.lint", "methodology.begin"] {
        let told = problems(&format!("[hooks.\"{name}\"]\n"));
        assert!(told.contains("are reserved"), "{told}");
    }
    insta::assert_snapshot!(problems("[hooks.\"quality.check\"]\n[hooks.\"quality.chek\"]\n"), @r#"2:8 hooks."quality.chek": unknown hook point "quality.chek" | Correct or remove it: quality.check is set already."#);
}

#[test]
fn a_mode_is_refused_where_no_iteration_has_one_or_no_agent_would_be_called() {
    insta::assert_snapshot!(problems(r#"
[hooks."init.before"]
mode = "discovery"
[hooks."after:loop"]
mode = "both"
[hooks."before:iteration"]
mode = "discovery"
[methodology.ralph.hooks."agent.invoke"]
mode = "implementation"
"#), @r#"
3:1 hooks."init.before".mode: init.before has no mode: it fires outside of iterations | Remove it; handlers are told the mode of each call, where there is one.
5:1 hooks."after:loop".mode: after:loop has no mode: it fires outside of iterations | Remove it; handlers are told the mode of each call, where there is one.
7:1 hooks."before:iteration".mode: before:iteration has no mode: it fires before the mode of an iteration is decided | Remove it; handlers are told the mode of each call, where there is one.
9:1 methodology.ralph.hooks."agent.invoke".mode: agent.invoke has no mode: in iterations of the other mode no agent could be called | Remove it; handlers are told the mode of each call, where there is one.
"#);
    let refused: Vec<&str> = HookPoint::ALL
        .iter()
        .filter(|point| parse(&format!("[hooks.\"{point}\"]\nmode = \"discovery\"")).is_err())
        .map(|point| point.as_str())
        .collect();
    assert_eq!(
        refused,
        [
            "init.before",
            "init.after",
            "sync.before",
            "sync.after",
            "session.start",
            "before:loop",
            "before:iteration",
            "iteration.gate",
            "before:agent.invoke",
            "agent.invoke",
            "session.stop",
            "after:loop",
            "session.end"
        ]
    );
}

#[test]
fn names_that_cannot_be_are_refused() {
    insta::assert_snapshot!(problems(r#"
default_methodology = "-start"
[methodology."pi lot"]
[methodology.rwx]
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
2:23 default_methodology: "-start" cannot be the name of a methodology: use 1 to 64 of a-z, 0-9 and -, and no - first | Choose another name.
3:14 methodology."pi lot": "pi lot" cannot be the name of a methodology: use 1 to 64 of a-z, 0-9 and -, and no - first | Choose another name.
5:14 methodology.Ralph: "Ralph" cannot be the name of a methodology: use 1 to 64 of a-z, 0-9 and -, and no - first | Choose another name.
7:8 plugins[0].name: "x" cannot be the name of a plugin: use 2 to 64 of a-z, 0-9 and -, a letter first and no - last | Choose another name.
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
fn another_version_is_refused_with_all_else_that_is_wrong() {
    insta::assert_snapshot!(problems("version = \"3\"\nnew_key = 1\n[project]\nname = 2\n"), @r#"
    1:11 version: version "3" is not supported | Write version = "2".
    2:1 new_key: unknown key | Use one of version, default_methodology, project, guardrails, sandbox, plugins, hooks, methodology.
    4:8 project.name: expected text, found a whole number | Put it in quotes.
    "#);
}

#[test]
fn a_key_that_is_most_like_one_that_is_set_is_not_taken_for_another() {
    insta::assert_snapshot!(problems("[methodology.ralph]\nagent = \"claude\"\nagnet = \"codex\"\nagent_arg = []\n"), @r#"
    3:1 methodology.ralph.agnet: unknown key | Correct or remove it: agent is set already.
    4:1 methodology.ralph.agent_arg: unknown key | Did you mean "agent_args"?
    "#);
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
    1:1 x: unknown key | Use one of version, default_methodology, project, guardrails, sandbox, plugins, hooks, methodology.
    3:2 project.nom: unknown key | Use "name".
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
fn a_route_that_says_nothing_or_something_unknown_is_refused_at_its_place() {
    insta::assert_snapshot!(problems(r#"
[methodology.ralph]
fallback = ["codex", "cluade"]
[[methodology.ralph.routes]]
complexity = "complex"
agent = "cdoex"
[[methodology.ralph.routes]]
complexity = "hard"
priorty = "high"
after_failures = 0
model = ""
[[methodology.ralph.routes]]
agent = "codex"
[[methodology.ralph.routes]]
mode = "discovery"
"#), @r#"
3:22 methodology.ralph.fallback[1]: unknown agent "cluade" | Did you mean "claude"?
6:9 methodology.ralph.routes[0].agent: unknown agent "cdoex" | Did you mean "codex"?
8:14 methodology.ralph.routes[1].complexity: unknown complexity "hard" | Use one of simple, medium, complex.
9:1 methodology.ralph.routes[1].priorty: unknown key | Did you mean "priority"?
10:18 methodology.ralph.routes[1].after_failures: 0 is out of range, expected a whole number of at least 1 | Change the value, or remove the key.
11:9 methodology.ralph.routes[1].model: must not be empty | Give a value, or remove the key.
12:1 methodology.ralph.routes[2]: nothing says for which calls it is | Give it one of complexity, priority, mode and after_failures, or remove the table.
14:1 methodology.ralph.routes[3]: nothing says what these calls have | Give it one of agent, model and args, or remove the table.
"#);
}
