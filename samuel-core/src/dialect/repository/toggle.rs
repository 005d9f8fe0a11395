//! Whether a repository hook is wanted.

/// Values of a variable that mean that it is not set.
const UNSET: [&str; 4] = ["", "0", "false", "no"];

/// Whether a hook is to run, everywhere or by the environment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Toggle {
    /// What holds where no variable says otherwise.
    pub default: bool,
    /// Variables by name, each with what holds where it is set: the first that is set counts. One that
    /// is empty, `0`, `false` or `no` is not set.
    pub env: Vec<(String, bool)>,
}

impl From<bool> for Toggle {
    fn from(default: bool) -> Self {
        Self { default, env: Vec::new() }
    }
}

impl Toggle {
    /// Says whether it is on in an environment; of a variable given twice the last value counts.
    pub fn is_on(&self, env: &[(String, String)]) -> bool {
        let is_set = |name: &str| {
            let found = env.iter().rev().find(|(known, _)| known == name);
            found.is_some_and(|(_, value)| !UNSET.contains(&value.trim().to_ascii_lowercase().as_str()))
        };
        let found = self.env.iter().find(|(name, _)| is_set(name));
        found.map_or(self.default, |(_, is_on)| *is_on)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_variable_that_is_set_says_whether_a_hook_is_on() {
        let toggle = Toggle { default: true, env: vec![("CI".into(), false), ("DEV".into(), true)] };
        for (env, expected) in [
            (vec![], true),
            (vec![("CI", "1")], false),
            (vec![("CI", "false")], true),
            (vec![("CI", "")], true),
            (vec![("DEV", "yes"), ("CI", "true")], false),
            (vec![("CI", "true"), ("CI", "0")], true),
        ] {
            let env: Vec<(String, String)> = env
                .into_iter()
                .map(|(name, value): (&str, &str)| (name.to_owned(), value.to_owned()))
                .collect();
            assert_eq!(toggle.is_on(&env), expected, "{env:?}");
        }
    }
}
