//! Whether a program can be the first process of any container: one that needs nothing of the image.

use std::{fs::File, io::Read, path::Path};

/// How much of the file is looked at, in bytes. What is looked for stands at its beginning.
const HEAD: u64 = 64 << 10;
/// What an executable of Linux begins with, for machines of 64 bits and the order of bytes of all that are in use.
const MAGIC: [u8; 6] = [0x7f, b'E', b'L', b'F', 2, 1];
/// The kind of the header that names an interpreter.
const INTERPRETER: u32 = 3;

/// Says what is wrong with the guest, if anything is.
pub(super) fn problem_of(path: &Path) -> Option<String> {
    let place = path.display();
    if !path.is_absolute() {
        return Some(format!("the guest is named by the path {place}, which is not absolute"));
    }
    let mut head = Vec::new();
    let read = File::open(path).and_then(|file| file.take(HEAD).read_to_end(&mut head));
    if let Err(error) = read {
        return Some(format!(
            "the guest cannot be read at {place} ({error}); build it with `cargo xtask guest`, or name it in SAMUEL_GUEST"
        ));
    }
    match has_interpreter(&head) {
        None => Some(format!("the guest, {place}, is no program for this machine")),
        Some(true) => Some(format!(
            "the guest, {place}, is linked dynamically, so no image could be relied on to have what it needs; build it with `cargo xtask guest`"
        )),
        Some(false) => None,
    }
}

/// Says whether an executable is started by an interpreter, as those are that are linked dynamically; `None` of what
/// is no executable.
fn has_interpreter(head: &[u8]) -> Option<bool> {
    let word = |at: usize| Some(u16::from_le_bytes(head.get(at..at + 2)?.try_into().ok()?));
    if !head.starts_with(&MAGIC) {
        return None;
    }
    let table = usize::try_from(u64::from_le_bytes(head.get(32..40)?.try_into().ok()?)).ok()?;
    let (size, count) = (usize::from(word(54)?), usize::from(word(56)?));
    for index in 0..count {
        let at = table.checked_add(size.checked_mul(index)?)?;
        let kind = u32::from_le_bytes(head.get(at..at.checked_add(4)?)?.try_into().ok()?);
        if kind == INTERPRETER {
            return Some(true);
        }
    }
    Some(false)
}

#[cfg(test)]
mod tests {
    #![allow(clippy::indexing_slicing, reason = "tests")]

    use super::*;

    /// Makes an executable with headers of these kinds.
    fn executable(kinds: &[u32]) -> Vec<u8> {
        let mut head = MAGIC.to_vec();
        head.resize(64, 0);
        head[32] = 64;
        head[54] = 56;
        head[56] = u8::try_from(kinds.len()).expect("a few");
        for kind in kinds {
            head.extend(kind.to_le_bytes());
            head.extend([0; 52]);
        }
        head
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_program_that_needs_the_image_is_refused() {
        let directory = tempfile::tempdir().expect("a directory");
        let told = |bytes: &[u8]| {
            let path = directory.path().join("guest");
            std::fs::write(&path, bytes).expect("a file");
            problem_of(&path)
        };
        assert_eq!(told(&executable(&[1, 2])), None);
        assert!(told(&executable(&[1, INTERPRETER])).is_some_and(|told| told.contains("linked dynamically")));
        assert!(told(b"#!/bin/sh\n").is_some_and(|told| told.contains("no program")));
        assert!(told(&executable(&[1, 2])[..70]).is_some_and(|told| told.contains("no program")));
        let missing = problem_of(&directory.path().join("none"));
        assert!(missing.is_some_and(|told| told.contains("cargo xtask guest")));
        assert!(problem_of(Path::new("guest")).is_some());
    }
}
