//! How the program of an image is called.

use serde::Serialize;

/// How the program of an image is called.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ImageMode {
    /// It is started with `serve` and answers one call after the other, a line each. The default.
    #[default]
    Serve,
    /// It is started for each call, with the handler as its argument.
    Call,
}
