//! The checks, one method for each part of a manifest.

use super::Check;
use super::neighbors::{self, Dataset};
use super::truth::{recheck, stats_hold, truth_holds};
use crate::base_of_index;
use crate::dataset::{MANIFEST, calibration_file, index_dir, outputs_in};
use crate::matrix;
use crate::truth_stats::TruthStats;
use std::fs;
use std::path::{Component, Path, PathBuf};
use vprep_core::sample::Sample;
use vprep_core::{Interrupted, Metric, Progress};
use vprep_data::{
    DataError, KEPT, MappedNpy, PARENT_ROW, ROW, content, files_below, read_i64_column,
    read_true_rows, slashed,
};
use vprep_manifest::{Calibration, FileEntry, Manifest, Role, Splits, SubsetFacts};

pub(crate) struct Checker<'a> {
    dir: &'a Path,
    manifest: &'a Manifest,
    progress: &'a dyn Progress,
    checks: Vec<Check>,
}

/// A check that cannot be finished is a failed one, unless the user stopped it.
fn problem(error: DataError) -> Result<String, Interrupted> {
    match error {
        DataError::Interrupted(stop) => Err(stop),
        error => Ok(error.to_string()),
    }
}

impl<'a> Checker<'a> {
    pub(crate) fn new(dir: &'a Path, manifest: &'a Manifest, progress: &'a dyn Progress) -> Self {
        Self { dir, manifest, progress, checks: Vec::new() }
    }

    pub(crate) fn into_checks(self) -> Vec<Check> {
        self.checks
    }

    fn note(&mut self, file: &str, check: &'static str, result: Result<(), String>) {
        self.checks.push(Check { file: file.to_owned(), check, problem: result.err() });
    }

    /// The manifest's own digest.
    pub(crate) fn manifest(&mut self) {
        let computed = self.manifest.computed_digest();
        let stated = &self.manifest.digest;
        let result = equal("digest", stated, &computed);
        self.note(MANIFEST, "digest of the manifest", result);
    }

    /// What the recipe makes, what is stated and what lies there are the same things.
    pub(crate) fn complete(&mut self) -> Result<(), Interrupted> {
        let manifest = self.manifest;
        let recipe = &manifest.recipe;
        let has = |role| manifest.file(role).is_some();
        let stated = [
            ("truth", recipe.truth.is_some(), manifest.truth.is_some()),
            ("split", recipe.split.is_some(), manifest.split.is_some()),
            ("subset", recipe.subset.is_some(), manifest.subset.is_some()),
            ("embed", recipe.embed.is_some(), manifest.embedding.is_some()),
            ("normalize", recipe.normalize.is_some(), manifest.normalization.is_some()),
            (
                "truth",
                [Role::TruthIds, Role::TruthScores, Role::TruthStats].into_iter().all(has),
                manifest.truth.is_some(),
            ),
            ("build", has(Role::Index), !manifest.stores.is_empty()),
            (
                "calibrate",
                has(Role::Calibration),
                manifest.stores.values().any(|store| !store.cells.is_empty()),
            ),
        ];
        let of_recipe = stated.into_iter().find(|(_, made, stated)| made != stated);
        let built = recipe.build.keys().eq(manifest.stores.keys());
        let calibrated = recipe.calibrated_stores();
        let cells =
            |store: &String| manifest.stores.get(store).is_some_and(|s| !s.cells.is_empty());
        let result = match of_recipe {
            Some((stage, true, _)) => Err(format!("nothing is stated of `{stage}`")),
            Some((stage, false, _)) => Err(format!("no `{stage}` made what is stated of it")),
            None if !built => Err("the stores are not those that the recipe builds".to_owned()),
            None if !calibrated.iter().all(cells) => {
                Err("a store of the recipe's [calibrate] has no results".to_owned())
            }
            None => Ok(()),
        };
        self.note(MANIFEST, "complete", result);

        let listed = |output: &String| {
            let below = format!("{output}/");
            let names = |file: &FileEntry| file.path == *output || file.path.starts_with(&below);
            output == MANIFEST || manifest.files.iter().any(names)
        };
        let result = match outputs_in(self.dir) {
            Err(error) => Err(error.to_string()),
            Ok(outputs) => match outputs.into_iter().find(|output| !listed(output)) {
                Some(output) => Err(format!("{output} is not listed; run `vprep manifest`")),
                None => Ok(()),
            },
        };
        self.note(MANIFEST, "lists every file of the dataset", result);
        Ok(())
    }

