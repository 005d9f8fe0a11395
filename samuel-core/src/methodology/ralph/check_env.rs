//! The environment of quality checks.
//!
//! Checks run what the project brings: its tests, its build scripts, the code an
//! agent has just written. They get what programs need in general
//! ([`compose_env`]), but neither the way to the user's SSH keys nor a variable
//! with a password in a URL, as proxies have them. An agent gets both: it pushes,
//! and has to reach its model.

use std::ffi::OsString;

use crate::{agent::compose_env, model::redacted};

/// The variable by which programs reach an SSH agent.
const SSH_AGENT: &str = "SSH_AUTH_SOCK";

/// Returns the whole environment of quality checks.
pub(super) fn check_env(host: &[(String, String)]) -> Vec<(OsString, OsString)> {
    let mut env = composed(host);
    env.retain(|(name, value)| name != SSH_AGENT && !has_password(value));
    env.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Words which variables checks do not get because of a password, if there are any.
pub fn kept_from_checks(host: &[(String, String)]) -> Option<String> {
    let env = composed(host);
    let names: Vec<&str> =
        env.iter().filter(|(_, value)| has_password(value)).map(|(name, _)| name.as_str()).collect();
    let first = names.first()?;
    Some(format!(
        "quality checks run without {}: a URL in it holds a password. A check that needs it sets it itself, from a \
         file outside the project: {first}=\"$(cat ~/.config/proxy-url)\" <command>",
        names.join(", ")
    ))
}

fn composed(host: &[(String, String)]) -> Vec<(String, String)> {
    compose_env(host.iter().cloned(), &[], &[], &[])
}

fn has_password(value: &str) -> bool {
    redacted(value) != value || proxy_without_scheme(value)
}

/// Proxies are often written without a scheme.
fn proxy_without_scheme(value: &str) -> bool {
    value
        .split_once('@')
        .is_some_and(|(user, host)| user.contains(':') && !user.contains('/') && !host.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(vars: &[(&str, &str)]) -> Vec<(String, String)> {
        vars.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
    }

    #[test]
    fn checks_get_no_keys_and_no_passwords() {
        let host = host(&[
            ("PATH", "/bin"),
            ("SSH_AUTH_SOCK", "/tmp/ssh"),
            ("HTTPS_PROXY", "http://me:pass@proxy:3128"),
            ("ALL_PROXY", "me:pass@proxy:3128"),
            ("http_proxy", "http://proxy:3128"),
            ("GH_TOKEN", "x"),
            ("DATABASE_URL", "postgres://me:pass@db"),
        ]);
        let env = check_env(&host);
        let names: Vec<_> = env.iter().map(|(name, _)| name.to_string_lossy()).collect();
        assert_eq!(names, ["PATH", "http_proxy"]);
        let told = kept_from_checks(&host).unwrap_or_default();
        assert!(told.starts_with("quality checks run without ALL_PROXY, HTTPS_PROXY: "), "{told}");
        assert!(!told.contains("pass@"), "{told}");
    }

    #[test]
    fn where_nothing_is_kept_from_them_nothing_is_said() {
        assert_eq!(kept_from_checks(&host(&[("SSH_AUTH_SOCK", "/x"), ("http_proxy", "http://p:1")])), None);
    }
}
