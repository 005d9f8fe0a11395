//! What a verb is: one place that says what is asked, what is answered, and who may.
//!
//! A [`Verb`] is a type in a file of its family in `verbs/`, and a line of that family's list.
//! Whoever is asked names whom each leads to ([`Routes`](super::routes::Routes)); the protocol and
//! the server know no more of it than its [`VerbSpec`].

use serde::{Serialize, de::DeserializeOwned};

use super::protocol::MAX_MESSAGE;

/// A verb of the protocol: what is asked under its name, and what is answered.
pub(in crate::engine) trait Verb: 'static {
    /// What is asked.
    type Request: Serialize + DeserializeOwned + Send + 'static;
    /// What is answered.
    type Reply: Serialize + DeserializeOwned + Send + 'static;
    /// Its name in a request.
    const NAME: &'static str;
    /// The field of an answer that holds the reply.
    const REPLY: &'static str;
    /// Whose token may ask it.
    const HOLDER: Holder;
    /// The most bytes of a whole request. By default as many as a message may have.
    const MAX_REQUEST: usize = MAX_MESSAGE;
    /// Whether it counts among the requests that one token may make in a time.
    const IS_RATED: bool = true;

    /// Says what is wrong with a request that could be read, if anything is.
    ///
    /// # Errors
    /// Returns it in words.
    fn check(_request: &Self::Request) -> Result<(), String> {
        Ok(())
    }
}

/// Who holds a token, which decides what may be asked with it at all.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) enum Holder {
    /// Whoever can read the run's own token: the user.
    Person,
    /// One call of an agent, as long as it lasts.
    AgentCall,
}

/// What the protocol and the server know of a verb.
#[derive(Clone, Copy, Debug)]
pub(super) struct VerbSpec {
    pub(super) name: &'static str,
    pub(super) holder: Holder,
    pub(super) max_request: usize,
    pub(super) is_rated: bool,
}

impl VerbSpec {
    pub(super) const fn of<V: Verb>() -> Self {
        Self { name: V::NAME, holder: V::HOLDER, max_request: V::MAX_REQUEST, is_rated: V::IS_RATED }
    }
}
