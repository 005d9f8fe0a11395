//! The `toon!` macro, which writes a value the way JSON would.

/// Makes a [`Value`](crate::Value) from a JSON-like literal.
///
/// Keys are literals or parenthesised expressions; values are `null`, arrays,
/// objects or any expression that converts into a `Value`.
///
/// ```
/// use samuel_toon::toon;
///
/// let done = 3;
/// let value = toon!({
///     "project": "samuel",
///     "done": done,
///     "tags": ["a", null, true],
/// });
/// assert_eq!(samuel_toon::to_string(&value)?, "project: samuel\ndone: 3\ntags[3]: a,null,true");
/// # Ok::<(), samuel_toon::Error>(())
/// ```
#[macro_export]
macro_rules! toon {
    (null) => { $crate::Value::Null };
    ([ $($values:tt)* ]) => { $crate::Value::Array($crate::toon!(@array [] $($values)*)) };
    ({ $($entries:tt)* }) => {{
        #[allow(unused_mut, reason = "an empty object is not changed")]
        let mut object = $crate::Map::new();
        $crate::toon!(@object object $($entries)*);
        $crate::Value::Object(object)
    }};

    (@array [$($done:expr,)*]) => { vec![$($done,)*] };
    (@array [$($done:expr,)*] null $(, $($rest:tt)*)?) => {
        $crate::toon!(@array [$($done,)* $crate::toon!(null),] $($($rest)*)?)
    };
    (@array [$($done:expr,)*] [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $crate::toon!(@array [$($done,)* $crate::toon!([$($inner)*]),] $($($rest)*)?)
    };
    (@array [$($done:expr,)*] {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $crate::toon!(@array [$($done,)* $crate::toon!({$($inner)*}),] $($($rest)*)?)
    };
    (@array [$($done:expr,)*] $value:expr $(, $($rest:tt)*)?) => {
        $crate::toon!(@array [$($done,)* $crate::toon!($value),] $($($rest)*)?)
    };

    (@object $object:ident) => {};
    (@object $object:ident $key:tt : null $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::toon!(null));
        $crate::toon!(@object $object $($($rest)*)?);
    };
    (@object $object:ident $key:tt : [$($inner:tt)*] $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::toon!([$($inner)*]));
        $crate::toon!(@object $object $($($rest)*)?);
    };
    (@object $object:ident $key:tt : {$($inner:tt)*} $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::toon!({$($inner)*}));
        $crate::toon!(@object $object $($($rest)*)?);
    };
    (@object $object:ident $key:tt : $value:expr $(, $($rest:tt)*)?) => {
        $object.insert($key, $crate::toon!($value));
        $crate::toon!(@object $object $($($rest)*)?);
    };

    ($value:expr) => { $crate::Value::from($value) };
}