    /// Size and sha256 of every file, and that no file lies outside the dataset.
    pub(crate) fn files(&mut self) -> Result<(), Interrupted> {
        let total = self.manifest.files.iter().map(|file| file.bytes).sum();
        let task = self.progress.task("hashing", total, "B");
        for file in &self.manifest.files {
            let result = match inside(self.dir, &file.path) {
                Err(problem) => Err(problem),
                Ok(path) => match content(&path, self.progress) {
                    Err(error) => Err(problem(error)?),
                    Ok(found) => equal("bytes", &file.bytes, &found.bytes)
                        .and_then(|()| equal("sha256", &file.sha256, &found.sha256)),
                },
            };
            task.advance(file.bytes);
            self.note(&file.path, "size and sha256", result);
        }
        Ok(())
    }

    /// The path of a role's file, if the manifest lists one that lies inside the dataset.
    fn path(&self, role: Role) -> Option<(&'a FileEntry, PathBuf)> {
        let file = self.manifest.file(role)?;
        Some((file, inside(self.dir, &file.path).ok()?))
    }

    fn matrix(&self, role: Role) -> Option<MappedNpy<f32>> {
        MappedNpy::open(&self.path(role)?.1).ok()
    }

    /// Shape, finite values and unit length of base and queries.
    pub(crate) fn vectors(&mut self) -> Result<(), Interrupted> {
        let manifest = self.manifest;
        for (role, rows) in
            [(Role::Base, manifest.counts.base), (Role::Queries, manifest.counts.queries)]
        {
            let Some((file, path)) = self.path(role) else {
                if role == Role::Base || rows > 0 {
                    self.note(MANIFEST, "lists its vectors", Err(format!("no file of {role:?}")));
                }
                continue;
            };
            let matrix = match MappedNpy::<f32>::open(&path) {
                Ok(matrix) => matrix,
                Err(error) => {
                    let problem = problem(error)?;
                    self.note(&file.path, "shape", Err(problem));
                    continue;
                }
            };
            let shape = equal("rows", &rows, &(matrix.rows() as u64))
                .and_then(|()| equal("dim", &u64::from(manifest.dim), &(matrix.cols() as u64)));
            self.note(&file.path, "shape", shape);
            let norms = matrix::norms(matrix.blocks(), self.progress)?;
            let finite = match norms.non_finite.is_empty() {
                true => Ok(()),
                false => Err(format!("NaN or infinity in {}", norms.non_finite)),
            };
            self.note(&file.path, "finite values", finite);
            if manifest.unit_length {
                let unit = match norms.unit {
                    true => Ok(()),
                    false => {
                        Err(format!("norms from {:.6} to {:.6}", norms.stats.min, norms.stats.max))
                    }
                };
                self.note(&file.path, "unit length", unit);
            }
        }
        Ok(())
    }

