"""`vprep fetch` and recipes that fetch, against the test hub."""

import hashlib
import json
import shutil
import signal
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hub import Hub

COMMIT = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
ROWS, DIM, QUERIES, WIDTH = 3000, 16, 40, 50
LARGE = 3_000_000
SETUP = {
    "tokens": {"hf_hunter2": ["acme/secret"]},
    "repos": [
        {
            "kind": "dataset",
            "id": "acme/words",
            "commit": COMMIT,
            "files": {"README.md": {"text": "# words\n"}},
            "lfs": {"data/train.bin": {"random": {"seed": 7, "bytes": LARGE}}},
        },
        {
            "kind": "dataset",
            "id": "acme/secret",
            "gated": True,
            "files": {"a.txt": {"text": "secret"}},
        },
    ],
}
CATALOGUE = """
schema = 1

[[set]]
name = "tiny_{rows}"
title = "Some vectors"
homepage = "https://data.invalid/about"
licence = "CC0-1.0"
citation = "Nobody, 2026"
metric = "cosine"
dim = 16
unit_length = false
rows = {rows}
"""
FILE = """
[[set.file]]
path = "{name}"
role = "{role}"
urls = ["https://data.invalid/{name}"]
bytes = {bytes}
md5 = "{md5}"
rows = {rows}
"""
RECIPE = """
schema = 1
name = "tiny"

[fetch]
source = "tiny_3000"

[import.base]
files = ["raw/train*.parquet"]

[import.queries]
files = ["raw/test.parquet"]

[normalize]

[truth]
k = 20

[manifest]

[validate]
neighbors = "raw/neighbors.parquet"
"""


@pytest.fixture
def hub(tmp_path):
    with Hub(tmp_path / "hub", SETUP) as hub:
        yield hub


@pytest.fixture
def tiny(hub, vprep):
    """A small set of vectors of the catalogue, served by the hub; `vprep` runs with it."""
    folder = vprep.home / "served"
    folder.mkdir()
    rng = np.random.default_rng(5)
    base = rng.standard_normal((ROWS, DIM)).astype(np.float32)
    queries = rng.standard_normal((QUERIES, DIM)).astype(np.float32)
    ids = rng.permutation(ROWS)

    def write(name, ids, column, values, kind):
        lists = pa.array(list(values), pa.list_(kind))
        pq.write_table(pa.table({"id": pa.array(ids, pa.int64()), column: lists}), folder / name)

    half = ROWS // 2
    write("train-0.parquet", ids[:half], "emb", base[:half], pa.float32())
    write("train-1.parquet", ids[half:], "emb", base[half:], pa.float32())
    write("test.parquet", np.arange(QUERIES), "emb", queries, pa.float32())
    unit = lambda x: x / np.linalg.norm(x, axis=1, keepdims=True)
    order = np.argsort(-(unit(queries) @ unit(base).T), axis=1)[:, :WIDTH]
    write("neighbors.parquet", np.arange(QUERIES), "neighbors_id", ids[order], pa.int64())

    def catalogue(rows=ROWS):
        text = CATALOGUE.format(rows=rows)
        for name, role, count in [
            ("train-0.parquet", "base", half),
            ("train-1.parquet", "base", rows - half),
            ("test.parquet", "queries", QUERIES),
            ("neighbors.parquet", "neighbors", QUERIES),
        ]:
            content = (folder / name).read_bytes()
            md5 = hashlib.md5(content).hexdigest()
            text += FILE.format(name=name, role=role, bytes=len(content), md5=md5, rows=count)
        (vprep.home / "catalog.toml").write_text(text)

    catalogue()
    served = {f"tiny/{p.name}": {"content": {"disk": str(p)}} for p in folder.iterdir()}
    hub.control("POST", "setup", {"files": served})
    (vprep.home / "tiny.toml").write_text(RECIPE)
    vprep.always = {
        "VPREP_CATALOG": str(vprep.home / "catalog.toml"),
        "VPREP_MIRROR": f"https://data.invalid/={hub.url}/files/tiny/",
    }
    vprep.catalogue = catalogue
    vprep.served = folder
    return vprep


def on_hub(vprep, hub):
    vprep.always = {"HF_ENDPOINT": hub.url, "HF_HOME": str(hub.home)}
    return vprep


def test_what_python_has_vprep_does_not_fetch_again(hub, vprep):
    on_hub(vprep, hub)
    hub.python('snapshot_download("acme/words", repo_type="dataset")')
    hub.log()
    source = f"hf://datasets/acme/words@{COMMIT}"
    vprep("fetch", source, "--into", "pinned", "--include", "data/train.bin", "--include", "README.md")
    assert hub.log() == [], "a pinned revision whose files are named asks nothing"
    vprep("fetch", "hf://datasets/acme/words", "--into", "offline", "--offline")
    assert hub.log() == []
    report = vprep.json("fetch", "hf://datasets/acme/words", "--into", "all")
    assert report["revision"] == COMMIT and report["downloaded"] == 0
    assert all("/resolve/" not in entry["target"] for entry in hub.log())
    for folder in ["pinned", "offline", "all"]:
        assert (vprep.home / folder / "data/train.bin").stat().st_size == LARGE


