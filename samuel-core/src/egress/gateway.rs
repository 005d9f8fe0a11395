//! A gateway: a host that a sandbox reaches without the key that it takes.
//!
//! What is inside is given an address on its own loopback and a key that is none. Samuel takes requests there, puts
//! the real key in the place of whatever came as one, and speaks TLS to the host. So the key can be used for as long
//! as the call lasts, and cannot be carried off; nor does another key, such as one of somebody else's account at the
//! same host, carry anything out. Requests are judged here; [`forward`](super::forward) passes them on.

use std::fmt;

use tokio_rustls::TlsConnector;

use super::{head::RequestHead, policy, secret::Secret, tls};

/// What the environment inside has in the place of a key.
pub const PLACEHOLDER_KEY: &str = "samuel-keeps-the-key-outside";
/// The shortest text that is taken for a key, in bytes: a shorter one would be found in what is none.
const MIN_KEY: usize = 8;
/// The longest, in bytes.
const MAX_KEY: usize = 8 << 10;
/// The port of hosts that are named without one.
const HTTPS: u16 = 443;
/// Fields by which hosts take keys, or know who was there before: none is passed on but that of the gateway.
pub(super) const OF_KEYS: [&str; 7] = [
    "authorization",
    "x-api-key",
    "api-key",
    "x-goog-api-key",
    "cookie",
    "x-amz-security-token",
    "x-goog-user-project",
];
/// Parameters of addresses by which they do.
const PARAMETERS_OF_KEYS: [&str; 8] =
    ["key", "api_key", "api-key", "apikey", "access_token", "oauth_token", "bearer_token", "token"];
/// Fields that are Samuel's to say.
const OWN: [&str; 12] = [
    "host",
    "connection",
    "content-length",
    "transfer-encoding",
    "upgrade",
    "te",
    "trailer",
    "keep-alive",
    "expect",
    "accept-encoding",
    "cookie",
    "proxy-authorization",
];

/// What a gateway is made of.
#[derive(Clone, Default)]
pub struct GatewayParts {
    /// Its name in samuel.toml.
    pub name: String,
    /// The address of the host: `https://`, a name or an address, a port where it is not 443, and a path below which
    /// all requests stay, where they do.
    pub upstream: String,
    /// The field of requests that takes the key.
    pub header: String,
    /// The word before the key in that field, such as `Bearer`; may be empty.
    pub scheme: String,
    /// The key.
    pub key: String,
    /// The variables in which what is inside looks for the key.
    pub key_env: Vec<String>,
    /// The variable in which it looks for the address.
    pub base_env: String,
    /// Other variables with keys for the host, which what is inside has not.
    pub other_keys: Vec<String>,
    /// Certificates in PEM of authorities that may vouch for the host, beside those of Mozilla's list.
    pub authority: Option<Vec<u8>>,
}

/// A host that a sandbox reaches without its key.
#[derive(Clone)]
pub struct Gateway {
    name: String,
    pub(super) host: String,
    pub(super) port: u16,
    /// The path below which requests stay, without a slash at its end.
    base: String,
    header: String,
    scheme: String,
    pub(super) key: Secret,
    key_env: Vec<String>,
    other_keys: Vec<String>,
    base_env: String,
    pub(super) tls: TlsConnector,
}

/// Why a request is not passed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Forbidden {
    Method,
    Upgrade,
    Target,
    Elsewhere,
    OwnKey,
}

impl Gateway {
    /// Makes one of its parts.
    ///
    /// # Errors
    /// Returns in words what is wrong with them. The key is in no word of it.
    pub fn new(parts: GatewayParts) -> Result<Self, String> {
        let GatewayParts { name, upstream, header, scheme, key, key_env, other_keys, base_env, authority } =
            parts;
        let (host, port, base) = upstream_of(&upstream)?;
        let header = header.to_ascii_lowercase();
        if !is_token(&header) || OWN.contains(&header.as_str()) {
            return Err(format!("`{header}` is no field of a request that can take a key"));
        }
        if !(scheme.is_empty() || is_token(&scheme)) {
            return Err(format!("`{scheme}` is no word that can stand before a key, such as Bearer"));
        }
        let is_plain = key.bytes().all(|byte| byte.is_ascii_graphic());
        if !is_plain || !(MIN_KEY..=MAX_KEY).contains(&key.len()) {
            return Err(format!(
                "what {} holds is no key: one has {MIN_KEY} to {MAX_KEY} letters, digits and signs, and no space",
                key_env.first().map_or("the variable", String::as_str)
            ));
        }
        if let Some(bad) = key_env.iter().chain([&base_env]).find(|name| !is_variable(name)) {
            return Err(format!("`{bad}` is no name of a variable of the agent's own"));
        }
        let tls = tls::connector(authority.as_deref())?;
        let key = Secret::new(&key);
        Ok(Self { name, host, port, base, header, scheme, key, key_env, other_keys, base_env, tls })
    }

