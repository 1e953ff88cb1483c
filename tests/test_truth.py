"""The exact neighbours are those of a float64 brute force."""

import json
import shutil
import signal
import time

import numpy as np
import pyarrow.parquet as pq
import pytest

from conftest import SHARED, check_truth, files, true_scores


def dataset(vprep, base, queries, metric, name="d"):
    np.save(vprep.home / "base.npy", base)
    np.save(vprep.home / "queries.npy", queries)
    vprep("import", "base.npy", "--role", "base", "--metric", metric, "-d", name)
    vprep("import", "queries.npy", "--role", "queries", "-d", name)
    return vprep.home / name


def test_quickstart(quickstart):
    check_truth(quickstart, "cosine", 100)


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_seeded_vectors_for_many_k(vprep, metric):
    random = np.random.default_rng(5)
    base = random.standard_normal((3_000, 50)).astype(np.float32) * random.lognormal(size=(3_000, 1))
    queries = random.standard_normal((40, 50)).astype(np.float32)
    directory = dataset(vprep, base.astype(np.float32), queries, metric)
    for k in [1, 10, 100, 1024, 1025, len(base) - 1, len(base)]:
        vprep("truth", "--k", k, "-d", "d")
        check_truth(directory, metric, k)
    error = vprep.fails("truth", "--k", len(base) + 1, "-d", "d")
    assert "has 3000 rows" in error and "3001" in error


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_glove(vprep, metric):
    source = SHARED / "glove50" / "glove50_100000.fbin"
    if not source.exists():
        pytest.skip("shared GloVe vectors are not beside the project")
    vectors = np.fromfile(source, dtype=np.float32, offset=8).reshape(-1, 50)
    vectors[99_000:].tofile(vprep.home / "tail")
    header = np.array([1_000, 50], dtype=np.uint32).tobytes()
    (vprep.home / "queries.fbin").write_bytes(header + (vprep.home / "tail").read_bytes())
    vprep("import", source, "--role", "base", "--metric", metric, "-d", "d")
    vprep("import", "queries.fbin", "--role", "queries", "-d", "d")
    vprep("truth", "--k", 100, "-d", "d")
    check_truth(vprep.home / "d", metric, 100)
    np.save(vprep.home / "few.npy", vectors[99_000:99_008])
    vprep("import", "few.npy", "--role", "queries", "-d", "d")
    for k in [1, 10, 1024, 1025, 99_999, 100_000]:
        vprep("truth", "--k", k, "-d", "d")
        check_truth(vprep.home / "d", metric, k)


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_equal_rows_are_ordered_by_number_whatever_the_threads(vprep, metric):
    random = np.random.default_rng(6)
    distinct = random.standard_normal((60, 24)).astype(np.float32)
    base = distinct[random.integers(0, 60, 6_000)]
    directory = dataset(vprep, base, distinct[:20] + np.float32(0.01), metric)
    made = []
    for threads in [1, 2]:
        vprep("truth", "--k", 500, "-d", "d", "--threads", threads)
        made.append((directory / "truth.ids.npy").read_bytes())
        ids = np.load(directory / "truth.ids.npy")
        for row in ids:
            same = (base[row[1:]] == base[row[:-1]]).all(axis=1)
            assert (np.diff(row)[same] > 0).all()
        # So that the second run does not find the first one's work.
        (directory / "truth.ids.npy").unlink()
    assert made[0] == made[1]


@pytest.mark.parametrize("metric", ["ip", "cosine", "l2"])
def test_statistics_say_how_clear_the_kth_neighbour_is(vprep, metric):
    random = np.random.default_rng(7)
    base = random.standard_normal((400, 12)).astype(np.float32)
    base[300:] = base[:100]
    directory = dataset(vprep, base, base[:50] + np.float32(0.5), metric)
    for k in [1, 2, 7, 399, 400]:
        vprep("truth", "--k", k, "-d", "d")
        stats = pq.read_table(directory / "truth.stats.parquet").to_pydict()
        scores = true_scores(metric, base, np.load(directory / "queries.f32.npy"))
        best = np.sort(scores if metric == "l2" else -scores, axis=1)
        kth = best[:, k - 1] if metric == "l2" else -best[:, k - 1]
        assert stats["row"] == list(range(50))
        assert np.allclose(stats["kth_score"], kth, rtol=0, atol=1e-6)
        gaps = best[:, k] - best[:, k - 1] if k < 400 else np.full(50, np.inf)
        assert np.allclose(stats["gap"], gaps, rtol=0, atol=1e-6)
        assert stats["tied"] == [gap == 0 for gap in stats["gap"]]
        assert (np.abs(gaps[stats["tied"]]) < 1e-12).all()
        assert any(stats["tied"]) == (k < 400)
    vprep("truth", "--k", 7, "-d", "d")
    vprep("manifest", "-d", "d")
    vprep("validate", "d", "--recheck", 50)
    truth = vprep.json("inspect", "d")["truth"]
    stats = pq.read_table(directory / "truth.stats.parquet")
    assert truth["tied"] == sum(stats["tied"].to_pylist()) and truth["queries"] == 50
    gaps = stats["gap"].to_numpy()
    assert truth["min_gap"] == gaps.min() and truth["median_gap"] == pytest.approx(np.median(gaps))
    for column, value, problem in [
        ("kth_score", 0.25, "the k-th score is"),
        ("gap", 0.25, "gap"),
        ("tied", True, "and tied is True".lower()),
    ]:
        wrong = stats.to_pydict()
        place = wrong["tied"].index(False)
        wrong[column][place] = value
        pq.write_table(stats.from_pydict(wrong, schema=stats.schema), directory / "truth.stats.parquet")
        done = vprep("validate", "d", "--recheck", 50, code=4)
        assert f"query {place}: " in done.stdout and problem in done.stdout


