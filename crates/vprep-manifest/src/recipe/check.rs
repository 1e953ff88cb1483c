//! What a recipe may say, beyond what its types say.

use super::{CalibrateTable, GatesTable, Recipe};
use crate::FormatError;

impl Recipe {
    /// Checks every value that its type leaves too free.
    ///
    /// # Errors
    ///
    /// If a value is out of range, or tables exclude each other.
    pub fn check(&self) -> Result<(), FormatError> {
        let name_ok = !self.name.is_empty()
            && self.name.len() <= 100
            && !self.name.starts_with(['.', '-'])
            && self.name.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
        range(
            name_ok,
            "name",
            format!("{:?}", self.name),
            "1 to 100 of the letters a-z, A-Z, 0-9, `.`, `_`, `-`, not starting with `.` or `-`",
        )?;
        if let Some(dim) = self.dim {
            range((1..=MAX_DIM).contains(&dim), "dim", dim, "from 1 to 65536")?;
        }
        if let Some(fetch) = &self.fetch {
            range(!fetch.source.is_empty(), "fetch.source", "\"\"", "a source")?;
        }
        let import = self.import.as_ref();
        let inherits = self.subset.as_ref().is_some_and(|subset| subset.from.is_some());
        let embed = self.embed.as_ref();
        let count = |sources: [bool; 4]| sources.into_iter().filter(|&given| given).count();
        let synth = self.synth.is_some();
        let imports = import.is_some_and(|import| import.base.is_some());
        if count([imports, embed.is_some_and(|embed| embed.base.is_some()), synth, inherits]) > 1 {
            return Err(FormatError::Tables(
                "the base comes from one of [import.base], [embed.base], [synth] and [subset] with \
                 `from`; keep one of them, or make another dataset",
            ));
        }
        let imports = import.is_some_and(|import| import.queries.is_some());
        let embeds = embed.is_some_and(|embed| embed.queries.is_some());
        if count([imports, embeds, synth, inherits]) > 1 {
            return Err(FormatError::Tables(
                "queries come from one of [import.queries], [embed.queries], [synth] and [subset] \
                 with `from`; keep one of them, or make another dataset",
            ));
        }
        if let Some(embed) = embed {
            let rows = embed.checkpoint_rows;
            range((1..=MAX_ROWS).contains(&rows), "embed.checkpoint-rows", rows, ROWS)?;
            range(!embed.model.is_empty(), "embed.model", "\"\"", "a model")?;
            for table in [&embed.base, &embed.queries].into_iter().flatten() {
                range(!table.texts.is_empty(), "embed.texts", "[]", "at least one file")?;
            }
        }
        for table in import.iter().flat_map(|import| [&import.base, &import.queries]).flatten() {
            range(!table.files.is_empty(), "import.files", "[]", "at least one file")?;
        }
        if let Some(synth) = &self.synth {
            range((1..=MAX_ROWS).contains(&synth.rows), "synth.rows", synth.rows, ROWS)?;
            range((1..=MAX_DIM).contains(&synth.dim), "synth.dim", synth.dim, "from 1 to 65536")?;
            range((1..=MAX_ROWS).contains(&synth.queries), "synth.queries", synth.queries, ROWS)?;
            if let Some(clusters) = synth.clusters {
                range(clusters >= 1, "synth.clusters", clusters, "at least 1")?;
            }
        }
        if let Some(subset) = &self.subset {
            range((1..=MAX_ROWS).contains(&subset.rows), "subset.rows", subset.rows, ROWS)?;
        }
        if let Some(split) = &self.split {
            let legal = (1..=MAX_ROWS).contains(&split.calibration);
            range(legal, "split.calibration", split.calibration, ROWS)?;
        }
        if let Some(truth) = &self.truth {
            range(truth.k >= 1, "truth.k", truth.k, "at least 1")?;
        }
        if let Some(calibrate) = &self.calibrate {
            calibrate.check()?;
        }
        if let Some(gates) = &self.gates {
            let legal = (0.0..=1.0).contains(&gates.floor);
            range(legal, "gates.floor", gates.floor, "from 0 to 1")?;
            for &k in &gates.exact_k {
                range(k >= 1, "gates.exact-k", k, "at least 1")?;
            }
        }
        let neighbors = self.validate.as_ref().and_then(|validate| validate.neighbors.as_ref());
        if neighbors.is_some() && self.subset.is_some() {
            return Err(FormatError::Tables(
                "[validate] neighbors are those of a whole base, and [subset] keeps a part of it; \
                 leave out one of them",
            ));
        }
        Ok(())
    }

    /// Checks that the stages have what they need from one another, as a recipe that is to be run
    /// must, and a dataset that is still being made need not.
    ///
    /// # Errors
    ///
    /// If nothing brings vectors, or a store is calibrated that is not built.
    pub fn check_whole(&self) -> Result<(), FormatError> {
        let import = self.import.as_ref();
        let base = import.is_some_and(|import| import.base.is_some());
        let inherits = self.subset.as_ref().is_some_and(|subset| subset.from.is_some());
        let embeds = self.embed.as_ref().is_some_and(|embed| embed.base.is_some());
        if !base && !embeds && self.synth.is_none() && !inherits {
            return Err(FormatError::Tables(
                "no table brings vectors; add [import.base], [embed.base], [synth] or [subset] with \
                 `from`",
            ));
        }
        if self.calibrate.is_some() {
            let stores = self.calibrated_stores();
            if stores.is_empty() || stores.iter().any(|store| !self.build.contains_key(store)) {
                return Err(FormatError::Tables(
                    "[calibrate] needs an index of each of its stores; add a table [build.<store>]",
                ));
            }
        }
        if let Some(gates) = &self.gates {
            let flat = self.calibrated_stores().iter().any(|store| store == GatesTable::EXACT);
            if self.calibrate.is_none() || !(flat || gates.exact_k.is_empty()) {
                return Err(FormatError::Tables(
                    "[gates] looks at calibrations, that of `flat` among them; add [calibrate] and \
                     [build.flat], or set `exact-k = []`",
                ));
            }
        }
        Ok(())
    }
}

impl CalibrateTable {
    /// Checks targets, k and the cap.
    ///
    /// # Errors
    ///
    /// If one of them is out of range.
    pub fn check(&self) -> Result<(), FormatError> {
        range(!self.target.is_empty(), "calibrate.target", "[]", "at least one target")?;
        for &target in &self.target {
            range(
                target > 0.0 && target <= 1.0,
                "calibrate.target",
                target,
                "above 0 and at most 1",
            )?;
        }
        range(!self.k.is_empty(), "calibrate.k", "[]", "at least one number")?;
        for &k in &self.k {
            range(k >= 1, "calibrate.k", k, "at least 1")?;
        }
        if let Some(value) = self.max_value {
            range(value >= 1, "calibrate.max-value", value, "at least 1")?;
        }
        Ok(())
    }
}

/// Row numbers are int32 in the truth.
const MAX_ROWS: u64 = i32::MAX as u64;
const MAX_DIM: u32 = 65_536;
const ROWS: &str = "from 1 to 2147483647";

#[expect(clippy::needless_pass_by_value, reason = "numbers and literals, easier to write so")]
fn range(
    ok: bool,
    key: &'static str,
    value: impl ToString,
    allowed: &'static str,
) -> Result<(), FormatError> {
    if ok { Ok(()) } else { Err(FormatError::Range { key, value: value.to_string(), allowed }) }
}
