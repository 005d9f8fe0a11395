//! Limits of cost and tokens that nothing is held against.

use crate::{
    agent::{Agent, Reports},
    config::MethodologySettings,
};

/// What to do about such a limit.
pub(super) const HELP: &str = "Limit the run by max_iterations or session_budget.max_wall_time, which hold for every agent, or use an \
                               agent that reports what it consumes.";

/// Says which limits of the budgets never hold, because the agent does not report what they are
/// about; nothing where all of them hold.
pub(super) fn unheld(agent: &dyn Agent, settings: &MethodologySettings) -> Option<String> {
    let (run, task, reports) = (&settings.session_budget, &settings.task_budget, agent.reports());
    let (no_cost, no_tokens) = (reports < Reports::TokensAndCost, reports < Reports::Tokens);
    let limits = [
        ("session_budget.max_cost_usd", no_cost && run.max_cost_usd.is_some()),
        ("session_budget.max_tokens", no_tokens && run.max_tokens.is_some()),
        ("task_budget.max_cost_usd", no_cost && task.max_cost_usd.is_some()),
        ("task_budget.max_tokens", no_tokens && task.max_tokens.is_some()),
    ];
    let unheld: Vec<&str> =
        limits.iter().filter(|(_, is_unheld)| *is_unheld).map(|(name, _)| *name).collect();
    let is_of = |budget: &str| unheld.iter().any(|name| name.starts_with(budget));
    let is_about = |limit: &str| unheld.iter().any(|name| name.ends_with(limit));
    let (last, before) = unheld.split_last()?;
    let named =
        if before.is_empty() { (*last).to_owned() } else { format!("{} and {last}", before.join(", ")) };
    let one = before.is_empty();
    let never = match (is_of("session_budget"), is_of("task_budget")) {
        (true, true) => "hold",
        (false, _) if one => "blocks a task",
        (false, _) => "block a task",
        (true, false) if one => "ends a run",
        (true, false) => "end a run",
    };
    let what = match (is_about("max_cost_usd"), is_about("max_tokens")) {
        (true, true) => "neither cost nor tokens",
        (true, false) => "no cost",
        (false, _) => "no tokens",
    };
    Some(format!("{named} never {never}, since the agent \"{}\" reports {what}", agent.name()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use super::*;
    use crate::{
        agent::AgentConfig,
        config::{SessionBudget, TaskBudget},
        process::Supervisor,
    };

    fn told(name: &str, settings: &MethodologySettings) -> Option<String> {
        let config = AgentConfig { command: vec!["./agent".to_owned()], ..AgentConfig::new(name) };
        unheld(&*crate::agent::build(&config, Supervisor::GroupOnly).unwrap(), settings)
    }

    fn of_run(max_cost_usd: Option<f64>, max_tokens: Option<u64>) -> MethodologySettings {
        let session_budget = SessionBudget { max_cost_usd, max_tokens, ..SessionBudget::default() };
        MethodologySettings { session_budget, ..MethodologySettings::default() }
    }

    #[test]
    fn a_limit_of_what_the_agent_does_not_report_is_told() {
        let (cost, tokens) = (Some(0.5), Some(10));
        assert_eq!(told("command", &of_run(None, None)), None);
        assert_eq!(told("claude", &of_run(cost, None)), None);
        assert_eq!(told("codex", &of_run(None, tokens)), None);
        let no_cost =
            "session_budget.max_cost_usd never ends a run, since the agent \"codex\" reports no cost";
        assert_eq!(told("codex", &of_run(cost, tokens)).as_deref(), Some(no_cost));
        let nothing = "session_budget.max_cost_usd and session_budget.max_tokens never end a run, since the agent \
                       \"kiro\" reports neither cost nor tokens";
        assert_eq!(told("kiro", &of_run(cost, tokens)).as_deref(), Some(nothing));
        assert!(told("command", &of_run(None, tokens)).unwrap().contains("max_tokens never ends"));
    }

    #[test]
    fn a_limit_of_a_task_is_told_as_that_of_a_run_is() {
        let task_budget = TaskBudget { max_cost_usd: Some(0.5), ..TaskBudget::default() };
        let of_task = MethodologySettings { task_budget, ..MethodologySettings::default() };
        let blocks =
            "task_budget.max_cost_usd never blocks a task, since the agent \"gemini\" reports no cost";
        assert_eq!(told("gemini", &of_task).as_deref(), Some(blocks));
        assert_eq!(told("claude", &of_task), None);
        let both = MethodologySettings { task_budget, ..of_run(Some(1.0), None) };
        let hold = "session_budget.max_cost_usd and task_budget.max_cost_usd never hold, since the agent \"codex\" \
                    reports no cost";
        assert_eq!(told("codex", &both).as_deref(), Some(hold));
    }
}
