//! Variables that no plugin reads by a pattern or changes at all.
//!
//! What a plugin may do with variables is granted by name. A name says little
//! to whoever grants it, so [`is_reserved`] holds whatever was granted: names
//! that decide which program runs, where it connects, or who Samuel and the
//! agent are. Programs invent such names faster than a list can follow, so it
//! knows families and not only the names that are in use today.

use super::agent::{FOREIGN, SECRETS, any, fits};

/// Names and families, in upper case. `*` stands for any text.
const RESERVED: &[&str] = &[
    // Who and where.
    "HOME",
    "USER",
    "LOGNAME",
    "PWD",
    "OLDPWD",
    "TMPDIR",
    "TMP",
    "TEMP",
    "XDG_*",
    "*_HOME",
    "*ROOT",
    "*_DIR",
    // Where programs, libraries and modules are looked up.
    "*PATH",
    "*PRELOAD*",
    "LD_*",
    "DYLD_*",
    "GLIBC_TUNABLES",
    "*PLUGIN*",
    "*EXTENSION*",
    "NIX_*",
    // What shells and other programs run beside what they were told to.
    "IFS",
    "PS0",
    "PS4",
    "SHELLOPTS",
    "BASHOPTS",
    "BASH_*",
    "ENV",
    "ZDOTDIR",
    "PROMPT_COMMAND",
    "*SHELL",
    "*EDITOR",
    "VISUAL",
    "*PAGER",
    "*BROWSER",
    "*ASKPASS",
    "LESS*",
    "*_COMMAND",
    "*_CMD",
    "*_EXE",
    "*_EXEC",
    "*_EXECUTABLE",
    "*_BIN",
    "*_BINARY",
    "*_PROGRAM",
    "*_HOOK*",
    "*_WRAPPER",
    "*_LAUNCHER",
    "*_RUNNER",
    "*_LINKER",
    "*_COMPILER",
    "*CONFIG*",
    "*_RC",
    "*RCFILE",
    "*_RSH",
    // What versions control is told to run, and over what it connects.
    "GIT_*",
    "*SSH*",
    "SVN_*",
    "HG*",
    "CVS_*",
    // Interpreters and tools that build.
    "*OPTIONS",
    "*_OPTS",
    "*_OPT",
    "*FLAGS",
    "NODE_*",
    "NPM_*",
    "YARN_*",
    "PNPM_*",
    "BUN_*",
    "DENO_*",
    "NVM_*",
    "VOLTA_*",
    "PYTHON*",
    "PYENV_*",
    "PIP_*",
    "UV_*",
    "POETRY_*",
    "VIRTUAL_ENV",
    "CONDA_*",
    "PERL*",
    "RUBY*",
    "BUNDLE_*",
    "GEM_*",
    "JAVA_*",
    "JDK_*",
    "MAVEN_*",
    "GRADLE_*",
    "PHP*",
    "LUA*",
    "DOTNET_*",
    "CORECLR_*",
    "ERL_*",
    "CARGO*",
    "RUSTC*",
    "RUSTUP*",
    "RUSTDOC*",
    "GO*",
    "CGO_*",
    "CC",
    "CXX",
    "CPP",
    "LD",
    "AR",
    "AS",
    "NM",
    "FC",
    "CC_*",
    "CXX_*",
    "AR_*",
    "HOSTCC",
    "MAKE*",
    "CMAKE_*",
    "NINJA*",
    "BAZEL*",
    "DOCKER_*",
    "KUBE*",
    // Where programs connect, and whom they believe.
    "*PROXY*",
    "*_URL",
    "*_URI",
    "*_HOST",
    "*_HOSTNAME",
    "*_SERVER",
    "*_ADDR*",
    "*_PORT",
    "*SOCK*",
    "*ENDPOINT*",
    "*_BASE",
    "*_REGION",
    "*_REGISTRY*",
    "HOSTALIASES",
    "LOCALDOMAIN",
    "RESOLV_*",
    "SSL*",
    "TLS_*",
    "*_SSL_*",
    "*_TLS_*",
    "*_CERT*",
    "*_CA_*",
    "*_CA",
    "*CA_BUNDLE",
    "*CAINFO",
    "*INSECURE*",
    "*UNAUTHORIZED*",
    "*VERIFY*",
    // Samuel, and the agents.
    "SAMUEL_*",
    "*SANDBOX*",
    "ANTHROPIC_*",
    "CLAUDE*",
    "OPENAI_*",
    "CODEX_*",
    "AZURE_*",
    "GEMINI_*",
    "GOOGLE_*",
    "CLOUDSDK_*",
    "VERTEX*",
    "COPILOT_*",
    "GH_*",
    "GITHUB_*",
    "KIRO_*",
];

/// Names within those families that only say who commits, and when.
const FREE: &[&str] = &[
    "GIT_AUTHOR_NAME",
    "GIT_AUTHOR_EMAIL",
    "GIT_AUTHOR_DATE",
    "GIT_COMMITTER_NAME",
    "GIT_COMMITTER_EMAIL",
    "GIT_COMMITTER_DATE",
];

