//! The allow-list: which hosts, and which of their ports.

use std::net::IpAddr;

use super::address::is_public;

/// The ports of a host that is listed without one.
const PORTS: [u16; 2] = [443, 80];
/// The longest name of a host, in bytes.
const MAX_NAME: usize = 253;

/// Which hosts can be reached. By default none.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EgressPolicy(Vec<Rule>);

/// One entry of the list.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Rule {
    host: Host,
    port: Option<u16>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Host {
    Any,
    Name(String),
    /// All names that end so, but for this one itself.
    Below(String),
    Address(IpAddr),
}

/// What a policy says of a host and a port.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EgressVerdict {
    /// It is not listed.
    Refused,
    /// It is listed by its name, which must not lead to what is not public.
    Name,
    /// It is an address that is listed itself.
    Address(IpAddr),
}

impl EgressPolicy {
    /// Reads a list: names (`api.example.org`), all below one (`*.example.org`), addresses, each with a port or
    /// without, which stands for 443 and 80; `*` stands for all names.
    ///
    /// # Errors
    /// Returns what is wrong with the first entry that is none of these, in words.
    pub fn parse<S: AsRef<str>>(entries: impl IntoIterator<Item = S>) -> Result<Self, String> {
        let rules = entries.into_iter().map(|entry| {
            let entry = entry.as_ref();
            rule_of(entry).ok_or_else(|| {
                format!("`{entry}` is no host: one is listed by its name or address, such as \"api.example.org\", \"*.example.org\" or \"10.0.0.5:8080\"")
            })
        });
        rules.collect::<Result<_, _>>().map(Self)
    }

    /// Says whether nothing is listed.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Judges what a command asks for: a name or an address, and a port.
    pub fn judge(&self, host: &str, port: u16) -> EgressVerdict {
        if let Ok(address) = bare(host).parse::<IpAddr>() {
            return if self.has_address(address, port) {
                EgressVerdict::Address(address)
            } else {
                EgressVerdict::Refused
            };
        }
        let Some(name) = name_of(host) else { return EgressVerdict::Refused };
        let is_listed = self.0.iter().filter(|rule| rule.has_port(port)).any(|rule| match &rule.host {
            Host::Any => true,
            Host::Name(listed) => *listed == name,
            Host::Below(end) => name.strip_suffix(end.as_str()).is_some_and(|rest| rest.ends_with('.')),
            Host::Address(_) => false,
        });
        if is_listed { EgressVerdict::Name } else { EgressVerdict::Refused }
    }

    /// Says whether a name that is listed may lead to an address: to a public one, or one that is listed itself.
    pub fn may_lead_to(&self, address: IpAddr, port: u16) -> bool {
        is_public(address) || self.has_address(address, port)
    }

    /// Says whether an address is listed itself.
    pub(super) fn has_address(&self, address: IpAddr, port: u16) -> bool {
        let wanted = address.to_canonical();
        self.0
            .iter()
            .any(|rule| rule.has_port(port) && matches!(rule.host, Host::Address(listed) if listed == wanted))
    }
}

impl Rule {
    fn has_port(&self, port: u16) -> bool {
        self.port.map_or_else(|| PORTS.contains(&port), |listed| listed == port)
    }
}

fn rule_of(entry: &str) -> Option<Rule> {
    if let Ok(address) = bare(entry).parse::<IpAddr>() {
        return Some(Rule { host: Host::Address(address.to_canonical()), port: None });
    }
    let (host, port) = match entry.rsplit_once(':') {
        Some((host, port)) => (host, Some(port.parse().ok().filter(|port| *port > 0)?)),
        None => (entry, None),
    };
    let host = match (host, host.strip_prefix("*.")) {
        ("*", _) => Host::Any,
        (_, Some(end)) => Host::Below(name_of(end)?),
        (host, None) => match bare(host).parse::<IpAddr>() {
            Ok(address) => Host::Address(address.to_canonical()),
            Err(_) => Host::Name(name_of(host)?),
        },
    };
    Some(Rule { host, port })
}

