//! Hearing that there may be more to read.

use std::fmt;

use tokio::sync::mpsc;

/// Says that there may be more to read in a store.
///
/// It says only that: what happened is read from the journal. What happens while nobody
/// listens is told once.
pub struct Watch {
    told: mpsc::Receiver<()>,
    renew: Option<Box<dyn FnMut() -> Source + Send>>,
}

/// The store's side of a [`Watch`].
#[derive(Clone, Debug)]
pub struct ReadOn(mpsc::Sender<()>);

/// How the source of a watch is when somebody is about to wait.
pub(super) enum Source {
    /// As it was.
    Same,
    /// Made anew, so that something may have been missed.
    Anew,
    /// Gone.
    Gone,
}

impl Watch {
    /// Makes a watch, and what speaks to it. It ends with the last of those; one that is renewed, when its source is gone.
    pub fn new() -> (ReadOn, Self) {
        let (sender, told) = mpsc::channel(1);
        (ReadOn(sender), Self { told, renew: None })
    }

    /// Looks after its source each time before somebody waits.
    pub(super) fn renewed_by(self, renew: impl FnMut() -> Source + Send + 'static) -> Self {
        Self { renew: Some(Box::new(renew)), ..self }
    }

    /// Waits until there may be more to read. Returns `false` once nothing will be said
    /// any more. May be dropped and called again.
    pub async fn changed(&mut self) -> bool {
        match self.renew.as_mut().map_or(Source::Same, |renew| renew()) {
            Source::Same => self.told.recv().await.is_some(),
            Source::Anew => true,
            Source::Gone => false,
        }
    }
}

impl fmt::Debug for Watch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Watch").finish_non_exhaustive()
    }
}

impl ReadOn {
    /// Says it. Returns `false` where nobody will hear it any more.
    pub fn tell(&self) -> bool {
        !matches!(self.0.try_send(()), Err(mpsc::error::TrySendError::Closed(())))
    }
}
