"""`vprep calibrate`: the smallest value, proved; or the best there is, and exit code 4."""

import json
import shutil

import numpy as np
import pytest

from conftest import Vprep

FIELDS = {
    "store", "k", "target", "knob", "value", "calibration_recall", "held_out_recall",
    "held_out_low", "held_out_high", "calibration_queries", "held_out_queries", "reached",
    "evaluations", "value_below_recall",
}


@pytest.fixture
def dataset(quickstart, tmp_path):
    shutil.copytree(quickstart, tmp_path / "qs")
    return tmp_path / "qs"


def test_in_a_dataset_directory(dataset):
    vprep = Vprep(dataset)
    table = vprep("calibrate", "--target", 0.95).stdout
    assert "expansion_search" in table and table.count("yes") == 2
    report = vprep.json("calibrate", "--target", 0.95)
    assert report["schema"] == 1 and len(report["cells"]) == 2
    for cell in report["cells"]:
        assert FIELDS <= set(cell)
        assert cell["knob"] == "expansion_search" and cell["reached"]
        assert cell["held_out_low"] <= cell["held_out_recall"] <= cell["held_out_high"]
        value, k = cell["value"], cell["k"]
        assert cell["evaluations"] <= 2 * np.log2(8_000) + 4
        if cell["value_below_recall"] is None:
            assert value == k
        else:
            # Asking for exactly the value below gives the same point, and it misses.
            assert cell["value_below_recall"] < 0.95
            capped = vprep.json("calibrate", "--target", 0.95, "--k", k, "--max-value", value - 1, code=4)
            assert capped["cells"][0]["calibration_recall"] == cell["value_below_recall"]


def test_what_is_known_stays_as_it_is(dataset):
    before = (dataset / "calibration" / "hnsw.json").read_bytes()
    vprep = Vprep(dataset)
    vprep("calibrate", "--target", 0.95)
    assert (dataset / "calibration" / "hnsw.json").read_bytes() == before
    vprep("validate")
    # A new target is added to the known ones.
    assert len(vprep.json("calibrate", "--target", 0.97, "--k", 10)["cells"]) == 1
    cells = json.loads((dataset / "calibration" / "hnsw.json").read_text())["cells"]
    assert len(cells) == 8


def test_out_of_reach(dataset):
    vprep = Vprep(dataset)
    report = vprep.json("calibrate", "--target", 0.99, "--k", 10, "--max-value", 12, code=4)
    (cell,) = report["cells"]
    assert cell["reached"] is False
    assert 10 <= cell["value"] <= 12 and cell["calibration_recall"] < 0.99
    assert any("12" in note for note in cell["notes"])
    table = vprep("calibrate", "--target", 0.99, "--k", 10, "--max-value", 12, code=4)
    assert "NO" in table.stdout and "not kept" in table.stderr
    # The dataset stays calibrated as it was.
    vprep("validate")
    assert vprep.json("calibrate", "--target", 0.99, "--k", 10)["cells"][0]["reached"]


def test_bad_questions(dataset):
    vprep = Vprep(dataset)
    assert "above 0 and at most 1" in vprep.fails("calibrate", "--target", 1.5, code=2)
    assert "101" in vprep.fails("calibrate", "--target", 0.9, "--k", 101, code=2)
    assert "flat, hnsw" in vprep.fails("calibrate", "--target", 0.9, "--store", "foo", code=2)
    assert "vprep build" in vprep.fails("calibrate", "--target", 0.9, "--store", "flat")


def test_a_truth_of_other_vectors_is_refused(dataset):
    vprep = Vprep(dataset)
    shutil.rmtree(dataset / ".vprep")
    base = np.load(dataset / "base.f32.npy")
    np.save(dataset / "base.f32.npy", np.roll(base, 1, axis=0))
    error = vprep.fails("calibrate", "--target", 0.9)
    assert "not the truth of this base" in error


def test_lower_bound_asks_for_more(dataset):
    vprep = Vprep(dataset)
    mean = vprep.json("calibrate", "--target", 0.95, "--k", 10)["cells"][0]
    lower = vprep.json("calibrate", "--target", 0.95, "--k", 10, "--rule", "lower-bound")["cells"][0]
    assert lower["value"] > mean["value"]