/// Returns a host as it is connected to: a name in small letters, or an address without brackets.
pub(super) fn host_of(text: &str) -> Option<String> {
    match bare(text).parse::<IpAddr>() {
        Ok(address) => Some(address.to_string()),
        Err(_) => name_of(text),
    }
}

/// Returns an address without the brackets that one of version 6 has.
fn bare(host: &str) -> &str {
    host.strip_prefix('[').and_then(|host| host.strip_suffix(']')).unwrap_or(host)
}

/// Returns a name as it is compared: in small letters, without the dot at its end. Nothing for what is no name, or
/// would be read as an address by some.
fn name_of(host: &str) -> Option<String> {
    let name = host.strip_suffix('.').unwrap_or(host);
    let is_label = |label: &str| {
        let allowed = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
        !label.is_empty() && label.len() <= 63 && label.bytes().all(allowed) && !label.starts_with('-')
    };
    let last = name.rsplit('.').next()?;
    let is_number =
        last.bytes().all(|byte| byte.is_ascii_digit()) || last.to_ascii_lowercase().starts_with("0x");
    let is_name = name.len() <= MAX_NAME && name.split('.').all(is_label) && !is_number;
    is_name.then(|| name.to_ascii_lowercase())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn policy(entries: &[&str]) -> EgressPolicy {
        EgressPolicy::parse(entries).expect("hosts")
    }

    #[test]
    fn a_host_is_reached_only_where_it_is_listed() {
        let listed = policy(&["api.example.org", "*.example.com:8443", "10.0.0.5:8080", "[2606:4700::1]"]);
        let named = [("api.example.org", 443), ("API.Example.Org.", 80), ("a.b.example.com", 8443)];
        assert!(named.iter().all(|(host, port)| listed.judge(host, *port) == EgressVerdict::Name));
        let refused = [
            ("api.example.org", 22),
            ("example.org", 443),
            ("x.api.example.org", 443),
            ("example.com", 8443),
            ("notexample.com", 8443),
            ("a.example.com", 443),
            ("10.0.0.5", 443),
            ("10.0.0.6", 8080),
            ("api.example.org@evil.org", 443),
            ("1.1.1.1", 443),
            ("", 443),
            ("2130706433", 443),
            ("0x7f000001", 443),
            ("0X7f000001", 443),
            ("127.1", 443),
            ("api.example.org\0.evil", 443),
        ];
        assert_eq!(
            refused.into_iter().find(|(host, port)| listed.judge(host, *port) != EgressVerdict::Refused),
            None
        );
        assert!(matches!(listed.judge("10.0.0.5", 8080), EgressVerdict::Address(_)));
        assert!(matches!(listed.judge("[2606:4700::1]", 443), EgressVerdict::Address(_)));
        assert!(
            matches!(listed.judge("::ffff:10.0.0.5", 8080), EgressVerdict::Address(_)),
            "the same address"
        );
    }

    #[test]
    fn a_name_leads_inside_only_where_the_address_is_listed() {
        let listed = policy(&["*", "127.0.0.1:8080"]);
        let loopback = "127.0.0.1".parse().expect("an address");
        assert!(listed.may_lead_to(loopback, 8080) && !listed.may_lead_to(loopback, 443));
        assert!(listed.may_lead_to("1.1.1.1".parse().expect("an address"), 443));
        assert_eq!(listed.judge("169.254.169.254", 80), EgressVerdict::Refused, "the star stands for names");
    }

    #[test]
    fn what_is_no_host_is_refused_in_words() {
        for bad in [
            "http://x",
            "https://api.example.org/",
            "",
            "a b",
            "*",
            "*.",
            "x:0",
            "x:port",
            "x:70000",
            "a..b",
            "*a.org",
            "a.*.org",
        ] {
            assert_eq!(EgressPolicy::parse([bad]).is_err(), bad != "*", "{bad}");
        }
        let told = EgressPolicy::parse(["http://x"]).expect_err("a URL");
        assert!(told.starts_with("`http://x` is no host"), "{told}");
    }
}
