"""What must not be believed: files of other data, files nobody recorded, sources that changed."""

import json
import shutil

import numpy as np
import pyarrow.parquet as pq
import pyarrow as pa
import pytest

from conftest import QUICKSTART, Vprep, files


@pytest.fixture
def copy(quickstart, tmp_path):
    shutil.copytree(quickstart, tmp_path / "qs")
    return tmp_path / "qs"


@pytest.fixture
def home(vprep):
    random = np.random.default_rng(3)
    large = random.standard_normal((4_000, 16)).astype(np.float32)
    np.save(vprep.home / "large.npy", large)
    np.save(vprep.home / "half.npy", large[:2_000])
    np.save(vprep.home / "other.npy", large[2_000:])
    np.save(vprep.home / "q.npy", random.standard_normal((300, 16)).astype(np.float32))
    return vprep.home


def test_a_manifest_of_what_nobody_recorded_is_refused(copy):
    vprep = Vprep(copy.parent)
    before = (copy / "manifest.json").read_bytes()
    shutil.rmtree(copy / ".vprep")
    assert "no record of how" in vprep.fails("manifest", "-d", "qs")
    assert (copy / "manifest.json").read_bytes() == before
    vprep("validate", "qs")


@pytest.mark.parametrize("part", ["truth", "split", "subset", "normalization", "stores"])
def test_a_manifest_that_leaves_something_out_fails(copy, part):
    vprep = Vprep(copy.parent)
    path = copy / "manifest.json"
    manifest = json.loads(path.read_text())
    manifest[part] = {} if part == "stores" else None
    path.write_text(json.dumps(manifest))
    report = vprep.json("validate", "qs", code=4)
    failed = {check["check"] for check in report["checks"] if check["problem"]}
    assert {"digest of the manifest", "complete"} <= failed


def test_a_file_that_the_manifest_does_not_list_fails(copy):
    vprep = Vprep(copy.parent)
    vprep("build", "--store", "flat", "-d", "qs")
    assert "indexes/flat is not listed" in vprep("validate", "qs", code=4).stdout
    vprep("calibrate", "--store", "flat", "--target", 0.95, "-d", "qs")
    vprep("manifest", "-d", "qs")
    vprep("validate", "qs")


def test_measurements_that_were_edited_are_made_again(copy):
    vprep = Vprep(copy.parent)
    path = copy / "calibration" / "hnsw.json"
    good = json.loads(path.read_text())
    bad = json.loads(path.read_text())
    for point in bad["points"]:
        point["recall"] = 1.0
    path.write_text(json.dumps(bad))
    vprep("run", QUICKSTART, "-d", "qs")
    assert json.loads(path.read_text())["cells"] == good["cells"]


def test_an_index_of_another_base_is_refused(vprep, home):
    vprep("import", "half.npy", "--role", "base", "--metric", "l2", "-d", "d")
    vprep("import", "q.npy", "--role", "queries", "-d", "d")
    vprep("split", "--calibration", 50, "-d", "d")
    vprep("build", "--store", "hnsw", "-d", "d")
    shutil.rmtree(home / "d" / ".vprep")
    vprep("import", "other.npy", "--role", "base", "-d", "d")
    vprep("truth", "--k", 10, "-d", "d")
    assert "built from another base" in vprep.fails("calibrate", "--target", 0.5, "-d", "d")


def test_a_truth_of_a_smaller_base_is_refused_even_without_a_record(vprep, home):
    vprep("import", "half.npy", "--role", "base", "-d", "d")
    vprep("import", "q.npy", "--role", "queries", "-d", "d")
    vprep("split", "--calibration", 50, "-d", "d")
    vprep("truth", "--k", 10, "-d", "d")
    shutil.rmtree(home / "d" / ".vprep")
    vprep("import", "large.npy", "--role", "base", "-d", "d")
    vprep("build", "--store", "flat", "-d", "d")
    assert "not the truth of this base" in vprep.fails("calibrate", "--target", 0.5, "-d", "d")


def test_what_another_recipe_left_is_removed(vprep, home):
    table = "[import.base]\nfiles = [\"{}\"]\n[import.queries]\nfiles = [\"q.npy\"]\n"
    head = "schema = 1\nname = \"d\"\n"
    rest = "[split]\ncalibration = 50\n[truth]\nk = 10\n[build.flat]\n[calibrate]\ntarget = [0.9]\nk = [10]\n[manifest]\n"
    (home / "a.toml").write_text(head + table.format("half.npy") + rest)
    (home / "b.toml").write_text(head + table.format("other.npy"))
    vprep("run", "a.toml")
    done = vprep("run", "b.toml")
    for name in ["truth.ids.npy", "truth.scores.npy", "splits.json", "indexes/flat", "calibration/flat.json", "manifest.json"]:
        assert f"removed {name}:" in done.stderr
    assert set(files(home / "datasets" / "d")) == {
        "dataset.toml", "base.f32.npy", "base.parquet", "queries.f32.npy", "queries.parquet"
    }


