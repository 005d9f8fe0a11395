//! Passwords in URLs.
//!
//! A URL may carry a password, or a token in place of the user's name or in its
//! query. [`redacted`] hides them in a text that is shown or logged, and
//! [`without_credentials`] leaves them out of a URL that is kept.

use std::borrow::Cow;

/// What stands for something that is hidden.
const HIDDEN: &str = "***";
/// What a parameter of a query that is secret has in its name.
const SECRET_NAMES: [&str; 9] =
    ["token", "secret", "passw", "pwd", "key", "auth", "sig", "credential", "session"];

/// Hides the credentials of every URL in a text: `https://me:pass@host/x` reads
/// `https://***@host/x`. The user's name stays with ssh, where it is none.
pub fn redacted(text: &str) -> Cow<'_, str> {
    rewritten(text, HIDDEN)
}

/// Leaves the credentials out of a URL, so that it can be kept: git asks its
/// credential helper for them.
pub fn without_credentials(url: &str) -> Cow<'_, str> {
    rewritten(url, "")
}

/// Returns the secrets of a URL: its password, a token in place of the user's name, and secret parameters.
pub(crate) fn credentials(url: &str) -> Vec<&str> {
    let Some((scheme, rest)) = url.split_once("://") else { return Vec::new() };
    let url = rest.get(..rest.find(ends_url).unwrap_or(rest.len())).unwrap_or(rest);
    let (before, rest) = match url.get(..authority(url)).and_then(|authority| authority.rfind('@')) {
        Some(at) => (url.get(..at), url.get(at + 1..).unwrap_or_default()),
        None => (None, url),
    };
    let password = before.and_then(|user| match user.split_once(':') {
        Some((_, password)) => Some(password),
        None => Some(user).filter(|_| !is_ssh(scheme)),
    });
    let query = rest.split_once('?').map(|(_, query)| query.split('#').next().unwrap_or_default());
    let parameters = query.into_iter().flat_map(|query| query.split('&'));
    let secret = parameters.filter_map(|one| one.split_once('=').filter(|(name, _)| is_secret(name)));
    password.into_iter().chain(secret.map(|(_, value)| value)).collect()
}

/// Puts something else in the place of credentials; nothing takes with it what
/// sets them apart.
fn rewritten<'a>(text: &'a str, hidden: &str) -> Cow<'a, str> {
    let mut out = String::new();
    let mut done = 0;
    while let Some(found) = text.get(done..).and_then(|rest| rest.find("://")) {
        let (at, from) = (done + found, done + found + 3);
        let Some(rest) = text.get(from..) else { break };
        let url = rest.get(..rest.find(ends_url).unwrap_or(rest.len())).unwrap_or(rest);
        out.push_str(text.get(done..from).unwrap_or_default());
        push(&mut out, url, is_ssh(text.get(..at).unwrap_or_default()), hidden);
        done = from + url.len();
    }
    if done == 0 {
        return Cow::Borrowed(text);
    }
    out.push_str(text.get(done..).unwrap_or_default());
    Cow::Owned(out)
}

/// Writes a URL from its authority on.
fn push(out: &mut String, url: &str, is_ssh: bool, hidden: &str) {
    let rest = match url.get(..authority(url)).and_then(|authority| authority.rfind('@')) {
        None => url,
        Some(at) => {
            let user = url.get(..at).unwrap_or_default();
            let mark = if hidden.is_empty() { "" } else { "@" };
            match user.split_once(':') {
                _ if !is_ssh => out.extend([hidden, mark]),
                Some((user, _)) if hidden.is_empty() => out.extend([user, "@"]),
                Some((user, _)) => out.extend([user, ":", hidden, "@"]),
                None => out.extend([user, "@"]),
            }
            url.get(at + 1..).unwrap_or_default()
        }
    };
    let Some((path, query)) = rest.split_once('?') else { return out.push_str(rest) };
    out.push_str(path);
    let (query, fragment) = query.find('#').and_then(|at| query.split_at_checked(at)).unwrap_or((query, ""));
    let mut mark = '?';
    for parameter in query.split('&') {
        let shown = match parameter.split_once('=') {
            Some((name, value)) if !value.is_empty() && is_secret(name) => match hidden {
                "" => continue,
                hidden => format!("{name}={hidden}"),
            },
            _ => parameter.to_owned(),
        };
        out.push(mark);
        out.push_str(&shown);
        mark = '&';
    }
    out.push_str(fragment);
}

