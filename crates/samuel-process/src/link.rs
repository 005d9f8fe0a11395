//! Words over a socket, on the side that obeys.

use super::wire::{Order, Report};
use rustix::net::{SendFlags, send};
use std::io;
use tokio::net::UnixStream;

/// Sends a report. A few bytes always fit, and if the other side is gone nobody needs it.
pub(super) fn report(control: &UnixStream, message: Report) {
    let _ = send(control, &message.encode(), SendFlags::NOSIGNAL | SendFlags::DONTWAIT);
}

/// Waits for an order; `None` when the other end is closed.
pub(super) async fn next_order(control: &UnixStream) -> Option<Order> {
    loop {
        control.readable().await.ok()?;
        let mut byte = [0];
        match control.try_read(&mut byte) {
            Ok(0) => return None,
            Ok(_) => return Order::from_byte(byte[0]),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            Err(_) => return None,
        }
    }
}
