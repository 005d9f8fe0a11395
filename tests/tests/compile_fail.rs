//! What the compiler refuses, and in which words.
//!
//! Each file of `compile_fail/` makes one mistake; the file beside it is what
//! the compiler says. After a change of wording:
//! `TRYBUILD=overwrite cargo test -p samuel-tests --test compile_fail`.

#[test]
fn mistakes_do_not_compile_and_the_compiler_says_what_to_do() {
    trybuild::TestCases::new().compile_fail("compile_fail/*.rs");
}
