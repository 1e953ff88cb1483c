//! Whether the server holds what an index directory says.

use crate::session::Session;
use crate::{EF_CONSTRUCTION, M, NAME, file, names, operators};
use pgvector::Vector;
use std::path::Path;
use vprep_core::MatrixView;
use vprep_store::{IndexFacts, Location, StoreError};

const OPERATION: &str = "looking at the table";

/// The table of an index directory on a server, and its build.
pub(crate) struct Table {
    /// Its name, legal in SQL as it is.
    pub(crate) name: String,
    build: String,
    file: std::path::PathBuf,
}

impl Table {
    /// Reads which table and build the directory is about.
    pub(crate) fn read(dir: &Path, facts: &IndexFacts) -> Result<Self, StoreError> {
        let build = file::read(dir)?;
        let this = |name: &str| Self { name: name.to_owned(), build, file: dir.join(file::FILE) };
        match &facts.location {
            Location::Collection(name) if names::is_table(name) => Ok(this(name)),
            other => Err(this("").no_index(format!("{other:?} is no table of this store"))),
        }
    }

    fn no_index(&self, problem: String) -> StoreError {
        StoreError::NoIndex { store: NAME, path: self.file.clone(), problem }
    }

    /// Checks that the table is there and still that of the build.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] if not.
    pub(crate) fn check_build(&self, session: &Session) -> Result<(), StoreError> {
        let sql =
            "SELECT to_regclass($1) IS NOT NULL, obj_description(to_regclass($1), 'pg_class')";
        let rows = session.query(OPERATION, sql, &[&self.name])?;
        let row = rows.first().ok_or_else(|| self.no_index("no answer".to_owned()))?;
        let read = |e| session.failed(OPERATION, &e);
        let (there, comment): (bool, Option<String>) =
            (row.try_get(0).map_err(read)?, row.try_get(1).map_err(read)?);
        let (name, place) = (&self.name, session.place());
        if !there {
            return Err(self.no_index(format!("{place} has no table {name}")));
        }
        if comment != Some(names::comment(&self.build)) {
            return Err(self.no_index(format!("the table {name} of {place} is of another build")));
        }
        Ok(())
    }

    /// Checks that table and index are as `facts` says, and hold `base`: rows, dimension, operator
    /// class, parameters, and the vectors of a few rows.
    ///
    /// # Errors
    ///
    /// [`StoreError::NoIndex`] or [`StoreError::WrongIndex`] if not.
    pub(crate) fn check(
        &self,
        session: &Session,
        facts: &IndexFacts,
        base: MatrixView<'_>,
    ) -> Result<(), StoreError> {
        self.check_build(session)?;
        self.check_index(session, facts)?;
        self.check_rows(session, base)
    }

    fn check_index(&self, session: &Session, facts: &IndexFacts) -> Result<(), StoreError> {
        let sql = "SELECT indisvalid AND indisready, amname::text, opcname::text,
                coalesce(reloptions, '{}')
            FROM pg_index JOIN pg_class c ON c.oid = indexrelid
                JOIN pg_am a ON a.oid = c.relam JOIN pg_opclass o ON o.oid = indclass[0]
            WHERE indrelid = to_regclass($1) AND indexrelid = to_regclass($2)";
        let index = names::index(&self.name);
        let rows = session.query(OPERATION, sql, &[&self.name, &index])?;
        let Some(row) = rows.first() else {
            let problem = format!("the table {} has lost its index {index}", self.name);
            return Err(self.no_index(problem));
        };
        let read = |e| session.failed(OPERATION, &e);
        let valid: bool = row.try_get(0).map_err(read)?;
        let method: String = row.try_get(1).map_err(read)?;
        let class: String = row.try_get(2).map_err(read)?;
        let mut options: Vec<String> = row.try_get(3).map_err(read)?;
        options.sort_unstable();

        let parameter = |name: &str| facts.parameters.get(name).copied().unwrap_or_default();
        let expected = [
            format!("ef_construction={}", parameter(EF_CONSTRUCTION)),
            format!("m={}", parameter(M)),
        ];
        let kind = (method.as_str(), class.as_str());
        if !valid || kind != ("hnsw", operators::class(facts.metric)) || options != expected {
            return Err(self.no_index(format!(
                "the index {index} is not that of index.json: {method} {class} {options:?}{}",
                if valid { "" } else { ", not valid" }
            )));
        }
        Ok(())
    }

    fn check_rows(&self, session: &Session, base: MatrixView<'_>) -> Result<(), StoreError> {
        let read = |e| session.failed(OPERATION, &e);
        let name = &self.name;
        let sql = format!(
            "SELECT count(*), (SELECT atttypmod FROM pg_attribute
                WHERE attrelid = to_regclass('{name}') AND attname = 'v') FROM {name}"
        );
        let rows = session.query("counting the rows", &sql, &[])?;
        let row = rows.first().ok_or_else(|| self.no_index("no answer".to_owned()))?;
        let count: i64 = row.try_get(0).map_err(read)?;
        // The modifier of the type `vector(dim)` is dim.
        let dim: Option<i32> = row.try_get(1).map_err(read)?;
        let dim = dim.unwrap_or_default();
        if (count, dim) != (base.rows() as i64, base.dim() as i32) {
            return Err(StoreError::WrongIndex {
                store: NAME,
                path: self.file.clone(),
                found: format!("{count} rows of dim {dim}"),
                expected: format!("{} rows of dim {}", base.rows(), base.dim()),
            });
        }

        let last = base.rows().saturating_sub(1);
        let some = [0, last / 3, last / 3 * 2, last].map(|row| row as i64);
        let sql = format!("SELECT id, v FROM {name} WHERE id = ANY($1)");
        for row in session.query(OPERATION, &sql, &[&some.as_slice()])? {
            let id: i64 = row.try_get(0).map_err(read)?;
            let vector: Vector = row.try_get(1).map_err(read)?;
            let same = usize::try_from(id).is_ok_and(|id| base.row(id) == vector.as_slice());
            if !same {
                return Err(
                    self.no_index(format!("row {id} of the table {name} is not the base's"))
                );
            }
        }
        Ok(())
    }
}