def test_sources_may_go_and_the_dataset_may_move(vprep, home):
    vprep("import", "half.npy", "--role", "base", "-d", "d")
    vprep("import", "q.npy", "--role", "queries", "-d", "d")
    for name in ["half.npy", "q.npy"]:
        (home / name).unlink()
    (home / "deep").mkdir()
    shutil.move(home / "d", home / "deep" / "e")
    vprep("truth", "--k", 10, "-d", "deep/e")
    done = vprep("run", "deep/e/dataset.toml")
    assert "nothing was done" in done.stderr
    # Only what needs them again misses them.
    (home / "deep" / "e" / "base.f32.npy").unlink()
    assert "half.npy" in vprep.fails("run", "deep/e/dataset.toml")


def test_another_choice_for_zero_vectors_reads_the_source_again(vprep, home):
    vectors = np.load(home / "half.npy")
    vectors[7] = 0
    np.save(home / "zero.npy", vectors)
    vprep("import", "zero.npy", "--role", "base", "-d", "d")
    vprep("normalize", "--zero", "keep", "-d", "d")
    vprep("normalize", "--zero", "drop", "-d", "d")
    assert len(np.load(home / "d" / "base.f32.npy")) == 1_999


def test_a_spoiled_parent_has_no_subsets(vprep, home):
    vprep("import", "half.npy", "--role", "base", "-d", "p")
    with open(home / "p" / "base.f32.npy", "r+b") as file:
        file.seek(4_000)
        file.write(b"\x01")
    error = vprep.fails("subset", "--from", "p", "--rows", 10, "--seed", 1, "-d", "c")
    assert "not as it was written" in error and not (home / "c").exists()


def test_the_dimension_stated_is_checked_whatever_brings_the_vectors(vprep, home):
    (home / "p.toml").write_text(
        "schema = 1\nname = \"d\"\ndim = 3\n[synth]\nrows = 9\ndim = 2\nqueries = 2\n"
    )
    assert "dim = 3" in vprep.fails("run", "p.toml")
    assert not (home / "datasets" / "d").exists()


def test_links_are_followed_before_paths_are_compared(vprep, home):
    (home / "s" / "a").mkdir(parents=True)
    (home / "s" / "b" / "real").mkdir(parents=True)
    (home / "s" / "a" / "ds").symlink_to("../b/real")
    shutil.copy(home / "half.npy", home / "s" / "a" / "src.npy")
    shutil.copy(home / "other.npy", home / "s" / "b" / "src.npy")
    vprep("import", "s/a/src.npy", "--role", "base", "-d", "s/a/ds")
    base = np.load(home / "s" / "b" / "real" / "base.f32.npy")
    assert (base == np.load(home / "half.npy")).all()
    plan = vprep.json("plan", "s/a/ds/dataset.toml")
    assert all(stage["up_to_date"] for stage in plan["stages"])


def test_a_dataset_does_not_read_itself(vprep, home):
    vprep("import", "half.npy", "--role", "base", "-d", "d")
    before = files(home / "d")
    error = vprep.fails("import", "d/base.f32.npy", "--role", "base", "-d", "d", code=2)
    assert "another directory" in error and files(home / "d") == before
    (home / "link").symlink_to("d")
    assert "itself" in vprep.fails("subset", "--from", "link", "--rows", 9, "--seed", 1, "-d", "d", code=2)


def test_columns_of_the_same_name_stay_apart(vprep, home):
    vectors = [[1.0, 2.0], [2.0, 1.0]]
    table = pa.table({"id": ["a", "b"], "emb": vectors, "row": [7, 8], "source_row": [1, 2]})
    pq.write_table(table, home / "x.parquet")
    vprep("import", "x.parquet", "--role", "base", "-d", "d")
    found = pq.read_table(home / "d" / "base.parquet")
    assert found.column_names == ["row", "id", "source_source_row", "source_row"]
    assert found["source_source_row"].to_pylist() == [7, 8] and found["source_row"].to_pylist() == [1, 2]


def test_scores_beyond_float32_are_refused(vprep, home):
    np.save(home / "huge.npy", np.full((20, 4), 5e37, dtype=np.float32) * np.arange(1, 5, dtype=np.float32) / 4)
    vprep("import", "huge.npy", "--role", "base", "--metric", "ip", "-d", "d")
    vprep("import", "huge.npy", "--role", "queries", "-d", "d")
    assert "beyond the range of float32" in vprep.fails("truth", "--k", 5, "-d", "d")


def test_names_that_cannot_stand_in_a_recipe(vprep, home):
    name = b"bad\xff.npy".decode("utf-8", "surrogateescape")
    shutil.copy(home / "half.npy", home / name)
    assert "not UTF-8" in vprep.fails("import", name, "--role", "base", "-d", "d", code=2)
    assert "the directory's name" in vprep.fails("import", "half.npy", "--role", "base", "-d", "my data", code=2)
