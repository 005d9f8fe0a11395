//! What a program asks a proxy for: a tunnel, or one request of plain HTTP.

use super::head::{Fields, Framing, RequestHead};

/// A request to a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The name or address of the host.
    pub(super) host: String,
    pub(super) port: u16,
    /// What the host is to be sent; nothing where the program speaks to it itself.
    pub(super) plain: Option<Plain>,
}

/// A request of plain HTTP.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Plain {
    /// The head, as the host gets it.
    pub(super) head: Vec<u8>,
    pub(super) framing: Framing,
}

impl Request {
    /// Reads the head of a request, up to and with its empty line.
    pub(super) fn read(head: &[u8]) -> Option<Self> {
        let read = RequestHead::read(head)?;
        if read.method == "CONNECT" {
            let (host, port) = authority(&read.target)?;
            return Some(Self { host, port: port?, plain: None });
        }
        let target = read.target.as_str();
        let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("HTTP://"))?;
        let (named, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let (host, port) = authority(named)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let framing = read.framing()?;
        // The host is told the name that was judged, and the connection is for this request alone.
        let fields = read.fields.clone().without_connection().without(&["expect"]);
        let fields = fields.with("host", named).with("connection", "close");
        let fields = if has_body(&read.fields) { fields.framed(framing) } else { fields };
        let head = fields.head(&format!("{} {slash}{path} HTTP/1.1", read.method));
        Some(Self { host, port: port.unwrap_or(80), plain: Some(Plain { head, framing }) })
    }
}

fn has_body(fields: &Fields) -> bool {
    fields.has("content-length") || fields.has("transfer-encoding")
}

/// Splits a host from its port, if it has one.
fn authority(text: &str) -> Option<(String, Option<u16>)> {
    if text.is_empty() || text.contains(['@', '/', ' ']) {
        return None;
    }
    let after_bracket = text.rfind(']').map_or(0, |at| at + 1);
    match text.get(after_bracket..)?.rsplit_once(':') {
        Some((name, port)) => {
            let host = format!("{}{name}", text.get(..after_bracket)?);
            (!host.is_empty()).then_some(())?;
            Some((host, Some(port.parse().ok().filter(|port| *port > 0)?)))
        }
        None => Some((text.to_owned(), None)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(head: &str) -> Option<(String, u16, Option<String>)> {
        let Request { host, port, plain } = Request::read(head.as_bytes())?;
        Some((host, port, plain.map(|plain| String::from_utf8(plain.head).expect("text"))))
    }

    #[test]
    fn a_tunnel_names_a_host_and_a_port() {
        assert_eq!(read("CONNECT a.example:443 HTTP/1.1\r\n\r\n"), Some(("a.example".to_owned(), 443, None)));
        assert_eq!(read("CONNECT [::1]:22 HTTP/1.1\r\n\r\n"), Some(("[::1]".to_owned(), 22, None)));
        for bad in [
            "CONNECT a.example HTTP/1.1\r\n\r\n",
            "CONNECT u@a:1 HTTP/1.1\r\n\r\n",
            "CONNECT a:1 HTTP/2\r\n\r\n",
            "CONNECT a:1\r\n\r\n",
            "CONNECT :1 HTTP/1.1\r\n\r\n",
            "\r\n\r\n",
            "GET / HTTP/1.1\r\n\r\n",
            "GET ftp://a/ HTTP/1.1\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nX: y\nHost: evil\r\n\r\n",
            "GET http://a/ HTTP/1.1\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
            "GET http://u:p@a/ HTTP/1.1\r\n\r\n",
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_plain_request_is_passed_on_without_what_is_for_the_proxy() {
        let head = "GET http://a.example:8080/x?y=1 HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: secret\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n";
        let sent = "GET /x?y=1 HTTP/1.1\r\naccept: */*\r\nhost: a.example:8080\r\nconnection: close\r\n\r\n";
        assert_eq!(read(head), Some(("a.example".to_owned(), 8080, Some(sent.to_owned()))));
        let short = read("GET http://a.example HTTP/1.1\r\n\r\n");
        assert_eq!(short.map(|(_, port, _)| port), Some(80));
    }
}
