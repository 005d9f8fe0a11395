//! What programs need in general, and how much of it each kind of child gets.

use super::{agent::any, covers_variable};

/// Who is started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Child {
    /// An agent, or a quality check.
    Agent,
    /// A script or a command of a plugin.
    Plugin,
    /// The git program, where it fetches. What makes it look elsewhere or run
    /// programs is not for it.
    Git,
}

/// Names with who gets them. `*` stands for any text.
const GENERAL: &[(&[Child], &[&str])] = &[
    // Who and where.
    (&[Child::Agent, Child::Plugin, Child::Git], &["PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "LC_*"]),
    (&[Child::Agent, Child::Plugin], &["SHELL", "TZ", "LANG", "LANGUAGE", "TERM"]),
    // The way to the network.
    (
        &[Child::Agent, Child::Git],
        &[
            "XDG_CONFIG_HOME",
            "HTTP_PROXY",
            "HTTPS_PROXY",
            "ALL_PROXY",
            "NO_PROXY",
            "http_proxy",
            "https_proxy",
            "all_proxy",
            "no_proxy",
            "SSL_CERT_FILE",
            "SSL_CERT_DIR",
            "GIT_SSL_CAINFO",
            "SSH_AUTH_SOCK",
        ],
    ),
    (
        &[Child::Agent],
        &[
            // Whose the project is, where the caller is root by sudo: git asks for it.
            "SUDO_UID",
            "SUDO_GID",
            "SUDO_USER",
            "PWD",
            "XDG_*",
            // Terminal.
            "COLORTERM",
            "NO_COLOR",
            "FORCE_COLOR",
            "CLICOLOR*",
            "CI",
            // Whom programs believe.
            "NODE_EXTRA_CA_CERTS",
            "CURL_CA_BUNDLE",
            "REQUESTS_CA_BUNDLE",
            // Where tools of the project live: agents build and test it.
            "CARGO_HOME",
            "CARGO_TARGET_DIR",
            "RUSTUP_HOME",
            "RUSTUP_TOOLCHAIN",
            "RUSTFLAGS",
            "GOPATH",
            "GOROOT",
            "GOCACHE",
            "GOMODCACHE",
            "GOFLAGS",
            "JAVA_HOME",
            "NVM_DIR",
            "NVM_BIN",
            "PNPM_HOME",
            "VOLTA_HOME",
            "PYENV_ROOT",
            "VIRTUAL_ENV",
            "CONDA_PREFIX",
            "UV_CACHE_DIR",
            "PKG_CONFIG_PATH",
            "NIX_*",
            // Who commits.
            "GIT_AUTHOR_NAME",
            "GIT_AUTHOR_EMAIL",
            "GIT_COMMITTER_NAME",
            "GIT_COMMITTER_EMAIL",
        ],
    ),
];

/// Says whether a child gets a variable in any case.
pub(super) fn is_general(child: Child, name: &str) -> bool {
    GENERAL.iter().any(|(children, names)| children.contains(&child) && any(names, name))
}

/// Names of variables whose values are no secrets, in addition to those that programs need. `*` stands for any text.
const HARMLESS: &[&str] = &[
    "SAMUEL_*",
    "CI_*",
    "GITHUB_*",
    "GITLAB_*",
    "RUNNER_*",
    "CARGO_*",
    "NEXTEST_*",
    "*BRANCH*",
    "*COMMIT*",
    "*_SHA",
    "*_SHA1",
    "HOSTNAME",
    "OLDPWD",
    "_",
];

/// Returns true for a variable whose name says that its value is no secret. A proxy can have a password.
pub(super) fn is_harmless(name: &str) -> bool {
    let is_needed = GENERAL.iter().any(|(_, names)| any(names, name));
    (is_needed && !is_proxy(name)) || any(HARMLESS, name)
}

/// Returns true for a variable that names a proxy.
pub(super) fn is_proxy(name: &str) -> bool {
    name.to_ascii_lowercase().ends_with("_proxy")
}

/// Returns what git gets of an environment.
pub fn git_env(host: &[(String, String)]) -> impl Iterator<Item = (String, String)> {
    host.iter().filter(|(name, _)| is_general(Child::Git, name)).cloned()
}

/// Returns what a plugin gets of an environment, with the variables that it was granted.
pub fn plugin_env(host: &[(String, String)], granted: &[String]) -> Vec<(String, String)> {
    let gets = |name: &str| is_general(Child::Plugin, name) || covers_variable(granted, name);
    host.iter().filter(|(name, _)| gets(name)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_child_gets_what_it_needs_and_no_more() {
        let names = "PATH LC_ALL TERM SSH_AUTH_SOCK https_proxy XDG_CONFIG_HOME XDG_DATA_HOME CARGO_HOME \
                     GIT_SSH_COMMAND LD_PRELOAD GH_TOKEN";
        let host: Vec<(String, String)> =
            names.split(' ').map(|name| (name.to_owned(), "x".into())).collect();
        let told =
            |env: Vec<(String, String)>| env.into_iter().map(|(name, _)| name).collect::<Vec<_>>().join(" ");
        let git = "PATH LC_ALL SSH_AUTH_SOCK https_proxy XDG_CONFIG_HOME";
        assert_eq!(told(git_env(&host).collect()), git);
        assert_eq!(told(plugin_env(&host, &["GH_TOKEN".to_owned()])), "PATH LC_ALL TERM GH_TOKEN");
        let agent = host.iter().filter(|(name, _)| is_general(Child::Agent, name)).cloned().collect();
        assert_eq!(told(agent), format!("PATH LC_ALL TERM {} XDG_DATA_HOME CARGO_HOME", &git[12..]));
    }
}
