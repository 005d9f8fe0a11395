//! Plugins that are programs of container images.
//!
//! An [`ImagePlugin`] is an image with what it was granted; its [`ImageHandler`]s answer at any point. The program
//! runs in a container of its own in which nothing of the machine is but what was granted: files are mounts
//! ([`grants`]), hosts are reached by a proxy, variables are those that were named. What else it may ask of Samuel it
//! asks over a socket ([`host`]). A container serves one call, or one after the other ([`ImageMode`]); how it is spoken
//! with is in `exchange`. One whose call does not end well is ended at once, and removed behind it.
//!
//! Engines, containers and their limits are the [`sandbox`](crate::sandbox)'s.

mod exchange;
pub(super) mod grants;
mod handler;
mod host;
mod image;
mod socket;

pub use handler::ImageHandler;
pub use image::{ImageMode, ImagePlugin, ImageSetup};
