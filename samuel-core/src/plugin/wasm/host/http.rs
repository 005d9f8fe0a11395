//! `http`: requests to hosts that were granted.
//!
//! Redirects are followed here, one by one, since each target needs its own
//! grant, for the host and the port. No proxy is used and no environment read.

use std::{
    net::IpAddr,
    sync::Arc,
    time::{Duration, Instant},
};

use ureq::{
    Agent,
    http::{self, HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header},
};
use url::{Host, Url};
use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::{Guest, HostError, on_a_thread, waiting};
use crate::plugin::{
    Capability,
    host_grant::{DEFAULT_PORT, covers_host},
};

/// All header fields of a request, in bytes.
const MAX_HEADER_BYTES: usize = 64 * 1024;
/// A body, in bytes.
const MAX_BODY_BYTES: usize = 4 * 1024 * 1024;
/// How many redirects are followed.
const MAX_REDIRECTS: usize = 5;
/// How long a request may take where it does not say.
const TIMEOUT: Duration = Duration::from_secs(30);

/// The contract's `request`.
#[derive(Clone, Debug, ComponentType, Lift, Lower)]
#[component(record)]
struct Request {
    method: String,
    url: String,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
    #[component(name = "timeout-ms")]
    timeout_ms: Option<u64>,
}

/// The contract's `response`.
#[derive(Clone, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(record)]
struct Response {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    waiting(interface, "send", |guest, (request,): (Request,)| {
        let loaded = Arc::clone(&guest.loaded);
        let asked = request.timeout_ms.map_or(TIMEOUT, Duration::from_millis);
        let deadline = Instant::now() + asked.min(guest.time_left());
        on_a_thread(move || {
            let granted = loaded.setup.granted.targets(Capability::NetworkOutbound);
            Exchange::new(request, granted, deadline)?.follow()
        })
    })
}

/// A request with its redirects.
struct Exchange<'a> {
    granted: &'a [String],
    deadline: Instant,
    url: Url,
    method: Method,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl<'a> Exchange<'a> {
    fn new(request: Request, granted: &'a [String], deadline: Instant) -> Result<Self, HostError> {
        let url = Url::parse(&request.url)
            .map_err(|error| HostError::invalid(format!("the url `{}`: {error}", request.url)))?;
        check_target(&url, granted)?;
        HostError::at_most("body", request.body.len(), MAX_BODY_BYTES)?;
        let bytes = request.headers.iter().map(|(name, value)| name.len() + value.len());
        HostError::at_most("headers", bytes.sum(), MAX_HEADER_BYTES)?;
        let method = Method::from_bytes(request.method.as_bytes())
            .map_err(|_| HostError::invalid(format!("the method `{}`", request.method)))?;
        let headers = headers_of(&request.headers)?;
        Ok(Self { granted, deadline, url, method, headers, body: request.body })
    }

    fn follow(mut self) -> Result<Response, HostError> {
        for _ in 0..=MAX_REDIRECTS {
            let mut response = self.send()?;
            let Some(location) = redirect(&response) else { return read(&mut response) };
            self.turn_to(&location, response.status())?;
        }
        Err(HostError::Other(format!("more than {MAX_REDIRECTS} redirects")))
    }

    fn send(&self) -> Result<http::Response<ureq::Body>, HostError> {
        let left = self.deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return Err(HostError::TimedOut);
        }
        let agent: Agent = Agent::config_builder()
            .http_status_as_error(false)
            .max_redirects(0)
            .max_redirects_will_error(false)
            .proxy(None)
            .timeout_global(Some(left))
            .max_idle_connections(0)
            .user_agent(concat!("samuel/", env!("CARGO_PKG_VERSION")))
            .build()
            .into();
        let mut request = http::Request::builder().method(self.method.clone()).uri(self.url.as_str());
        for (name, value) in &self.headers {
            request = request.header(name, value);
        }
        let invalid = |error: http::Error| HostError::invalid(error.to_string());
        let sent = if self.body.is_empty() {
            agent.run(request.body(()).map_err(invalid)?)
        } else {
            agent.run(request.body(self.body.clone()).map_err(invalid)?)
        };
        sent.map_err(|error| failed(&error))
    }

    /// Takes up a redirect as browsers do.
    fn turn_to(&mut self, location: &str, status: StatusCode) -> Result<(), HostError> {
        let target = self
            .url
            .join(location)
            .map_err(|error| HostError::invalid(format!("the redirect to `{location}`: {error}")))?;
        check_target(&target, self.granted)?;
        if target.origin() != self.url.origin() {
            for secret in [header::AUTHORIZATION, header::COOKIE, header::PROXY_AUTHORIZATION] {
                self.headers.remove(secret);
            }
        }
        let keeps_method = matches!(status, StatusCode::TEMPORARY_REDIRECT | StatusCode::PERMANENT_REDIRECT);
        if !keeps_method && self.method != Method::HEAD {
            self.method = Method::GET;
            self.body.clear();
            self.headers.remove(header::CONTENT_TYPE);
        }
        self.url = target;
        Ok(())
    }
}

