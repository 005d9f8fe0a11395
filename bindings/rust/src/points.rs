//! The hook points: a trait each, and the records it is given and answers with.
//!
//! A plugin implements the trait of every point it handles and names them in
//! [`export!`](crate::export). The records are those of the contract. Who calls
//! them, in which order and what a refusal does is the host's affair. Which points
//! there are is in `table`, written from the contract.

/// Makes the bindings of each point and the trait in front of them.
macro_rules! points {
    ($(
        $(#[$docs:meta])*
        $module:ident $world:tt: $point:ident($input:ident $(, $previous:ident)?) -> $output:ident;
    )+) => {
        /// What wit-bindgen makes of the contract, a module for each point.
        #[doc(hidden)]
        #[allow(
            missing_docs,
            unsafe_code,
            clippy::allow_attributes_without_reason,
            clippy::doc_markdown,
            clippy::missing_safety_doc,
            reason = "generated from the contract, which has the documentation"
        )]
        pub mod bindings {
            $(
                pub mod $module {
                    wit_bindgen::generate!({
                        path: "wit",
                        world: $world,
                        with: {
                            "samuel:plugin/types@1.0.0": crate::host::bindings::samuel::plugin::types,
                        },
                        runtime_path: "::samuel_plugin::rt",
                        pub_export_macro: true,
                        additional_derives: [PartialEq],
                    });
                }
            )+

            // `export!` looks a point up by the name of its trait.
            $(pub use $module as $point;)+
        }

        $(
            #[doc(inline)]
            pub use bindings::$module::exports::samuel::plugin::$module::Input as $input;

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

            impl<T: $point> bindings::$module::exports::samuel::plugin::$module::Guest for T {
                fn run(
                    call: types::CallHeader,
                    input: $input,
                    $($previous: Option<bindings::$module::exports::samuel::plugin::$module::Output>,)?
                ) -> Result<bindings::$module::exports::samuel::plugin::$module::Output, types::Failure> {
                    T::$module(call, input $(, $previous.map(Into::into))?)
                        .map(Into::into)
                        .map_err(Into::into)
                }
            }
        )+
    };
}

pub(crate) use points;
