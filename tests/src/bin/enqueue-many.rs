//! Adds tasks to a project, one after the other, and prints each id once it is
//! acknowledged: a stand-in for a busy agent or script.
//!
//! Usage: `enqueue-many PROJECT NAME COUNT`.
#![allow(clippy::print_stdout, reason = "the test reads the ids")]

use std::{io::Write, sync::Arc};

use samuel_core::{
    clock::SystemClock,
    project::Project,
    state::{Actor, Mutation, NewTask, TaskChange},
};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut args = std::env::args().skip(1);
    let (Some(root), Some(name), Some(count)) = (args.next(), args.next(), args.next()) else {
        return Err("usage: enqueue-many PROJECT NAME COUNT".into());
    };
    let store = Project::open(root, None, Arc::new(SystemClock::new()))?.plan_store();
    for number in 0..count.parse::<usize>()? {
        let task = NewTask::new(format!("{name} {number}"));
        let applied = store.mutate(Mutation::Enqueue { task }, Actor::User)?;
        if let TaskChange::Added { id } = applied.change {
            println!("{id}");
            std::io::stdout().flush()?;
        }
    }
    Ok(())
}
