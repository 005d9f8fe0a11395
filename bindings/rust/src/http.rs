//! HTTP requests. Needs `network.outbound` for the host.
//!
//! ```no_run
//! # fn latest() -> Result<serde_json::Value, samuel_plugin::HookFailure> {
//! use samuel_plugin::http::Request;
//!
//! let response = Request::get("https://pypi.org/pypi/requests/json").send()?;
//! # return
//! Ok(response.json()?)
//! # }
//! ```

use std::time::Duration;

use serde_core::{Serialize, de::DeserializeOwned};

use crate::{failure::HostError, host::bindings::samuel::plugin::http};

/// A request, to be sent.
#[must_use = "a request does nothing before it is sent"]
#[derive(Clone, Debug, PartialEq)]
pub struct Request(http::Request);

impl Request {
    /// Makes one of a method and an address: `https`, or `http` to this machine.
    pub fn new(method: impl Into<String>, url: impl Into<String>) -> Self {
        Self(http::Request {
            method: method.into(),
            url: url.into(),
            headers: Vec::new(),
            body: Vec::new(),
            timeout_ms: None,
        })
    }

    /// Makes a `GET`.
    pub fn get(url: impl Into<String>) -> Self {
        Self::new("GET", url)
    }

    /// Makes a `POST`.
    pub fn post(url: impl Into<String>) -> Self {
        Self::new("POST", url)
    }

    /// Adds a header field; at most 64 KiB together.
    pub fn header(mut self, name: impl Into<String>, value: impl Into<String>) -> Self {
        self.0.headers.push((name.into(), value.into()));
        self
    }

    /// Sets the body, at most 4 MiB.
    pub fn body(mut self, body: impl Into<Vec<u8>>) -> Self {
        self.0.body = body.into();
        self
    }

    /// Sets the body to JSON, and its type.
    ///
    /// # Errors
    /// Returns what cannot become JSON.
    pub fn json(self, body: &impl Serialize) -> Result<Self, serde_json::Error> {
        Ok(self.header("content-type", "application/json").body(serde_json::to_vec(body)?))
    }

    /// Sets the most it may take; 30 s otherwise.
    pub fn timeout(mut self, timeout: Duration) -> Self {
        self.0.timeout_ms = Some(u64::try_from(timeout.as_millis()).unwrap_or(u64::MAX));
        self
    }

    /// Sends it and reads the response whole. Redirects are followed at most 5
    /// times; each target needs its grant.
    ///
    /// # Errors
    /// Returns [`HostError::Denied`] where the host was not granted,
    /// [`HostError::TimedOut`] where it took too long, [`HostError::TooLarge`]
    /// for a larger response. A status that tells of an error is none.
    pub fn send(self) -> Result<Response, HostError> {
        let http::Response { status, headers, body } = http::send(&self.0)?;
        Ok(Response { status, headers, body })
    }
}

/// A response, whatever its status.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Response {
    /// The status, such as 200.
    pub status: u16,
    /// Header fields, names in lower case.
    pub headers: Vec<(String, String)>,
    /// The body, at most 4 MiB.
    pub body: Vec<u8>,
}

impl Response {
    /// Returns a header field by its name in lower case.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(known, _)| known == name).map(|(_, value)| value.as_str())
    }

    /// Returns the body as text, with U+FFFD for what is none.
    pub fn text(&self) -> String {
        String::from_utf8_lossy(&self.body).into_owned()
    }

    /// Returns the body as JSON.
    ///
    /// # Errors
    /// Returns what is wrong with a body that is not a `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_slice(&self.body)
    }
}
