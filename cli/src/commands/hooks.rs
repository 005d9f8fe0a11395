//! `hooks show`: one hook point.

use samuel_core::{
    engine::PointReport,
    hook::{HookPoint, UnknownPoint},
    model::ErrorCode,
};

use super::doctor::registry;
use crate::{
    args::{Global, ShowArgs},
    failure::Failure,
    host::Host,
    render::point_text,
    reply::Reply,
};

/// Shows a point's chain, and what its handlers are given and answer.
pub(crate) fn show(args: &ShowArgs, global: &Global, host: &Host) -> Result<Reply, Failure> {
    let point: HookPoint = args.point.parse().map_err(|unknown| unknown_point(&unknown))?;
    let project = host.project(global, None)?;
    let registry = registry(&project, host)?;
    let report = PointReport::new(point, &registry, project.config(), project.methodology());
    let warnings = report.chain.warnings.clone();
    Ok(Reply::new(&report, point_text(&report)).warn(warnings))
}

pub(super) fn unknown_point(unknown: &UnknownPoint) -> Failure {
    let known: Vec<&str> = HookPoint::ALL.iter().map(|point| point.as_str()).collect();
    let nearest = unknown.nearest.map(|point| format!("Did you mean \"{point}\"? ")).unwrap_or_default();
    Failure::new(ErrorCode::HOOK_UNKNOWN, unknown.to_string())
        .advise(format!("{nearest}The hook points are {}.", known.join(", ")))
}