def test_what_vprep_has_python_does_not_fetch_again(hub, vprep):
    on_hub(vprep, hub)
    listing = vprep("fetch", "hf://datasets/acme/words", "--into", "x").stdout
    digest = hashlib.sha256((vprep.home / "x/data/train.bin").read_bytes()).hexdigest()
    assert f"{digest}  data/train.bin\n" in listing
    hub.log()
    code = 'sha256(hf_hub_download("acme/words", "data/train.bin", repo_type="dataset"))'
    assert hub.python(code, HF_HUB_OFFLINE="1") == digest
    assert hub.log() == []
    assert hub.python(code) == digest
    assert [entry["method"] for entry in hub.log()] == ["HEAD"]


def test_a_flipped_byte_in_pythons_cache_is_noticed(hub, vprep):
    on_hub(vprep, hub)
    hub.fault("datasets/acme/words/data/train.bin", {"kind": "flip-byte", "offset": 5}, times=1)
    hub.python('snapshot_download("acme/words", repo_type="dataset")')
    hub.log()
    report = vprep.json("fetch", "hf://datasets/acme/words", "--into", "x")
    assert report["downloaded"] >= LARGE, "the cache's file is wrong, and fetched again"
    content = (vprep.home / "x/data/train.bin").read_bytes()
    file = next(file for file in report["files"] if file["path"] == "data/train.bin")
    assert hashlib.sha256(content).hexdigest() == file["sha256"] and file["verified"] == "digest"


def test_gated_says_what_to_do_and_no_token_is_seen(hub, vprep):
    on_hub(vprep, hub)
    error = vprep.fails("fetch", "hf://datasets/acme/secret", "--into", "x", code=5)
    assert "HF_TOKEN" in error and "acme/secret" in error and "gated" in error
    vprep.always["HF_TOKEN"] = "hf_hunter2"
    done = vprep("fetch", "hf://datasets/acme/secret", "--into", "x", "--json")
    assert (vprep.home / "x/a.txt").read_text() == "secret"
    kept = [path for path in (vprep.home / "x").rglob("*") if path.is_file()]
    everything = done.stdout + done.stderr + "".join(path.read_text() for path in kept)
    assert "hunter2" not in everything
    del vprep.always["HF_TOKEN"]
    error = vprep.fails("fetch", f"{hub.url.replace('//', '//me:hunter2@')}/files/none", "--into", "y", code=5)
    assert "hunter2" not in error and "not found" in error


def test_bad_sources_end_with_one_line(hub, vprep):
    on_hub(vprep, hub)
    assert "catalogue has no `nonsense`" in vprep.fails("fetch", "nonsense", "--into", "x", code=2)
    assert "does not speak `s3`" in vprep.fails("fetch", "s3://a/b", "--into", "x", code=2)
    assert "none of its 2 files matches *.tar" in vprep.fails(
        "fetch", "hf://datasets/acme/words", "--into", "x", "--include", "*.tar", code=2
    )
    assert "network is off" in vprep.fails(
        "fetch", "hf://datasets/acme/words", "--into", "x", "--offline", code=5
    )
    error = vprep.fails("fetch", "hf://datasets/acme/none", "--into", "x", code=5)
    assert f"{hub.url}/datasets/acme/none: HTTP status 401: it does not exist" in error
    hub.control("POST", "setup", {"files": {"page.bin": {"content": {"text": "<html>log in</html>"}}}})
    wrong = f"{hub.url}/files/page.bin#sha256={'0' * 64}"
    error = vprep.fails("fetch", wrong, "--into", "x")
    assert "0" * 64 in error and hashlib.sha256(b"<html>log in</html>").hexdigest() in error
    assert not (vprep.home / "x/page.bin").exists()


def test_the_catalogue_is_listed(vprep):
    names = [line.split()[0] for line in vprep("fetch", "--list").stdout.splitlines()[1:]]
    assert {"cohere_small_100k", "cohere_medium_1m", "cohere_large_10m"} < set(names)
    text = vprep("fetch", "--list", "cohere_medium_1m").stdout
    assert "aa5dee664dc87b3e416c9863723a0ba4-374" in text and "3.13 GB" in text
    sets = vprep.json("fetch", "--list")["sets"]
    assert len(sets) == len(names) and all(set["licence"] and set["citation"] for set in sets)


def test_a_recipe_fetches_and_its_manifest_says_what(tiny, hub):
    tiny("run", "tiny.toml", "-d", "d")
    manifest = json.loads((tiny.home / "d/manifest.json").read_text())
    assert manifest["source"]["licence"] == "CC0-1.0" and manifest["source"]["name"] == "Some vectors"
    fetched = manifest["fetched"]
    assert fetched["source"] == "tiny_3000"
    for file in fetched["files"]:
        content = (tiny.served / file["path"]).read_bytes()
        assert file["sha256"] == hashlib.sha256(content).hexdigest() and file["verified"] == "digest"
    names = [file["name"] for file in manifest["source_files"]]
    assert names == ["train-0.parquet", "train-1.parquet", "test.parquet"]
    assert not any(file["path"].startswith("raw") for file in manifest["files"])
    hub.log()
    again = tiny("run", "tiny.toml", "-d", "d", "--offline").stderr
    assert "nothing was done" in again and hub.log() == []


