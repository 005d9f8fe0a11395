//! What the host offers to components: the interfaces of `wit/v1/host.wit`.
//!
//! [`linker`] has all of them, for every plugin alike. What a plugin may do is
//! asked in the function that would do it, by the grants of the [`Guest`] that
//! calls: an interface that was declared and not granted is there, and answers
//! `denied`. Each interface is a file here.
//!
//! No function outlasts its caller: what waits goes through [`waiting`], which
//! gives it the rest of the call's time and ends it when the run is stopped.

mod agent_port;
mod assistant;
mod config;
mod context;
mod env;
mod exec;
mod files_read;
mod files_write;
mod grant;
mod http;
mod kv;
mod log;
mod plugins;
mod tasks;
mod tree;
pub(super) mod written;

use wasmtime::{
    Engine,
    component::{ComponentNamedList, Lift, Linker, LinkerInstance, Lower},
};

use super::{guest::Guest, interface_of, protocol::offered};
use crate::{hook::HookPoint, model::run_blocking, plugin::host_error::HostError};

/// Offers the functions of one interface.
type AddToLinker = fn(&mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()>;

/// Makes the linker of a host: WASI and the interfaces of the contract.
pub(super) fn linker(engine: &Engine) -> wasmtime::Result<Linker<Guest>> {
    let mut linker = Linker::new(engine);
    wasmtime_wasi::p2::add_to_linker_async(&mut linker)?;
    // Of these components name the types only; there is nothing to call.
    linker.instance(&offered("types"))?;
    linker.instance(&offered("host-types"))?;
    for point in HookPoint::ALL {
        linker.instance(&offered(&interface_of(*point)))?;
    }
    let offers: [(&str, AddToLinker); 13] = [
        ("agent-port", agent_port::add_to_linker),
        ("log", log::add_to_linker),
        ("config", config::add_to_linker),
        ("plugins", plugins::add_to_linker),
        ("kv", kv::add_to_linker),
        ("prompt-context", context::add_to_linker),
        ("files-read", files_read::add_to_linker),
        ("files-write", files_write::add_to_linker),
        ("exec", exec::add_to_linker),
        ("env", env::add_to_linker),
        ("http", http::add_to_linker),
        ("tasks", tasks::add_to_linker),
        ("assistant", assistant::add_to_linker),
    ];
    for (interface, add_to_linker) in offers {
        add_to_linker(&mut linker.instance(&offered(interface))?)?;
    }
    Ok(linker)
}

/// Offers a function that answers at once.
fn at_once<A, T>(
    interface: &mut LinkerInstance<'_, Guest>,
    name: &str,
    function: impl Fn(&mut Guest, A) -> T + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    A: ComponentNamedList + Lift + 'static,
    T: Lower + 'static,
{
    interface.func_wrap(name, move |mut store, args: A| Ok((function(store.data_mut(), args),)))
}

/// Offers a function that waits for something: for the rest of the caller's
/// time at most, and not past the end of the run.
fn waiting<A, T, F>(
    interface: &mut LinkerInstance<'_, Guest>,
    name: &str,
    function: impl Fn(&mut Guest, A) -> F + Send + Sync + 'static,
) -> wasmtime::Result<()>
where
    A: ComponentNamedList + Lift + Send + 'static,
    F: Future<Output = Result<T, HostError>> + Send + 'static,
    T: Lower + Send + 'static,
{
    interface.func_wrap_async(name, move |mut store, args: A| {
        let guest = store.data_mut();
        let (left, cancelled) = (guest.time_left(), guest.cancelled.clone());
        let work = function(guest, args);
        Box::new(async move {
            let done = tokio::select! {
                biased;
                () = cancelled.cancelled() => Err(HostError::Cancelled),
                done = work => done,
                () = tokio::time::sleep(left) => Err(HostError::TimedOut),
            };
            Ok((done,))
        })
    })
}

/// Does something that blocks, on a thread of its own kind. A thread that is
/// left behind at the deadline ends by itself: files of the project and locks
/// have bounds of their own.
async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, HostError> + Send + 'static,
) -> Result<T, HostError> {
    match run_blocking(work).await {
        Ok(done) => done,
        Err(error) => Err(HostError::Other(error.to_string())),
    }
}
