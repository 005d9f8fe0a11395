//! How the outcomes of each point become one.

// Written by `cargo xtask contract`; change `wit/` instead.

use crate::{
    Output,
    output::{Printed, combine_ok, combine_reason, reason_of, reason_or},
    payload::*,
};

impl Output for InitBeforeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for InitAfterOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for SyncAfterOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for SessionStartOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }

    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        Some(&mut self.results)
    }
}

impl Output for BeforeLoopOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for BeforeIterationOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for PromptSubmitOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_reason(&mut self.reason, self.block, later.reason, later.block);
        self.block |= later.block;
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn refusal(&self) -> Option<String> {
        self.block.then(|| reason_of(self.reason.as_ref()))
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }

    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        Some(&mut self.results)
    }
}

impl Output for ContextSnapshotOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        *self = later;
        Vec::new()
    }

    fn toon(&self) -> Option<&str> {
        Some(&self.toon_blob)
    }
}

impl Output for ContextProgressOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        *self = later;
        Vec::new()
    }
}

impl Output for ContextTaskOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        *self = later;
        Vec::new()
    }

    fn toon(&self) -> Option<&str> {
        Some(&self.toon_blob)
    }
}

impl Output for ContextExtraOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.extras.extend(later.extras);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn extras(&self) -> &[Extra] {
        &self.extras
    }
}

impl Output for BeforeAgentInvokeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.agent = later.agent.or(self.agent.take());
        self.prompt = later.prompt.or(self.prompt.take());
        self.env.extend(later.env);
        self.sandbox = later.sandbox.or(self.sandbox.take());
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for AgentInvokeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        *self = later;
        Vec::new()
    }

    fn failure(&self) -> Option<&AgentFailure> {
        self.failure.as_ref()
    }

    fn printed_mut(&mut self) -> Option<Printed<'_>> {
        let streams = [&mut self.stdout, &mut self.stderr];
        Some(Printed { streams, failure: self.failure.as_mut(), logs: &mut self.logs })
    }
}

impl Output for AfterAgentInvokeOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for QualityCheckOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.failures.extend(later.failures);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok)
            .then(|| reason_or(self.reason.as_ref(), self.failures.iter().map(|item| item.message.as_str())))
    }

    fn checks_mut(&mut self) -> Option<&mut Vec<CheckFailure>> {
        Some(&mut self.failures)
    }
}

impl Output for AfterIterationOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for IterationErrorOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for TaskCompletedOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }
}

impl Output for AbilityAfterOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        self.text.extend(later.text);
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn text(&self) -> &[TextItem] {
        &self.text
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }

    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        Some(&mut self.results)
    }
}

impl Output for SessionStopOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_reason(&mut self.reason, self.block, later.reason, later.block);
        self.block |= later.block;
        self.extensions.extend(later.extensions);
        self.results.merge(later.results)
    }

    fn refusal(&self) -> Option<String> {
        self.block.then(|| reason_of(self.reason.as_ref()))
    }

    fn results(&self) -> Option<&HookResults> {
        Some(&self.results)
    }

    fn reported_mut(&mut self) -> Option<&mut HookResults> {
        Some(&mut self.results)
    }
}

impl Output for AfterLoopOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}

impl Output for SessionEndOutput {
    fn combine(&mut self, later: Self) -> Vec<String> {
        combine_ok(&mut self.ok, &mut self.reason, later.ok, later.reason);
        self.extensions.extend(later.extensions);
        Vec::new()
    }

    fn refusal(&self) -> Option<String> {
        (!self.ok).then(|| reason_of(self.reason.as_ref()))
    }
}
