//! Whom the verbs of a token lead to.
//!
//! A [`Serve`] is whoever a token leads to. For each connection it names the verbs that it answers,
//! each with its [route](Routes::with); which of them the token may ask is the server's to see to.

use std::pin::Pin;

use serde_json::value::RawValue;

use super::{
    protocol::{Refusal, Reply, Welcome},
    verb::{Verb, VerbSpec},
};

/// Whom a token leads to.
pub(in crate::engine) trait Serve: Send + Sync {
    /// Says what the token is for, and whom its verbs lead to, as a connection begins.
    /// [`Welcome::may`] is filled in from the routes.
    fn open(&self, peer: Peer) -> (Welcome, Routes);

    /// Is told of each request and connection that is refused to whoever has shown the token, with
    /// the verb as far as one was named. By default nothing is done about it.
    fn refused(&self, _verb: Option<&str>, _refusal: &Refusal) {}
}

/// Who connects, as the system says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct Peer {
    /// The user.
    pub(in crate::engine) uid: u32,
    /// The process that connected, as it is numbered here; nothing where the system does not say.
    pub(in crate::engine) pid: Option<i32>,
}

/// What is answered, and a receipt for it.
pub(in crate::engine) type Replied<R> = (Result<R, Refusal>, Receipt);
/// An answer that is under way.
pub(super) type Answering = Pin<Box<dyn Future<Output = Replied<Reply>> + Send>>;
/// Who answers a verb, or says what is wrong with the request.
type Route = Box<dyn Fn(&RawValue) -> Result<Answering, String> + Send + Sync>;

/// The verbs that are answered over one connection, and by whom.
#[derive(Default)]
pub(in crate::engine) struct Routes(Vec<(VerbSpec, Route)>);

impl Routes {
    /// Has a verb answered.
    #[must_use]
    pub(in crate::engine) fn with<V: Verb, F>(
        mut self,
        answer: impl Fn(V::Request) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output = Replied<V::Reply>> + Send + 'static,
    {
        let route = move |body: &RawValue| -> Result<Answering, String> {
            let request = serde_json::from_str(body.get()).map_err(|error| error.to_string())?;
            V::check(&request)?;
            let answering = answer(request);
            Ok(Box::pin(async move {
                let (answered, receipt) = answering.await;
                (answered.and_then(|reply| Reply::new(V::REPLY, &reply)), receipt)
            }))
        };
        self.0.push((VerbSpec::of::<V>(), Box::new(route)));
        self
    }

    /// Returns the verbs that are answered.
    pub(super) fn verbs(&self) -> impl Iterator<Item = &VerbSpec> {
        self.0.iter().map(|(verb, _)| verb)
    }

    /// Has a verb answered, where it is, or says what is wrong with the request.
    pub(super) fn answer(&self, verb: &str, body: &RawValue) -> Option<Result<Answering, String>> {
        let (_, route) = self.0.iter().find(|(known, _)| known.name == verb)?;
        Some(route(body))
    }
}

/// Tells whoever answered if the answer did not arrive: what it was given is called where it is
/// dropped before that.
pub(in crate::engine) struct Receipt(Option<Box<dyn FnOnce() + Send>>);

impl Receipt {
    pub(in crate::engine) fn new(lost: impl FnOnce() + Send + 'static) -> Self {
        Self(Some(Box::new(lost)))
    }

    /// Makes one of an answer that nobody has to know of whether it arrived.
    pub(in crate::engine) const fn none() -> Self {
        Self(None)
    }

    pub(super) fn delivered(mut self) {
        self.0.take();
    }
}

impl Drop for Receipt {
    fn drop(&mut self) {
        if let Some(lost) = self.0.take() {
            lost();
        }
    }
}
