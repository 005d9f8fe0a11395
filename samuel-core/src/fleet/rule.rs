//! The rules that keep work from being lost or done for nothing, by name: each has a campaign that fails without it.

/// A rule of a worker.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Rule {
    /// Whoever was stopped or out of touch rests before it judges.
    Rest,
    /// Work is where it can be fetched before the plan says so.
    PushFirst,
    /// Claims in the own name that nothing works on are given back.
    Audit,
}

impl Rule {
    /// Says whether it is kept, which it is but in the campaigns.
    pub(super) fn is_kept(self) -> bool {
        #[cfg(test)]
        return LEFT_OUT.get() != Some(self);
        #[cfg(not(test))]
        true
    }

    /// Leaves a rule out in this thread, or none.
    #[cfg(test)]
    pub(super) fn leave_out(rule: Option<Self>) {
        LEFT_OUT.set(rule);
    }
}

#[cfg(test)]
thread_local! {
    static LEFT_OUT: std::cell::Cell<Option<Rule>> = const { std::cell::Cell::new(None) };
}
