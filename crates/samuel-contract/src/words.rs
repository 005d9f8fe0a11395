//! Enums whose cases are words, as files, commands and JSON have them.

/// Defines an enum of words: its text form, its parser and its list of values.
/// The crate that calls it depends on `serde`.
#[macro_export]
macro_rules! plain_words {
    ($(#[$doc:meta])* $name:ident ($what:literal) { $($(#[$case_doc:meta])* $case:ident = $word:literal,)+ }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
        pub enum $name {
            $(
                $(#[$case_doc])*
                #[serde(rename = $word)]
                $case,
            )+
        }

        impl $name {
            /// Every value, in the order of the declaration.
            pub const ALL: &[$name] = &[$($name::$case),+];

            /// Returns the word that files and commands use.
            pub fn as_str(self) -> &'static str {
                match self { $($name::$case => $word,)+ }
            }
        }

        impl std::fmt::Display for $name {
            fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.pad(self.as_str())
            }
        }

        impl std::str::FromStr for $name {
            type Err = $crate::ParseWordError;

            fn from_str(text: &str) -> Result<Self, $crate::ParseWordError> {
                match text {
                    $($word => Ok($name::$case),)+
                    _ => Err($crate::ParseWordError { what: $what, found: text.to_owned(), expected: &[$($word),+] }),
                }
            }
        }
    };
}

/// Defines an enum of words that components are given too.
macro_rules! words {
    ($(#[$doc:meta])* $name:ident ($what:literal) { $($(#[$case_doc:meta])* $case:ident = $word:literal,)+ }) => {
        $crate::plain_words! {
            $(#[$doc])*
            #[cfg_attr(
                feature = "wasm",
                derive(wasmtime::component::ComponentType, wasmtime::component::Lift, wasmtime::component::Lower),
                component(enum),
                repr(u8)
            )]
            $name ($what) {
                $(
                    $(#[$case_doc])*
                    #[cfg_attr(feature = "wasm", component(name = $word))]
                    $case = $word,
                )+
            }
        }
    };
}
pub(crate) use words;

/// A word that is none of the values it could be.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("unknown {what} \"{found}\", expected one of {}", expected.join(", "))]
pub struct ParseWordError {
    /// What the word stands for, such as `priority`.
    pub what: &'static str,
    /// The word as it was given.
    pub found: String,
    /// The words that would do.
    pub expected: &'static [&'static str],
}
