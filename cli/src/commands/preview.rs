//! `prompt`, `vars` and `start --dry-run`: what would come next.
