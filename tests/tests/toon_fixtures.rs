//! The conformance fixtures of the TOON specification, one test for each case.
//!
//! The files are those of version 4.1. Seven of their cases describe non-strict
//! readings that version 4.4 made errors; they are expected to fail here. The
//! directory is `shared/toon-spec/fixtures` beside the workspace, or else the
//! sources of the crate `serde_toon`, which ships the same files.
#![allow(clippy::indexing_slicing, reason = "a JSON value answers a missing key with null")]

use std::{
    fmt::Display,
    fs,
    path::{Path, PathBuf},
    process::{Command, ExitCode},
};

use libtest_mimic::{Arguments, Failed, Trial};
use samuel_core::toon::{self, DecodeOptions, Delimiter, EncodeOptions};
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

const CASES: usize = 538;

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

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let Some(root) = fixtures() else {
        let missing = Trial::test("fixtures_are_available", || {
            Err(Failed::from(
                "neither shared/toon-spec beside the workspace nor the sources of serde_toon were found",
            ))
        });
        return libtest_mimic::run(&arguments, vec![missing]).exit_code();
    };
    let mut trials = Vec::new();
    for side in ["encode", "decode"] {
        for file in json_files(&root.join(side)) {
            trials.extend(trials_of(side, &file));
        }
    }
    let found = trials.len();
    trials.push(Trial::test("all_cases_are_there", move || {
        if found == CASES { Ok(()) } else { Err(format!("{found} cases instead of {CASES}").into()) }
    }));
    libtest_mimic::run(&arguments, trials).exit_code()
}

fn fixtures() -> Option<PathBuf> {
    let workspace = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    let beside = workspace.ancestors().skip(1).map(|up| up.join("shared/toon-spec/fixtures"));
    beside.take(3).find(|path| path.is_dir()).or_else(|| from_serde_toon(workspace))
}

/// Asks cargo where the sources of the crate are and looks for the directory.
fn from_serde_toon(workspace: &Path) -> Option<PathBuf> {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let output = Command::new(cargo)
        .args(["metadata", "--format-version", "1"])
        .current_dir(workspace)
        .output()
        .ok()?;
    let metadata: Value = serde_json::from_slice(&output.stdout).ok()?;
    let packages = metadata["packages"].as_array()?;
    let package = packages.iter().find(|package| package["name"] == "serde_toon")?;
    let sources = Path::new(package["manifest_path"].as_str()?).parent()?;
    find_fixtures(sources, 6)
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
    let mut files: Vec<PathBuf> = fs::read_dir(directory)
        .map(|entries| entries.flatten().map(|entry| entry.path()).collect())
        .unwrap_or_default();
    files.retain(|path| path.extension().is_some_and(|extension| extension == "json"));
    files.sort();
    files
}

fn trials_of(side: &'static str, path: &Path) -> Vec<Trial> {
    let stem = path.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
    let file: File = match read(path) {
        Ok(file) => file,
        Err(message) => {
            return vec![Trial::test(format!("{side}::{stem}::can_be_read"), move || Err(message.into()))];
        }
    };
    let trial = |(index, mut case): (usize, Case)| {
        case.should_error |= side == "decode" && ERRORS_SINCE_4_4.contains(&(stem.as_str(), index));
        let name = format!("{side}::{stem}::{index:02} {}", case.name);
        Trial::test(name, move || if side == "encode" { encodes(&case) } else { decodes(&case) })
    };
    file.tests.into_iter().enumerate().map(trial).collect()
}

fn read(path: &Path) -> Result<File, String> {
    let text = fs::read(path).map_err(|error| describe(path, error))?;
    serde_json::from_slice(&text).map_err(|error| describe(path, error))
}

fn describe(path: &Path, error: impl Display) -> String {
    format!("{}: {error}", path.display())
}

fn encodes(case: &Case) -> Result<(), Failed> {
    let text = toon::to_string_with(&case.input, case.options.encode())?;
    let expected = case.expected.as_str().unwrap_or_default();
    if text == expected { Ok(()) } else { Err(format!("expected:\n{expected}\nencoded:\n{text}").into()) }
}

fn decodes(case: &Case) -> Result<(), Failed> {
    let text = case.input.as_str().unwrap_or_default();
    let outcome: toon::Result<toon::Value> = toon::from_str_with(text, case.options.decode());
    match outcome {
        Ok(value) if case.should_error => {
            Err(format!("decoded {text:?} to {value:?} instead of failing").into())
        }
        Err(_) if case.should_error => Ok(()),
        Err(error) => Err(format!("{error} in {text:?}").into()),
        Ok(value) => {
            let expected = toon::Value::deserialize(&case.expected)?;
            // Equality ignores the order of keys, their printed form does not.
            if format!("{value:?}") == format!("{expected:?}") {
                Ok(())
            } else {
                Err(format!("expected {expected:?}\ndecoded  {value:?}").into())
            }
        }
    }
}
