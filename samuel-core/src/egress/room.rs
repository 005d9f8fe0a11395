//! How many connections are passed on at a time: of a sandbox, and of all sandboxes of this process.
//!
//! Each connection takes files of Samuel, which needs some for the plan and the journal as well. So all sandboxes together
//! have half of those that the process may have open. None takes more places than it leaves free, so that there is
//! one for the next sandbox, however much those before it ask for.

use std::{
    fmt, io,
    sync::{
        Arc, LazyLock,
        atomic::{AtomicUsize, Ordering},
    },
    time::Duration,
};

use rustix::process::{Resource, getrlimit};
use tokio::{sync::watch, time::sleep};

/// How many connections of a sandbox are passed on at a time, by all of its ports; others wait.
pub(super) const MAX_TUNNELS: usize = 64;
/// The files of a connection: both of its ends.
const FILES_EACH: u64 = 2;
/// How long is waited at first and at most where no connection can be taken.
const BREATH: Duration = Duration::from_millis(10);
const LONGEST_BREATH: Duration = Duration::from_secs(1);

/// The places of this process: what it may have open is one number for all of it.
static OF_PROCESS: LazyLock<Arc<Places>> =
    LazyLock::new(|| Arc::new(Places::of_files(getrlimit(Resource::Nofile).current)));

/// The room that a sandbox has for connections.
#[derive(Clone)]
pub(crate) struct Room {
    /// How many places it has taken; changed with those that all have.
    held: Arc<AtomicUsize>,
    places: Arc<Places>,
}

/// The places that there are for all sandboxes.
struct Places {
    most: usize,
    taken: watch::Sender<usize>,
}

/// A place, which is free again once this is dropped.
pub(super) struct Place(Room);

impl Default for Room {
    fn default() -> Self {
        Self::among(&OF_PROCESS)
    }
}

impl Room {
    fn among(places: &Arc<Places>) -> Self {
        Self { held: Arc::default(), places: Arc::clone(places) }
    }

    /// Waits for a place.
    pub(super) async fn place(&self) -> Place {
        let mut changes = self.places.taken.subscribe();
        loop {
            if let Some(place) = self.try_place() {
                return place;
            }
            // They are there as long as this.
            let _ = changes.changed().await;
        }
    }

    fn try_place(&self) -> Option<Place> {
        let is_taken = self.places.taken.send_if_modified(|taken| {
            let held = self.held.load(Ordering::Relaxed);
            let is_free = held < MAX_TUNNELS && held < self.places.most.saturating_sub(*taken);
            if is_free {
                *taken += 1;
                self.held.store(held + 1, Ordering::Relaxed);
            }
            is_free
        });
        is_taken.then(|| Place(self.clone()))
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        let Room { held, places } = &self.0;
        places.taken.send_modify(|taken| {
            *taken = taken.saturating_sub(1);
            held.fetch_sub(1, Ordering::Relaxed);
        });
    }
}

impl Places {
    /// Returns those that half of so many open files are enough for; at least one.
    fn of_files(most: Option<u64>) -> Self {
        let most =
            most.map_or(usize::MAX, |most| usize::try_from(most / 2 / FILES_EACH).unwrap_or(usize::MAX));
        Self { most: most.max(1), taken: watch::Sender::new(0) }
    }
}

impl fmt::Debug for Room {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Room").field("held", &self.held).finish_non_exhaustive()
    }
}

/// Takes a connection. Where the system gives none, such as for want of files, it is asked again, ever less often.
pub(crate) async fn accepted<T, A>(mut accept: impl FnMut() -> A) -> T
where
    A: Future<Output = io::Result<T>>,
{
    let mut breath = BREATH;
    loop {
        if let Ok(taken) = accept().await {
            return taken;
        }
        sleep(breath).await;
        breath = (breath * 2).min(LONGEST_BREATH);
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use tokio::time::{Instant, timeout};

    use super::*;

    fn all_of(room: &Room) -> Vec<Place> {
        std::iter::from_fn(|| room.try_place()).collect()
    }

    #[test]
    fn all_sandboxes_together_have_half_of_the_open_files_and_the_next_one_finds_a_place() {
        for limit in [64, 256, 1024, 20_000] {
            let places = Arc::new(Places::of_files(Some(limit)));
            let rooms: Vec<Room> = (0..500).map(|_| Room::among(&places)).collect();
            let held: Vec<Vec<Place>> = rooms.iter().map(all_of).collect();
            let files =
                held.iter().map(|held| u64::try_from(held.len()).expect("a few") * FILES_EACH).sum::<u64>();
            assert!(files <= limit / 2, "{files} of {limit}");
            let counts: Vec<usize> = held.iter().map(Vec::len).collect();
            assert!(counts.iter().all(|count| *count <= MAX_TUNNELS), "{counts:?}");
            assert!(counts.iter().take(4).all(|count| *count >= 1), "{limit}: {counts:?}");
            drop(held);
            assert_eq!(
                (*places.taken.borrow(), rooms.iter().all(|room| room.held.load(Ordering::Relaxed) == 0)),
                (0, true)
            );
        }
        let many = Room::among(&Arc::new(Places::of_files(None)));
        assert_eq!(all_of(&many).len(), MAX_TUNNELS);
        let one = Room::among(&Arc::new(Places::of_files(Some(3))));
        assert_eq!(all_of(&one).len(), 1);
    }

    #[tokio::test]
    async fn a_place_that_another_sandbox_gives_back_is_taken_by_who_waits() {
        let places = Arc::new(Places::of_files(Some(8)));
        let rooms = [Room::among(&places), Room::among(&places), Room::among(&places)];
        let mut held: Vec<Vec<Place>> = rooms.iter().take(2).map(all_of).collect();
        assert_eq!(held.iter().map(Vec::len).collect::<Vec<_>>(), [1, 1]);
        let waits = rooms[2].place();
        tokio::pin!(waits);
        assert!(timeout(Duration::ZERO, &mut waits).await.is_err());
        held.pop();
        timeout(Duration::from_secs(20), waits).await.expect("a place");
    }

    #[tokio::test(start_paused = true)]
    async fn who_gets_no_connection_asks_again_ever_less_often() {
        let begun = Instant::now();
        let mut asked = Vec::new();
        accepted(|| {
            asked.push(begun.elapsed());
            let is_enough = asked.len() > 12;
            async move { is_enough.then_some(()).ok_or_else(|| io::Error::from(io::ErrorKind::Other)) }
        })
        .await;
        let pauses: Vec<Duration> = asked.windows(2).map(|pair| pair[1] - pair[0]).collect();
        assert!(pauses.is_sorted() && pauses[0] >= BREATH, "{pauses:?}");
        assert!(
            pauses.last().is_some_and(|last| (LONGEST_BREATH..LONGEST_BREATH * 2).contains(last)),
            "{pauses:?}"
        );
    }
}
