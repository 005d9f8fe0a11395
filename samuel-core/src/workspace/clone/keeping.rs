//! Work that was collected and did not arrive, under references that stay.

use super::{CloneWorkspace, short};
use crate::workspace::{WorkspaceError, WorkspaceStep, record::Record};

impl CloneWorkspace {
    /// Keeps what was collected under a reference that stays, and says so.
    pub(super) async fn kept(&self, record: &mut Record, why: &str) -> Result<String, WorkspaceError> {
        let commit = short(&record.tip).to_owned();
        let kept = self.keep(record).await?;
        Ok(format!("the work up to {commit} {why}: it is kept as {kept}"))
    }

    pub(super) async fn keep(&self, record: &mut Record) -> Result<String, WorkspaceError> {
        let points_at = format!("--points-at={}", record.tip);
        let names = ["for-each-ref", "--count=1", "--format=%(refname)", &points_at, "refs/samuel/kept"];
        let known = self.git.line(&self.users.top, &names).await?;
        let name = if known.is_empty() { self.free_name(record).await? } else { known };
        self.git.run(&self.users.top, &["update-ref", &name, &record.tip]).await?;
        record.tip.clone_from(&record.base);
        self.save(record)?;
        self.step(WorkspaceStep::Kept);
        Ok(name)
    }

    /// Returns a name for work that is kept which no other has.
    async fn free_name(&self, record: &mut Record) -> Result<String, WorkspaceError> {
        loop {
            record.kept += 1;
            let name = format!("refs/samuel/kept/{}-{}", self.setup.run, record.kept);
            if self.users.reference(&self.git, &name).await?.is_none() {
                return Ok(name);
            }
        }
    }
}
