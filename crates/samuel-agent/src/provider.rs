//! Whom agents' programs talk to.
//!
//! A [`Provider`] is what an adapter declares of the host that its program needs: where it is, by which field it takes
//! a key, and how the program is told to look for it elsewhere. A gateway of a sandbox with its name needs nothing
//! else to be set.

/// A host that an agent's program talks to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Provider {
    /// The name of the gateway that leads to it.
    pub name: &'static str,
    /// The name of the host.
    pub host: &'static str,
    /// The path below which its programs ask.
    pub path: &'static str,
    /// The field of requests that takes the key.
    pub header: &'static str,
    /// The word before the key in it, or nothing.
    pub scheme: &'static str,
    /// The variables in which the program looks for its key, the first that is set for the one that counts.
    pub key_env: &'static [&'static str],
    /// Other variables with keys for the host.
    pub other_keys: &'static [&'static str],
    /// The variable in which the program looks for the address.
    pub base_env: &'static str,
    /// The arguments that tell it the address where it looks in no variable; `{url}` stands for it.
    pub(super) base_args: &'static [&'static str],
}

/// Stands for the address in arguments.
const URL: &str = "{url}";

/// Those of `claude`.
pub(super) const ANTHROPIC: Provider = Provider {
    name: "anthropic",
    host: "api.anthropic.com",
    path: "",
    header: "x-api-key",
    scheme: "",
    key_env: &["ANTHROPIC_API_KEY"],
    other_keys: &["ANTHROPIC_AUTH_TOKEN", "CLAUDE_CODE_OAUTH_TOKEN"],
    base_env: "ANTHROPIC_BASE_URL",
    base_args: &[],
};

/// That of `codex`, which is told by its configuration alone.
pub(super) const OPENAI: Provider = Provider {
    name: "openai",
    host: "api.openai.com",
    path: "/v1",
    header: "authorization",
    scheme: "Bearer",
    key_env: &["CODEX_API_KEY", "OPENAI_API_KEY"],
    other_keys: &[],
    base_env: "OPENAI_BASE_URL",
    base_args: &["-c", "openai_base_url=\"{url}\""],
};

/// That of `gemini`.
pub(super) const GOOGLE: Provider = Provider {
    name: "google",
    host: "generativelanguage.googleapis.com",
    path: "",
    header: "x-goog-api-key",
    scheme: "",
    key_env: &["GEMINI_API_KEY", "GOOGLE_API_KEY"],
    other_keys: &[],
    base_env: "GOOGLE_GEMINI_BASE_URL",
    base_args: &[],
};

impl Provider {
    /// Every provider that an adapter declares.
    pub const ALL: [Self; 3] = [ANTHROPIC, OPENAI, GOOGLE];

    /// Returns the one whose gateway has a name.
    pub fn named(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|provider| provider.name == name)
    }

    /// Returns its address.
    pub fn upstream(&self) -> String {
        format!("https://{}{}", self.host, self.path)
    }

    /// Returns the arguments that tell a program to look for it at another address.
    pub(super) fn arguments(&self, url: &str) -> Vec<String> {
        self.base_args.iter().map(|argument| argument.replace(URL, url)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_provider_is_found_by_its_name_and_told_to_its_program() {
        for provider in Provider::ALL {
            assert_eq!(Provider::named(provider.name), Some(provider));
            assert_eq!(provider.upstream(), format!("https://{}{}", provider.host, provider.path));
        }
        assert_eq!(Provider::named("another"), None);
        assert_eq!(
            OPENAI.arguments("http://127.0.0.1:1/v1"),
            ["-c", "openai_base_url=\"http://127.0.0.1:1/v1\""]
        );
        assert!(ANTHROPIC.arguments("http://127.0.0.1:1").is_empty(), "it is told by a variable");
    }
}
