//! Plugins that are programs of container images.
//!
//! An `ImagePlugin` is an image with what it was granted; its `ImageHandler`s answer at any point. The program
//! runs in a container of its own in which nothing of the machine is but what was granted: files are mounts
//! (`reach`), hosts are reached by a proxy, variables are those that were named. What else it may ask of Samuel it
//! asks over a socket (`host`). A container serves one call, or one after the other ([`ImageMode`]); how it is spoken
//! with is in `exchange`. One whose call does not end well is ended at once, and removed behind it.
//!
//! Engines, containers and their limits are the [`sandbox`](crate::sandbox)'s. Without the feature `sandbox` there is only
//! what manifests say of images.

pub(super) mod grants;
mod mode;
#[cfg(feature = "sandbox")]
mod program;

pub use mode::ImageMode;
#[cfg(feature = "sandbox")]
pub(super) use program::load;
#[cfg(feature = "sandbox")]
pub use program::{ImageHandler, ImagePlugin, ImageSetup};
