//! Workspaces: the clone an agent works in, what comes out of it and what does not.

mod arrivals;
mod crashes;
mod cut_off;
mod kit;
mod lane_approvals;
mod lane_books;
mod lane_caps;
mod lane_clones;
mod lane_control;
mod lane_cut_records;
mod lane_discovery;
mod lane_points;
mod lane_preparation;
mod lane_records;
mod lane_replays;
mod lane_words;
mod lanes;
mod lanes_killed;
mod life;
mod places;
mod refusals;
mod runs;
mod traps;
