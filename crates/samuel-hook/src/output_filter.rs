//! Hiding secrets in the files that keep the output of commands.

use std::sync::Arc;

use samuel_model::environment::{SecretStream, Secrets};
use samuel_process::{OutputFilter, StreamFilter};

#[derive(Debug)]
struct Hiding(Arc<Secrets>);

#[derive(Debug)]
struct HidingStream(SecretStream);

impl OutputFilter for Hiding {
    fn stream(&self) -> Box<dyn StreamFilter> {
        Box::new(HidingStream(self.0.stream()))
    }
}

impl StreamFilter for HidingStream {
    fn push(&mut self, bytes: &[u8]) -> Vec<u8> {
        self.0.push(bytes)
    }

    fn finish(&mut self) -> Vec<u8> {
        self.0.finish()
    }
}

/// Returns a filter that hides secrets in the files that keep the output of a command.
#[doc(hidden)]
pub fn hiding(secrets: &Arc<Secrets>) -> Arc<dyn OutputFilter> {
    Arc::new(Hiding(Arc::clone(secrets)))
}
