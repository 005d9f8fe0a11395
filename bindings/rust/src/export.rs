//! `export!`: what makes a component of a crate.

/// Exports a type as the handler of the points it is named with.
///
/// Call it once in a crate, with the traits the type implements. The component
/// exports these points and no others, and it imports only what the handlers
/// use.
///
/// ```
/// use samuel_plugin::{
///     Answer, CallHeader, HookFailure, QualityCheck, QualityCheckInput, QualityCheckOutput,
///     SessionEnd, SessionEndInput, SessionEndOutput,
/// };
///
/// struct Checks;
///
/// impl QualityCheck for Checks {
///     fn quality_check(
///         _: CallHeader,
///         input: QualityCheckInput,
///         _: Option<QualityCheckOutput>,
///     ) -> Result<QualityCheckOutput, HookFailure> {
///         match input.commands.is_empty() {
///             true => Ok(QualityCheckOutput::refuse("no checks are configured")),
///             false => Ok(QualityCheckOutput::pass()),
///         }
///     }
/// }
///
/// impl SessionEnd for Checks {
///     fn session_end(_: CallHeader, _: SessionEndInput) -> Result<SessionEndOutput, HookFailure> {
///         Ok(SessionEndOutput::pass())
///     }
/// }
///
/// samuel_plugin::export!(Checks: QualityCheck, SessionEnd);
/// # fn main() {}
/// ```
///
/// Outside WebAssembly it exports nothing and still checks that the traits are
/// implemented, so that `cargo test` runs on the host.
#[macro_export]
macro_rules! export {
    ($plugin:ident: $($point:ident),+ $(,)?) => {
        $(
            const _: fn() = || {
                fn handles<T: $crate::$point>() {}
                handles::<$plugin>();
            };

            #[cfg(target_family = "wasm")]
            const _: () = {
                $crate::generated::$point::export!($plugin with_types_in $crate::generated::$point);
            };
        )+
    };
}
