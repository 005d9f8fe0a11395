//! Lines.

/// A line of standard output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Line {
    /// The text without its line end; what is not UTF-8 is U+FFFD.
    pub text: String,
    /// Whether the line was longer than
    /// [`OutputLimits::line`](super::OutputLimits::line) and `text` is only its start.
    pub truncated: bool,
    /// Whether the bytes were not UTF-8.
    pub invalid_utf8: bool,
}
