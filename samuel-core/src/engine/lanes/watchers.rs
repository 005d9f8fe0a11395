//! One watch of the store for all lanes: of watches of files each one wakes a thread with each change in the run
//! directory.

use std::{
    sync::{Arc, Mutex, PoisonError},
    time::Duration,
};

use tokio::task::JoinSet;

use crate::state::{PlanStore, ReadOn, Watch};

/// How long all of them are left alone once they were told: each change of any lane would have all of them read.
const PAUSE: Duration = Duration::from_millis(50);

/// The lanes that watch the store, and what watches it for them until this is dropped.
#[derive(Debug, Default)]
pub(super) struct Watchers(Mutex<State>);

#[derive(Debug, Default)]
struct State {
    told: Arc<Mutex<Told>>,
    watching: JoinSet<()>,
}

/// Who is told.
#[derive(Debug, Default)]
enum Told {
    #[default]
    Nobody,
    All(Vec<ReadOn>),
    /// Nothing can be watched any more.
    Over,
}

impl Told {
    /// Tells all of them, and says whether there is somebody left.
    fn tell(&mut self) -> bool {
        let Self::All(all) = self else { return false };
        all.retain(ReadOn::tell);
        if all.is_empty() {
            *self = Self::Nobody;
        }
        matches!(self, Self::All(_))
    }
}

impl Watchers {
    /// Begins to watch a store, which is the same at each call. Needs a runtime.
    pub(super) fn watch(&self, store: &Arc<dyn PlanStore>) -> Watch {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let told = Arc::clone(&state.told);
        let mut now = told.lock().unwrap_or_else(PoisonError::into_inner);
        let (read_on, watch) = Watch::new();
        match &mut *now {
            Told::All(all) => all.push(read_on),
            Told::Over => return store.watch(),
            Told::Nobody => {
                *now = Told::All(vec![read_on]);
                let (mut source, told) = (store.watch(), Arc::clone(&told));
                state.watching.spawn(async move {
                    while source.changed().await {
                        if !told.lock().unwrap_or_else(PoisonError::into_inner).tell() {
                            return;
                        }
                        // What changes meanwhile is told once, and all of them look at once.
                        tokio::time::sleep(PAUSE).await;
                    }
                    // Theirs end with that.
                    *told.lock().unwrap_or_else(PoisonError::into_inner) = Told::Over;
                });
            }
        }
        drop(now);
        watch
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use super::*;
    use crate::{
        model::{Plan, Task, TaskId},
        state::{Actor, Existing, MemoryStore, Mutation},
        testing::VirtualClock,
    };

    #[tokio::test]
    async fn all_who_watch_are_told_by_one_watch_until_they_are_gone_and_again_later() {
        let store: Arc<dyn PlanStore> = Arc::new(MemoryStore::new(Arc::new(VirtualClock::new())));
        let tasks = vec![Task::new(TaskId::new("1"), "t")];
        store.import(Plan { tasks, ..Plan::default() }, Actor::User, Existing::Refuse).unwrap();
        let watchers = Watchers::default();
        let change = |reset: bool| {
            let id = TaskId::new("1");
            let change = if reset { Mutation::Reset { id } } else { Mutation::Skip { id, reason: None } };
            store.mutate(change, Actor::User).unwrap();
        };
        let (mut one, mut other) = (watchers.watch(&store), watchers.watch(&store));
        change(false);
        assert!(one.changed().await && other.changed().await);
        assert_eq!(watchers.0.lock().unwrap().watching.len(), 1);
        drop(one);
        change(true);
        assert!(other.changed().await, "one that is gone is in nobody's way");
        drop(other);
        change(false);
        let mut watching = std::mem::take(&mut watchers.0.lock().unwrap().watching);
        watching.join_next().await.unwrap().unwrap();
        let mut again = watchers.watch(&store);
        change(true);
        assert!(again.changed().await);
        drop(watchers);
        assert!(!again.changed().await, "it ends with the lanes");
    }
}
