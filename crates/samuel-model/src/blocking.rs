//! Blocking work: file access and waits that must not hold up the asynchronous runtime.

use std::{any::Any, future::Future};

use tokio::task::{JoinError, spawn_blocking};

/// Starts `work` on a thread that may block. The returned future waits for its result.
///
/// Like [`spawn_blocking`], but boxes `work` and its result: the compiler then builds the task of the runtime once,
/// and not for each caller. Dropping the future does not stop the work.
///
/// # Errors
///
/// When `work` panics, or when the runtime ends before it begins.
///
/// # Panics
///
/// Outside of a runtime.
#[doc(hidden)]
pub fn run_blocking<T: Send + 'static>(
    work: impl FnOnce() -> T + Send + 'static,
) -> impl Future<Output = Result<T, JoinError>> + Send {
    let work: Box<dyn FnOnce() -> Box<dyn Any + Send> + Send> = Box::new(move || Box::new(work()));
    let task = spawn_blocking(work);
    async move { task.await.map(|done| *done.downcast().expect("it is the result of `work`")) }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, clippy::panic, reason = "tests")]

    use super::run_blocking;

    #[tokio::test]
    async fn returns_the_result_and_reports_a_panic() {
        assert_eq!(run_blocking(|| vec![1, 2]).await.unwrap(), [1, 2]);
        let broken = run_blocking(|| -> u8 { panic!("in vain") }).await.unwrap_err();
        assert_eq!(broken.into_panic().downcast_ref(), Some(&"in vain"));
    }
}
