//! Plans that follow from a seed: tasks that wait for each other, declare the same files, conflict, clash, fail
//! their checks and are not committed. In one of three plans an agent hangs once, in another one a task never passes.

use std::{collections::BTreeSet, fmt::Write as _, path::Path};

use samuel_core::{model::Task, testing::ScriptedLanes};

use crate::lane_ground::task;

/// Numbers that look random and follow from a seed.
pub(crate) struct Numbers(u64);

impl Numbers {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, limit: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) % limit.max(1)
    }

    pub(crate) fn chance(&mut self, percent: u64) -> bool {
        self.below(100) < percent
    }
}

/// How work gets onto the branch, and which that is.
#[derive(Clone, Copy, Debug)]
pub(super) struct Manner {
    pub(super) merge: &'static str,
    /// `main` is checked out in the user's tree, `trunk` nowhere.
    pub(super) into: &'static str,
}

/// What is made of a seed.
pub(super) struct Made {
    pub(super) tasks: Vec<Task>,
    pub(super) manner: Manner,
    /// The task that never passes its check, and is blocked in the end.
    pub(super) blocked: Option<String>,
    /// The areas that tasks declare files of, each with the id of the task.
    pub(super) areas: Vec<(String, u64)>,
    /// What its agents do.
    pub(super) agents: Box<dyn FnOnce(ScriptedLanes) -> ScriptedLanes>,
}

/// In what a task differs.
enum Way {
    Conflict(String, String),
    Clash(String, String),
    Break(String, u32),
    Forget(String),
    Hang(String),
}

/// Says whether an agent hangs in the plan of a seed.
pub(super) fn hangs(seed: u64) -> bool {
    seed % 3 == 1
}

/// Makes a plan of so many tasks; in one of four lanes work in clones.
pub(super) fn made(seed: u64, size: u64, numbers: &mut Numbers) -> Made {
    let (mut tasks, mut ways, mut areas) = (Vec::new(), Vec::new(), Vec::new());
    for number in 1..=size {
        let id = number.to_string();
        let mut earlier = |percent: u64| {
            let is_so = number > 1 && numbers.chance(percent);
            is_so.then(|| (1 + numbers.below(number - 1)).to_string())
        };
        let depends_on: BTreeSet<String> = [earlier(45), earlier(25)].into_iter().flatten().collect();
        ways.extend(earlier(25).map(|other| Way::Conflict(other, id.clone())));
        ways.extend(earlier(20).map(|other| Way::Clash(other, id.clone())));
        if numbers.chance(20) {
            ways.push(Way::Break(id.clone(), 1));
        }
        if numbers.chance(30) {
            ways.push(Way::Forget(id.clone()));
        }
        let area = numbers.chance(30).then(|| numbers.below(4));
        areas.extend(area.map(|area| (id.clone(), area)));
        // It is the same, by whatever way.
        let way = if number % 2 == 0 { "x" } else { "y/../x" };
        let files = area.map(|area| format!("area-{area}/{way}"));
        let depends_on: Vec<&str> = depends_on.iter().map(String::as_str).collect();
        let files: Vec<&str> = files.iter().map(String::as_str).collect();
        tasks.push(task(&id, &depends_on, &files));
    }
    // Nobody waits for the last one.
    let blocked = (seed % 3 == 2).then(|| size.to_string());
    ways.extend(blocked.clone().map(|id| Way::Break(id, u32::MAX)));
    ways.extend(hangs(seed).then(|| Way::Hang((1 + numbers.below(size)).to_string())));
    let merge = ["merge", "squash", "merge", "rebase"][usize::try_from(numbers.below(4)).unwrap()];
    let into = if numbers.chance(60) { "trunk" } else { "main" };
    let agents = move |lanes: ScriptedLanes| {
        ways.into_iter().fold(lanes, |lanes, way| match way {
            Way::Conflict(one, other) => lanes.conflicting(&one, &other),
            Way::Clash(one, other) => lanes.clashing(&one, &other),
            Way::Break(id, calls) => lanes.breaking(&id, calls),
            Way::Forget(id) => lanes.forgetting(&id),
            Way::Hang(id) => lanes.hanging(&id, 1),
        })
    };
    Made { tasks, manner: Manner { merge, into }, blocked, areas, agents: Box::new(agents) }
}

/// Returns lines of shell in which an agent takes the area of its task until it has ended, and notes where one that is
/// still at work has it.
pub(super) fn takes_area(areas: &[(String, u64)], notes: &Path) -> String {
    let mut lines = "area=\ncase $SAMUEL_TASK_ID in\n".to_owned();
    for (id, area) in areas {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{id}) area={area};;");
    }
    let notes = notes.display();
    // One that was killed has left its link.
    let takes = format!(
        "esac\nif test -n \"$area\"; then\n\
         busy={notes}/busy-$area\n\
         if ! ln -s $$ $busy 2>/dev/null; then\n\
         other=$(readlink $busy)\n\
         if grep -qs '^State:.[^ZX]' /proc/$other/status && grep -qs run /proc/$other/cmdline; then \
         echo \"$SAMUEL_TASK_ID in $area, where $other is\" >> {notes}/clashes; fi\n\
         ln -sfn $$ $busy\nfi\ntrap 'rm -f $busy' EXIT\nfi\n"
    );
    lines + &takes
}
