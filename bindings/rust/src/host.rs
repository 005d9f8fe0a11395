//! What wit-bindgen makes of the interfaces that the host implements.
//!
//! Everything is generated at once; what a plugin does not use is not imported
//! by its component. The modules `log`, `files` and so on are in front of it.

/// The functions and types of the contract's world `imports`.
#[doc(hidden)]
#[allow(
    missing_docs,
    unsafe_code,
    clippy::allow_attributes_without_reason,
    clippy::doc_markdown,
    clippy::missing_safety_doc,
    reason = "generated from the contract, which has the documentation"
)]
pub(crate) mod bindings {
    wit_bindgen::generate!({
        path: "wit",
        world: "imports",
        runtime_path: "::samuel_plugin::rt",
        pub_export_macro: true,
        generate_unused_types: true,
        additional_derives: [PartialEq],
        additional_type_attributes: {
            "samuel:plugin/types@1.0.0/mode": [#[derive(Default)]],
            "samuel:plugin/types@1.0.0/turn": [#[derive(Default)]],
            "samuel:plugin/types@1.0.0/call-header": [#[derive(Default)]],
            "samuel:plugin/types@1.0.0/hook-results": [#[derive(Default)]],
        },
        additional_member_attributes: {
            "samuel:plugin/types@1.0.0/mode.implementation": [#[default]],
            "samuel:plugin/types@1.0.0/turn.main": [#[default]],
        },
    });
}
