"""The quickstart from end to end: repeatable, resumable, checked."""

import hashlib
import json
import shutil

import numpy as np
import pytest

from conftest import QUICKSTART, ROOT, Vprep, files


@pytest.fixture
def copy(quickstart, tmp_path):
    """A copy that a test may change."""
    shutil.copytree(quickstart, tmp_path / "qs")
    # The recipe names its sources relative to the dataset.
    for path in (tmp_path / "qs").rglob("lock"):
        path.unlink()
    return tmp_path / "qs"


def test_counts_and_calibration(quickstart):
    manifest = json.loads((quickstart / "manifest.json").read_text())
    assert manifest["schema"] == 1
    assert manifest["counts"] == {"base": 8_000, "queries": 1_000}
    assert manifest["unit_length"] is True
    assert manifest["subset"]["parent_rows"] == 12_000
    cells = manifest["stores"]["hnsw"]["cells"]
    assert [(c["k"], c["target"]) for c in cells] == [
        (k, target) for k in (10, 100) for target in (0.9, 0.95, 0.99)
    ]
    for cell in cells:
        assert cell["reached"] and cell["calibration_recall"] >= cell["target"]
        assert cell["held_out_low"] <= cell["held_out_recall"] <= cell["held_out_high"]
        assert (cell["calibration_queries"], cell["held_out_queries"]) == (200, 800)
        below = cell["value_below_recall"]
        assert (below is None and cell["value"] == cell["k"]) or below < cell["target"]


def test_every_file_is_in_the_manifest_with_its_digest(quickstart):
    manifest = json.loads((quickstart / "manifest.json").read_text())
    on_disk = files(quickstart)
    del on_disk["manifest.json"], on_disk["dataset.toml"]
    assert {f["path"] for f in manifest["files"]} == set(on_disk)
    for entry in manifest["files"]:
        content = on_disk[entry["path"]]
        assert entry["sha256"] == hashlib.sha256(content).hexdigest()
        assert entry["bytes"] == len(content)


def test_the_digest_is_that_of_canonical_json(quickstart):
    manifest = json.loads((quickstart / "manifest.json").read_text())
    stated = manifest.pop("digest")
    del manifest["run"]
    text = json.dumps(manifest, sort_keys=True, indent=2, ensure_ascii=False) + "\n"
    assert hashlib.sha256(text.encode()).hexdigest() == stated


def test_a_second_run_does_nothing_and_says_so(quickstart, copy):
    vprep = Vprep(copy.parent)
    before = files(quickstart)
    done = vprep("run", QUICKSTART, "-d", quickstart)
    assert "all 11 stages are up to date, nothing was done" in done.stderr
    assert files(quickstart) == before
    assert done.stdout.count("hnsw") == 7 and "manifest: " in done.stdout


def test_two_directories_and_thread_counts_give_the_same_bytes(quickstart, vprep):
    vprep("run", QUICKSTART, "-d", "one", "--threads", 1, "--until", "truth")
    ours, theirs = files(vprep.home / "one"), files(quickstart)
    del ours["dataset.toml"]
    assert len(ours) == 8
    for name, content in ours.items():
        assert content == theirs[name], name


def test_one_touched_byte_fails_validation_and_makes_all_downstream_stale(copy):
    vprep = Vprep(copy.parent)
    vprep("validate", "qs")
    with open(copy / "base.f32.npy", "r+b") as file:
        file.seek(5_000)
        byte = file.read(1)
        file.seek(5_000)
        file.write(bytes([byte[0] ^ 1]))
    report = vprep("validate", "qs", code=4)
    assert "FAIL  base.f32.npy: size and sha256" in report.stdout
    plan = vprep.json("plan", QUICKSTART, "-d", "qs")
    state = {stage["stage"]: stage["up_to_date"] for stage in plan["stages"]}
    stale = {"subset", "truth", "build.hnsw", "calibrate.hnsw", "manifest", "validate"}
    assert {stage for stage, good in state.items() if not good} >= stale
    assert state["import.queries"] and state["normalize.queries"] and state["split"]
    # Running again mends it, and finds that what is downstream need not be made again.
    done = vprep.json("run", QUICKSTART, "-d", "qs")
    ran = [stage["stage"] for stage in done["stages"] if stage["ran"]]
    assert ran == ["import.base", "normalize.base", "subset"]
    vprep("validate", "qs")


def test_a_changed_parameter_makes_only_what_depends_on_it_stale(copy):
    vprep = Vprep(copy.parent)
    recipe = QUICKSTART.read_text().replace("../datasets", str(ROOT / "datasets"))
    (copy.parent / "p.toml").write_text(recipe.replace("k = 100", "k = 120"))
    plan = vprep.json("plan", "p.toml", "-d", "qs")
    why = {s["stage"]: s["reason"] for s in plan["stages"] if not s["up_to_date"]}
    assert why["truth"] == "parameters changed"
    assert set(why) == {"truth", "calibrate.hnsw", "manifest", "validate"}


def test_state_may_be_deleted(copy):
    vprep = Vprep(copy.parent)
    shutil.rmtree(copy / ".vprep")
    vprep("validate", "qs")
    cells = vprep.json("calibrate", "-d", "qs", "--target", 0.95, "--k", 10)["cells"]
    assert cells[0]["reached"]


def test_commands_one_by_one_give_what_the_recipe_gives(quickstart, vprep):
    data = ROOT / "datasets" / "quickstart" / "source"
    columns = ["--vector-column", "emb", "--id-column", "id"]
    vprep("import", *sorted(data.glob("base-*.parquet")), "--role", "base", *columns, "-d", "all")
    vprep("import", data / "queries.parquet", "--role", "queries", *columns, "-d", "all")
    vprep("normalize", "-d", "all")
    vprep("subset", "--from", "all", "--rows", 8_000, "--seed", 20261022, "-d", "part")
    vprep("split", "--seed", 20261022, "-d", "part")
    vprep("truth", "-d", "part")
    ours, theirs = files(vprep.home / "part"), files(quickstart)
    del ours["dataset.toml"]
    assert len(ours) == 8
    for name, content in ours.items():
        assert content == theirs[name], name
    vprep("build", "--store", "flat", "-d", "part")
    cells = vprep.json("calibrate", "--target", 1, "-d", "part")["cells"]
    assert [(c["calibration_recall"], c["held_out_recall"]) for c in cells] == [(1, 1), (1, 1)]
    vprep("manifest", "-d", "part")
    assert vprep.json("validate", "part")["passed"]
