//! The mark by which a command's processes are known.
//!
//! It is a variable in the command's environment, which descendants inherit,
//! and the name of its control group. It says whose command it is: the process
//! that embeds Samuel, by pid and start time. So the next run can find what a
//! dead process left without knowing its commands one by one. The last part is
//! random, so that no program carries a mark by chance. A mark is no secret:
//! whoever takes one is ended with the command.

use super::SupervisorId;
use std::fmt;

/// The environment variable that carries the mark.
pub(super) const VARIABLE: &str = "SAMUEL_PROCESS_MARK";

/// How much of an environment is read; more than a process can be started with.
#[cfg(target_os = "linux")]
const MAX_ENVIRONMENT: u64 = 8 << 20;

/// The mark of one command.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Mark {
    client: SupervisorId,
    nonce: u64,
}

impl Mark {
    /// Makes the mark of one more command of this process.
    pub(super) fn new(client: SupervisorId) -> Self {
        let mut nonce = [0; 8];
        // Without randomness a mark still says whose it is.
        let _ = getrandom::fill(&mut nonce);
        Self { client, nonce: u64::from_le_bytes(nonce) }
    }

    /// Reads a mark. Nothing but the text of one is one, so that no empty or
    /// common text leads to processes.
    #[cfg(target_os = "linux")]
    pub(super) fn parse(text: &str) -> Option<Self> {
        let mut parts = text.splitn(3, '.');
        let client =
            SupervisorId { pid: parts.next()?.parse().ok()?, start_time: parts.next()?.parse().ok()? };
        let mark = Self { client, nonce: u64::from_str_radix(parts.next()?, 16).ok()? };
        (mark.to_string() == text).then_some(mark)
    }

    /// Returns whose command it is.
    #[cfg(target_os = "linux")]
    pub(super) fn client(&self) -> SupervisorId {
        self.client
    }

    /// Returns the marks in the environment that a process was started with; none
    /// where that cannot be read.
    #[cfg(target_os = "linux")]
    pub(super) fn carried_by(pid: rustix::process::Pid) -> Vec<Self> {
        use std::{fs::File, io::Read};
        let mut environment = Vec::new();
        if let Ok(file) = File::open(format!("/proc/{}/environ", pid.as_raw_nonzero())) {
            // What could be read counts.
            let _ = file.take(MAX_ENVIRONMENT).read_to_end(&mut environment);
        }
        let marks = environment.split(|byte| *byte == 0).filter_map(|variable| {
            let value = variable.strip_prefix(VARIABLE.as_bytes())?.strip_prefix(b"=")?;
            Self::parse(std::str::from_utf8(value).ok()?)
        });
        marks.collect()
    }
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}.{:016x}", self.client.pid, self.client.start_time, self.nonce)
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn only_the_whole_text_of_a_mark_is_one() {
        let mark = Mark { client: SupervisorId { pid: 12, start_time: 345 }, nonce: 0xab };
        assert_eq!(mark.to_string(), "12.345.00000000000000ab");
        assert_eq!(Mark::parse("12.345.00000000000000ab"), Some(mark));
        let others = ". .. 12.345. 12.345.ab 12.345.00000000000000AB 12.345.00000000000000ab. \
                      12.345.00000000000000ab/../x +12.345.00000000000000ab 012.345.00000000000000ab \
                      ../12.345.00000000000000ab -1.345.00000000000000ab";
        for text in others.split(' ').chain([""]) {
            assert_eq!(Mark::parse(text), None, "{text}");
        }
    }
}
