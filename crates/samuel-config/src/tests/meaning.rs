//! What the keys of samuel.toml mean, and how layers merge.

use std::time::Duration;

use samuel_hook::{ChainSpec, HookPoint, OnFailure};
use samuel_model::{
    WorkspaceKind,
    payload::{Complexity, Mode, Priority},
};

use super::{super::*, FULL, parse};

#[test]
fn every_key_is_read() {
    let config = parse(FULL).unwrap();
    assert_eq!((config.default_methodology.as_str(), config.project_name.as_str()), ("tdd-strict", "app"));
    let settings = config.methodology("ralph");
    let expected = MethodologySettings {
        agent: "command".to_owned(),
        agent_command: vec!["my-agent".to_owned(), "--fast".to_owned()],
        agent_args: vec!["-v".to_owned()],
        model: "sonnet".to_owned(),
        routes: vec![AgentRoute {
            complexity: Some(Complexity::Complex),
            priority: Some(Priority::High),
            mode: Some(Mode::Implementation),
            after_failures: Some(2),
            agent: Some("codex".to_owned()),
            model: Some("big".to_owned()),
            args: vec!["--x".to_owned()],
        }],
        fallback: vec!["codex".to_owned(), "gemini".to_owned()],
        max_iterations: std::num::NonZero::new(7),
        pause: Duration::ZERO,
        max_consecutive_failures: 2,
        quality_checks: vec![
            CheckCommand { command: "cargo test".to_owned(), timeout: Duration::from_secs(1800) },
            CheckCommand { command: "cargo clippy".to_owned(), timeout: Duration::from_secs(300) },
        ],
        rate_limit: RateLimitPolicy::Stop,
        rate_limit_wait: Duration::from_secs(7 * 3600),
        ask_timeout: Duration::from_secs(8 * 60),
        sandbox: "bwrap".to_owned(),
        completes: "auto".to_owned(),
        require_change: false,
        task_budget: TaskBudget {
            max_cost_usd: Some(0.5),
            max_tokens: Some(500),
            max_attempts: std::num::NonZero::new(5),
        },
        forecast: false,
        session_budget: SessionBudget {
            max_cost_usd: Some(2.0),
            max_tokens: Some(1000),
            max_wall_time: Some(Duration::from_secs(48 * 3600)),
        },
        keep_runs: 20,
        keep_bytes: 1_000_000_000,
        clocks: ClockSettings {
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
        parallel: ParallelSettings {
            jobs: 4,
            into: "work".to_owned(),
            merge: "squash".to_owned(),
            batch: 2,
            overlap: "allow".to_owned(),
            copy: vec![".env".to_owned()],
            setup: vec![CheckCommand { command: "npm ci".to_owned(), timeout: Duration::from_secs(600) }],
        },
        context: ContextSettings {
            max_learnings: 0,
            max_completed: 1,
            max_progress_lines: 2,
            snapshot_tokens: 3,
            prd_tokens: 0,
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
    assert_eq!(config.sandbox.workspace, WorkspaceKind::Clone);
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
    let mut defaults =
        MethodologySettings { max_iterations: std::num::NonZero::new(4), ..Default::default() };
    defaults.clocks.wall = Duration::from_secs(8);
    let settings = config.methodology_over("tdd-strict", defaults);
    assert_eq!(
        (settings.max_iterations, settings.pause),
        (std::num::NonZero::new(4), Duration::from_secs(9))
    );
    assert_eq!(
        settings.clocks,
        ClockSettings { idle: Duration::from_secs(7), wall: Duration::from_secs(8), ..Default::default() }
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
    assert_eq!(place("methodology.ralph.session_budget.max_tokens"), Some((20, 38)));
    assert_eq!(place("methodology.ralph.quality_checks[1].timeout"), Some((15, 61)));
    assert_eq!(place("hooks.context.snapshot.order.samuel-python"), Some((68, 1)));
    assert_eq!(place("hooks.quality.check.timeout"), Some((71, 1)));
    assert_eq!(place("hooks.\"quality.check\".timeout"), Some((71, 1)));
    assert_eq!(place("methodology.ralph.hooks.quality.check.strict"), Some((76, 1)));
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
            "hooks.\"quality.check\".enabled 72",
            "methodology.ralph.hooks.\"quality.check\".strict 76",
            "hooks.\"quality.check\".timeout 71",
            "methodology.ralph.hooks.\"quality.check\".handlers 75",
        ],
        "the on_failure of [hooks] has no say any more"
    );
    assert!(
        origins(HookPoint::QualityCheck, "x").contains(&"hooks.\"quality.check\".on_failure 73".to_owned())
    );
    assert_eq!(
        origins(HookPoint::ContextSnapshot, "ralph"),
        [
            "hooks.\"context.snapshot\".order.\"samuel-default\" 69",
            "hooks.\"context.snapshot\".order.\"samuel-python\" 68",
        ]
    );
}

#[test]
fn a_default_methodology_may_be_an_alias() {
    let config = parse("default_methodology = \"rw\"").unwrap();
    let known = [KnownMethodology { name: "ralph".to_owned(), aliases: vec!["rw".to_owned()] }];
    assert_eq!(resolve_methodology(None, &config, &known).as_deref(), Ok("ralph"));
}

#[test]
fn how_much_of_the_logs_is_kept_can_be_set_and_be_without_limit() {
    let settings =
        parse("[methodology.ralph]\nkeep_runs = 5\nkeep_bytes = 0\n").unwrap().methodology("ralph");
    assert_eq!((settings.keep_runs, settings.keep_bytes), (5, 0));
}
