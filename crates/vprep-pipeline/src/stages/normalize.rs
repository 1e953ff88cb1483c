//! `normalize`: every vector to unit length. Norms and divisions are in f64, the result is
//! rounded to f32 once.

use super::{Outcome, grouped};
use crate::PipelineError;
use crate::dataset::Side;
use crate::facts::NormalizeFacts;
use crate::matrix;
use crate::run::Stage;
use rayon::prelude::*;
use vprep_core::{MatrixView, norm};
use vprep_data::{Lineage, MappedNpy, NpyWriter, copy_rows};
use vprep_manifest::{NormalizeTable, ZeroRule};

pub(crate) fn run(
    side: Side,
    table: &NormalizeTable,
    stage: &mut Stage<'_>,
) -> Result<Outcome, PipelineError> {
    let progress = stage.context.progress;
    let path = stage.dir.join(side.vectors());
    let source = MappedNpy::<f32>::open(&path)?;
    let vectors = source.view();
    let norms = matrix::norms(source.blocks(), progress)?;
    if !norms.non_finite.is_empty() {
        return Err(PipelineError::NonFinite { path, rows: norms.non_finite });
    }
    if table.zero == ZeroRule::Error && !norms.zero.is_empty() {
        return Err(PipelineError::ZeroVectors { path, rows: norms.zero });
    }
    let drops = table.zero == ZeroRule::Drop;
    let dropped = if drops { norms.zero.total() } else { 0 };
    let rows = vectors.rows() as u64 - dropped;
    if rows == 0 {
        return Err(PipelineError::ZeroVectors { path, rows: norms.zero });
    }

    let task = progress.task("normalizing", vectors.rows() as u64, "rows");
    let file = stage.outputs.create(side.vectors())?;
    let mut writer = NpyWriter::<f32>::new(file, rows, vectors.dim() as u64)?;
    let mut buffer = Vec::new();
    for block in source.blocks() {
        progress.check()?;
        buffer.resize(block.data().len(), 0.0);
        let out = buffer.as_mut_slice();
        unit_rows(block, out);
        if drops {
            for row in out.chunks_exact(vectors.dim()).filter(|row| row.iter().any(|&x| x != 0.0)) {
                writer.append(row)?;
            }
        } else {
            writer.append(out)?;
        }
        task.advance(block.rows() as u64);
    }
    let content = writer.finish()?;
    stage.outputs.add(side.vectors(), content);
    if drops {
        let file = stage.outputs.create(side.table())?;
        let keep = |row: u64| vectors.row(row as usize).iter().any(|&x| x != 0.0);
        let content =
            copy_rows(&stage.dir.join(side.table()), file, &Lineage::None, keep, progress)?;
        stage.outputs.add(side.table(), content);
    }
    let stats = norms.stats;
    let mut summary =
        format!("{} unit vectors; norms were {:.2} to {:.2}", grouped(rows), stats.min, stats.max);
    if stats.zero > 0 {
        let done = if drops { "dropped" } else { "kept" };
        summary += &format!(", {} zero vectors {done}", grouped(stats.zero));
    }
    let facts = NormalizeFacts { zero: table.zero, norms: stats, dropped };
    Ok(Outcome::new(&facts, summary))
}

/// Divides each row by its norm; zero rows stay as they are.
fn unit_rows(block: MatrixView<'_>, out: &mut [f32]) {
    let dim = block.dim();
    out.par_chunks_exact_mut(dim)
        .zip(block.data().par_chunks_exact(dim))
        .with_min_len(64)
        .for_each(|(out, row)| {
            let norm = norm(row);
            for (y, &x) in out.iter_mut().zip(row) {
                *y = if norm == 0.0 { x } else { (f64::from(x) / norm) as f32 };
            }
        });
}

#[cfg(test)]
mod tests {
    use super::*;
    use vprep_core::UNIT_TOLERANCE;

    #[test]
    fn rows_come_out_at_unit_length_and_zero_rows_as_they_were() {
        let data: Vec<f32> = (0..90).map(|i| (i * i % 83) as f32 * 1e-3 - 0.02).collect();
        let data = [data, vec![0.0; 9]].concat();
        let mut out = vec![0.0; data.len()];
        unit_rows(MatrixView::new(&data, 9), &mut out);
        for row in out[..90].chunks_exact(9) {
            assert!((norm(row) - 1.0).abs() < UNIT_TOLERANCE / 4.0);
        }
        assert_eq!(out[90..], [0.0; 9]);
    }
}