    /// Rows of the tables are numbered, and a subset's rows are those of its rule.
    pub(crate) fn tables(&mut self) -> Result<(), Interrupted> {
        let manifest = self.manifest;
        for (role, rows) in
            [(Role::BaseTable, manifest.counts.base), (Role::QueriesTable, manifest.counts.queries)]
        {
            let Some((file, path)) = self.path(role) else { continue };
            let result = match read_i64_column(&path, ROW, self.progress) {
                Err(error) => Err(problem(error)?),
                Ok(numbers) if numbers.iter().copied().eq(0..rows as i64) => Ok(()),
                Ok(numbers) => Err(format!("its {} rows are not 0 to {rows}", numbers.len())),
            };
            self.note(&file.path, "rows numbered", result);
        }
        let (Some(subset), Some((file, path))) = (&manifest.subset, self.path(Role::BaseTable))
        else {
            return Ok(());
        };
        let result = match read_i64_column(&path, PARENT_ROW, self.progress) {
            Err(error) => Err(problem(error)?),
            Ok(_) if subset.rows > subset.parent_rows => {
                Err(format!("{} rows of {}", subset.rows, subset.parent_rows))
            }
            Ok(rows) => match &subset.kept {
                None => drawn(subset, &rows, &[]),
                Some(facts) => match read_true_rows(&path, KEPT, self.progress) {
                    Err(error) => Err(problem(error)?),
                    Ok(kept) => equal("rows kept", &facts.rows, &(kept.len() as u64))
                        .and_then(|()| drawn(subset, &rows, &kept)),
                },
            },
        };
        self.note(&file.path, "rows of the subset rule", result);
        Ok(())
    }

    /// Splits are disjoint, whole, and those of their seed.
    pub(crate) fn splits(&mut self) {
        let Some((file, path)) = self.path(Role::Splits) else { return };
        let queries = self.manifest.counts.queries;
        let result = fs::read_to_string(&path)
            .map_err(|error| error.to_string())
            .and_then(|text| Splits::parse(&text).map_err(|error| error.to_string()))
            .and_then(|splits| {
                splits_hold(&splits, queries)?;
                let drawn = Splits::draw(queries, splits.calibration.len() as u64, splits.seed);
                match splits == drawn {
                    true => Ok(()),
                    false => Err(format!("not the split that seed {} draws", splits.seed)),
                }
            });
        self.note(&file.path, "disjoint, whole, as drawn", result);
    }

    /// The truth is one of this base and these queries.
    pub(crate) fn truth(
        &mut self,
        count: u64,
        neighbors: Option<&Path>,
    ) -> Result<(), Interrupted> {
        let Some(facts) = &self.manifest.truth else { return Ok(()) };
        let (Some((ids_file, ids)), Some((_, scores)), Some((stats_file, stats))) =
            (self.path(Role::TruthIds), self.path(Role::TruthScores), self.path(Role::TruthStats))
        else {
            self.note(MANIFEST, "lists its truth", Err("files of the truth are missing".into()));
            return Ok(());
        };
        let opened =
            MappedNpy::<i32>::open(&ids).and_then(|ids| Ok((ids, MappedNpy::open(&scores)?)));
        let (ids, scores) = match opened {
            Ok(opened) => opened,
            Err(error) => {
                let problem = problem(error)?;
                self.note(&ids_file.path, "truth of this base", Err(problem));
                return Ok(());
            }
        };
        let (Some(base), Some(queries)) = (self.matrix(Role::Base), self.matrix(Role::Queries))
        else {
            return Ok(());
        };
        self.note(&ids_file.path, "k", equal("k", &(facts.k as usize), &ids.cols()));
        let metric = facts.metric;
        let holds = truth_holds(&base, &queries, &ids, &scores, metric, self.progress)?;
        let sound = holds.is_ok();
        self.note(&ids_file.path, "distinct rows, true scores, in order", holds);
        if sound {
            if let Some(path) = neighbors {
                let result = self.published(path, &base, &queries, &ids, metric)?;
                let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
                self.note(&name, "published neighbours are as good as the truth", result);
            }
            let stats = match TruthStats::read(&stats, self.progress) {
                Ok(stats) => {
                    let tied = facts.queries_tied_at_k;
                    stats_hold(&stats, &base, &queries, &ids, metric, tied).map(|()| stats)
                }
                Err(error) => Err(problem(error)?),
            };
            let (stats, result) = match stats {
                Ok(stats) => (Some(stats), Ok(())),
                Err(problem) => (None, Err(problem)),
            };
            self.note(&stats_file.path, "k-th scores and ties of the truth", result);
            let stats = stats.as_ref();
            let result = recheck(&base, &queries, &ids, stats, metric, count, self.progress)?;
            self.note(&ids_file.path, "a sample searched again in float64", result);
        }
        Ok(())
    }