    /// Returns its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Returns the host and port that it leads to.
    pub fn host(&self) -> String {
        match (self.host.contains(':'), self.port) {
            (false, HTTPS) => self.host.clone(),
            (false, port) => format!("{}:{port}", self.host),
            (true, HTTPS) => format!("[{}]", self.host),
            (true, port) => format!("[{}]:{port}", self.host),
        }
    }

    /// Returns the address by which a command finds it on a port of its loopback.
    pub fn base_url(&self, port: u16) -> String {
        format!("http://127.0.0.1:{port}{}", self.base)
    }

    /// Returns the variables that a command has of it on a port: where it is, and keys that are none.
    pub fn variables(&self, port: u16) -> Vec<(String, String)> {
        let keys = self.key_env.iter().map(|name| (name.clone(), PLACEHOLDER_KEY.to_owned()));
        keys.chain([(self.base_env.clone(), self.base_url(port))]).collect()
    }

    /// Returns the names of all variables that are about the host: with keys, and with its address behind the first.
    pub fn names(&self) -> Vec<&str> {
        let keys = self.key_env.iter().chain([&self.base_env]).chain(&self.other_keys);
        keys.map(String::as_str).collect()
    }

    /// Returns the variable in which what is inside looks for the address.
    pub fn base_env(&self) -> &str {
        &self.base_env
    }

    /// Returns the field of requests that takes the key.
    pub fn header(&self) -> &str {
        &self.header
    }

    /// Says whether what is inside looks for the key in a variable.
    pub fn is_key(&self, name: &str) -> bool {
        self.key_env.iter().any(|known| known == name)
    }

    /// Says whether a variable is not for what is inside: it is about the host, or has its key in it.
    pub fn hides(&self, name: &str, value: &str) -> bool {
        self.names().contains(&name) || value.contains(self.key.expose())
    }

    /// Returns the field with the key.
    pub(super) fn field(&self) -> (&str, String) {
        let space = if self.scheme.is_empty() { "" } else { " " };
        (&self.header, format!("{}{space}{}", self.scheme, self.key.expose()))
    }

    /// Judges a request: a plain one to a place below the base, which brings no key of its own in its address.
    pub(super) fn judge(&self, request: &RequestHead) -> Result<(), Forbidden> {
        // The second of these answers with what it was sent.
        if ["CONNECT", "TRACE", "TRACK"].iter().any(|method| request.method.eq_ignore_ascii_case(method)) {
            return Err(Forbidden::Method);
        }
        if request.fields.has("upgrade") {
            return Err(Forbidden::Upgrade);
        }
        let target = request.target.as_str();
        let (path, query) = target.split_once('?').unwrap_or((target, ""));
        if !path.starts_with('/')
            || target.contains(['#', '\\'])
            || !target.bytes().all(|byte| byte.is_ascii_graphic())
        {
            return Err(Forbidden::Target);
        }
        let is_below =
            path.strip_prefix(&self.base).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'));
        let leads_up = |part: &str| {
            let plain = part.to_ascii_lowercase().replace("%2e", ".");
            // One that is written twice over, or hides a slash, is read by some as what it hides.
            matches!(plain.as_str(), "." | "..")
                || ["%2f", "%5c", "%25"].iter().any(|hidden| plain.contains(hidden))
        };
        if !is_below || path.starts_with("//") || (!self.base.is_empty() && path.split('/').any(leads_up)) {
            return Err(Forbidden::Elsewhere);
        }
        let is_key = |pair: &str| {
            let name = pair.split('=').next().unwrap_or_default();
            let plain = percent_decoded(name).to_ascii_lowercase();
            PARAMETERS_OF_KEYS.contains(&plain.as_str()) && !pair.ends_with(PLACEHOLDER_KEY)
        };
        if query.split(['&', ';']).any(is_key) {
            return Err(Forbidden::OwnKey);
        }
        Ok(())
    }

    /// Returns the target of a request as the host is to see it: without the placeholder of a key.
    pub(super) fn target(&self, request: &RequestHead) -> String {
        let Some((path, query)) = request.target.split_once('?') else { return request.target.clone() };
        let kept: Vec<&str> = query.split('&').filter(|pair| !pair.ends_with(PLACEHOLDER_KEY)).collect();
        if kept.is_empty() { path.to_owned() } else { format!("{path}?{}", kept.join("&")) }
    }
}

