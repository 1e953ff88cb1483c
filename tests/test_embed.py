"""`vprep embed` with the real weights of all-MiniLM-L6-v2, against vectors that PyTorch made.

`VPREP_KILLS=30 VPREP_KILL_TEXTS=20000` makes the crash test as long as a release deserves.
"""

import gzip
import json
import os
import random
import shutil
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from conftest import ROOT, files
from hub import Hub

MODEL = os.environ["VPREP_MINILM"]
SOURCE = ROOT / "datasets" / "quickstart" / "source"


@pytest.fixture(scope="session")
def glosses():
    """Ids, texts and vectors of the quickstart, of which PyTorch made the vectors (as float16)."""
    table = pa.concat_tables(pq.read_table(path) for path in sorted(SOURCE.glob("base-*.parquet")))
    vectors = np.stack(table["emb"].to_numpy(zero_copy_only=False)).astype(np.float64)
    return table["id"].to_pylist(), table["text"].to_pylist(), vectors


def tsv(path, ids, texts):
    path.write_text("".join(f"{i}\t{t}\n" for i, t in zip(ids, texts)))


def embed(vprep, *args, role="base", code=0):
    return vprep("embed", "--role", role, "--model", MODEL, *args, code=code)


def test_vectors_are_pytorchs_in_every_format(vprep, glosses):
    ids, texts, expected = (part[:300] for part in glosses)
    tsv(vprep.home / "a.tsv", ids, texts)
    lines = "".join(json.dumps({"_id": i, "text": t}) + "\n" for i, t in zip(ids, texts))
    (vprep.home / "a.jsonl.gz").write_bytes(gzip.compress(lines.encode()))
    pq.write_table(pa.table({"id": ids, "text": texts}), vprep.home / "a.parquet")
    made = []
    for name, threads in [("a.tsv", 1), ("a.jsonl.gz", 2), ("a.parquet", 2)]:
        embed(vprep, "--texts", name, "-d", f"d-{name}", "--threads", threads, "--checkpoint-rows", 100)
        made.append(files(vprep.home / f"d-{name}")["base.f32.npy"])
        table = pq.read_table(vprep.home / f"d-{name}" / "base.parquet")
        assert table["id"].to_pylist() == ids and table["text"].to_pylist() == texts
    assert made[0] == made[1] == made[2], "format and threads change nothing"
    vectors = np.load(vprep.home / "d-a.tsv" / "base.f32.npy").astype(np.float64)
    expected = expected / np.linalg.norm(expected, axis=1, keepdims=True)
    assert ((vectors * expected).sum(1) > 1 - 1e-6).all(), "cosine to PyTorch's float16 vectors"
    assert np.abs(np.linalg.norm(vectors, axis=1) - 1).max() < 1e-6


def test_a_query_is_embedded_as_prefix_and_text(vprep):
    (vprep.home / "q.txt").write_text("how tall is a giraffe\n")
    (vprep.home / "p.txt").write_text("query: how tall is a giraffe\nhow tall is a giraffe\n")
    embed(vprep, "--texts", "q.txt", "--query-prefix", "query: ", "-d", "d", role="queries")
    embed(vprep, "--texts", "p.txt", "--query-prefix", "query: ", "-d", "d")
    query = np.load(vprep.home / "d/queries.f32.npy")[0]
    with_prefix, without = np.load(vprep.home / "d/base.f32.npy")
    assert (query == with_prefix).all() and (query != without).any()


