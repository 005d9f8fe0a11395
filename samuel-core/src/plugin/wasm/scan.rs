//! Reads a component without compiling it.
//!
//! [`Outline`] holds what a component imports and exports. Reading it checks
//! [`CodeLimits`]: a few bytes of nested blocks can keep a compiler busy for
//! minutes, and nothing can interrupt it.

use wasmparser::{
    BinaryReaderError, ComponentExternalKind, ComponentTypeRef, Encoding, FunctionBody, Operator, Parser,
    Payload,
};

use super::{CodeLimits, WasmError, limits::LOOP_BRANCHES};

/// What a component has at its root.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Outline {
    /// The names of its imports, in order.
    pub(super) imports: Vec<String>,
    /// The names of its exports that are instances of interfaces, in order.
    pub(super) interfaces: Vec<String>,
    /// The names of its exports that are functions, in order.
    pub(super) functions: Vec<String>,
}

impl From<BinaryReaderError> for WasmError {
    fn from(error: BinaryReaderError) -> Self {
        Self::Malformed { source: error.into() }
    }
}

/// Reads a component and checks it against the limits of what is compiled.
pub(super) fn scan(bytes: &[u8], limits: &CodeLimits) -> Result<Outline, WasmError> {
    at_most("bytes", bytes.len(), limits.max_component_bytes)?;
    let mut outline = Outline::default();
    let mut functions = 0;
    let mut modules = 0;
    let mut effort = 0_usize;
    // Modules and components within one another, outermost first.
    let mut open: Vec<Encoding> = Vec::new();
    for payload in Parser::new(0).parse_all(bytes) {
        match payload? {
            Payload::Version { encoding, .. } => {
                if open.is_empty() && encoding == Encoding::Module {
                    return Err(WasmError::CoreModule);
                }
                modules += usize::from(encoding == Encoding::Module);
                at_most("modules", modules, limits.max_modules)?;
                open.push(encoding);
                at_most("nested components", open.len(), limits.max_component_depth)?;
            }
            Payload::End(_) => {
                open.pop();
            }
            Payload::CodeSectionEntry(body) => {
                functions += 1;
                at_most("functions", functions, limits.max_functions)?;
                effort = effort.saturating_add(check_function(&body, limits)?);
                at_most("units of compiling effort", effort, limits.max_effort)?;
            }
            Payload::ComponentImportSection(section) if open.len() == 1 => {
                for import in section {
                    let import = import?;
                    // A type is only a name for what an instance has.
                    if !matches!(import.ty, ComponentTypeRef::Type(_)) {
                        outline.imports.push(import.name.name.to_owned());
                    }
                }
            }
            Payload::ComponentExportSection(section) if open.len() == 1 => {
                for export in section {
                    let export = export?;
                    let name = export.name.name.to_owned();
                    match export.kind {
                        ComponentExternalKind::Instance => outline.interfaces.push(name),
                        ComponentExternalKind::Func => outline.functions.push(name),
                        _ => {}
                    }
                }
            }
            _ => {}
        }
    }
    Ok(outline)
}

/// Checks one function and says what compiling it takes.
fn check_function(body: &FunctionBody<'_>, limits: &CodeLimits) -> Result<usize, WasmError> {
    at_most("bytes in one function", body.as_bytes().len(), limits.max_function_bytes)?;
    let mut locals = 0_usize;
    for declared in body.get_locals_reader()? {
        locals = locals.saturating_add(declared?.0 as usize);
    }
    let (mut depth, mut branches) = (0_usize, 0_usize);
    for operator in body.get_operators_reader()? {
        let operator = operator?;
        branches = branches.saturating_add(match &operator {
            Operator::Loop { .. } => LOOP_BRANCHES,
            Operator::BrTable { targets } => targets.len() as usize,
            Operator::Block { .. } | Operator::If { .. } | Operator::Else | Operator::BrIf { .. } => 1,
            Operator::Try { .. } | Operator::TryTable { .. } => 1,
            _ => 0,
        });
        match operator {
            Operator::Block { .. }
            | Operator::Loop { .. }
            | Operator::If { .. }
            | Operator::Try { .. }
            | Operator::TryTable { .. } => {
                depth += 1;
                at_most("nested blocks in one function", depth, limits.max_block_depth)?;
            }
            Operator::End => depth = depth.saturating_sub(1),
            _ => {}
        }
    }
    Ok(branches.saturating_mul(branches.saturating_add(locals)))
}

fn at_most(what: &'static str, found: usize, limit: usize) -> Result<(), WasmError> {
    if found > limit { Err(WasmError::TooLarge { what, found, limit }) } else { Ok(()) }
}
