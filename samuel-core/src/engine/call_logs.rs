//! What is kept of each call of an agent, whoever stands in its place: the prompt, and files for what it prints.

use std::{
    io::Write,
    os::fd::AsFd,
    sync::{Arc, PoisonError},
};

use super::services::Services;
use crate::{hook::CallLogs, process::create_private, text::described};

/// How many calls there were in an iteration.
#[derive(Debug, Default)]
pub(super) struct CallCount {
    iteration: u32,
    calls: u32,
}

impl CallCount {
    /// Counts a call, and returns which one of its iteration it is, from 1.
    fn next(&mut self, iteration: u32) -> u32 {
        if self.iteration != iteration {
            *self = Self { iteration, calls: 0 };
        }
        self.calls += 1;
        self.calls
    }
}

impl Services {
    /// Keeps a prompt, and names the files for what the agent prints. An agent works as well where
    /// nothing can be kept; the user is told.
    pub(super) async fn keep_prompt(self: &Arc<Self>, iteration: u32, prompt: String) -> Option<CallLogs> {
        let attempt = self.call_count.lock().unwrap_or_else(PoisonError::into_inner).next(iteration);
        let (out, err) = self.run_dir.agent_logs(&self.run_id, iteration, attempt);
        let path = self.run_dir.prompt_log(&self.run_id, iteration, attempt);
        let kept = self.blocking(move |services| {
            services.run_dir.make_logs(&services.run_id).map_err(|error| described(&error))?;
            let directory = services.run_dir.root().parent_of(&path).map_err(|error| described(&error))?;
            let written = create_private(Some(directory.as_fd()), &path)
                .and_then(|mut file| file.write_all(services.secrets.hide_values(&prompt).as_bytes()));
            written.map_err(|error| format!("{}: {error}", path.display()))
        });
        let kept = kept.await.unwrap_or_else(|error| Err(described(&error)));
        if let Err(problem) = kept {
            self.warn(format!("neither the prompt nor what the agent prints is kept: {problem}"));
            return None;
        }
        let (root, secrets) = (self.run_dir.root().clone(), Arc::clone(&self.secrets));
        Some(CallLogs { out, err, root, secrets })
    }
}
