//! What a program asks a proxy for: a tunnel, or one request of plain HTTP.

/// A request to a proxy.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    /// The name or address of the host.
    pub(super) host: String,
    pub(super) port: u16,
    /// What the host is to be sent; nothing where the program speaks to it itself.
    pub(super) head: Option<Vec<u8>>,
}

impl Request {
    /// Reads the head of a request, up to and with its empty line.
    pub(super) fn read(head: &str) -> Option<Self> {
        let (line, fields) = head.split_once("\r\n")?;
        let mut words = line.split(' ');
        let (method, target, version) = (words.next()?, words.next()?, words.next()?);
        if words.next().is_some() || !matches!(version, "HTTP/1.0" | "HTTP/1.1") {
            return None;
        }
        if method == "CONNECT" {
            let (host, port) = authority(target)?;
            return Some(Self { host, port: port?, head: None });
        }
        let rest = target.strip_prefix("http://").or_else(|| target.strip_prefix("HTTP://"))?;
        let at = rest.find(['/', '?', '#']).unwrap_or(rest.len());
        let (named, path) = rest.split_at_checked(at)?;
        let (host, port) = authority(named)?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut sent = format!("{method} {slash}{path} {version}\r\n");
        let is_for_proxy = |name: &str| {
            let name = name.trim().to_ascii_lowercase();
            name.starts_with("proxy-") || name == "connection" || name == "keep-alive" || name == "host"
        };
        let kept = fields.split("\r\n").filter(|field| !field.is_empty());
        for field in kept.filter(|field| !field.split(':').next().is_some_and(is_for_proxy)) {
            sent.push_str(field);
            sent.push_str("\r\n");
        }
        // The host is told the name that was judged, and the connection is for this request alone.
        sent.push_str(&format!("Host: {named}\r\nConnection: close\r\n\r\n"));
        Some(Self { host, port: port.unwrap_or(80), head: Some(sent.into_bytes()) })
    }
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
        let Request { host, port, head } = Request::read(head)?;
        Some((host, port, head.map(|head| String::from_utf8(head).expect("text"))))
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
        ] {
            assert_eq!(read(bad), None, "{bad:?}");
        }
    }

    #[test]
    fn a_plain_request_is_passed_on_without_what_is_for_the_proxy() {
        let head = "GET http://a.example:8080/x?y=1 HTTP/1.1\r\nHost: evil.example\r\nProxy-Authorization: secret\r\nAccept: */*\r\nConnection: keep-alive\r\n\r\n";
        let sent = "GET /x?y=1 HTTP/1.1\r\nAccept: */*\r\nHost: a.example:8080\r\nConnection: close\r\n\r\n";
        assert_eq!(read(head), Some(("a.example".to_owned(), 8080, Some(sent.to_owned()))));
        let short = read("GET http://a.example HTTP/1.1\r\n\r\n");
        assert_eq!(short.map(|(_, port, _)| port), Some(80));
    }
}
