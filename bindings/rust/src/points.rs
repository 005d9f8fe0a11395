//! The hook points: a trait each, and the records it is given and answers with.
//!
//! A plugin implements the trait of every point it handles and names them in
//! [`export!`](crate::export). The records are those of the contract. Who calls
//! them, in which order and what a refusal does is the host's affair. Which points
//! there are is in `table`, written from the contract.

/// Makes the trait of each point, in front of its bindings.
macro_rules! points {
    ($(
        $(#[$docs:meta])*
        $module:ident: $point:ident($input:ident $(, $previous:ident)?) -> $output:ident;
    )+) => {
        /// The points, by the names of their traits, where `export!` looks them up.
        #[doc(hidden)]
        pub mod exported {
            $(pub use crate::bindings::$module as $point;)+
        }

        $(
            #[doc(inline)]
            pub use crate::bindings::$module::exports::samuel::plugin::$module::Input as $input;

            $(#[$docs])*
            pub trait $point {
                /// Called each time the point fires.
                ///
                /// # Errors
                /// Returns why the handler could not answer. A handler that
                /// answers "no" does so in its output.
                fn $module(
                    call: types::CallHeader,
                    input: $input,
                    $($previous: Option<$output>,)?
                ) -> Result<$output, HookFailure>;
            }

            impl<T: $point> crate::bindings::$module::exports::samuel::plugin::$module::Guest for T {
                fn run(
                    call: types::CallHeader,
                    input: $input,
                    $($previous: Option<crate::bindings::$module::exports::samuel::plugin::$module::Output>,)?
                ) -> Result<crate::bindings::$module::exports::samuel::plugin::$module::Output, types::Failure> {
                    T::$module(call, input $(, $previous.map(Into::into))?)
                        .map(Into::into)
                        .map_err(Into::into)
                }
            }
        )+
    };
}

pub(crate) use points;