    fn published(
        &self,
        path: &Path,
        base: &MappedNpy<f32>,
        queries: &MappedNpy<f32>,
        truth: &MappedNpy<i32>,
        metric: Metric,
    ) -> Result<Result<(), String>, Interrupted> {
        let tables = (self.path(Role::BaseTable), self.path(Role::QueriesTable));
        let (Some((_, base_table)), Some((_, queries_table))) = tables else {
            return Ok(Err("the tables that hold the ids are missing".to_owned()));
        };
        let (base_table, queries_table) = (&base_table, &queries_table);
        let dataset = Dataset { base, queries, truth, base_table, queries_table, metric };
        match neighbors::agree(path, &dataset, self.progress) {
            Ok(result) => Ok(result),
            Err(error) => Ok(Err(problem(error)?)),
        }
    }

    /// Indexes are those that calibrations were measured on, and calibrations those of the
    /// manifest.
    pub(crate) fn stores(&mut self) -> Result<(), Interrupted> {
        for (store, facts) in &self.manifest.stores {
            let name = index_dir(store);
            let dir = self.dir.join(&name);
            let result = match content(&dir, self.progress) {
                Err(error) => Err(problem(error)?),
                Ok(found) => equal("digest", &facts.index_sha256, &found.sha256)
                    .and_then(|()| self.all_listed(&name, &dir))
                    .and_then(|()| self.index_of_base(&dir)),
            };
            self.note(&name, "the index calibrated", result);
            if facts.cells.is_empty() {
                continue;
            }
            let file = calibration_file(store);
            let result = fs::read_to_string(self.dir.join(&file))
                .map_err(|error| error.to_string())
                .and_then(|text| Calibration::parse(&text).map_err(|error| error.to_string()))
                .and_then(|calibration| self.calibration_holds(&calibration, store));
            self.note(&file, "measured on this data, as in the manifest", result);
        }
        Ok(())
    }

    /// The gates of the recipe, by what the manifest says of the stores.
    pub(crate) fn gates(&mut self) {
        let Some(gates) = &self.manifest.recipe.gates else { return };
        let cells: Vec<_> =
            self.manifest.stores.values().flat_map(|facts| facts.cells.clone()).collect();
        for gate in gates.gates(&cells) {
            let result = if gate.passes() { Ok(()) } else { Err(gate.to_string()) };
            self.note(&calibration_file(&gate.store), "through the recipe's gates", result);
        }
    }

    fn index_of_base(&self, dir: &Path) -> Result<(), String> {
        let base = self.manifest.file(Role::Base).map(|file| file.sha256.as_str()).unwrap_or("");
        match base_of_index::matches(dir, base) {
            true => Ok(()),
            false => Err("it was built from another base".to_owned()),
        }
    }

    fn all_listed(&self, name: &str, dir: &Path) -> Result<(), String> {
        let files = files_below(dir).map_err(|error| error.to_string())?;
        let listed = |file: &PathBuf| {
            let path = format!("{name}/{}", slashed(file));
            self.manifest.files.iter().any(|entry| entry.path == path)
        };
        match files.iter().find(|file| !listed(file)) {
            None => Ok(()),
            Some(file) => Err(format!("{} is not in the manifest", file.display())),
        }
    }

