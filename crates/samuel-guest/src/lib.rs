//! The first process of a container that Samuel runs a command in.
//!
//! An engine starts the program `samuel-guest` as process 1 of a container. It connects to the *lifeline*, a
//! Unix socket of the Samuel that waits for the command, says a token, and receives a [`Launch`]: arguments,
//! environment, working directory. So none of them is an argument of the engine, in what it shows of a
//! container, or in its storage. The guest then denies itself what no command needs (`seccomp`), hands over the
//! ports that lead out (`ports`), starts the command, passes signals on, reaps what is orphaned, and exits as the
//! command did. A lifeline that ends takes all processes of the container with it, however Samuel ended.
//!
//! The crate is small on purpose: the program is built static (`cargo xtask guest`), so that it runs in an
//! image that holds nothing else, and each container maps it. Samuel's side of the lifeline is in
//! `samuel_core::sandbox`.
//!
//! ```
//! use samuel_guest::Launch;
//!
//! let launch = Launch::new(["make", "test"], "/work").env("LANG", "C.UTF-8");
//! let line = launch.to_line()?;
//! assert_eq!(Launch::from_line(&line)?, launch);
//! # Ok::<(), samuel_guest::LaunchError>(())
//! ```

mod launch;

#[cfg(target_os = "linux")]
mod init;
#[cfg(target_os = "linux")]
mod limits;
#[cfg(not(target_os = "linux"))]
mod no_ports;
#[cfg(target_os = "linux")]
mod ports;
#[cfg(target_os = "linux")]
mod seccomp;
#[cfg(target_os = "linux")]
mod signals;

#[cfg(target_os = "linux")]
pub use init::{guest_main, program_main};
pub use launch::{
    Ended, GREETING_LIMIT, Greeting, LAUNCH_LIMIT, LIFELINE, LIMITS_TOLD, Launch, LaunchError, NOT_STARTED,
    PROTOCOL, Streams, TOKEN,
};
#[cfg(target_os = "linux")]
pub use limits::limits_that_are_set;
#[cfg(not(target_os = "linux"))]
pub use no_ports::{is_of_this_network, take_ports};
#[cfg(target_os = "linux")]
pub use ports::{MAX_PORTS, is_of_this_network, take_ports};
