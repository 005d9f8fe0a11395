//! What leaves a sandbox: an allow-list, and the proxy that keeps to it.
//!
//! A command in a sandbox has no network device. Its programs reach a proxy of Samuel, which resolves names
//! outside and connects to what an [`EgressPolicy`] names, and to nothing else: no address that a name leads to
//! within the machine or its network, unless the policy has that address itself. There are no firewall rules,
//! and no names are resolved inside. How a command reaches the proxy is the [`sandbox`](crate::sandbox)'s.
//!
//! ```
//! use samuel_core::egress::{EgressPolicy, EgressVerdict};
//!
//! let policy = EgressPolicy::parse(["api.example.org", "*.example.com:8443"])?;
//! assert_eq!(policy.judge("api.example.org", 443), EgressVerdict::Name);
//! assert_eq!(policy.judge("api.example.org", 22), EgressVerdict::Refused);
//! # Ok::<(), String>(())
//! ```

mod address;
mod policy;
mod proxy;
mod refusals;
mod request;

pub use policy::{EgressPolicy, EgressVerdict};
pub(crate) use proxy::serve;
pub(crate) use refusals::Refusals;
