//! What leaves a sandbox: an allow-list with the proxy that keeps to it, and gateways that keep keys outside.
//!
//! A command in a sandbox has no network device. Its programs reach a proxy of Samuel, which resolves names
//! outside and connects to what an [`EgressPolicy`] names, and to nothing else: no address that a name leads to
//! within the machine or its network, unless the policy has that address itself. There are no firewall rules,
//! and no names are resolved inside. A [`Gateway`] leads to one host, with a key that no command has. How a command reaches the proxy is the [`sandbox`](crate::sandbox)'s.
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
mod at_once;
mod body;
mod connect;
mod forward;
mod gateway;
mod head;
mod policy;
mod proxy;
mod refusals;
mod request;
mod room;
mod secret;
mod tls;

#[cfg(test)]
mod gateway_tests;

pub(crate) use forward::serve as serve_gateway;
pub use gateway::{Gateway, GatewayParts, PLACEHOLDER_KEY};
pub use policy::{EgressPolicy, EgressVerdict};
pub(crate) use proxy::serve as serve_proxy;
pub(crate) use refusals::Refusals;
pub(crate) use room::{Room, accepted};
