//! Variables that steer an agent: no plugin may change them.

use samuel_model::environment::is_reserved;
use samuel_process::Supervisor;

#[test]
fn what_an_agent_is_steered_by_is_reserved() {
    // These say how much is logged, told and waited for.
    let harmless = [
        "API_TIMEOUT_MS",
        "DISABLE_TELEMETRY",
        "DISABLE_ERROR_REPORTING",
        "DISABLE_AUTOUPDATER",
        "DISABLE_PROMPT_CACHING*",
        "MCP_TIMEOUT",
        "MCP_TOOL_TIMEOUT",
        "RUST_LOG",
    ];
    for name in super::names() {
        let config = super::AgentConfig { command: vec!["agent".into()], ..super::AgentConfig::new(name) };
        let Ok(agent) = super::build(&config, Supervisor::GroupOnly) else {
            assert_eq!(name, "scripted", "only that needs more");
            continue;
        };
        for name in agent.declared_env().iter().filter(|name| !harmless.contains(name)) {
            assert!(is_reserved(name), "{name}");
        }
    }
}
