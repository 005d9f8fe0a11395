//! What a grant of `network.outbound` covers: a host and a port.

/// The port of a target that names none: that of `https`.
pub(crate) const DEFAULT_PORT: u16 = 443;

/// A host, or every host below a domain, with a port.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct HostGrant<'a> {
    host: &'a str,
    port: u16,
}

impl<'a> HostGrant<'a> {
    /// Reads a target such as `api.example.com`, `*.example.com:8443` or
    /// `[::1]:8080`; nothing for what is none.
    pub(crate) fn parse(target: &'a str) -> Option<Self> {
        let end = if target.starts_with('[') {
            target.find(']')? + 1
        } else {
            target.find(':').unwrap_or(target.len())
        };
        let (host, rest) = target.split_at_checked(end)?;
        let port = match rest.strip_prefix(':') {
            None if rest.is_empty() => DEFAULT_PORT,
            None => return None,
            Some(digits) => digits.parse().ok().filter(|port| *port > 0)?,
        };
        let name = host.strip_prefix("*.").unwrap_or(host);
        let is_plain = match name.strip_prefix('[').and_then(|inner| inner.strip_suffix(']')) {
            Some(inner) => {
                !inner.is_empty() && inner.chars().all(|c| c.is_ascii_hexdigit() || matches!(c, ':' | '.'))
            }
            None => {
                !name.is_empty() && name.chars().all(|c| c.is_ascii_alphanumeric() || matches!(c, '.' | '-'))
            }
        };
        is_plain.then_some(Self { host, port })
    }

    /// Writes it with its port.
    pub(crate) fn with_port(&self) -> String {
        format!("{}:{}", self.host, self.port)
    }

    #[cfg(feature = "wasm")]
    fn covers(&self, host: &str, port: u16) -> bool {
        self.port == port
            && match self.host.strip_prefix("*.") {
                Some(domain) => {
                    let below = host.len().checked_sub(domain.len() + 1).and_then(|dot| host.get(dot..));
                    let below = below.and_then(|below| below.strip_prefix('.'));
                    below.is_some_and(|below| below.eq_ignore_ascii_case(domain))
                }
                None => self.host.eq_ignore_ascii_case(host),
            }
    }
}

/// Says whether one of some targets covers a port of a host, which is spelled
/// as in an address: `[::1]` has its brackets.
#[cfg(feature = "wasm")]
pub(crate) fn covers_host(granted: &[String], host: &str, port: u16) -> bool {
    granted.iter().filter_map(|target| HostGrant::parse(target)).any(|grant| grant.covers(host, port))
}

#[cfg(all(test, feature = "wasm"))]
mod tests {
    use super::*;

    fn covers(target: &str, host: &str, port: u16) -> bool {
        covers_host(&[target.to_owned()], host, port)
    }

    #[test]
    fn a_host_is_itself_or_below_a_domain() {
        assert!(covers("api.example.com", "API.example.com", 443));
        assert!(covers("*.example.com", "api.example.com", 443));
        assert!(covers("*.example.com", "a.b.example.com", 443));
        assert!(!covers("*.example.com", "example.com", 443));
        assert!(!covers("*.example.com", "badexample.com", 443));
        assert!(!covers("example.com", "example.com.evil.org", 443) && !covers("*.é", "x", 443));
    }

    #[test]
    fn a_port_is_the_one_that_is_named_or_that_of_https() {
        assert!(!covers("api.example.com", "api.example.com", 80));
        assert!(!covers("api.example.com", "api.example.com", 8443));
        assert!(covers("api.example.com:8443", "api.example.com", 8443));
        assert!(!covers("api.example.com:8443", "api.example.com", 443));
        assert!(covers("*.example.com:22", "a.example.com", 22));
        assert!(covers("127.0.0.1:8080", "127.0.0.1", 8080) && !covers("127.0.0.1", "127.0.0.1", 8080));
        assert!(covers("[::1]:8080", "[::1]", 8080) && covers("[::1]", "[::1]", 443));
    }

    #[test]
    fn what_is_no_host_covers_nothing() {
        for target in
            ["", "*.", "a:", "a:0", "a:65536", "a:1:2", "::1", "[::1", "[]", "a b", "https://a", "[::1]x"]
        {
            assert_eq!(HostGrant::parse(target), None, "{target}");
        }
    }
}