/// Shows neither the key nor anything of it.
impl fmt::Debug for Gateway {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Gateway")
            .field("name", &self.name)
            .field("host", &self.host())
            .finish_non_exhaustive()
    }
}

/// Shows neither the key nor anything of it.
impl fmt::Debug for GatewayParts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut shown = f.debug_struct("GatewayParts");
        shown.field("name", &self.name).field("upstream", &self.upstream).finish_non_exhaustive()
    }
}

impl Forbidden {
    /// Returns the status that it is answered with.
    pub(super) fn status(self) -> &'static str {
        match self {
            Self::Method => "405 Method Not Allowed",
            // Clients take it as a sign to go on without.
            Self::Upgrade => "426 Upgrade Required",
            Self::Target => "400 Bad Request",
            Self::Elsewhere | Self::OwnKey => "403 Forbidden",
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::Method => "a gateway passes on no CONNECT and no TRACE",
            Self::Upgrade => "a gateway passes on requests and answers alone, and no other protocol",
            Self::Target => "what is asked for is no path of the host",
            Self::Elsewhere => "what is asked for is not below the path of upstream",
            Self::OwnKey => "the request brings a key of its own in its address",
        }
    }
}

/// Splits an address into host, port and path.
fn upstream_of(text: &str) -> Result<(String, u16, String), String> {
    let wrong = || {
        format!(
            "`{text}` is no upstream: one is an address such as \"https://api.example.org\" or \"https://10.0.0.5:8443/v1\""
        )
    };
    if let Some(("http", _)) = text.split_once("://") {
        return Err(format!("`{text}` would have the key sent in the clear: upstream begins with https://"));
    }
    let rest = text.strip_prefix("https://").ok_or_else(wrong)?;
    let (named, path) = rest.split_at(rest.find('/').unwrap_or(rest.len()));
    let after_bracket = named.rfind(']').map_or(0, |at| at + 1);
    let (host, port) = match named.get(after_bracket..).and_then(|end| end.rsplit_once(':')) {
        Some((end, port)) => {
            let port = port.parse().ok().filter(|port| *port > 0).ok_or_else(wrong)?;
            (format!("{}{end}", named.get(..after_bracket).unwrap_or_default()), port)
        }
        None => (named.to_owned(), HTTPS),
    };
    let host = policy::host_of(&host).ok_or_else(wrong)?;
    let base = path.trim_end_matches('/');
    let is_plain = base.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte));
    let leads_up = base.split('/').skip(1).any(|part| matches!(part, "" | "." | ".."));
    if !is_plain || leads_up {
        return Err(wrong());
    }
    Ok((host, port, base.to_owned()))
}

/// Says whether a text can be the name of a field.
fn is_token(text: &str) -> bool {
    let allowed = |byte: u8| byte.is_ascii_alphanumeric() || b"-_".contains(&byte);
    !text.is_empty() && text.len() <= 64 && text.bytes().all(allowed)
}

/// Says whether a variable can be set for a command: those of Samuel and those of the system are not an agent's own.
fn is_variable(name: &str) -> bool {
    let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
        && name.starts_with(|first: char| first.is_ascii_alphabetic() || first == '_');
    let is_taken =
        name.starts_with("SAMUEL_") || name.starts_with("LD_") || ["PATH", "HOME", "TMPDIR"].contains(&name);
    is_name && !is_taken
}