/// Checks that an address is safe to ask and was granted.
fn check_target(url: &Url, granted: &[String]) -> Result<(), HostError> {
    let Some(host) = url.host_str().filter(|host| !host.is_empty()) else {
        return Err(HostError::invalid(format!("the url `{url}` has no host")));
    };
    let port = url.port_or_known_default().unwrap_or_default();
    if !covers_host(granted, host, port) {
        let target = if port == DEFAULT_PORT { host.to_owned() } else { format!("{host}:{port}") };
        return Err(HostError::denied(Capability::NetworkOutbound, target));
    }
    match url.scheme() {
        "https" => {}
        "http" if is_this_machine(url) => {}
        _ => return Err(HostError::invalid("only https, or http to this machine")),
    }
    if !url.username().is_empty() || url.password().is_some() {
        return Err(HostError::invalid("credentials belong in a header, not in the url"));
    }
    Ok(())
}

fn is_this_machine(url: &Url) -> bool {
    match url.host() {
        Some(Host::Domain(name)) => name == "localhost",
        Some(Host::Ipv4(address)) => IpAddr::V4(address).is_loopback(),
        Some(Host::Ipv6(address)) => IpAddr::V6(address).is_loopback(),
        None => false,
    }
}

fn headers_of(fields: &[(String, String)]) -> Result<HeaderMap, HostError> {
    let mut headers = HeaderMap::new();
    for (name, value) in fields {
        let invalid = || HostError::invalid(format!("the header field `{name}`"));
        let parsed = HeaderName::from_bytes(name.as_bytes()).map_err(|_| invalid())?;
        // They frame the request, which is not the component's to do.
        if [header::HOST, header::CONTENT_LENGTH, header::TRANSFER_ENCODING, header::CONNECTION]
            .contains(&parsed)
        {
            return Err(invalid());
        }
        headers.append(parsed, HeaderValue::from_str(value).map_err(|_| invalid())?);
    }
    Ok(headers)
}

/// Returns where a response sends us, if it does.
fn redirect(response: &http::Response<ureq::Body>) -> Option<String> {
    let is_redirect = matches!(response.status().as_u16(), 301 | 302 | 303 | 307 | 308);
    let location = response.headers().get(header::LOCATION).filter(|_| is_redirect)?;
    location.to_str().ok().map(str::to_owned)
}

fn read(response: &mut http::Response<ureq::Body>) -> Result<Response, HostError> {
    let status = response.status().as_u16();
    let headers = response.headers().iter().map(|(name, value)| {
        (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned())
    });
    let headers = headers.collect();
    let body = response.body_mut().with_config().limit(MAX_BODY_BYTES as u64).read_to_vec();
    Ok(Response { status, headers, body: body.map_err(|error| failed(&error))? })
}

