//! A control file that is not as it was.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What stands before why a file has no digest.
pub const UNREADABLE: &str = "unreadable: ";

/// A control file that is not as it was when a run was built.
///
/// A digest is `sha256:` and 64 digits; of a file above 64 MiB its length and its
/// stamps, and `unreadable: ` with the reason where the file cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ControlFileChange {
    /// The file, relative to the project's root; a plugin as a whole by its
    /// directory, with a slash at its end.
    pub path: String,
    /// Why the file is watched, such as ``run by quality check `sh check.sh` ``; absent where the path itself says what the file is for.
    pub named_by: Option<String>,
    /// Its digest when the run was built; absent where there was no file.
    pub before: Option<String>,
    /// Its digest now; absent where there is no file. The same as `before` where the
    /// file was written in the meantime and then put back.
    pub now: Option<String>,
}

impl ControlFileChange {
    /// Says in a word what happened to the file.
    pub fn how(&self) -> &'static str {
        match (&self.before, &self.now) {
            (None, _) => "new",
            (Some(_), None) => "missing",
            (before, now) if before == now => "written to",
            _ => "changed",
        }
    }

    /// Says what it was and what it is, by the digests.
    pub fn digests(&self) -> String {
        let shown = |digest: &Option<String>| digest.clone().unwrap_or_else(|| "no file".to_owned());
        format!("{} -> {}", shown(&self.before), shown(&self.now))
    }
}

impl fmt::Display for ControlFileChange {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.how(), self.path)?;
        if let Some(named_by) = &self.named_by {
            write!(f, " ({named_by})")?;
        }
        match self.now.as_deref().and_then(|now| now.strip_prefix(UNREADABLE)) {
            Some(why) => write!(f, " ({why})"),
            None => Ok(()),
        }
    }
}