/// Returns a text without what is written by its number.
fn percent_decoded(text: &str) -> String {
    let mut bytes = text.bytes();
    let mut plain = Vec::new();
    while let Some(byte) = bytes.next() {
        let mut ahead = bytes.clone();
        let digits = (byte == b'%').then(|| [ahead.next(), ahead.next()]);
        let digit = |byte: Option<u8>| char::from(byte?).to_digit(16);
        match digits.and_then(|[high, low]| u8::try_from(digit(high)? * 16 + digit(low)?).ok()) {
            Some(decoded) => {
                plain.push(decoded);
                bytes = ahead;
            }
            None => plain.push(byte),
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub(in crate::egress) fn parts(upstream: &str) -> GatewayParts {
        GatewayParts {
            name: "test".to_owned(),
            upstream: upstream.to_owned(),
            header: "X-Api-Key".to_owned(),
            key: "sk-very-secret".to_owned(),
            key_env: vec!["TEST_API_KEY".to_owned()],
            base_env: "TEST_BASE_URL".to_owned(),
            ..GatewayParts::default()
        }
    }

    #[test]
    fn a_gateway_leads_to_a_host_by_tls_alone() {
        let host = |upstream: &str| Gateway::new(parts(upstream)).map(|made| (made.host(), made.base_url(9)));
        let is = |host: &str, url: &str| Ok((host.to_owned(), url.to_owned()));
        assert_eq!(host("https://api.example.org"), is("api.example.org", "http://127.0.0.1:9"));
        assert_eq!(
            host("https://API.example.org:8443/v1/"),
            is("api.example.org:8443", "http://127.0.0.1:9/v1")
        );
        assert_eq!(host("https://[::1]:8443"), is("[::1]:8443", "http://127.0.0.1:9"));
        assert!(host("http://api.example.org").is_err_and(|told| told.contains("in the clear")));
        for bad in [
            "",
            "api.example.org",
            "https://",
            "https://a b",
            "https://u@a",
            "https://a?x=1",
            "https://a/#x",
            "https://a:0",
            "https://a/../b",
            "https://a//b",
            "https://a/%2e",
            "ftp://a",
            "https://*.example.org",
            "https://127.1",
        ] {
            assert!(host(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn what_is_no_part_of_a_gateway_is_refused_and_the_key_is_told_to_nobody() {
        let told = |change: fn(&mut GatewayParts)| {
            let mut parts = parts("https://api.example.org");
            change(&mut parts);
            Gateway::new(parts).expect_err("it is refused")
        };
        for told in [
            told(|parts| parts.header = "Host".to_owned()),
            told(|parts| parts.header = "X-Key: a\r\nX".to_owned()),
            told(|parts| parts.scheme = "Bearer\r\n".to_owned()),
            told(|parts| parts.key = "very secret\r\nX: y".to_owned()),
            told(|parts| parts.key = "short".to_owned()),
            told(|parts| parts.base_env = "LD_PRELOAD".to_owned()),
            told(|parts| parts.base_env = "SAMUEL_TOKEN".to_owned()),
            told(|parts| parts.authority = Some(b"none".to_vec())),
        ] {
            assert!(!told.contains("secret") && !told.contains("short"), "{told}");
        }
        let gateway = Gateway::new(parts("https://api.example.org")).expect("a gateway");
        let shown = format!("{gateway:?} {:?}", parts("https://api.example.org"));
        assert!(!shown.contains("secret"), "{shown}");
        assert!(gateway.variables(9).iter().all(|(_, value)| !value.contains("secret")));
    }

    #[test]
    fn requests_stay_below_the_path_of_the_host_and_bring_no_key() {
        let gateway = Gateway::new(parts("https://api.example.org/v1")).expect("a gateway");
        let judged = |line: &str, fields: &str| {
            let head = format!("{line} HTTP/1.1\r\n{fields}\r\n");
            gateway.judge(&RequestHead::read(head.as_bytes()).expect("a head"))
        };
        for good in ["POST /v1/messages", "GET /v1?x=1", "GET /v1/files/a.b?beta=true&limit=2", "HEAD /v1"] {
            assert_eq!(judged(good, ""), Ok(()), "{good}");
        }
        assert_eq!(judged("GET /v1/models?key=samuel-keeps-the-key-outside", ""), Ok(()));
        for (bad, why) in [
            ("CONNECT evil.example:443", Forbidden::Method),
            ("TRACE /v1", Forbidden::Method),
            ("trace /v1", Forbidden::Method),
            ("GET http://evil.example/v1", Forbidden::Target),
            ("GET evil.example/v1", Forbidden::Target),
            ("OPTIONS *", Forbidden::Target),
            ("GET /v1/#x", Forbidden::Target),
            ("GET /v1\\..\\v2", Forbidden::Target),
            ("GET /v2", Forbidden::Elsewhere),
            ("GET /v10", Forbidden::Elsewhere),
            ("GET //evil.example/v1", Forbidden::Elsewhere),
            ("GET /v1/../v2", Forbidden::Elsewhere),
            ("GET /v1/%2e%2E/v2", Forbidden::Elsewhere),
            ("GET /v1/..%2fv2", Forbidden::Elsewhere),
            ("GET /v1/%252e%252e/v2", Forbidden::Elsewhere),
            ("GET /v1/models?key=AIza", Forbidden::OwnKey),
            ("GET /v1/models?a=1&%6Bey=AIza", Forbidden::OwnKey),
            ("GET /v1/models?a=1;access_token=x", Forbidden::OwnKey),
        ] {
            assert_eq!(judged(bad, ""), Err(why), "{bad}");
        }
        assert_eq!(
            judged("GET /v1", "Connection: Upgrade\r\nUpgrade: websocket\r\n"),
            Err(Forbidden::Upgrade)
        );
    }
}
