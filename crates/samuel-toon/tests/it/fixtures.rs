//! The conformance fixtures of the TOON specification.
//!
//! The files are those of version 4.1, which the crate `serde_toon` ships. Seven of their
//! cases describe non-strict readings that version 4.4 made errors; decoding must fail there.
#![allow(clippy::print_stdout, reason = "lists the cases that failed")]

use std::{
    fs,
    path::{Path, PathBuf},
    process::Command,
};

use samuel_toon::{self as toon, DecodeOptions, Delimiter, EncodeOptions};
use serde::Deserialize;
use serde_json::Value;

/// Non-strict readings of 4.1 that are errors in 4.4: file and index from 0.
const ERRORS_SINCE_4_4: [(&str, usize); 7] = [
    ("delimiters", 28),
    ("objects-keyed", 18),
    ("objects", 23),
    ("objects", 24),
    ("objects", 25),
    ("objects", 26),
    ("objects", 53),
];

const CASES_ENCODED: usize = 179;
const CASES_DECODED: usize = 359;

#[derive(Deserialize)]
struct File {
    tests: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    name: String,
    input: Value,
    #[serde(default)]
    expected: Value,
    #[serde(default, rename = "shouldError")]
    should_error: bool,
    #[serde(default)]
    options: Options,
}

#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    indent_size: Option<usize>,
    delimiter: Option<char>,
    strict: Option<bool>,
}

impl Options {
    fn encode(&self) -> EncodeOptions {
        let delimiter = match self.delimiter {
            Some('\t') => Delimiter::Tab,
            Some('|') => Delimiter::Pipe,
            _ => Delimiter::Comma,
        };
        EncodeOptions { indent_size: self.indent_size.unwrap_or(2), delimiter }
    }

    fn decode(&self) -> DecodeOptions {
        DecodeOptions {
            indent_size: self.indent_size.unwrap_or(2),
            strict: self.strict.unwrap_or(true),
            ..DecodeOptions::default()
        }
    }
}

#[test]
fn encodes_every_case() {
    holds("encode", CASES_ENCODED, encodes);
}

#[test]
fn decodes_every_case() {
    holds("decode", CASES_DECODED, decodes);
}

/// Runs the cases of a side, prints each one that fails, and counts them.
#[track_caller]
fn holds(side: &str, cases: usize, run: fn(&Case) -> Result<(), String>) {
    let (mut found, mut failed) = (0, 0);
    for path in json_files(&fixtures().join(side)) {
        let stem = path.file_stem().unwrap().to_str().unwrap();
        let file: File = serde_json::from_slice(&fs::read(&path).unwrap())
            .unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        for (index, mut case) in file.tests.into_iter().enumerate() {
            case.should_error |= side == "decode" && ERRORS_SINCE_4_4.contains(&(stem, index));
            found += 1;
            if let Err(why) = run(&case) {
                failed += 1;
                println!("{side}::{stem}::{index:02} {}: {why}\n", case.name);
            }
        }
    }
    assert_eq!(failed, 0, "{failed} of {found} cases failed");
    assert_eq!(found, cases, "cases were lost or added");
}

/// Asks cargo where the sources of the crate `serde_toon` are and looks for the fixtures in them.
fn fixtures() -> PathBuf {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let output = Command::new(env!("CARGO"))
        .args(["metadata", "--format-version", "1"])
        .current_dir(workspace)
        .output()
        .unwrap();
    let metadata: Value = serde_json::from_slice(&output.stdout).unwrap();
    let packages = metadata["packages"].as_array().unwrap();
    let package = packages.iter().find(|package| package["name"] == "serde_toon").unwrap();
    let sources = Path::new(package["manifest_path"].as_str().unwrap()).parent().unwrap();
    find_fixtures(sources, 6).expect("serde_toon ships the fixtures")
}

fn find_fixtures(directory: &Path, levels: usize) -> Option<PathBuf> {
    if directory.join("decode/objects-keyed.json").is_file() && directory.join("encode").is_dir() {
        return Some(directory.to_owned());
    }
    if levels == 0 {
        return None;
    }
    let mut entries: Vec<PathBuf> =
        fs::read_dir(directory).ok()?.flatten().map(|entry| entry.path()).collect();
    entries.sort();
    entries.into_iter().filter(|path| path.is_dir()).find_map(|path| find_fixtures(&path, levels - 1))
}

fn json_files(directory: &Path) -> Vec<PathBuf> {
    let mut files: Vec<PathBuf> =
        fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path()).collect();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn encodes(case: &Case) -> Result<(), String> {
    let text = toon::to_string_with(&case.input, case.options.encode()).map_err(|error| error.to_string())?;
    let expected = case.expected.as_str().unwrap_or_default();
    if text == expected { Ok(()) } else { Err(format!("expected:\n{expected}\nencoded:\n{text}")) }
}

fn decodes(case: &Case) -> Result<(), String> {
    let text = case.input.as_str().unwrap_or_default();
    let outcome: toon::Result<toon::Value> = toon::from_str_with(text, case.options.decode());
    match outcome {
        Ok(value) if case.should_error => Err(format!("decoded {text:?} to {value:?} instead of failing")),
        Err(_) if case.should_error => Ok(()),
        Err(error) => Err(format!("{error} in {text:?}")),
        Ok(value) => {
            let expected = toon::Value::deserialize(&case.expected).map_err(|error| error.to_string())?;
            // Equality ignores the order of keys, their printed form does not.
            if format!("{value:?}") == format!("{expected:?}") {
                Ok(())
            } else {
                Err(format!("expected {expected:?}\ndecoded  {value:?}"))
            }
        }
    }
}
