//! Files that may not grow any further.
//!
//! Where a process writes past its limit of file sizes (`ulimit -f`), the system
//! sends it SIGXFSZ, which ends it without a word. Once the signal is caught the
//! write fails like any other and is told as an error. Programs that are started
//! have the signal as it was: what is caught is not passed on, what is ignored is.

use rustix::process::{Resource, getrlimit};
use tokio::{
    runtime,
    signal::unix::{SignalKind, signal},
};

/// Lets writes past the limit of file sizes, if there is one, fail instead of
/// ending the process.
pub(crate) fn tell_of_it() {
    if getrlimit(Resource::Fsize).current.is_none() {
        return;
    }
    // Without it such a write ends the process, as it does by default.
    let Ok(runtime) = runtime::Builder::new_current_thread().enable_io().build() else { return };
    let _entered = runtime.enter();
    // The handler stays with the process; nobody has to listen.
    let _ = signal(SignalKind::from_raw(libc::SIGXFSZ));
}
