"""Bad input: one line that says what, where and how to mend it, and nothing is changed."""

import os
import struct
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import files

GOOD = np.random.default_rng(1).standard_normal((40, 6)).astype(np.float32)


@pytest.fixture
def dataset(vprep):
    """A small whole dataset, which no failure below may change."""
    np.save(vprep.home / "good.npy", GOOD)
    vprep("import", "good.npy", "--role", "base", "-d", "d")
    vprep("import", "good.npy", "--role", "queries", "-d", "d")
    vprep("normalize", "-d", "d")
    vprep("split", "--calibration", 10, "-d", "d")
    vprep("truth", "--k", 5, "-d", "d")
    vprep("build", "--store", "flat", "-d", "d")
    return vprep.home / "d"


def spoiled(row, column, value):
    vectors = GOOD.copy()
    vectors[row, column] = value
    return vectors


def table(home, name, column, **others):
    pq.write_table(pa.table({"emb": column, **others}), home / name)


def npy(name, array):
    def make(home):
        np.save(home / name, array)
        return name
    return make


def cut(name, source, keep):
    def make(home):
        content = (home / source(home)).read_bytes()
        (home / name).write_bytes(content[:keep])
        return name
    return make


def fbin(home):
    (home / "x.fbin").write_bytes(struct.pack("<II", *GOOD.shape) + GOOD.tobytes())
    return "x.fbin"


def fvecs(dims=None):
    def make(home):
        dims_ = dims or [6] * 40
        with open(home / "x.fvecs", "wb") as file:
            for d, row in zip(dims_, GOOD):
                file.write(struct.pack("<i", d) + row.tobytes()[: 4 * d].ljust(4 * d, b"\0"))
        return "x.fvecs"
    return make


def parquet(column, name="x.parquet", **others):
    def make(home):
        table(home, name, column, **others)
        return name
    return make


def text(name, content):
    def make(home):
        (home / name).write_bytes(content)
        return name
    return make


def long_header(home):
    content = (home / "good.npy").read_bytes()
    (home / "x.npy").write_bytes(content[:8] + struct.pack("<H", 60_000) + content[10:])
    return "x.npy"


ROWS = [list(map(float, row)) for row in GOOD]
CASES = {
    "missing file": (lambda home: "none.npy", ["none.npy"]),
    "no pattern matches": (lambda home: "none-*.npy", ["none-*.npy"]),
    "unknown format": (text("x.csv", b"1,2"), ["x.csv", "parquet"]),
    "another dimension": (npy("x.npy", GOOD[:, :5]), ["x.npy", "5", "6"]),
    "ragged list": (parquet(ROWS[:7] + [[1.0, 2.0]] + ROWS[8:]), ["x.parquet", "row 7", "2", "6"]),
    "null row": (parquet(ROWS[:3] + [None] + ROWS[4:]), ["x.parquet", "row 3", "null"]),
    "a null in a row": (parquet(ROWS[:3] + [[None] + ROWS[3][1:]] + ROWS[4:]), ["x.parquet", "row 3", "null"]),
    "NaN": (npy("x.npy", spoiled(17, 2, np.nan)), ["x.npy", "row 17"]),
    "infinity": (npy("x.npy", spoiled(18, 0, -np.inf)), ["x.npy", "row 18"]),
    "NaN in parquet": (parquet([list(map(float, r)) for r in spoiled(9, 1, np.nan)]), ["x.parquet", "row 9"]),
    "npy cut short": (cut("x.npy", lambda home: "good.npy", 900), ["x.npy", "900"]),
    "fbin cut short": (cut("y.fbin", fbin, 500), ["y.fbin", "500"]),
    "fvecs cut short": (cut("y.fvecs", fvecs(), 501), ["y.fvecs"]),
    "fvecs of two dimensions": (fvecs([6] * 20 + [5] + [6] * 19), ["x.fvecs"]),
    "parquet cut short": (cut("y.parquet", parquet(ROWS), 700), ["y.parquet"]),
    "no parquet at all": (text("x.parquet", b"<html>not found</html>"), ["x.parquet"]),
    "header larger than the file": (long_header, ["x.npy", "60010", "cut short"]),
    "empty file": (text("x.npy", b""), ["x.npy"]),
    "no rows": (npy("x.npy", GOOD[:0]), ["x.npy", "0"]),
    "one dimension": (npy("x.npy", GOOD[0]), ["x.npy"]),
    "big-endian": (npy("x.npy", GOOD.astype(">f4")), ["x.npy", "big-endian"]),
    "column of text": (parquet(["a"] * 40), ["x.parquet", "emb"]),
    "a directory": (lambda home: (home / "x.npy").mkdir() or "x.npy", ["x.npy", "directory"]),
}


