//! Limits of cost and tokens that nothing is held against.

use crate::{
    agent::{Agent, Reports},
    config::SessionBudget,
};

/// What to do about such a limit.
pub(super) const HELP: &str = "Limit the run by max_iterations or session_budget.max_wall_time, which hold for every agent, or use an \
                               agent that reports what it consumes.";

/// Says which limits of a budget never end a run, because the agent does not report
/// what they are about; nothing where all of them hold.
pub(super) fn unheld(agent: &dyn Agent, budget: &SessionBudget) -> Option<String> {
    let reports = agent.reports();
    let cost = budget.max_cost_usd.is_some() && reports < Reports::TokensAndCost;
    let tokens = budget.max_tokens.is_some() && reports < Reports::Tokens;
    let (limits, what) = match (cost, tokens) {
        (true, true) => ("max_cost_usd and session_budget.max_tokens never end", "neither cost nor tokens"),
        (true, false) => ("max_cost_usd never ends", "no cost"),
        (false, true) => ("max_tokens never ends", "no tokens"),
        (false, false) => return None,
    };
    Some(format!("session_budget.{limits} a run, since the agent \"{}\" reports {what}", agent.name()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{agent::AgentConfig, process::Supervisor};

    #[test]
    fn a_limit_of_what_the_agent_does_not_report_is_told() {
        let told = |name: &str, max_cost_usd, max_tokens| {
            let config = AgentConfig { command: vec!["./agent".to_owned()], ..AgentConfig::new(name) };
            let agent = crate::agent::build(&config, Supervisor::GroupOnly).unwrap();
            unheld(&*agent, &SessionBudget { max_cost_usd, max_tokens, ..SessionBudget::default() })
        };
        let (cost, tokens) = (Some(0.5), Some(10));
        assert_eq!(told("command", None, None), None);
        assert_eq!(told("claude", cost, tokens), None);
        assert_eq!(told("codex", None, tokens), None);
        let no_cost =
            "session_budget.max_cost_usd never ends a run, since the agent \"codex\" reports no cost";
        assert_eq!(told("codex", cost, tokens).as_deref(), Some(no_cost));
        let nothing = "session_budget.max_cost_usd and session_budget.max_tokens never end a run, since the agent \
                       \"kiro\" reports neither cost nor tokens";
        assert_eq!(told("kiro", cost, tokens).as_deref(), Some(nothing));
        assert!(told("command", None, tokens).unwrap().contains("max_tokens never ends"));
    }
}
