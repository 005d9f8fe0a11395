//! The environment an agent gets.
//!
//! It starts empty. [`compose_env`] lets through what programs need in general,
//! what the adapter declares and what the user allows by name, and adds what
//! Samuel sets. [`apply_deny_list`] goes last, after the handlers of
//! `before:agent.invoke` too: secrets of other programs, and variables that make
//! a program load foreign code, do not come back through a handler.

use super::general::{Child, is_general};

/// Names of secrets, as far as names tell; compared in upper case.
pub(super) const SECRETS: &[&str] = &[
    "*TOKEN*",
    "*SECRET*",
    "*PASSWORD*",
    "*PASSWD*",
    "*PASSPHRASE*",
    "*CREDENTIAL*",
    "*PRIVATE_KEY*",
    "*API_KEY*",
    "*APIKEY*",
    "*ACCESS_KEY*",
    "*_KEY",
    "*_PAT",
    "*_DSN",
    "AWS_*",
    "AZURE_*",
    "DATABASE_URL",
    "KUBECONFIG",
    "VAULT_*",
];

/// Names that make programs load code which nobody asked for, or that tell an
/// agent it runs inside a session of another one.
pub(super) const FOREIGN: &[&str] = &[
    "LD_PRELOAD",
    "LD_AUDIT",
    "LD_LIBRARY_PATH",
    "DYLD_*",
    "BASH_ENV",
    "ENV",
    "BASH_FUNC_*",
    "PROMPT_COMMAND",
    "NODE_OPTIONS",
    "PYTHONSTARTUP",
    "PYTHONHOME",
    "PERL5OPT",
    "RUBYOPT",
    "GIT_SSH_COMMAND",
    "GIT_EXTERNAL_DIFF",
    "GIT_CONFIG_*",
    "CLAUDECODE",
    "CLAUDE_CODE_ENTRYPOINT",
    "CLAUDE_CODE_SSE_PORT",
    "CLAUDE_CODE_SESSION_ID",
    "CODEX_SANDBOX*",
    "GEMINI_CLI",
];

/// The start of the names that Samuel itself sets.
const OWN: &str = "SAMUEL_";

/// Composes an agent's environment.
///
/// `declared` are the adapter's names (`Agent::declared_env`),
/// `extra_allow` the user's; `*` in a name stands for any text. Both lists mean
/// what they hold: an empty one lets nothing through. `set` holds variables with
/// their values, which win over the host's. The deny list is applied to all of
/// it. The result is sorted by name and has each name once.
pub fn compose_env(
    host: impl IntoIterator<Item = (String, String)>,
    declared: &[&str],
    extra_allow: &[String],
    set: &[(String, String)],
) -> Vec<(String, String)> {
    let allowed = |name: &str| {
        is_general(Child::Agent, name) || any(declared, name) || extra_allow.iter().any(|one| fits(one, name))
    };
    let mut env: std::collections::BTreeMap<String, String> =
        host.into_iter().filter(|(name, _)| allowed(name)).collect();
    env.extend(set.iter().cloned());
    let mut env: Vec<(String, String)> = env.into_iter().collect();
    apply_deny_list(&mut env, declared, extra_allow);
    env
}

/// Takes out of an environment what no agent may get, and returns the names.
///
/// A secret stays where the adapter declares its name or the user allows it.
/// What makes programs load foreign code stays only where the user allows it by
/// its full name.
pub fn apply_deny_list(
    env: &mut Vec<(String, String)>,
    declared: &[&str],
    extra_allow: &[String],
) -> Vec<String> {
    let mut denied = Vec::new();
    env.retain(|(name, _)| {
        let allowed = if name.starts_with(OWN) {
            true
        } else if any(FOREIGN, name) {
            extra_allow.contains(name)
        } else if any(SECRETS, &name.to_uppercase()) {
            any(declared, name) || extra_allow.iter().any(|one| fits(one, name))
        } else {
            true
        };
        if !allowed {
            denied.push(name.clone());
        }
        allowed
    });
    denied
}

pub(super) fn any(patterns: &[&str], name: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, name))
}