def outputs(directory):
    return {name: data for name, data in files(directory).items() if name.startswith("truth.")}


@pytest.mark.parametrize("metric", ["cosine", "l2"])
def test_the_plain_reference_gives_the_same_bytes(vprep, metric):
    random = np.random.default_rng(8)
    base = random.integers(-2, 3, (2_000, 6)).astype(np.float32)
    directory = dataset(vprep, base, base[:70] + np.float32(0.5), metric)
    for k in [1, 30, 2_000]:
        vprep("truth", "--k", k, "-d", "d")
        expected = outputs(directory)
        (directory / "truth.ids.npy").unlink()
        done = vprep("truth", "--k", k, "-d", "d", "--engine", "f64", "--verify", 1_000)
        assert "70 queries verified" in done.stderr and outputs(directory) == expected
    vprep("manifest", "-d", "d")
    truth = json.loads((directory / "manifest.json").read_text())["truth"]
    assert truth["verified_queries"] == 70 and "every row" in truth["method"]
    done = vprep("truth", "--k", 2_000, "-d", "d", "--verify", 5)
    assert "up to date" in done.stderr and "5 queries are as" in done.stderr


def test_faiss_finds_no_better_row(vprep):
    random = np.random.default_rng(10)
    base = random.standard_normal((3_000, 24)).astype(np.float32)
    directory = dataset(vprep, base, base[:300] * np.float32(0.9), "l2")
    stores = {store["name"]: store for store in vprep.json("stores")["stores"]}
    if not stores["faiss-flat"]["available"]:
        assert "--features faiss" in vprep.fails("truth", "-d", "d", "--engine", "faiss", code=5)
        pytest.skip("FAISS is not compiled in")
    for k in [1, 50]:
        done = vprep("truth", "--k", k, "-d", "d", "--engine", "faiss")
        assert "FAISS finds no better row" in done.stderr
        checked = outputs(directory)
        (directory / "truth.ids.npy").unlink()
        vprep("truth", "--k", k, "-d", "d")
        assert outputs(directory) == checked
    assert not list((directory / ".vprep").glob(".tmp*"))


def test_killed_at_any_moment_it_ends_with_the_same_bytes(vprep):
    random = np.random.default_rng(9)
    base = random.standard_normal((20_000, 96)).astype(np.float32)
    queries = random.standard_normal((20_000, 96)).astype(np.float32)
    directory = dataset(vprep, base, queries, "cosine")
    vprep("truth", "--k", 20, "-d", "d", "--threads", 1)
    expected = outputs(directory)
    blocks = directory / ".vprep/truth/blocks"
    assert not blocks.parent.exists(), "what is kept goes at the end"
    (directory / "truth.ids.npy").unlink()
    kept = {}
    for kill in range(5):
        child = vprep.start("truth", "--k", 20, "-d", "d", "--threads", 1 + kill % 2)
        deadline = time.monotonic() + 60
        while len(list(blocks.glob("*.json"))) < 2 * kill + 2 and time.monotonic() < deadline:
            assert child.poll() is None, child.communicate()
            time.sleep(0.002)
        time.sleep(0.03 * kill)
        child.kill()
        child.communicate()
        for path in blocks.glob("*.json"):
            stat = path.stat()
            assert kept.setdefault(path.name, stat.st_mtime_ns) == stat.st_mtime_ns, "never computed again"
    assert len(kept) > 5
    # A damaged block is found again.
    path = sorted(blocks.glob("*.found"))[0]
    path.write_bytes(path.read_bytes()[:-1] + b"\x01")
    done = vprep("truth", "--k", 20, "-d", "d")
    assert "queries answered before" in done.stderr
    assert outputs(directory) == expected and not blocks.parent.exists()


def test_what_is_kept_of_another_truth_is_discarded(vprep):
    random = np.random.default_rng(10)
    base = random.standard_normal((20_000, 96)).astype(np.float32)
    queries = random.standard_normal((6_000, 96)).astype(np.float32)
    directory = dataset(vprep, base, queries, "cosine")
    child = vprep.start("truth", "--k", 20, "-d", "d")
    deadline = time.monotonic() + 60
    while not list((directory / ".vprep/truth/blocks").glob("*.found")) and time.monotonic() < deadline:
        time.sleep(0.002)
    child.send_signal(signal.SIGINT)
    child.communicate()
    assert list((directory / ".vprep/truth/blocks").glob("*.json"))
    done = vprep("truth", "--k", 21, "-d", "d")
    assert "before" not in done.stderr
    vprep("truth", "--k", 21, "-d", "d", "--verify", 3)


