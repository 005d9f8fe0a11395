//! Digests as files write them: `sha256:` and 64 hexadecimal digits.

use std::io;

use sha2::{Digest as _, Sha256};

use super::hex;

/// A digest under way, of what is written to it.
#[derive(Default)]
pub struct Digesting(Sha256);

impl Digesting {
    /// Adds bytes.
    pub fn add(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    /// Returns the digest of all that was added.
    pub fn finish(self) -> String {
        format!("sha256:{}", hex(&self.0.finalize()))
    }
}

impl io::Write for Digesting {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.add(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

/// Says whether a text is `sha256:` and the 64 hexadecimal digits of a digest.
pub fn is_digest(text: &str) -> bool {
    text.strip_prefix("sha256:").is_some_and(|digits| {
        digits.len() == 64 && digits.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
    })
}

/// Returns the digest of all that can be read, without holding it in memory.
///
/// # Errors
/// Returns an error where reading fails.
pub fn digest_of_stream(mut read: impl io::Read) -> io::Result<String> {
    let mut digest = Digesting::default();
    io::copy(&mut read, &mut digest)?;
    Ok(digest.finish())
}

/// Returns the digest of some bytes.
pub fn digest_of(bytes: &[u8]) -> String {
    let mut digest = Digesting::default();
    digest.add(bytes);
    digest.finish()
}