/// Says whether a name fits a pattern, in which `*` stands for any text.
pub fn fits(pattern: &str, name: &str) -> bool {
    let Some((start, rest)) = pattern.split_once('*') else { return pattern == name };
    let Some(mut name) = name.strip_prefix(start) else { return false };
    let mut pieces = rest.split('*').peekable();
    while let Some(piece) = pieces.next() {
        if pieces.peek().is_none() {
            return name.ends_with(piece);
        }
        let Some((_, after)) = name.split_once(piece) else { return false };
        name = after;
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    fn vars(names: &[&str]) -> Vec<(String, String)> {
        names.iter().map(|name| ((*name).to_owned(), "x".to_owned())).collect()
    }

    fn names(env: &[(String, String)]) -> Vec<&str> {
        env.iter().map(|(name, _)| name.as_str()).collect()
    }

    #[test]
    fn only_what_is_needed_declared_or_allowed_comes_through() {
        let host = vars(&[
            "PATH",
            "LC_ALL",
            "OPENAI_API_KEY",
            "EDITOR",
            "MY_FLAG",
            "AWS_SECRET_ACCESS_KEY",
            "https_proxy",
        ]);
        let env = compose_env(host, &["OPENAI_*"], &["MY_*".into()], &[("SAMUEL_RUN".into(), "1".into())]);
        assert_eq!(names(&env), ["LC_ALL", "MY_FLAG", "OPENAI_API_KEY", "PATH", "SAMUEL_RUN", "https_proxy"]);
    }

    #[test]
    fn an_agent_under_sudo_is_told_whose_the_project_is() {
        let host = vars(&["SUDO_UID", "SUDO_GID", "SUDO_USER", "SUDO_COMMAND", "SUDO_ASKPASS"]);
        assert_eq!(names(&compose_env(host, &[], &[], &[])), ["SUDO_GID", "SUDO_UID", "SUDO_USER"]);
    }

    #[test]
    fn an_empty_list_means_nothing() {
        let env = compose_env(vars(&["OPENAI_API_KEY", "MY_FLAG"]), &[], &[], &[]);
        assert_eq!(names(&env), [""; 0]);
    }

    #[test]
    fn a_handler_cannot_bring_back_the_secrets_of_others() {
        let mut env = vars(&["PATH", "GH_TOKEN", "ANTHROPIC_API_KEY", "db_password", "NPM_TOKEN"]);
        let denied = apply_deny_list(&mut env, &["ANTHROPIC_*"], &["NPM_TOKEN".into()]);
        assert_eq!(denied, ["GH_TOKEN", "db_password"]);
        assert_eq!(names(&env), ["PATH", "ANTHROPIC_API_KEY", "NPM_TOKEN"]);
    }

    #[test]
    fn code_loaded_by_a_variable_needs_its_full_name_in_the_list() {
        let mut env = vars(&["LD_PRELOAD", "NODE_OPTIONS"]);
        apply_deny_list(&mut env, &["*"], &["LD_*".into(), "NODE_OPTIONS".into()]);
        assert_eq!(names(&env), ["NODE_OPTIONS"]);
    }

    #[test]
    fn a_claude_session_around_samuel_does_not_show() {
        let host = vars(&["CLAUDECODE", "CLAUDE_CODE_ENTRYPOINT", "CLAUDE_CONFIG_DIR"]);
        assert_eq!(names(&compose_env(host, &["CLAUDE_*"], &[], &[])), ["CLAUDE_CONFIG_DIR"]);
    }

    #[test]
    fn what_is_set_wins_over_the_host() {
        let host = vec![("HOME".to_owned(), "/root".to_owned())];
        let env = compose_env(host, &[], &[], &[("HOME".into(), "/tmp/h".into())]);
        assert_eq!(env, [("HOME".to_owned(), "/tmp/h".to_owned())]);
    }

    #[test]
    fn a_star_stands_for_any_text_anywhere() {
        for (pattern, name, expected) in [
            ("A_*", "A_B", true),
            ("A_*", "BA_B", false),
            ("*TOKEN*", "MY_TOKENS", true),
            ("*_KEY", "A_KEY", true),
            ("*_KEY", "A_KEYS", false),
            ("BASH_*_MS", "BASH_X_MS", true),
            ("BASH_*_MS", "BASH_X", false),
            ("AA*AA", "AAA", false),
        ] {
            assert_eq!(fits(pattern, name), expected, "{pattern} {name}");
        }
    }
}