    fn calibration_holds(&self, calibration: &Calibration, store: &str) -> Result<(), String> {
        let facts = &self.manifest.stores[store];
        let sha256 = |role| self.manifest.file(role).map(|file| file.sha256.as_str()).unwrap_or("");
        let inputs = &calibration.inputs;
        let engine = format!("{} {}", facts.engine, facts.version);
        equal("engine", &engine, &calibration.engine)?;
        equal("metric", &self.manifest.metric, &calibration.metric)?;
        if let Some(table) = &self.manifest.recipe.calibrate {
            equal("rule", &table.rule, &calibration.rule)?;
            let cap = |value: Option<u32>| value.map_or("none".to_owned(), |v| v.to_string());
            equal("cap", &cap(table.max_value), &cap(calibration.max_value))?;
        }
        equal("base", &sha256(Role::Base), &inputs.base.as_str())?;
        equal("queries", &sha256(Role::Queries), &inputs.queries.as_str())?;
        equal("truth", &sha256(Role::TruthIds), &inputs.truth_ids.as_str())?;
        equal("splits", &sha256(Role::Splits), &inputs.splits.as_str())?;
        equal("index", &facts.index_sha256, &inputs.index)?;
        match calibration.cells == facts.cells {
            true => Ok(()),
            false => Err("its results differ from those of the manifest".to_owned()),
        }
    }
}

/// Whether `rows` of the parent are those that a subset draws. `kept` are the places among them of
/// those that are in it anyway.
fn drawn(subset: &SubsetFacts, rows: &[i64], kept: &[u64]) -> Result<(), String> {
    let kept: Vec<u64> =
        kept.iter().filter_map(|&place| rows.get(place as usize)).map(|&row| row as u64).collect();
    if let Some(row) = kept.iter().find(|&&row| row >= subset.parent_rows) {
        return Err(format!("row {row} is not one of the {} of the parent", subset.parent_rows));
    }
    if kept.len() as u64 > subset.rows {
        return Err(format!("{} rows kept in a subset of {}", kept.len(), subset.rows));
    }
    let sample = Sample::with_kept(subset.seed, subset.parent_rows, subset.rows, kept);
    match sample.rows().eq(rows.iter().map(|&row| row as u64)) {
        true => Ok(()),
        false => Err(format!("not the rows that seed {} draws", subset.seed)),
    }
}

/// A manifest's path, if it stays inside the dataset whatever links there are.
fn inside(dir: &Path, path: &str) -> Result<PathBuf, String> {
    let plain = Path::new(path).components().all(|part| matches!(part, Component::Normal(_)));
    if !plain || path.contains('\\') {
        return Err("the path leaves the dataset".to_owned());
    }
    let whole = dir.join(path);
    let real = |path: &Path| {
        fs::canonicalize(path).map_err(|error| match error.kind() {
            std::io::ErrorKind::NotFound => "missing".to_owned(),
            _ => error.to_string(),
        })
    };
    let root = real(if dir.as_os_str().is_empty() { Path::new(".") } else { dir })?;
    if real(&whole)?.starts_with(root) {
        Ok(whole)
    } else {
        Err("the path leaves the dataset".into())
    }
}

fn equal<T: PartialEq + std::fmt::Display>(
    what: &str,
    stated: &T,
    found: &T,
) -> Result<(), String> {
    if stated == found { Ok(()) } else { Err(format!("{what} is {found}, not {stated}")) }
}

/// Whether splits are two disjoint sets that together are all queries.
pub(crate) fn splits_hold(splits: &Splits, queries: u64) -> Result<(), String> {
    let mut seen = vec![false; queries as usize];
    for &row in splits.calibration.iter().chain(&splits.held_out) {
        match seen.get_mut(row as usize) {
            None => return Err(format!("row {row} is not one of the {queries} queries")),
            Some(true) => return Err(format!("query {row} stands twice")),
            Some(free) => *free = true,
        }
    }
    if splits.calibration.is_empty() || splits.held_out.is_empty() {
        return Err("one of the two sets is empty".to_owned());
    }
    match seen.iter().position(|seen| !seen) {
        None => Ok(()),
        Some(row) => Err(format!("query {row} is in neither set")),
    }
}
