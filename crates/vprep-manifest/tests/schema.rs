//! The JSON Schemas in `manifests/schema/` are those of the types. `VPREP_BLESS=1` rewrites them.

use schemars::{Schema, schema_for};
use std::path::Path;
use std::{env, fs};
use vprep_manifest::{Calibration, Manifest, Recipe, Splits, canonical_json};

#[test]
fn schemas_are_those_of_the_types() {
    let schemas: [(&str, Schema); 4] = [
        ("manifest", schema_for!(Manifest)),
        ("calibration", schema_for!(Calibration)),
        ("splits", schema_for!(Splits)),
        ("recipe", schema_for!(Recipe)),
    ];
    let dir = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../manifests/schema");
    for (name, schema) in schemas {
        let path = dir.join(format!("{name}.schema.json"));
        let text = canonical_json(&schema);
        if env::var_os("VPREP_BLESS").is_some() {
            #[expect(
                clippy::disallowed_methods,
                reason = "a file of the repository, not of a dataset"
            )]
            fs::write(&path, &text).expect("writes the schema");
        }
        let stored = fs::read_to_string(&path).unwrap_or_default();
        assert!(stored == text, "{} is out of date: run `make bless`", path.display());
    }
}
