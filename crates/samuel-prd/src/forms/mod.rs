//! The readers of the forms, one file each.

mod bmad;
mod checklist;
mod headings;
mod json_task;
mod kiro;
mod numbered_list;
mod openspec;
mod ralph;
mod sections;
mod spec_kit;
mod superpowers;
mod table;
mod task_master;
mod user_stories;

pub(super) use self::{
    bmad::Bmad,
    checklist::Checklist,
    headings::Headings,
    kiro::Kiro,
    numbered_list::NumberedList,
    openspec::Openspec,
    ralph::Ralph,
    sections::Sections,
    spec_kit::SpecKit,
    superpowers::Superpowers,
    table::{Table, table_names_tasks},
    task_master::TaskMaster,
    user_stories::UserStories,
};
