//! The plan of a run, from within a call of its agent.
//!
//! A loop serves its agent's changes of the plan over the run's socket, so that an agent in a sandbox
//! needs no file of the plan; docs/broker.md is the protocol. A [`BrokerStore`] is the other end: a
//! [`PlanStore`](crate::state::PlanStore) whose plan the loop keeps. `samuel run done` and its siblings use it
//! wherever [`BrokerAddress::of_env`] finds the variables that an agent gets.
//!
//! ```
//! use samuel_core::{
//!     broker::{BrokerAddress, BrokerStore},
//!     model::{Coded as _, ErrorCode},
//! };
//!
//! let variables = [("SAMUEL_SOCKET", "/nowhere/socket"), ("SAMUEL_TOKEN", "0123")];
//! let of_call = |name: &str| variables.iter().find(|(known, _)| *known == name).map(|(_, value)| *value);
//! let address = BrokerAddress::of_env(of_call).ok_or("no run called this program")?;
//! match BrokerStore::connect(address) {
//!     Ok(store) => println!("task {:?} of run {}", store.welcome().task, store.welcome().run),
//!     Err(error) => assert_eq!(error.code(), ErrorCode::BROKER_GONE, "no loop listens there"),
//! }
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod access;
mod address;
mod store;
mod told;

pub use access::PlanAccess;
pub use address::BrokerAddress;
pub use store::BrokerStore;

/// Has the code of the specification compiled.
#[cfg(doctest)]
#[doc = include_str!("../../../docs/broker.md")]
struct Specification;
