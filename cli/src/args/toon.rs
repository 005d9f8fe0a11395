//! The arguments of `samuel toon`.

use std::path::PathBuf;

use clap::{
    Args, Subcommand,
    builder::{PossibleValuesParser, TypedValueParser},
};
use samuel_core::toon::Delimiter;

use super::whole_number;

#[derive(Debug, Subcommand)]
pub(crate) enum ToonCommand {
    /// Turn JSON into TOON
    Encode(EncodeArgs),
    /// Turn TOON into JSON
    Decode(DecodeArgs),
    /// List everything that is wrong with a TOON text
    Check(ReadArgs),
    /// Print a damaged TOON text mended; faults, and what was left out, go to stderr
    ///
    /// A text without faults is printed as it is. Any other is written anew from what could be read,
    /// so its comments are gone.
    Recover(ReadArgs),
}

#[derive(Debug, Args)]
pub(crate) struct EncodeArgs {
    /// The JSON to read; "-" is stdin [default: stdin]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// What separates cells, inline values and field names
    #[arg(long, value_name = "DELIMITER", default_value = "comma", value_parser = delimiter())]
    pub(crate) delimiter: Delimiter,
    /// Spaces of one indentation level, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole_number::<u8>(1..=16))]
    pub(crate) indent: u8,
}

/// A TOON text, and how it is indented.
#[derive(Debug, Args)]
pub(crate) struct ReadArgs {
    /// The text to read; "-" is stdin [default: stdin]
    #[arg(value_name = "FILE")]
    pub(crate) file: Option<PathBuf>,
    /// Spaces of one indentation level, 1 to 16
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = whole_number::<u8>(1..=16))]
    pub(crate) indent: u8,
}

#[derive(Debug, Args)]
pub(crate) struct DecodeArgs {
    #[command(flatten)]
    pub(crate) read: ReadArgs,
    /// Read over wrong lengths, repeated keys, blank lines and odd indentation
    #[arg(long)]
    pub(crate) no_strict: bool,
}

fn delimiter() -> impl TypedValueParser<Value = Delimiter> {
    PossibleValuesParser::new(["comma", "tab", "pipe"]).map(|word| match word.as_str() {
        "tab" => Delimiter::Tab,
        "pipe" => Delimiter::Pipe,
        _ => Delimiter::Comma,
    })
}
