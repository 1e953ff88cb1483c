"""`make dataset-300k` at full size, without the internet: times and peak memory of every stage.

Makes a seeded set of 1,000,000 x 768 vectors and 1,000 queries in the layout of VectorDBBench's
cohere_medium_1m (3 GB of parquet), serves it on loopback, and makes the dataset of
pipelines/cohere-300k.toml from it, stage by stage. Then checks the truth of 50 queries against a
float64 brute force, and that the neighbours of the whole are refused.

    VPREP_BIN=… VPREP_TESTHUB=… python benches/dataset_300k.py DIR

DIR keeps the generated set, about 3.2 GB, and the dataset, about 8 GB. `--rows N` makes a smaller one.
"""

import argparse
import hashlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

ROOT = Path(__file__).resolve().parent.parent
SEED, DIM, QUERIES, WIDTH = 20261022, 768, 1000, 1000
STAGES = ["fetch", "import", "normalize", "subset", "split", "truth", "build", "calibrate", "manifest", "validate"]
PART = 8 << 20


def vectors(rng, centres, count):
    """Vectors around centres, of norms that differ, as Cohere's are."""
    chosen = centres[rng.integers(len(centres), size=count)]
    noise = rng.standard_normal((count, DIM), dtype=np.float32)
    scale = rng.uniform(0.8, 1.2, size=(count, 1)).astype(np.float32)
    return (chosen + 0.6 * noise) * scale * np.float32(0.35)


def table(ids, values):
    offsets = np.arange(0, values.size + 1, DIM, dtype=np.int32)
    lists = pa.ListArray.from_arrays(offsets, pa.array(values.ravel()))
    return pa.table({"id": pa.array(ids, pa.int64()), "emb": lists})


def make(directory, rows):
    """Writes train, test and neighbors, unless they are there."""
    done = directory / "done"
    if done.exists() and done.read_text() == str(rows):
        return
    rng = np.random.Generator(np.random.SFC64(SEED))
    centres = rng.standard_normal((2_000, DIM), dtype=np.float32)
    queries = vectors(rng, centres, QUERIES)
    pq.write_table(table(np.arange(QUERIES), queries), directory / "test.parquet")
    queries /= np.linalg.norm(queries, axis=1, keepdims=True)
    ids = rng.permutation(rows)
    best_scores = np.full((QUERIES, WIDTH), -np.inf, np.float32)
    best_ids = np.zeros((QUERIES, WIDTH), np.int64)
    with pq.ParquetWriter(directory / "shuffle_train.parquet", table([], queries[:0]).schema) as writer:
        for first in range(0, rows, 50_000):
            block = vectors(rng, centres, min(50_000, rows - first))
            these = ids[first : first + len(block)]
            writer.write_table(table(these, block))
            block /= np.linalg.norm(block, axis=1, keepdims=True)
            scores = np.hstack([best_scores, queries @ block.T])
            candidates = np.hstack([best_ids, np.broadcast_to(these, (QUERIES, len(block)))])
            top = np.argpartition(-scores, WIDTH, axis=1)[:, :WIDTH]
            best_scores = np.take_along_axis(scores, top, axis=1)
            best_ids = np.take_along_axis(candidates, top, axis=1)
    order = np.argsort(-best_scores, axis=1)
    neighbors = np.take_along_axis(best_ids, order, axis=1)
    lists = pa.array(list(neighbors), pa.list_(pa.int64()))
    pq.write_table(pa.table({"id": np.arange(QUERIES), "neighbors_id": lists}), directory / "neighbors.parquet")
    done.write_text(str(rows))


def digests(path):
    """md5, and the ETag of a multipart upload."""
    whole, parts, count = hashlib.md5(), hashlib.md5(), 0
    with open(path, "rb") as file:
        while part := file.read(PART):
            whole.update(part)
            parts.update(hashlib.md5(part).digest())
            count += 1
    return whole.hexdigest(), f"{parts.hexdigest()}-{count}"