fn failed(error: &ureq::Error) -> HostError {
    match error {
        ureq::Error::Timeout(_) => HostError::TimedOut,
        ureq::Error::HostNotFound => HostError::NotFound("the host".to_owned()),
        ureq::Error::BodyExceedsLimit(_) => match HostError::at_most("body", usize::MAX, MAX_BODY_BYTES) {
            Err(too_large) => too_large,
            Ok(()) => HostError::Other(error.to_string()),
        },
        error => HostError::Other(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "a failed set-up fails the test")]

    use std::{
        io::{BufRead, BufReader, Read, Write},
        net::TcpListener,
        thread,
    };

    use super::*;

    fn request(url: &str) -> Request {
        let headers = vec![("authorization".to_owned(), "secret".to_owned())];
        Request { method: "GET".into(), url: url.into(), headers, body: vec![], timeout_ms: None }
    }

    fn send(request: Request, granted: &[&str], time: Duration) -> Result<Response, HostError> {
        let granted: Vec<String> = granted.iter().map(|host| (*host).to_owned()).collect();
        Exchange::new(request, &granted, Instant::now() + time)?.follow()
    }

    /// Answers each connection with the next of some responses, and returns
    /// the requests' heads.
    fn serve(responses: Vec<String>) -> (u16, thread::JoinHandle<Vec<String>>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let server = thread::spawn(move || {
            let mut heads = Vec::new();
            for response in responses {
                let (stream, _) = listener.accept().unwrap();
                let mut reader = BufReader::new(stream);
                let mut head = String::new();
                while !head.ends_with("\r\n\r\n") {
                    reader.read_line(&mut head).unwrap();
                }
                let length = head.to_ascii_lowercase();
                let length = length.split("content-length: ").nth(1).and_then(|rest| rest.lines().next());
                let mut body = vec![0; length.map_or(0, |length| length.parse().unwrap())];
                reader.read_exact(&mut body).unwrap();
                head.push_str(&String::from_utf8(body).unwrap());
                heads.push(head);
                reader.into_inner().write_all(response.as_bytes()).unwrap();
            }
            heads
        });
        (port, server)
    }

    const LONG: Duration = Duration::from_secs(20);

    #[test]
    fn a_request_reaches_a_granted_host_and_brings_its_answer() {
        let answer =
            "HTTP/1.1 404 Not Found\r\nX-Kind: Test\r\nContent-Length: 4\r\nConnection: close\r\n\r\nnone";
        let (port, server) = serve(vec![answer.into()]);
        let asked = Request { method: "POST".into(), body: b"hi".to_vec(), ..request("") };
        let asked = Request { url: format!("http://127.0.0.1:{port}/a?b"), ..asked };
        let granted = format!("127.0.0.1:{port}");
        let response = send(asked, &[&granted], LONG).unwrap();
        assert_eq!((response.status, &*response.body), (404, &b"none"[..]));
        assert!(response.headers.contains(&("x-kind".to_owned(), "Test".to_owned())));
        let heads = server.join().unwrap();
        assert!(heads.iter().any(|head| head.starts_with("POST /a?b HTTP/1.1\r\n") && head.ends_with("hi")));
    }

    #[test]
    fn a_redirect_needs_the_grant_of_its_target_and_loses_secrets() {
        let (other, landed) =
            serve(vec!["HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok".into()]);
        let turn = |to: &str| {
            format!("HTTP/1.1 302 Found\r\nLocation: {to}\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        };
        let away = turn("http://localhost:1/");
        let on = turn(&format!("http://127.0.0.1:{other}/next"));
        let (port, server) = serve(vec![away, on.clone(), on]);
        let url = format!("http://127.0.0.1:{port}/");
        let (here, there) = (format!("127.0.0.1:{port}"), format!("127.0.0.1:{other}"));
        let denied = HostError::denied(Capability::NetworkOutbound, "localhost:1");
        assert_eq!(send(request(&url), &[&here, &there], LONG), Err(denied));
        let denied = HostError::denied(Capability::NetworkOutbound, &*there);
        assert_eq!(send(request(&url), &[&here], LONG), Err(denied));
        let answer = send(request(&url), &[&here, &there], LONG);
        assert_eq!(answer.map(|answer| answer.body), Ok(b"ok".to_vec()));
        assert!(server.join().unwrap().iter().all(|head| head.contains("secret")));
        assert!(landed.join().unwrap().iter().all(|head| !head.contains("secret")));
    }

    #[test]
    fn redirects_end() {
        let turn = "HTTP/1.1 307 Temporary Redirect\r\nLocation: /again\r\nContent-Length: 0\r\nConnection: close\r\n\r\n";
        let (port, server) = serve(vec![turn.into(); MAX_REDIRECTS + 1]);
        let granted = format!("localhost:{port}");
        let ended = send(request(&format!("http://localhost:{port}/")), &[&granted], LONG);
        assert!(matches!(ended, Err(HostError::Other(_))), "{ended:?}");
        server.join().unwrap();
    }

    #[test]
    fn what_is_not_granted_or_not_safe_is_not_asked() {
        let refused = |url: &str| {
            send(request(url), &["example.com", "example.com:80", "127.0.0.1:21", "*.test"], LONG)
        };
        assert!(matches!(refused("https://evil.org/"), Err(HostError::Denied(_))));
        assert!(matches!(refused("https://example.com.evil.org/"), Err(HostError::Denied(_))));
        assert!(matches!(refused("https://example.com@evil.org/"), Err(HostError::Denied(_))));
        assert!(matches!(refused("https://user:pw@example.com/"), Err(HostError::Invalid(_))));
        assert!(matches!(refused("http://example.com/"), Err(HostError::Invalid(_))));
        assert!(matches!(refused("https://example.com:8443/"), Err(HostError::Denied(_))));
        assert!(matches!(refused("http://127.0.0.1/"), Err(HostError::Denied(_))));
        assert!(matches!(refused("file:///etc/passwd"), Err(HostError::Invalid(_))));
        assert!(matches!(refused("ftp://127.0.0.1/"), Err(HostError::Invalid(_))));
        assert!(matches!(refused("nonsense"), Err(HostError::Invalid(_))));
    }

    #[test]
    fn a_body_that_is_too_long_and_a_server_that_is_silent_are_given_up() {
        let endless =
            format!("HTTP/1.1 200 OK\r\nConnection: close\r\n\r\n{}", "x".repeat(MAX_BODY_BYTES + 1));
        let (port, server) = serve(vec![endless]);
        let here = format!("127.0.0.1:{port}");
        let long = send(request(&format!("http://{here}/")), &[&here], LONG);
        assert!(matches!(long, Err(HostError::TooLarge(_))), "{long:?}");
        drop(server);

        let silent = TcpListener::bind("127.0.0.1:0").unwrap();
        let there = silent.local_addr().unwrap().to_string();
        let waited = send(request(&format!("http://{there}/")), &[&there], Duration::from_millis(100));
        assert_eq!(waited, Err(HostError::TimedOut));
    }
}
