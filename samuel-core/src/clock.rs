//! Time, as the caller gives it: the [`SystemClock`] by programs and a virtual one by tests.
//!
//! ```
//! use samuel_core::{clock::Clock, testing::VirtualClock};
//! use std::time::Duration;
//!
//! let clock = VirtualClock::new();
//! let before = clock.elapsed();
//! clock.advance(Duration::from_secs(60));
//! assert_eq!(clock.elapsed() - before, Duration::from_secs(60));
//! ```

pub(crate) use samuel_model::clock::whole_ms;
pub use samuel_model::clock::{Clock, SystemClock};
