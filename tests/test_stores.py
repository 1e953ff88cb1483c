"""Every store through the command: built, calibrated, served, checked."""

import json
import os
import subprocess
from contextlib import nullcontext
from pathlib import Path

import pytest
from conftest import Vprep
from pgserver import server

# How engines are found; the fixtures take all other variables of vprep away.
ENGINES = {name: os.environ[name] for name in ("VPREP_DUCKDB_VSS",) if os.environ.get(name)}
PGSERVER = os.environ.get("VPREP_PGSERVER")
RECIPE = """
schema = 1
name = "stores"
metric = "cosine"

[synth]
rows = 3000
dim = 32
queries = 500
seed = 5

[normalize]

[split]
calibration = 200

[truth]
k = 20
"""


@pytest.fixture(scope="module")
def dataset(tmp_path_factory):
    vprep = Vprep(tmp_path_factory.mktemp("stores"))
    (vprep.home / "recipe.toml").write_text(RECIPE)
    vprep("run", "recipe.toml", "-d", "d")
    with server(PGSERVER) if PGSERVER else nullcontext("") as url:
        vprep.always = {**ENGINES, "VPREP_PGVECTOR_URL": url}
        yield vprep


def known(vprep):
    return {store["name"]: store for store in vprep.json("stores")["stores"]}


def test_every_store_is_there_but_a_server_that_nobody_runs(dataset):
    missing = {name: store["problem"] for name, store in known(dataset).items() if not store["available"]}
    missing.pop("qdrant", None)
    if not os.environ.get("VPREP_REQUIRE_STORES"):
        pytest.skip(f"not every store has to be there: {missing}")
    assert not missing


def test_stores_reach_their_targets_and_say_how_to_serve_them(dataset):
    stores = [name for name, store in known(dataset).items() if store["available"]]
    for name in stores:
        dataset("build", "--store", name, "-d", "d")
    cells = dataset.json("calibrate", "--target", "0.8", "0.95", "--k", "10", "-d", "d")["cells"]
    assert {cell["store"] for cell in cells} == set(stores)
    for cell in cells:
        what = (cell["store"], cell["target"])
        assert cell["reached"], cell
        below = cell["value_below_recall"]
        assert below is None or below < cell["target"] <= cell["calibration_recall"], what
        assert abs(cell["held_out_recall"] - cell["calibration_recall"]) < 0.06, what
        assert not [note for note in cell["notes"] if "scan" in note], what
    for name in stores:
        calibration = json.loads((dataset.home / "d" / "calibration" / f"{name}.json").read_text())
        serving = calibration["serving"]
        assert serving["knob"] == calibration["knob"]
        wanted = [(c["k"], c["target"], c["value"]) for c in calibration["cells"]]
        assert [(s["k"], s["target"], s["value"]) for s in serving["settings"]] == wanted
        if path := serving["place"].get("path"):
            assert (dataset.home / "d" / path).exists(), name
    dataset("manifest", "-d", "d")
    dataset("validate", "d")


def test_nothing_tells_the_credentials(dataset):
    secret = "hunter2-s3cret"
    for variable, store in (("VPREP_PGVECTOR_URL", "pgvector"), ("VPREP_QDRANT_URL", "qdrant")):
        if not known(dataset).get(store, {}).get("engine"):
            continue
        url = f"postgresql://me:{secret}@127.0.0.1:9/x" if store == "pgvector" else "http://127.0.0.1:9"
        done = dataset("build", "--store", store, "--m", "8", "-d", "d", code=5, **{variable: url, "QDRANT_API_KEY": secret})
        assert secret not in done.stdout + done.stderr
        assert "127.0.0.1:9" in done.stderr
        assert secret not in dataset("stores", **{variable: url}).stdout


@pytest.mark.skipif(not PGSERVER, reason="VPREP_PGSERVER names no server")
def test_an_index_dropped_on_the_server_is_built_again(dataset):
    dataset("build", "--store", "pgvector", "-d", "d")
    dataset("calibrate", "--store", "pgvector", "--target", "0.9", "--k", "10", "-d", "d")
    calibration = json.loads((dataset.home / "d" / "calibration" / "pgvector.json").read_text())
    table = calibration["serving"]["place"]["collection"]
    url = dataset.always["VPREP_PGVECTOR_URL"]
    psql = [Path(PGSERVER) / "bin" / "psql", "--quiet", url, "-c", f'DROP TABLE "{table}"']
    subprocess.run(psql, check=True)
    again = ("calibrate", "--store", "pgvector", "--target", "0.95", "--k", "10", "-d", "d")
    assert "the server does not hold it any more" in dataset.fails(*again)
    assert "up to date" not in dataset("build", "--store", "pgvector", "-d", "d").stderr
    dataset(*again)
