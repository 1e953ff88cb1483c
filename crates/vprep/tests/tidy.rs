//! Rules of the repository as tests: prose that names the code names all of it, recipes are legal.

use std::fs;
use std::path::{Path, PathBuf};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn names_in(dir: &str) -> Vec<String> {
    let entries = fs::read_dir(root().join(dir)).expect("lists");
    let mut names: Vec<_> = entries
        .map(|entry| entry.expect("reads").file_name().into_string().expect("a plain name"))
        .collect();
    names.sort();
    names
}

#[test]
fn the_architecture_names_every_crate() {
    let text = fs::read_to_string(root().join("ARCHITECTURE.md")).expect("reads");
    for name in names_in("crates") {
        assert!(text.contains(&format!("| `{name}` |")), "ARCHITECTURE.md lacks {name}");
    }
}

#[test]
fn every_recipe_is_legal_and_named_in_the_readme() {
    let readme = fs::read_to_string(root().join("README.md")).expect("reads");
    for name in names_in("pipelines") {
        let path = format!("pipelines/{name}");
        vprep_pipeline::read_recipe(&root().join(&path)).expect("a legal recipe");
        assert!(readme.contains(&path), "README.md lacks {path}");
    }
}

#[test]
fn the_readme_names_every_command_and_exit_code() {
    let readme = fs::read_to_string(root().join("README.md")).expect("reads");
    for stage in vprep_pipeline::STAGES {
        let command = format!("`vprep {stage}`");
        let mut headings = readme.lines().filter(|line| line.starts_with("### "));
        assert!(headings.any(|line| line.contains(&command)), "README.md lacks {stage}");
    }
    for kind in [
        vprep_core::Kind::Unexpected,
        vprep_core::Kind::Usage,
        vprep_core::Kind::Data,
        vprep_core::Kind::Check,
        vprep_core::Kind::Unreachable,
        vprep_core::Kind::Interrupted,
    ] {
        assert!(readme.contains(&format!("| {} |", kind.exit_code())), "{kind:?}");
    }
}