def test_only_what_is_damaged_or_gone_is_fetched_again(tiny, hub):
    tiny("run", "tiny.toml", "-d", "d")
    hub.log()
    raw = tiny.home / "d/raw/train-1.parquet"
    content = bytearray(raw.read_bytes())
    content[1000] ^= 1
    raw.write_bytes(content)
    assert "raw is not as it was written" in tiny("plan", "tiny.toml", "-d", "d").stdout
    done = tiny("run", "tiny.toml", "-d", "d").stderr
    assert "train-1" in hub.log()[0]["target"] and raw.read_bytes() != bytes(content)
    assert done.count("up to date") == 7, done
    # Raw material may be deleted; it is fetched again when something needs it.
    shutil.rmtree(tiny.home / "d/raw")
    assert "nothing was done" in tiny("run", "tiny.toml", "-d", "d").stderr
    text = (tiny.home / "tiny.toml").read_text()
    (tiny.home / "tiny.toml").write_text(text.replace("[import.queries]", 'id-column = "id"\n\n[import.queries]'))
    shutil.rmtree(tiny.home / "d/.vprep/fetch")
    hub.log()
    tiny("run", "tiny.toml", "-d", "d")
    assert len({entry["target"] for entry in hub.log()}) == 4


def test_a_set_that_contradicts_its_entry_is_refused(tiny):
    tiny.catalogue(rows=3001)
    (tiny.home / "tiny.toml").write_text(RECIPE.replace("tiny_3000", "tiny_3001"))
    error = tiny.fails("run", "tiny.toml", "-d", "d")
    assert "1500" in error and "1501" in error, error
    assert not (tiny.home / "d/raw").exists() and not (tiny.home / "d/base.f32.npy").exists()


def test_a_corrected_entry_makes_the_fetch_stale(tiny):
    tiny("run", "tiny.toml", "-d", "d")
    path = tiny.home / "catalog.toml"
    path.write_text(path.read_text().replace("Nobody, 2026", "Somebody, 2026"))
    plan = tiny("plan", "tiny.toml", "-d", "d").stdout
    assert "the catalogue's entry is not the one it was made from" in plan
    tiny("run", "tiny.toml", "-d", "d", "--offline")
    assert "Somebody" in (tiny.home / "d/manifest.json").read_text()


def test_published_neighbours_check_the_whole_and_are_refused_for_a_part(tiny):
    tiny("run", "tiny.toml", "-d", "d")
    checks = tiny.json("validate", "d", "--neighbors", "served/neighbors.parquet")["checks"]
    assert any(check["check"].startswith("published") and not check["problem"] for check in checks)

    table = pq.read_table(tiny.served / "neighbors.parquet")
    lists = table["neighbors_id"].to_pylist()
    lists[7][3] = lists[7][49]
    wrong = table.set_column(1, "neighbors_id", pa.array(lists, pa.list_(pa.int64())))
    pq.write_table(wrong, tiny.home / "wrong.parquet")
    done = tiny("validate", "d", "--neighbors", "wrong.parquet", code=4)
    assert "query 7: neighbour" in done.stdout and "at place 3 scores" in done.stdout

    tiny("subset", "--from", "d", "--rows", 1000, "--seed", 1, "-d", "part")
    tiny("truth", "--k", 20, "-d", "part")
    tiny("manifest", "-d", "part")
    error = tiny.fails("validate", "part", "--neighbors", "served/neighbors.parquet", code=2)
    assert "1000 of 3000 rows" in error and "no truth but its own" in error
    (tiny.home / "sub.toml").write_text(RECIPE.replace("[truth]", "[subset]\nrows = 1000\nseed = 1\n\n[truth]"))
    assert "a whole base" in tiny.fails("run", "sub.toml", "-d", "s", code=2)


def test_an_interrupted_fetch_continues(tiny, hub):
    hub.fault("files/tiny/train-0.parquet", {"kind": "stall", "after": 50_000, "millis": 20_000}, times=1)
    child = tiny.start("run", "tiny.toml", "-d", "d")
    deadline = time.monotonic() + 30
    while not list(tiny.home.glob("d/.vprep/fetch/*part*")) and time.monotonic() < deadline:
        time.sleep(0.05)
    time.sleep(0.5)
    child.send_signal(signal.SIGINT)
    assert child.wait(20) == 130
    assert not (tiny.home / "d/raw").exists()
    tiny("run", "tiny.toml", "-d", "d")


def test_a_recipe_takes_no_password_and_no_path(vprep):
    for source, words in [("https://me:hunter2@h.invalid/a", "user name or password"), ("./data", "is a path")]:
        text = RECIPE.replace("tiny_3000", source)
        (vprep.home / "r.toml").write_text(text)
        error = vprep.fails("run", "r.toml", "-d", "d", code=2)
        assert words in error and "hunter2" not in error
