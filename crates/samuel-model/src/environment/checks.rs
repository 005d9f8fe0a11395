//! The environment of quality checks.
//!
//! Checks run what the project brings: its tests, its build scripts, the code an
//! agent has just written. They get what programs need in general
//! ([`compose_env`]), but neither the way to the user's SSH keys nor a variable
//! with a password in a URL, as proxies have them. An agent gets both: it pushes,
//! and has to reach its model. Of `PATH` they get the absolute directories: in any
//! other, what an agent puts into the project would stand for the programs of a check.

use std::ffi::OsString;

use super::compose_env;
use crate::redacted;

/// The directories in which programs are looked for.
const PATH: &str = "PATH";

/// The variable by which programs reach an SSH agent.
const SSH_AGENT: &str = "SSH_AUTH_SOCK";

/// Returns the whole environment of quality checks: what programs need, and the
/// variables that tell what is checked.
pub fn check_env(host: &[(String, String)], variables: Vec<(String, String)>) -> Vec<(OsString, OsString)> {
    let mut env = composed(host);
    env.retain(|(name, value)| {
        let is_replaced = variables.iter().any(|(own, _)| own == name);
        name != SSH_AGENT && !has_password(value) && !is_replaced
    });
    for (_, value) in env.iter_mut().filter(|(name, _)| name == PATH) {
        let absolute: Vec<&str> = value.split(':').filter(|directory| directory.starts_with('/')).collect();
        *value = absolute.join(":");
    }
    // An empty one would mean the working directory.
    env.retain(|(name, value)| name != PATH || !value.is_empty());
    env.extend(variables);
    env.into_iter().map(|(name, value)| (name.into(), value.into())).collect()
}

/// Says what checks do not get and may miss: variables with a password, directories
/// of `PATH` that are not absolute.
pub fn kept_from_checks(host: &[(String, String)]) -> Vec<String> {
    let env = composed(host);
    [relative_directories(&env), passwords(&env)].into_iter().flatten().collect()
}

fn relative_directories(env: &[(String, String)]) -> Option<String> {
    let (_, path) = env.iter().find(|(name, _)| name == PATH)?;
    let relative = path.split(':').filter(|directory| !directory.starts_with('/'));
    let shown: Vec<&str> =
        relative.map(|directory| if directory.is_empty() { "." } else { directory }).collect();
    (!shown.is_empty()).then(|| {
        format!(
            "quality checks run without directories of PATH that are not absolute: {}. A check names a program there \
             by its path.",
            shown.join(", ")
        )
    })
}

fn passwords(env: &[(String, String)]) -> Option<String> {
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
        let env = check_env(&host, vec![("SAMUEL_TASK_ID".to_owned(), "1".to_owned())]);
        let names: Vec<_> = env.iter().map(|(name, _)| name.to_string_lossy()).collect();
        assert_eq!(names, ["PATH", "http_proxy", "SAMUEL_TASK_ID"]);
        let told = kept_from_checks(&host).concat();
        assert!(told.starts_with("quality checks run without ALL_PROXY, HTTPS_PROXY: "), "{told}");
        assert!(!told.contains("pass@"), "{told}");
    }

    #[test]
    fn where_nothing_is_kept_from_them_nothing_is_said() {
        assert_eq!(
            kept_from_checks(&host(&[("SSH_AUTH_SOCK", "/x"), ("http_proxy", "http://p:1")])),
            [""; 0]
        );
    }

    #[test]
    fn checks_find_programs_in_absolute_directories_alone() {
        let path = |value: &str| {
            let env = check_env(&host(&[("PATH", value)]), Vec::new()).into_iter();
            env.map(|(_, value)| value.to_string_lossy().into_owned()).collect::<Vec<_>>()
        };
        assert_eq!(path("/a::./bin:.:/b/c:"), ["/a:/b/c"]);
        assert_eq!(path(":node_modules/.bin"), [""; 0], "no PATH at all, for which a shell has its own");
        let told = kept_from_checks(&host(&[("PATH", "/a::bin")])).concat();
        assert!(told.contains("not absolute: ., bin."), "{told}");
    }
}
