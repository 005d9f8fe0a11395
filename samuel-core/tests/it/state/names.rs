//! Names of methodologies: each methodology has a directory of its own among the files of the state.

use samuel_core::{config::check_methodology_name, state::RunDir};

#[test]
fn no_methodology_has_the_name_of_a_file_or_directory_of_the_state() {
    let dir = RunDir::at("/r");
    for path in [dir.cache(), dir.lock(), dir.all_logs(), dir.plugins()] {
        let name = path.file_name().unwrap().to_str().unwrap().to_owned();
        assert!(check_methodology_name(&name).is_err(), "{name}");
    }
}