def catalogue(directory, rows):
    """The project's catalogue with the generated files' lengths and digests, and what to serve."""
    text = (ROOT / "datasets" / "catalog.toml").read_text()
    start = text.index('name = "cohere_medium_1m"')
    end = text.index("[[set]]", start)
    entry, served, total = text[start:end], {}, 0
    for name in ["shuffle_train.parquet", "test.parquet", "neighbors.parquet"]:
        size = (directory / name).stat().st_size
        md5, etag = digests(directory / name)
        total += size
        at = entry.index(f'path = "{name}"')
        file = entry[at:].split("[[set.file]]")[0]
        changed = re.sub(r"\nbytes = [\d_]+", f"\nbytes = {size}", file)
        changed = re.sub(r'\nmd5 = "\w+"', f'\nmd5 = "{md5}"', changed)
        changed = re.sub(r'\ns3_etag = "[\w-]+"', f'\ns3_etag = "{etag}"', changed)
        if name.startswith("shuffle"):
            changed = re.sub(r"\nrows = [\d_]+", f"\nrows = {rows}", changed)
        entry = entry.replace(file, changed)
        content = {"disk": str(directory / name)}
        served[f"cohere_medium_1m/{name}"] = {"content": content, "etag": {"given": f'"{etag}"'}}
    entry = re.sub(r"\nbytes = [\d_]+", f"\nbytes = {total}", entry, count=1)
    entry = re.sub(r"\nrows = [\d_]+", f"\nrows = {rows}", entry, count=1)
    if rows != 1_000_000:
        entry = entry.replace('name = "cohere_medium_1m"', 'name = "cohere_medium"').replace(
            'path = "train.parquet"\nrole = "base"', 'path = "train.parquet"\nrole = "labels"'
        )
    (directory / "catalog.toml").write_text(text[:start] + entry + text[end:])
    (directory / "setup.json").write_text(json.dumps({"files": served}))


def run(arguments, environment):
    """Runs vprep; returns its exit code, its output, seconds and peak resident memory in MiB."""
    clock = time.perf_counter()
    child = subprocess.Popen(arguments, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    output = child.stdout.read()
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    return child.returncode, output, time.perf_counter() - clock, usage.ru_maxrss / 1024


def check(dataset, count=50):
    """The truth of some queries against all scores in float64."""
    base = np.load(dataset / "base.f32.npy", mmap_mode="r")
    queries = np.load(dataset / "queries.f32.npy")
    ids = np.load(dataset / "truth.ids.npy")
    scores = np.load(dataset / "truth.scores.npy")
    chosen = np.sort(np.random.default_rng(SEED).choice(len(queries), count, replace=False))
    exact = np.concatenate(
        [queries[chosen].astype(np.float64) @ block.astype(np.float64).T for block in np.array_split(base, 100)],
        axis=1,
    )
    order = np.argsort(-exact, axis=1, kind="stable")[:, : ids.shape[1]]
    best = np.take_along_axis(exact, order, axis=1)
    assert (ids[chosen] == order).all(), "a neighbour differs"
    assert np.abs(scores[chosen] - best).max() < 1e-6, "a score differs"
    print(f"truth of {count} queries x {len(base)} rows equals a float64 brute force")


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("directory", type=Path)
    parser.add_argument("--rows", type=int, default=1_000_000)
    arguments = parser.parse_args()
    directory = arguments.directory.resolve()
    directory.mkdir(parents=True, exist_ok=True)
    make(directory, arguments.rows)
    catalogue(directory, arguments.rows)
    hub = subprocess.Popen(
        [os.environ["VPREP_TESTHUB"], directory / "setup.json"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    url = hub.stdout.readline().strip()
    environment = {
        **os.environ,
        "VPREP_CATALOG": str(directory / "catalog.toml"),
        "VPREP_MIRROR": f"https://assets.zilliz.com/benchmark/={url}/files/",
    }
    recipe = ROOT / "pipelines" / "cohere-300k.toml"
    if arguments.rows != 1_000_000:
        text = recipe.read_text().replace('"cohere_medium_1m"', '"cohere_medium"')
        recipe = directory / "pipeline.toml"
        recipe.write_text(text.replace("rows = 300000", f"rows = {arguments.rows * 3 // 10}"))
    dataset = directory / "dataset"
    shutil.rmtree(dataset, ignore_errors=True)
    vprep = os.environ["VPREP_BIN"]
    print(f"{'stage':<12}{'seconds':>9}{'peak MiB':>10}")
    for stage in STAGES:
        command = [vprep, "run", recipe, "-d", dataset, "--until", stage]
        code, output, seconds, peak = run(command, environment)
        print(f"{stage:<12}{seconds:>9.1f}{peak:>10.0f}", flush=True)
        if code:
            sys.exit(output)
    code, output, seconds, peak = run([vprep, "run", recipe, "-d", dataset], environment)
    assert code == 0 and "nothing was done" in output, output
    print(f"{'again':<12}{seconds:>9.1f}{peak:>10.0f}")
    print(output)
    check(dataset)
    command = [vprep, "validate", dataset, "--neighbors", directory / "neighbors.parquet"]
    code, output, *_ = run(command, environment)
    assert code == 2 and "subset has no truth but its own" in output, output
    print(output.strip())
    hub.stdin.close()
    hub.wait()


if __name__ == "__main__":
    main()
