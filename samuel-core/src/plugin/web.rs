//! Requests for what plugins come from: archives by their URL, and registries.
//!
//! They go over `https`, or `http` to this machine, and so does whatever they are redirected to. No proxy is used and
//! no environment read. Every request ends by the deadline of its [`Web`], and no body is longer than its limit.

use std::{
    io::Read as _,
    time::{Duration, Instant},
};

use ureq::{
    Agent,
    http::{Method, Request, Response, StatusCode, Uri},
};

use super::PluginError;

/// How many redirects are followed; registries have blobs elsewhere.
const MAX_REDIRECTS: u32 = 5;

/// The header with what lets in, which goes to the host that was asked and to no other.
pub(super) const AUTHORIZATION: &str = "authorization";

/// What sends requests until a deadline.
pub(super) struct Web {
    deadline: Instant,
}

/// A request.
pub(super) struct WebRequest {
    method: Method,
    url: String,
    headers: Vec<(&'static str, String)>,
    body: Vec<u8>,
}

/// An answer, read to its end.
pub(super) struct WebAnswer {
    pub(super) status: StatusCode,
    pub(super) location: Option<String>,
    pub(super) challenge: Option<String>,
    pub(super) body: Vec<u8>,
    /// Who answers, after all redirects: `scheme://host:port`.
    pub(super) origin: String,
}

impl WebRequest {
    pub(super) fn new(method: Method, url: impl Into<String>) -> Self {
        Self { method, url: url.into(), headers: Vec::new(), body: Vec::new() }
    }

    pub(super) fn get(url: impl Into<String>) -> Self {
        Self::new(Method::GET, url)
    }

    pub(super) fn header(mut self, name: &'static str, value: impl Into<String>) -> Self {
        self.headers.retain(|(other, _)| *other != name);
        self.headers.push((name, value.into()));
        self
    }

    pub(super) fn body(mut self, body: Vec<u8>) -> Self {
        self.body = body;
        self
    }

    /// Says whether what it is redirected to can be asked in its place.
    fn may_move(&self) -> bool {
        matches!(self.method, Method::GET | Method::HEAD)
    }
}

impl Web {
    /// Sends requests for so long, all of them together.
    pub(super) fn within(time: Duration) -> Self {
        Self { deadline: Instant::now() + time }
    }

    /// Gets what an address has, at most so many bytes.
    ///
    /// # Errors
    /// Returns [`PluginError::Registry`] where it does not answer with it, and [`PluginError::LongAnswer`] for more.
    pub(super) fn get(&self, url: &str, limit: u64) -> Result<Vec<u8>, PluginError> {
        let answer = self.send(&WebRequest::get(url), limit)?;
        match answer.status {
            StatusCode::OK => Ok(answer.body),
            status => Err(failed(url, format!("answers {status}"))),
        }
    }

    /// Sends a request, whose answer has at most so many bytes. Redirects of what only reads are followed.
    ///
    /// # Errors
    /// Returns [`PluginError::Registry`] where there is no answer, and [`PluginError::LongAnswer`] for a longer one.
    pub(super) fn send(&self, request: &WebRequest, limit: u64) -> Result<WebAnswer, PluginError> {
        let asked = request.url.parse::<Uri>();
        let asked = asked.map_err(|error| failed(&request.url, format!("is not a URL: {error}")))?;
        let mut now = asked.clone();
        for _ in 0..=MAX_REDIRECTS {
            let answer = self.send_once(request, &now, is_same_host(&now, &asked), limit)?;
            let is_moved = matches!(answer.status.as_u16(), 301 | 302 | 303 | 307 | 308);
            let Some(location) = answer.location.as_deref().filter(|_| is_moved && request.may_move()) else {
                return Ok(answer);
            };
            now = resolved(&now, location).ok_or_else(|| {
                failed(
                    &request.url,
                    format!("redirects to \"{}\", which is not a URL", location.escape_debug()),
                )
            })?;
        }
        Err(failed(&request.url, format!("redirects more than {MAX_REDIRECTS} times")))
    }

