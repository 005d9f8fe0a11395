//! The iterations that began over all lanes of a run.
//!
//! A lane writes down that an iteration begins before it tells of it, and the leader how many have begun whenever it saves
//! the run: whoever goes on after a kill uses no number twice, and counts all of them.

use std::sync::{Arc, Mutex, PoisonError, atomic::Ordering};

use tokio::sync::MutexGuard;

use super::lane::Lane;
use crate::{
    engine::{error::described, services::Services},
    model::payload::Mode,
    state::{Begun, Note},
};

/// What began over all lanes of a run.
#[derive(Debug)]
pub(in crate::engine) struct Beginnings {
    begun: Mutex<Begun>,
    /// Held while it is written down, so that nothing older comes behind what is newer.
    writing: tokio::sync::Mutex<()>,
}

impl Beginnings {
    /// Goes on with what began before.
    pub(super) fn after(begun: Begun) -> Self {
        Self { begun: Mutex::new(begun), writing: tokio::sync::Mutex::default() }
    }

    /// Returns what began so far.
    pub(in crate::engine) fn so_far(&self) -> Begun {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what began so far, for somebody who writes that down while no other one does.
    pub(in crate::engine) async fn to_write(&self) -> (Begun, MutexGuard<'_, ()>) {
        let writing = self.writing.lock().await;
        (self.so_far(), writing)
    }

    /// Takes down that an iteration begins. Lanes may tell of their numbers in another order than they were given.
    fn begins(&self, number: u32) {
        let mut begun = self.begun.lock().unwrap_or_else(PoisonError::into_inner);
        *begun = Begun {
            last: begun.last.max(number),
            count: begun.count.saturating_add(1),
            total: begun.total.saturating_add(1),
        };
    }
}

impl Lane {
    /// Writes down that an iteration begins.
    pub(in crate::engine) async fn begins(&self, services: &Arc<Services>, iteration: u32, mode: Mode) {
        self.shared.beginnings.begins(iteration);
        if !self.leads() {
            self.shared.opens(self.number, iteration, mode, services.known_seq.load(Ordering::Relaxed));
        }
        let (begun, writing) = self.shared.beginnings.to_write().await;
        let noted = services.blocking(move |services| services.lane.note(Note::Begun(begun))).await;
        drop(writing);
        if let Err(error) = noted.and_then(|noted| noted) {
            services.warn(format!("that an iteration begins could not be saved: {}", described(&error)));
        }
        self.write_books(services).await;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_highest_number_and_the_count_of_what_began_go_on_from_before() {
        let beginnings = Beginnings::after(Begun { last: 7, count: 5, total: 15 });
        beginnings.begins(9);
        beginnings.begins(8);
        let (begun, writing) = beginnings.to_write().await;
        assert_eq!(begun, Begun { last: 9, count: 7, total: 17 });
        beginnings.begins(10);
        assert!(beginnings.writing.try_lock().is_err(), "one at a time writes that down");
        drop(writing);
        assert_eq!(beginnings.to_write().await.0, Begun { last: 10, count: 8, total: 18 });
    }
}
