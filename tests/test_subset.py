"""The subset rule, as five lines of Python say it."""

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import files


def rule(seed, rows, take):
    def mix(z):
        z = (z + np.uint64(0x9E3779B97F4A7C15))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))

    keys = mix(np.uint64(seed) ^ mix(np.arange(rows, dtype=np.uint64)))
    return np.sort(np.argsort(keys)[:take])


@pytest.fixture
def parent(vprep):
    random = np.random.default_rng(7)
    vectors = random.standard_normal((12_000, 8)).astype(np.float32)
    ids = [f"doc {i * 7}" for i in range(12_000)]
    texts = [f"text {'x' * (i % 50)} {i}" for i in range(12_000)]
    whole = pa.table({"id": ids, "emb": list(vectors), "text": texts})
    pq.write_table(whole, vprep.home / "whole.parquet")
    for i, start in enumerate(range(0, 12_000, 1_000)):
        pq.write_table(whole.slice(start, 1_000), vprep.home / f"part-{i}.parquet")
    np.save(vprep.home / "q.npy", vectors[:300] + np.float32(0.1))
    # part-2 comes before part-10, in whatever order the shell gives them.
    parts = sorted(p.name for p in vprep.home.glob("part-*.parquet"))
    for name, sources in [("one", ["whole.parquet"]), ("many", parts)]:
        vprep("import", *sources, "--role", "base", "-d", name)
        vprep("import", "q.npy", "--role", "queries", "-d", name)
        vprep("split", "--calibration", 50, "--seed", 3, "-d", name)
    return vectors


def test_same_rows_and_bytes_from_one_file_or_many_at_any_threads(vprep, parent):
    made = {}
    for source in ["one", "many"]:
        for threads in [1, 2]:
            name = f"{source}-{threads}"
            vprep("subset", "--from", source, "--rows", 2_000, "--seed", 20261022, "-d", name,
                  "--threads", threads)
            found = files(vprep.home / name)
            del found["dataset.toml"]
            made[name] = found
    first = made.pop("one-1")
    assert set(first) == {"base.f32.npy", "base.parquet", "queries.f32.npy", "queries.parquet", "splits.json"}
    for name, found in made.items():
        assert found == first, name


def test_the_rule_and_nesting(vprep, parent):
    chosen = {}
    for rows in [2_000, 8_000, 12_000]:
        vprep("subset", "--from", "one", "--rows", rows, "--seed", 42, "-d", str(rows))
        expected = rule(42, 12_000, rows)
        assert (np.load(vprep.home / str(rows) / "base.f32.npy") == parent[expected]).all()
        table = pq.read_table(vprep.home / str(rows) / "base.parquet")
        assert table["row"].to_pylist() == list(range(rows))
        assert table["parent_row"].to_pylist() == expected.tolist()
        assert table["id"].to_pylist() == [f"doc {i * 7}" for i in expected]
        assert table["text"][5].as_py() == f"text {'x' * (expected[5] % 50)} {expected[5]}"
        chosen[rows] = set(expected)
    assert chosen[2_000] < chosen[8_000] < chosen[12_000]


def test_queries_and_split_come_along_and_the_truth_does_not(vprep, parent):
    vprep("truth", "--k", 10, "-d", "one")
    vprep("subset", "--from", "one", "--rows", 100, "--seed", 1, "-d", "small")
    parent_files, child = files(vprep.home / "one"), files(vprep.home / "small")
    for name in ["queries.f32.npy", "queries.parquet", "splits.json"]:
        assert child[name] == parent_files[name]
    assert "truth.ids.npy" not in child


def test_more_rows_than_there_are(vprep, parent):
    error = vprep.fails("subset", "--from", "one", "--rows", 12_001, "--seed", 1, "-d", "big")
    assert "has 12000 rows" in error and "12001" in error
    assert not (vprep.home / "big").exists()


def test_a_dataset_is_no_subset_of_itself(vprep, parent):
    assert "itself" in vprep.fails("subset", "--from", "one", "--rows", 9, "--seed", 1, "-d", "one", code=2)
