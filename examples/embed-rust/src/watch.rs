//! Shows a run: its events as they come, and what stands at the end.

use samuel_core::{
    agent::AgentEvent,
    event::{Event, EventRecord, RunReport},
    model::Plan,
};

/// Prints an event, if it is worth a line.
pub(crate) fn show(record: &EventRecord) {
    match &record.event {
        Event::RunStarted { agent, .. } => println!("run {} with the agent {agent}", record.run_id),
        Event::IterationStarted { iteration, task, .. } => {
            let title = task.as_ref().map_or("discovery", |task| task.title.as_str());
            println!("\niteration {iteration}: {title}");
        }
        Event::Agent { report: AgentEvent::Text { text }, .. } => println!("  agent: {text}"),
        Event::Agent { report: AgentEvent::ToolCall(call), .. } => println!("  tool: {}", call.ability_id),
        Event::TaskCompleted { task, .. } => println!("  task {task} done, provisionally"),
        Event::QualityChecked { ok: true, .. } => println!("  checks passed"),
        Event::QualityChecked { failures, .. } => {
            failures.iter().for_each(|failure| println!("  check failed: {}", failure.message));
        }
        Event::TasksTakenBack { tasks, .. } => {
            tasks.iter().for_each(|task| println!("  task {task} taken back"));
        }
        Event::Warning { message } => println!("  warning: {message}"),
        _ => {}
    }
}

/// Prints the tasks and the outcome.
pub(crate) fn summary(plan: &Plan, report: &RunReport) {
    println!();
    for task in &plan.tasks {
        let commit: String = task.commit_sha.iter().flat_map(|sha| sha.chars().take(7)).collect();
        println!("{:>3} {:<10} {:<7} {}", task.id, task.status, commit, task.title);
    }
    println!(
        "{} after {} iterations, {} of them failed",
        report.exit_reason, report.iterations, report.failed_iterations
    );
}