    fn send_once(
        &self,
        request: &WebRequest,
        uri: &Uri,
        is_host_asked: bool,
        limit: u64,
    ) -> Result<WebAnswer, PluginError> {
        let url = uri.to_string();
        if !is_safe(uri) {
            return Err(failed(&url, "is neither https nor http to this machine".to_owned()));
        }
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(failed(&url, "did not answer in time".to_owned()));
        }
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            // Each is looked at before it is followed.
            .max_redirects(0)
            .proxy(None)
            .timeout_global(Some(left))
            .max_idle_connections(0)
            .user_agent(concat!("samuel/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let unsent = |error: &dyn std::error::Error| failed(&url, format!("cannot be reached: {error}"));
        let mut builder = Request::builder().method(request.method.clone()).uri(uri.clone());
        for (name, value) in
            request.headers.iter().filter(|(name, _)| is_host_asked || *name != AUTHORIZATION)
        {
            builder = builder.header(*name, value);
        }
        let sent = match request.may_move() {
            true => agent.run(builder.body(()).map_err(|error| unsent(&error))?),
            false => agent.run(builder.body(request.body.as_slice()).map_err(|error| unsent(&error))?),
        };
        let mut response: Response<ureq::Body> = sent.map_err(|error| unsent(&error))?;
        let header =
            |name| response.headers().get(name).and_then(|value| value.to_str().ok()).map(str::to_owned);
        let (location, challenge) = (header("location"), header("www-authenticate"));
        let mut body = Vec::new();
        let reader = response.body_mut().as_reader();
        // One byte more tells a body that is too long from one that just fits.
        reader.take(limit.saturating_add(1)).read_to_end(&mut body).map_err(|error| unsent(&error))?;
        if body.len() as u64 > limit {
            return Err(PluginError::LongAnswer {
                address: crate::model::redacted(&url).into_owned(),
                limit,
            });
        }
        Ok(WebAnswer { status: response.status(), location, challenge, body, origin: origin(uri) })
    }
}

/// Words what an address did.
pub(super) fn failed(address: &str, problem: String) -> PluginError {
    PluginError::Registry { address: crate::model::redacted(address).into_owned(), problem }
}

/// Returns how a host, with its port where it has one, is talked to: `scheme://host:port`.
pub(super) fn origin_of(authority: &str) -> String {
    let is_here = authority
        .parse::<ureq::http::uri::Authority>()
        .is_ok_and(|authority| is_this_machine(authority.host()));
    format!("{}://{authority}", if is_here { "http" } else { "https" })
}

fn origin(uri: &Uri) -> String {
    format!("{}://{}", uri.scheme_str().unwrap_or_default(), uri.authority().map_or("", |it| it.as_str()))
}

fn is_same_host(left: &Uri, right: &Uri) -> bool {
    (left.scheme(), left.authority()) == (right.scheme(), right.authority())
}

/// Returns what a redirect leads to, seen from the address that redirects.
fn resolved(from: &Uri, location: &str) -> Option<Uri> {
    if location.parse::<Uri>().is_ok_and(|uri| uri.scheme().is_some()) {
        return location.parse().ok();
    }
    let text = match location {
        _ if location.starts_with("//") => format!("{}:{location}", from.scheme_str()?),
        _ if location.starts_with('/') => format!("{}{location}", origin(from)),
        _ => {
            let directory = from.path().rsplit_once('/').map_or("", |(directory, _)| directory);
            format!("{}{directory}/{location}", origin(from))
        }
    };
    text.parse().ok()
}

/// Says whether nobody on the way can read or change what is sent. What stands before an `@` is no host, and a
/// password goes to nobody in clear.
fn is_safe(uri: &Uri) -> bool {
    let Some(authority) = uri.authority() else { return false };
    match uri.scheme_str() {
        Some("https") => true,
        Some("http") => !authority.as_str().contains('@') && is_this_machine(authority.host()),
        _ => false,
    }
}

/// Says whether a host is this machine.
fn is_this_machine(host: &str) -> bool {
    let host = host.trim_start_matches('[').trim_end_matches(']');
    host == "localhost" || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
}

#[cfg(test)]
pub(super) mod tests {
    #![allow(clippy::unwrap_used, reason = "tests")]

    use std::{
        io::{BufRead as _, BufReader, Write as _},
        net::TcpListener,
    };

    use super::*;