/// Says whether no plugin may set or take away a variable, whatever it was
/// granted. Takes a pattern for the family that it names. Case does not count:
/// some programs read proxies and settings in either.
pub fn is_reserved(name: &str) -> bool {
    let name = name.to_uppercase();
    !any(FREE, &name) && (any(RESERVED, &name) || any(FOREIGN, &name) || any(SECRETS, &name))
}

/// Says whether a variable holds a secret, as far as its name tells.
pub fn is_secret(name: &str) -> bool {
    any(SECRETS, &name.to_uppercase())
}

/// Says whether a variable is among those that were granted: by its name, or,
/// where it is no secret, by a pattern.
pub fn covers_variable(granted: &[String], name: &str) -> bool {
    granted.iter().any(|one| one == name || (one.contains('*') && fits(one, name) && !is_secret(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_decides_what_runs_or_where_it_connects_is_reserved() {
        for name in [
            "PATH",
            "Path",
            "HOME",
            "LD_PRELOAD",
            "LD_LIBRARY_PATH",
            "DYLD_INSERT_LIBRARIES",
            "ANTHROPIC_BASE_URL",
            "ANTHROPIC_API_KEY",
            "OPENAI_BASE_URL",
            "OPENAI_API_BASE",
            "AZURE_OPENAI_ENDPOINT",
            "MY_PROVIDER_BASE_URL",
            "https_proxy",
            "HTTPS_PROXY",
            "NO_PROXY",
            "npm_config_proxy",
            "GIT_SSH",
            "GIT_SSH_COMMAND",
            "GIT_ASKPASS",
            "GIT_CONFIG_COUNT",
            "GIT_CONFIG_KEY_0",
            "GIT_EXEC_PATH",
            "GIT_EXTERNAL_DIFF",
            "GIT_PAGER",
            "GIT_EDITOR",
            "GIT_PROXY_COMMAND",
            "GIT_DIR",
            "SSH_ASKPASS",
            "SSH_AUTH_SOCK",
            "SUDO_ASKPASS",
            "EDITOR",
            "VISUAL",
            "PAGER",
            "SHELL",
            "BROWSER",
            "NODE_OPTIONS",
            "NODE_EXTRA_CA_CERTS",
            "NODE_TLS_REJECT_UNAUTHORIZED",
            "PYTHONPATH",
            "PYTHONSTARTUP",
            "PERL5OPT",
            "PERL5LIB",
            "RUBYOPT",
            "BASH_ENV",
            "BASH_FUNC_ls%%",
            "ENV",
            "PROMPT_COMMAND",
            "JAVA_TOOL_OPTIONS",
            "_JAVA_OPTIONS",
            "RUSTC_WRAPPER",
            "CARGO_BUILD_RUSTC",
            "CARGO_TARGET_X86_64_UNKNOWN_LINUX_GNU_RUNNER",
            "RUSTFLAGS",
            "SSL_CERT_FILE",
            "CURL_CA_BUNDLE",
            "CURL_HOME",
            "XDG_CONFIG_HOME",
            "TMPDIR",
            "SAMUEL_BINARY",
            "SAMUEL_RUN_ID",
            "CLAUDE_CONFIG_DIR",
            "CODEX_HOME",
            "GEMINI_CLI_SYSTEM_SETTINGS_PATH",
            "LESSOPEN",
            "MAKEFLAGS",
            "CC",
            "DOCKER_HOST",
            "MY_SERVICE_TOKEN",
            "AWS_PROFILE",
        ] {
            assert!(is_reserved(name), "{name}");
        }
    }

    #[test]
    fn what_a_project_calls_its_own_is_free() {
        for name in
            ["RUST_LOG", "RUST_BACKTRACE", "MY_FLAG", "TZ", "LANG", "NO_COLOR", "CI", "GIT_AUTHOR_NAME"]
        {
            assert!(!is_reserved(name), "{name}");
        }
    }

    #[test]
    fn a_pattern_is_as_reserved_as_the_family_it_names() {
        for pattern in ["LD_*", "SAMUEL_*", "GIT_*", "ANTHROPIC_*", "MY_SECRET_*", "XDG_DATA_*"] {
            assert!(is_reserved(pattern), "{pattern}");
        }
        assert!(!is_reserved("MY_*"));
    }

    #[test]
    fn a_pattern_covers_no_secret() {
        let granted = ["MY_*".to_owned(), "DB_PASSWORD".to_owned()];
        assert!(covers_variable(&granted, "MY_FLAG") && covers_variable(&granted, "DB_PASSWORD"));
        assert!(!covers_variable(&granted, "MY_TOKEN") && !covers_variable(&granted, "OTHER"));
        assert!(covers_variable(&["MY_TOKEN".to_owned()], "MY_TOKEN"));
    }
}