@pytest.mark.parametrize("case", CASES)
def test_import(vprep, dataset, case):
    make, words = CASES[case]
    name = make(vprep.home)
    before = files(dataset)
    for role in ["base", "queries"]:
        error = vprep.fails("import", name, "--role", role, "-d", "d")
        assert all(word in error for word in words), error
        assert files(dataset) == before
    assert not any((dataset / ".vprep" / "tmp").glob("*"))
    # A new dataset does not begin to be.
    if case != "another dimension":
        vprep.fails("import", name, "--role", "base", "-d", "new")
        assert not (vprep.home / "new").exists()


def test_columns(vprep, dataset):
    table(vprep.home, "two.parquet", ROWS, other=ROWS, title=["t"] * 40)
    error = vprep.fails("import", "two.parquet", "--role", "base", "-d", "d")
    assert "emb" in error and "other" in error
    error = vprep.fails("import", "two.parquet", "--role", "base", "--vector-column", "title", "-d", "d")
    assert "title" in error
    error = vprep.fails("import", "two.parquet", "--role", "base", "--vector-column", "none", "-d", "d")
    assert "none" in error and "emb" in error
    table(vprep.home, "other.parquet", ROWS, id=["a"] * 40)
    error = vprep.fails("import", "good.npy", "other.parquet", "--role", "base", "-d", "d")
    assert "other.parquet" in error and "string id" in error


def test_zero_vectors_stop_normalisation_unless_told(vprep):
    vectors = GOOD.copy()
    vectors[[4, 8, 30]] = 0
    np.save(vprep.home / "zero.npy", vectors)
    vprep("import", "zero.npy", "--role", "base", "-d", "z")
    before = files(vprep.home / "z")
    error = vprep.fails("normalize", "-d", "z")
    assert "zero vector in rows 4, 8, 30" in error and "--zero drop" in error
    assert files(vprep.home / "z") == before
    vprep("normalize", "--zero", "keep", "-d", "z")
    kept = np.load(vprep.home / "z" / "base.f32.npy")
    assert (kept[4] == 0).all() and len(kept) == 40
    vprep("import", "zero.npy", "--role", "base", "-d", "y")
    vprep("normalize", "--zero", "drop", "-d", "y")
    dropped = np.load(vprep.home / "y" / "base.f32.npy")
    ids = pq.read_table(vprep.home / "y" / "base.parquet")["id"].to_pylist()
    assert len(dropped) == 37 and ids == [i for i in range(40) if i not in (4, 8, 30)]
    assert np.abs(np.linalg.norm(dropped, axis=1) - 1).max() < 1e-6


SYNTH = "[synth]\nrows = 50\ndim = 2\nqueries = 9\n"
RECIPES = {
    "unknown key": ("[truth]\nkk = 3\n", ["p.toml", "line 5", "kk"]),
    "unknown table": ("[truht]\n", ["p.toml", "line 4", "truht"]),
    "out of range": ("[truth]\nk = 0\n", ["p.toml", "truth.k", "at least 1"]),
    "wrong type": ("[truth]\nk = \"ten\"\n", ["p.toml", "line 5"]),
    "not toml": ("[truth\n", ["p.toml", "line 4"]),
    "nothing to read": ("[truth]\n", ["p.toml", "no table brings vectors"]),
    "nothing to calibrate": (SYNTH + "[calibrate]\ntarget = [0.9]\n", ["p.toml", "[build.<store>]"]),
    "unknown store": (SYNTH + "[build.hsnw]\n", ["hsnw", "flat, hnsw"]),
    "unknown parameter": (SYNTH + "[build.hnsw]\nef = 3\n", ["hnsw", "`ef`", "ef-construction"]),
    "parameter out of range": (SYNTH + "[build.hnsw]\nm = 0\n", ["hnsw", "m = 0"]),
    "two sources": (SYNTH + "[import.base]\nfiles = [\"a.npy\"]\n", ["p.toml", "one of"]),
    "two sources of queries": (SYNTH + "[import.queries]\nfiles = [\"a.npy\"]\n", ["p.toml", "queries come from one of"]),
    "a name that leaves datasets/": ("", ["p.toml", "name"]),
}


