//! The data a command is given: a file, or stdin.
//!
//! Who names a pipe or a device on the command line means it, as in `samuel toon
//! decode <(curl ...)`: so here, and only here, whatever is named is waited for.
//! How much is read of it is limited all the same.

use std::{
    fs::File,
    io::{self, Read},
    path::{Path, PathBuf},
};

use samuel_core::model::ErrorCode;

use crate::{failure::Failure, host::Host};

/// How much is read at most; a value in memory takes several times as much.
const MAX_MEBIBYTES: u64 = 64;

/// Bytes, and where they are from.
#[derive(Debug)]
pub(crate) struct Input {
    /// The file as it was named, or `<stdin>`.
    pub(crate) name: PathBuf,
    pub(crate) bytes: Vec<u8>,
}

impl Input {
    /// Reads a file, or stdin where none is named or it is called "-".
    pub(crate) fn read(file: Option<&Path>, host: &Host) -> Result<Self, Failure> {
        match file.filter(|file| *file != Path::new("-")) {
            None => Self::take(PathBuf::from("<stdin>"), Ok(io::stdin().lock())),
            Some(file) => Self::take(file.to_owned(), File::open(host.absolute(file)?)),
        }
    }

    fn take(name: PathBuf, source: io::Result<impl Read>) -> Result<Self, Failure> {
        let most = MAX_MEBIBYTES << 20;
        let mut bytes = Vec::new();
        let read = source.and_then(|source| source.take(most + 1).read_to_end(&mut bytes));
        if let Err(error) = read {
            let message = format!("cannot read {}", name.display());
            return Err(Failure::new(ErrorCode::INPUT_IO, message).at(&name).because(&error));
        }
        if bytes.len() as u64 > most {
            let message = format!("{} holds more than {MAX_MEBIBYTES} MiB", name.display());
            return Err(Failure::new(ErrorCode::INPUT_TOO_LARGE, message).at(&name));
        }
        Ok(Self { name, bytes })
    }
}