@pytest.mark.parametrize("metric", ["cosine", "l2"])
@pytest.mark.parametrize("k", [10, 60, 200, 400])
def test_shards_together_are_the_whole(vprep, metric, k):
    random = np.random.default_rng(11)
    base = random.standard_normal((400, 12)).astype(np.float32)
    base[300:] = base[:100]
    directory = dataset(vprep, base, base[:50] + np.float32(0.5), metric)
    vprep("truth", "--k", k, "-d", "d", "--verify", 50)
    vprep("manifest", "-d", "d")
    expected = outputs(directory)
    facts = json.loads((directory / "manifest.json").read_text())["truth"]
    for count in [1, 3, 7]:
        (directory / "truth.ids.npy").unlink()
        for shard in random.permutation(count) + 1:
            done = vprep("truth", "--k", k, "-d", "d", "--shard", f"{shard}/{count}")
            assert f"shard {shard} of {count} is done" in done.stderr
            assert not (directory / "truth.ids.npy").exists()
        vprep("truth", "--k", k, "-d", "d", "--merge", "--verify", 50)
        assert outputs(directory) == expected
        assert not (directory / ".vprep/truth").exists()
        vprep("manifest", "-d", "d")
        assert json.loads((directory / "manifest.json").read_text())["truth"] == facts


def test_shards_come_from_many_machines_and_those_missing_are_named(vprep):
    random = np.random.default_rng(12)
    base = random.standard_normal((101, 8)).astype(np.float32)
    directory = dataset(vprep, base, base[:9], "l2")
    truth = ["truth", "--k", 5, "-d", "d"]
    assert "--shard I/N" in vprep.fails(*truth, "--merge")
    other = vprep.home / "other"
    shutil.copytree(directory, other)
    done = vprep(*truth, "--shard", "2/4")
    assert "1, 3, 4 are still missing" in done.stderr
    for shard in [1, 3, 4]:
        vprep("truth", "--k", 5 + (shard == 4), "-d", "other", "--shard", f"{shard}/4")
    error = vprep.fails(*truth, "--merge")
    assert "shards 1, 3, 4 of 4 are missing" in error, error
    here, there = (d / ".vprep/truth/shards/4" for d in (directory, other))
    shutil.copytree(there, here, dirs_exist_ok=True)
    error = vprep.fails(*truth, "--merge")
    assert "shards 4 of 4 are missing (4 of another base, queries, k or metric)" in error, error
    vprep(*truth, "--shard", "4/4")
    path = here / "3.i32"
    path.write_bytes(path.read_bytes()[:-4] + bytes(4))
    assert "shards 3 of 4 are missing" in vprep.fails(*truth, "--merge")
    vprep(*truth, "--shard", "3/4")
    vprep(*truth, "--merge")
    check_truth(directory, "l2", 5)
    assert "102" in vprep.fails(*truth[:2], 6, "-d", "d", "--shard", "1/102", code=2)


def test_memory_changes_nothing_but_what_is_held(vprep):
    random = np.random.default_rng(13)
    base = random.standard_normal((3_000, 16)).astype(np.float32)
    directory = dataset(vprep, base, base[:300], "cosine")
    made = []
    for memory in [[], ["--memory", "1KiB"], ["--memory", "300k"], ["--memory", "1.5GiB"]]:
        done = vprep("truth", "--k", 40, "-d", "d", *memory)
        assert ("iB of memory, a quarter" in done.stderr) == (not memory)
        made.append(outputs(directory))
        assert "up to date" in vprep("truth", "--k", 40, "-d", "d", "--memory", "2GB").stderr
        (directory / "truth.ids.npy").unlink()
    assert all(one == made[0] for one in made)
    assert "--memory" in vprep("truth", "-d", "d", "--memory", "much", code=2).stderr


def test_a_shard_that_is_killed_goes_on_where_it_was(vprep):
    random = np.random.default_rng(14)
    base = random.standard_normal((40_000, 96)).astype(np.float32)
    queries = random.standard_normal((6_000, 96)).astype(np.float32)
    directory = dataset(vprep, base, queries, "cosine")
    truth = ["truth", "--k", 20, "-d", "d"]
    vprep(*truth)
    expected = outputs(directory)
    (directory / "truth.ids.npy").unlink()
    vprep(*truth, "--shard", "1/2")
    for blocks in [1, 3]:
        child = vprep.start(*truth, "--shard", "2/2")
        deadline = time.monotonic() + 60
        while len(list((directory / ".vprep/truth/blocks").glob("*.found"))) < blocks:
            assert time.monotonic() < deadline and child.poll() is None
            time.sleep(0.002)
        child.kill()
        child.communicate()
        assert "shards 2 of 2 are missing" in vprep.fails(*truth, "--merge")
    assert "all others are here" in vprep(*truth, "--shard", "2/2").stderr
    vprep(*truth, "--merge", "--memory", "1MiB", "--verify", 2)
    assert outputs(directory) == expected
