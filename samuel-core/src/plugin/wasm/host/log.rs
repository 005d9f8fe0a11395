//! `log`: lines for the log of the run.

use wasmtime::component::{ComponentType, Lift, LinkerInstance, Lower};

use super::Guest;
use crate::hook::LogLevel;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ComponentType, Lift, Lower)]
#[component(enum)]
#[repr(u8)]
#[expect(dead_code, reason = "most are made by components only")]
enum Level {
    #[component(name = "debug")]
    Debug,
    #[component(name = "info")]
    Info,
    #[component(name = "warn")]
    Warn,
    #[component(name = "error")]
    Error,
}

impl From<Level> for LogLevel {
    fn from(level: Level) -> Self {
        match level {
            Level::Debug => Self::Debug,
            Level::Info => Self::Info,
            Level::Warn => Self::Warn,
            Level::Error => Self::Error,
        }
    }
}

pub(super) fn add_to_linker(interface: &mut LinkerInstance<'_, Guest>) -> wasmtime::Result<()> {
    interface.func_wrap("write", |mut store, (level, message): (Level, String)| {
        let guest: &mut Guest = store.data_mut();
        guest.log.write(level.into(), &message);
        Ok(())
    })
}
