//! The rows of the base, sent to the server.

use crate::NAME;
use crate::error::engine;
use crate::session::Session;
use pgvector::Vector;
use std::pin::pin;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;
use vprep_core::{MatrixView, Progress};
use vprep_store::StoreError;

const OPERATION: &str = "loading the rows";

/// Rows between two looks at whether the user asked to stop.
const STRIDE: usize = 256;

/// Copies all rows into the new table `table` of the current transaction, in binary. They are
/// frozen as they come in: no vacuum has to visit them again.
pub(crate) fn load(
    session: &Session,
    table: &str,
    base: MatrixView<'_>,
    progress: &dyn Progress,
) -> Result<(), StoreError> {
    let failed = |error| session.failed(OPERATION, &error);
    let columns = format!("SELECT id, v FROM {table}");
    let statement = session.run(session.client().prepare(&columns)).map_err(failed)?;
    let types: Vec<Type> = statement.columns().iter().map(|c| c.type_().clone()).collect();
    let copy = format!("COPY {table} (id, v) FROM STDIN WITH (FORMAT binary, FREEZE)");

    let task = progress.task("loading pgvector", base.rows() as u64, "rows");
    let loaded = session.run(async {
        let sink = session.client().copy_in(&copy).await.map_err(failed)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, &types));
        for (row, vector) in base.iter().enumerate() {
            if row % STRIDE == 0 {
                progress.check()?;
            }
            if !vector.iter().all(|x| x.is_finite()) {
                let problem = format!("row {row} has a NaN or an infinity, which pgvector refuses");
                return Err(StoreError::Unsupported { store: NAME, problem });
            }
            let (id, vector) = (row as i64, Vector::from(vector.to_vec()));
            writer.as_mut().write(&[&id, &vector]).await.map_err(failed)?;
            task.advance(1);
        }
        writer.finish().await.map_err(failed)
    })?;
    if loaded != base.rows() as u64 {
        let message = format!("{loaded} rows arrived of {}", base.rows());
        return Err(engine(OPERATION, message));
    }
    Ok(())
}