def test_killed_at_any_moment_it_ends_with_the_same_bytes(vprep, glosses):
    kills = int(os.environ.get("VPREP_KILLS", 4))
    count = int(os.environ.get("VPREP_KILL_TEXTS", 1200))
    ids, texts, _ = glosses
    many = [f"{texts[i % len(texts)]} {i // len(texts) or ''}" for i in range(count)]
    tsv(vprep.home / "a.tsv", range(count), many)
    rows = max(100, count // 12)
    arguments = ["--texts", "a.tsv", "--checkpoint-rows", rows]
    clock = time.monotonic()
    embed(vprep, *arguments, "-d", "whole")
    whole = time.monotonic() - clock
    rng = random.Random(20261022)
    kept = {}
    for kill in range(kills):
        child = vprep.start("embed", "--role", "base", "--model", MODEL, *arguments, "-d", "killed")
        time.sleep(rng.uniform(0.05, 1.2 * whole / kills + 0.3))
        child.send_signal(signal.SIGKILL)
        child.wait()
        for record in (vprep.home / "killed/.vprep/embed/base").glob("*.json"):
            path = record.with_suffix(".f32")
            if record.name != "run.json" and path.exists():
                stat = path.stat()
                assert kept.setdefault(path.name, (stat.st_ino, stat.st_mtime_ns)) == (
                    stat.st_ino,
                    stat.st_mtime_ns,
                ), "a recorded checkpoint is not computed again"
    embed(vprep, *arguments, "-d", "killed")
    for name in ["base.f32.npy", "base.parquet"]:
        assert files(vprep.home / "killed")[name] == files(vprep.home / "whole")[name]
    checkpoints = vprep.home / "killed/.vprep/embed/base"
    assert all((checkpoints / name).stat().st_mtime_ns == mtime for name, (_, mtime) in kept.items())
    assert not list((vprep.home / "killed").rglob("*.tmp"))


def test_machines_share_the_work(vprep, glosses):
    ids, texts, _ = (part[:500] for part in glosses)
    tsv(vprep.home / "a.tsv", ids, texts)
    arguments = ["--texts", "a.tsv", "--checkpoint-rows", 100]
    embed(vprep, *arguments, "-d", "whole")
    for part in [1, 2, 3]:
        done = embed(vprep, *arguments, "-d", f"part{part}", "--shard", f"{part}/3")
        assert "checkpoints computed" in done.stderr
        assert not (vprep.home / f"part{part}/base.f32.npy").exists()
    gathered = vprep.home / "part1/.vprep/embed/base"
    shutil.copytree(vprep.home / "part2/.vprep/embed/base", gathered, dirs_exist_ok=True)
    error = embed(vprep, *arguments, "-d", "part1", "--assemble", code=3).stderr
    assert "checkpoints 2 of 5" in error, error
    shutil.copytree(vprep.home / "part3/.vprep/embed/base", gathered, dirs_exist_ok=True)
    embed(vprep, *arguments, "-d", "part1", "--assemble")
    name = "base.f32.npy"
    assert files(vprep.home / "part1")[name] == files(vprep.home / "whole")[name]


def test_another_run_is_not_resumed_and_it_says_what_changed(vprep, glosses):
    ids, texts, _ = (part[:200] for part in glosses)
    tsv(vprep.home / "a.tsv", ids, texts)
    tsv(vprep.home / "b.tsv", ids, texts[::-1])
    arguments = ["-d", "d", "--checkpoint-rows", 100, "--shard", "1/2"]
    embed(vprep, "--texts", "a.tsv", *arguments)
    for changed, words in [
        (["--texts", "b.tsv", *arguments], "other texts"),
        (["--texts", "a.tsv", *arguments, "--max-length", 64], "other options"),
        (["--texts", "a.tsv", "-d", "d", "--checkpoint-rows", 50], "another --checkpoint-rows"),
    ]:
        error = vprep.fails("embed", "--role", "base", "--model", MODEL, *changed)
        assert words in error, error


def test_what_cannot_be_embedded_ends_with_one_line(vprep, glosses):
    (vprep.home / "a.txt").write_text("one\n\n\x00\u0085\nfour\n")
    base = ["embed", "--role", "base", "--texts", "a.txt", "-d", "d", "--model"]
    error = vprep.fails(*base, MODEL)
    assert "rows 1, 2" in error and "--allow-empty" in error, error
    assert not (vprep.home / "d/base.f32.npy").exists()
    vprep(*base, MODEL, "--allow-empty")
    assert np.load(vprep.home / "d/base.f32.npy").shape == (4, 384)
    bare = vprep.home / "bare"
    bare.mkdir()
    for name in ["config.json", "tokenizer.json", "model.safetensors"]:
        shutil.copy(Path(MODEL) / name, bare / name)
    error = vprep.fails("embed", "--role", "base", "--texts", "a.txt", "-d", "e", "--model", "bare", code=2)
    assert "--pooling" in error, error
    vprep("embed", "--role", "base", "--texts", "a.txt", "-d", "e", "--model", "bare", "--pooling", "mean", "--allow-empty")
    # Nothing says that this model normalises; the directions are the same.
    told, known = (np.load(vprep.home / name / "base.f32.npy") for name in "ed")
    assert np.abs(np.linalg.norm(told, axis=1) - 1).min() > 0.01
    assert np.abs(told / np.linalg.norm(told, axis=1, keepdims=True) - known).max() < 1e-6
    weights = (bare / "model.safetensors").read_bytes()
    (bare / "model.safetensors").write_bytes(weights[: len(weights) // 2])
    error = vprep.fails("embed", "--role", "base", "--texts", "a.txt", "-d", "f", "--model", "bare", "--pooling", "mean")
    assert "model.safetensors" in error


def test_a_hub_model_comes_through_the_cache_and_its_commit_is_recorded(vprep, tmp_path):
    commit = "8b3219a92973c328a8e22fadcfa821b5dc75636a"
    inside = [path for path in Path(MODEL).rglob("*") if path.is_file()]
    repo = {"kind": "model", "id": "acme/minilm", "commit": commit, "files": {}, "lfs": {}}
    for path in inside:
        kind = "lfs" if path.suffix == ".safetensors" else "files"
        repo[kind][str(path.relative_to(MODEL))] = {"disk": str(path)}
    (vprep.home / "a.txt").write_text("a giraffe\na lamp\n")
    (vprep.home / "r.toml").write_text(
        'schema = 1\nname = "r"\n[embed]\nmodel = "acme/minilm"\n[embed.base]\ntexts = ["a.txt"]\n[manifest]\n[validate]\n'
    )
    with Hub(tmp_path / "hub", {"repos": [repo]}) as hub:
        vprep.always = {"HF_ENDPOINT": hub.url, "HF_HOME": str(hub.home)}
        vprep("run", "r.toml", "-d", "d")
        hub.log()
        shutil.rmtree(vprep.home / "d")
        vprep("run", "r.toml", "-d", "d", "--offline")
        assert hub.log() == []
    facts = json.loads((vprep.home / "d/manifest.json").read_text())["embedding"]
    assert facts["model"] == "acme/minilm" and facts["revision"] == commit
    assert facts["weights_sha256"].startswith("53aa5117") and facts["pooling"] == "mean"
    assert facts["base"]["texts"] == 2 and facts["max_length"] == 256


def test_judged_passages_are_kept_and_only_what_is_kept_is_embedded(vprep, glosses):
    ids, texts, _ = (part[:400] for part in glosses)
    tsv(vprep.home / "collection.tsv", ids, texts)
    tsv(vprep.home / "queries.tsv", range(5), texts[:5])
    relevant = [ids[i] for i in (3, 77, 200, 399)]
    qrels = "".join(f"{q} 0 {i} 1\n" for q, i in enumerate(relevant)) + f"4 0 {ids[9]} 0\n"
    (vprep.home / "qrels.tsv").write_text(qrels)
    recipe = f"""
schema = 1
name = "r"
[embed]
model = "{MODEL}"
[embed.base]
texts = ["collection.tsv"]
[embed.queries]
texts = ["queries.tsv"]
[subset]
rows = 40
seed = 7
keep-relevant = ["qrels.tsv"]
[truth]
k = 5
[manifest]
[validate]
"""
    (vprep.home / "r.toml").write_text(recipe)
    done = vprep("run", "r.toml", "-d", "d")
    assert "40 of 400 texts, seed 7, with all 4 judged relevant" in done.stderr
    kept = pq.read_table(vprep.home / "d/base.parquet")
    assert set(relevant) <= set(kept["id"].to_pylist()) and len(kept) == 40
    manifest = json.loads((vprep.home / "d/manifest.json").read_text())
    facts = manifest["subset"]["kept"]
    assert facts["rows"] == 4 and facts["judgements"][0]["name"] == "qrels.tsv"
    assert manifest["embedding"]["base"]["texts"] == 40
    # The others are the smallest keys, as if nothing were judged.
    mask = (1 << 64) - 1

    def mix(z):
        z = (z + 0x9E3779B97F4A7C15) & mask
        z = ((z ^ z >> 30) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ z >> 27) * 0x94D049BB133111EB) & mask
        return z ^ z >> 31

    keys = sorted((mix(7 ^ mix(row)), row) for row in range(400) if ids[row] not in relevant)
    expected = sorted([row for _, row in keys[:36]] + [ids.index(i) for i in relevant])
    assert kept["parent_row"].to_pylist() == expected
    (vprep.home / "qrels.tsv").write_text("0 0 nowhere 1\n")
    assert "judged relevant are not in it, such as nowhere" in vprep.fails("run", "r.toml", "-d", "d")


def test_interrupted_it_stops_at_once_and_keeps_what_is_done(vprep, glosses):
    ids, texts, _ = glosses
    tsv(vprep.home / "a.tsv", ids[:4000], texts[:4000])
    child = vprep.start("embed", "--role", "base", "--model", MODEL, "--texts", "a.tsv", "--checkpoint-rows", 200, "-d", "d")
    deadline = time.monotonic() + 60
    while not list(vprep.home.glob("d/.vprep/embed/base/000000.json")) and time.monotonic() < deadline:
        time.sleep(0.05)
    child.send_signal(signal.SIGINT)
    try:
        assert child.wait(20) == 130
    except subprocess.TimeoutExpired:
        child.kill()
        raise
    assert not (vprep.home / "d/base.f32.npy").exists()
    assert (vprep.home / "d/.vprep/embed/base/000000.f32").exists()