    /// Answers each request on a port of its own with the next of these: whole answers, as they go over the wire.
    pub(in crate::plugin) fn server(
        answers: impl Fn(u16) -> Vec<Vec<u8>> + Send + 'static,
    ) -> (String, std::thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let asked = std::thread::spawn(move || {
            let mut heads = Vec::new();
            for answer in answers(port) {
                let (stream, _) = listener.accept().unwrap();
                let lines = BufReader::new(&stream).lines().map_while(Result::ok);
                heads.push(lines.take_while(|line| !line.is_empty()).collect::<Vec<_>>().join("\n"));
                (&stream).write_all(&answer).unwrap();
            }
            heads
        });
        (format!("http://127.0.0.1:{port}"), asked)
    }

    pub(in crate::plugin) fn answer(status: u16, headers: &str, body: &[u8]) -> Vec<u8> {
        let head = format!(
            "HTTP/1.1 {status} -\r\nConnection: close\r\nContent-Length: {}\r\n{headers}\r\n",
            body.len()
        );
        [head.as_bytes(), body].concat()
    }

    fn web() -> Web {
        Web::within(Duration::from_secs(20))
    }

    #[test]
    fn only_this_machine_is_asked_without_encryption() {
        let is_safe = |text: &str| text.parse::<Uri>().is_ok_and(|uri| is_safe(&uri));
        for safe in
            ["https://example.org/x", "http://127.0.0.1:5000/v2/", "http://localhost/", "http://[::1]:1/"]
        {
            assert!(is_safe(safe), "{safe}");
        }
        for unsafe_one in [
            "http://example.org/",
            "http://127.0.0.1@evil.org/",
            "http://localhost:80@evil.org/",
            "http://user:pass@localhost/",
            "http://localhost.evil.org/",
            "ftp://x",
        ] {
            assert!(!is_safe(unsafe_one), "{unsafe_one}");
        }
        assert_eq!(origin_of("[::1]:5000"), "http://[::1]:5000");
        assert_eq!(origin_of("ghcr.io"), "https://ghcr.io");
    }

    #[test]
    fn a_body_of_just_the_limit_is_taken_and_a_longer_one_is_told_with_its_address() {
        let body = vec![7; 3 << 20];
        let of_server = body.clone();
        let (url, asked) = server(move |_| vec![answer(200, "", &of_server), answer(200, "", &of_server)]);
        assert_eq!(web().get(&url, body.len() as u64).unwrap(), body);
        let error = web().get(&format!("{url}/index.json"), body.len() as u64 - 1).unwrap_err();
        assert!(matches!(error, PluginError::LongAnswer { .. }), "{error}");
        assert!(error.to_string().contains("/index.json\" has more than 3145727 bytes"), "{error}");
        asked.join().unwrap();
    }

    #[test]
    fn a_redirect_is_followed_to_where_is_safe_and_what_lets_in_stays_with_the_host() {
        let (url, asked) = server(|port| {
            vec![
                answer(302, "Location: /two\r\n", b""),
                answer(307, &format!("Location: http://localhost:{port}/three\r\n"), b""),
                answer(200, "", b"there"),
                answer(302, "Location: http://localhost:80@evil.invalid/\r\n", b""),
                answer(302, "Location: http://evil.invalid/\r\n", b""),
            ]
        });
        let request = WebRequest::get(format!("{url}/one")).header(AUTHORIZATION, "Basic eA==");
        let there = web().send(&request, 100).unwrap();
        assert_eq!(
            (there.body.as_slice(), there.origin),
            (&b"there"[..], url.replace("127.0.0.1", "localhost"))
        );
        for _ in 0..2 {
            let error = web().get(&url, 100).unwrap_err().to_string();
            assert!(error.contains("evil.invalid/\" is neither https nor http to this machine"), "{error}");
        }
        let heads = asked.join().unwrap();
        let signed: Vec<bool> =
            heads.iter().map(|head| head.to_lowercase().contains("authorization:")).collect();
        assert_eq!(signed, [true, true, false, false, false], "{heads:?}");
    }

    #[test]
    fn what_is_no_url_is_told_as_it_was_given() {
        let error = web().get("https://exa mple.org/", 1).unwrap_err().to_string();
        assert!(error.contains("\"https://exa mple.org/\" is not a URL"), "{error}");
    }
}