/// Returns where the authority of a URL ends. A password with a character that
/// belongs to a path is taken with it: what stands before it is no port.
fn authority(url: &str) -> usize {
    let end = url.find(['/', '?', '#', '\\']).unwrap_or(url.len());
    let (authority, rest) = url.split_at_checked(end).unwrap_or((url, ""));
    let is_port = |port: &str| port.chars().all(|c| c.is_ascii_digit());
    match authority.rsplit_once(':') {
        Some((host, port)) if !authority.contains('@') && !host.starts_with('[') && !is_port(port) => {
            rest.rfind('@').map_or(end, |at| end + at + 1)
        }
        _ => end,
    }
}

fn ends_url(c: char) -> bool {
    c.is_whitespace() || c.is_control() || matches!(c, '"' | '\'' | '<' | '>' | '`' | '|')
}

fn is_ssh(before: &str) -> bool {
    before.ends_with("ssh")
}

fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    SECRET_NAMES.iter().any(|secret| name.contains(secret))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn credentials_are_hidden_wherever_a_url_stands() {
        for (text, shown) in [
            ("https://me:pass@host/x.git", "https://***@host/x.git"),
            ("fatal: 'git+https://ghp_abc@host/x#v1': no", "fatal: 'git+https://***@host/x#v1': no"),
            ("http://a:b@c:80/ and https://d:e@f", "http://***@c:80/ and https://***@f"),
            ("https://me:p@ss@host/x", "https://***@host/x"),
            ("https://me:p/a?s#s@host/x", "https://***@host/x"),
            ("ssh://git:pass@host/x", "ssh://git:***@host/x"),
            ("ssh://git@host/x", "ssh://git@host/x"),
            ("{\"url\":\"https://me:pass@host\"}", "{\"url\":\"https://***@host\"}"),
            ("https://host/x?a=1&access_token=abc&b=2#f", "https://host/x?a=1&access_token=***&b=2#f"),
            ("https://host/@scope/x?y=z", "https://host/@scope/x?y=z"),
            ("https://[::1]:80/a@b", "https://[::1]:80/a@b"),
            ("no url: me@host:x", "no url: me@host:x"),
        ] {
            assert_eq!(redacted(text), shown);
        }
    }

    #[test]
    fn finds_the_secrets_of_a_url() {
        for (url, secrets) in [
            ("https://me:pass@host/x", &["pass"][..]),
            ("https://ghp_abc@host/x", &["ghp_abc"]),
            ("ssh://git@host/x", &[]),
            ("redis://me:p/a@host/x?a=1&token=abc#f", &["p/a", "abc"]),
            ("https://host/x", &[]),
            ("no url: me@host:x", &[]),
        ] {
            assert_eq!(credentials(url), secrets, "{url}");
        }
    }

    #[test]
    fn what_is_kept_of_a_url_still_leads_there() {
        for (url, kept) in [
            ("https://me:pass@host/x.git#v1", "https://host/x.git#v1"),
            ("ssh://git:pass@host/x", "ssh://git@host/x"),
            ("ssh://git@host/x", "ssh://git@host/x"),
            ("https://host/x?token=a&b=2#v", "https://host/x?b=2#v"),
            ("https://host/x?token=a", "https://host/x"),
            ("git@host:x.git", "git@host:x.git"),
        ] {
            assert_eq!(without_credentials(url), kept);
            assert_eq!(without_credentials(kept), kept);
        }
    }

    proptest! {
        #[test]
        fn no_password_stays_and_nothing_else_changes(
            user in "[a-zA-Z0-9._~-]{0,8}", pass in "[a-zA-Z0-9!$*+,;=:@._~%-]{6,20}", around in "[ a-z(),]{0,10}"
        ) {
            let text = format!("{around} https://{user}:{pass}@host/x {around}");
            prop_assert_eq!(redacted(&text), format!("{around} https://***@host/x {around}"));
        }

        #[test]
        fn any_text_can_be_looked_at(text in "(://|@|:|/|\\?|&|=|#|token|é|[a-z ]){0,30}") {
            let once = redacted(&text);
            prop_assert_eq!(redacted(&once), once.as_ref());
        }
    }
}
