//! `samuel toon`: the codec from a terminal.
//!
//! Every verb reads one text, calls one function of the library and shows what
//! it returns.

use samuel_core::{
    model::ErrorCode,
    text::counted,
    toon::{self, DecodeOptions, EncodeOptions, NumberText, Recovered, Value},
};
use serde_json::json;

use crate::{
    args::{DecodeArgs, EncodeArgs, ReadArgs, ToonCommand},
    failure::Failure,
    host::Host,
    input::Input,
    render::{safe, safe_json},
    reply::Reply,
};

/// Carries out a verb.
pub(crate) fn run(command: &ToonCommand, host: &Host) -> Result<Reply, Failure> {
    match command {
        ToonCommand::Encode(args) => encode(args, host),
        ToonCommand::Decode(args) => decode(args, host),
        ToonCommand::Check(args) => check(args, host),
        ToonCommand::Recover(args) => recover(args, host),
    }
}

fn encode(args: &EncodeArgs, host: &Host) -> Result<Reply, Failure> {
    let input = Input::read(args.file.as_deref(), host)?;
    let value = json_of(&input)?;
    let options = EncodeOptions { indent_size: usize::from(args.indent), delimiter: args.delimiter };
    let text = toon::to_string_with(&value, options).map_err(|error| invalid(&input, &error))?;
    Ok(Reply::new(json!({ "toon": text }), text + "\n").for_a_program())
}

/// The JSON of the answer's data is a text, because numbers of any size pass
/// through a text alone.
fn decode(args: &DecodeArgs, host: &Host) -> Result<Reply, Failure> {
    let input = Input::read(args.read.file.as_deref(), host)?;
    let options = DecodeOptions { strict: !args.no_strict, ..reading(&args.read) };
    let value: Value =
        toon::from_slice_with(&input.bytes, options).map_err(|error| invalid(&input, &error))?;
    let text = safe_json(&value.to_json_pretty()).into_owned();
    Ok(Reply::new(json!({ "json": text }), text + "\n").for_a_program())
}

fn check(args: &ReadArgs, host: &Host) -> Result<Reply, Failure> {
    let input = Input::read(args.file.as_deref(), host)?;
    let Recovered { diagnostics: found, more, .. } = toon::check(&input.bytes, reading(args));
    let data = json!({ "valid": found.is_empty(), "diagnostics": found, "more_diagnostics": more });
    let name = input.name.display().to_string();
    let Some(first) = found.first() else {
        return Ok(Reply::new(data, format!("{} is valid TOON\n", safe(&name))));
    };
    let message = match found.len() + more {
        1 => format!("{name} has a fault"),
        count => format!("{name} has {count} faults"),
    };
    Err(Failure::new(ErrorCode::TOON_INVALID, message)
        .at_place(&input.name, first.line, first.column)
        .detail(found.iter().map(|fault| safe(&fault.to_string())).chain(and_more(more)))
        .with_data(data))
}

fn recover(args: &ReadArgs, host: &Host) -> Result<Reply, Failure> {
    let input = Input::read(args.file.as_deref(), host)?;
    let options = DecodeOptions { numbers: NumberText::AsWritten, ..reading(args) };
    let Recovered { value, diagnostics, more, mut skipped } =
        toon::recover_with::<Value>(&input.bytes, options);
    let more_skipped = skipped.len().saturating_sub(SHOWN);
    skipped.truncate(SHOWN);
    let data = |text: Option<&str>| {
        json!({
            "toon": text,
            "diagnostics": diagnostics,
            "more_diagnostics": more,
            "skipped": skipped,
            "more_skipped": more_skipped,
        })
    };
    let Some(value) = value else {
        let message = format!("nothing can be read of {}", input.name.display());
        return Err(Failure::new(ErrorCode::TOON_INVALID, message)
            .at(&input.name)
            .detail(diagnostics.iter().map(|fault| safe(&fault.to_string())).chain(and_more(more)))
            .advise("Correct the text by hand, at the places named above.")
            .with_data(data(None)));
    };
    let (text, shown) = match std::str::from_utf8(&input.bytes) {
        Ok(text) if diagnostics.is_empty() => (text.to_owned(), text.to_owned()),
        _ => {
            let options = EncodeOptions { indent_size: usize::from(args.indent), ..EncodeOptions::default() };
            let text = toon::to_string_with(&value, options).map_err(|error| invalid(&input, &error))?;
            (text.clone(), text + "\n")
        }
    };
    let name = input.name.display();
    let faults = diagnostics.iter().map(|fault| safe(&format!("{name}:{fault}")));
    let lost = skipped.iter().map(|part| format!("left out from line {} on:\n{}", part.line, part.raw));
    let more_lost =
        (more_skipped > 0).then(|| format!("left out {} more of the text", counted(more_skipped, "piece")));
    let warnings: Vec<String> = faults.chain(and_more(more)).chain(lost).chain(more_lost).collect();
    Ok(Reply::new(data(Some(&text)), shown).warn(warnings).for_a_program())
}

/// How many pieces of text that was left out are shown; the others are counted.
/// All of it is in the file that was read.
const SHOWN: usize = 100;

/// Counts the faults that are not described.
fn and_more(faults: usize) -> Option<String> {
    (faults > 0).then(|| format!("and {faults} more"))
}

fn reading(args: &ReadArgs) -> DecodeOptions {
    DecodeOptions { indent_size: usize::from(args.indent), ..DecodeOptions::default() }
}

fn json_of(input: &Input) -> Result<Value, Failure> {
    let bytes = input.bytes.strip_prefix(b"\xEF\xBB\xBF").unwrap_or(&input.bytes);
    serde_json::from_slice(bytes).map_err(|error| {
        let text = error.to_string();
        let place = format!(" at line {} column {}", error.line(), error.column());
        let message = text.strip_suffix(&place).unwrap_or(&text);
        let column = characters(bytes, error.line(), error.column());
        Failure::new(ErrorCode::JSON_INVALID, message).at_place(&input.name, error.line(), column)
    })
}

/// Turns a column in bytes into one in characters.
fn characters(bytes: &[u8], line: usize, column: usize) -> usize {
    let mut lines = bytes.split(|byte| *byte == b'\n');
    let line = lines.nth(line.saturating_sub(1)).unwrap_or_default();
    let until = line.get(..column.min(line.len())).unwrap_or_default();
    until.iter().filter(|byte| (**byte & 0xC0) != 0x80).count().max(1)
}

fn invalid(input: &Input, error: &toon::Error) -> Failure {
    let message = match error.path() {
        "" => error.kind().to_string(),
        path => format!("{} in {path}", error.kind()),
    };
    Failure::new(ErrorCode::TOON_INVALID, message).at_place(&input.name, error.line(), error.column())
}