@pytest.mark.parametrize("case", RECIPES)
def test_recipe(vprep, case):
    body, words = RECIPES[case]
    name = "../x" if case.startswith("a name") else "x"
    (vprep.home / "p.toml").write_text(f"schema = 1\nname = \"{name}\"\n\n{body}")
    for command in ["run", "plan"]:
        error = vprep.fails(command, "p.toml", code=2)
        assert all(word in error for word in words), error
    assert not (vprep.home / "datasets").exists()


def test_missing_source_of_a_recipe(vprep):
    (vprep.home / "p.toml").write_text(
        "schema = 1\nname = \"x\"\n[import.base]\nfiles = [\"raw/*.npy\"]\n"
    )
    assert "raw/*.npy" in vprep.fails("run", "p.toml")
    assert "p.toml" in vprep.fails("run", "none/p.toml")


def test_stages_out_of_order_say_what_is_missing(vprep):
    np.save(vprep.home / "good.npy", GOOD)
    vprep("import", "good.npy", "--role", "base", "-d", "d")
    assert "vprep import --role queries" in vprep.fails("truth", "--k", 5, "-d", "d")
    assert "vprep import --role queries" in vprep.fails("split", "-d", "d")
    vprep("import", "good.npy", "--role", "queries", "-d", "d")
    assert "has 40 rows" in vprep.fails("split", "--calibration", 40, "-d", "d")
    assert "vprep truth" in vprep.fails("calibrate", "--target", 0.9, "-d", "d")
    vprep("truth", "--k", 5, "-d", "d")
    assert "vprep build" in vprep.fails("calibrate", "--target", 0.9, "-d", "d")
    assert "vprep build" in vprep.fails("calibrate", "--target", 0.9, "--store", "hnsw", "-d", "d")
    assert "manifest.json" in vprep.fails("validate", "d")


def test_a_stale_input_is_refused_by_name(vprep, dataset):
    np.save(vprep.home / "other.npy", GOOD[::-1])
    vprep("import", "other.npy", "--role", "base", "-d", "d")
    error = vprep.fails("calibrate", "--target", 0.9, "--k", 5, "-d", "d")
    assert "stale" in error and "vprep run" in error
    vprep("run", "d/dataset.toml")
    vprep("calibrate", "--target", 0.9, "--k", 5, "-d", "d")


def test_which_dataset(vprep):
    assert "no dataset given" in vprep.fails("truth", code=2)
    assert "no dataset.toml here" in vprep.fails("truth", "-d", "nowhere")
    assert not (vprep.home / "nowhere").exists()
    np.save(vprep.home / "good.npy", GOOD)
    for name in ["a", "b"]:
        vprep("import", "good.npy", "--role", "base", "-d", f"datasets/{name}")
    error = vprep.fails("normalize", code=2)
    assert "datasets/a, datasets/b" in error
    vprep("normalize", "-d", "datasets/a")
    assert vprep("normalize", VPREP_DATASET="datasets/b").returncode == 0


def test_metric_of_a_dataset_is_settled(vprep, dataset):
    error = vprep.fails("import", "good.npy", "--role", "base", "--metric", "l2", "-d", "d", code=2)
    assert "cosine" in error and "l2" in error


def test_no_space_left(vprep, dataset):
    """A file size limit stands in where no small file system can be mounted."""
    small = vprep.home / "small"
    small.mkdir()
    mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", small], capture_output=True)
    if mounted.returncode != 0:
        pytest.skip("mounting a small file system needs root")
    try:
        vprep("import", "good.npy", "--role", "base", "-d", "small/d")
        before = files(small / "d")
        np.save(vprep.home / "large.npy", np.ones((20_000, 6), dtype=np.float32))
        error = vprep.fails("import", "large.npy", "--role", "base", "-d", "small/d")
        assert "no space left" in error and "free some space" in error
        assert files(small / "d") == before
        assert not any((small / "d" / ".vprep" / "tmp").glob("*"))
        error = vprep.fails("synth", "--rows", 20_000, "--dim", 6, "--queries", 5, "-d", "small/e")
        assert "no space left" in error and not (small / "e").exists()
    finally:
        subprocess.run(["umount", small], check=True)


def test_a_directory_that_cannot_be_written(vprep):
    np.save(vprep.home / "good.npy", GOOD)
    (vprep.home / "file").write_text("")
    error = vprep.fails("import", "good.npy", "--role", "base", "-d", "file/d")
    assert "file/d" in error
