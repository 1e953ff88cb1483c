"""Tests of the `vprep` command against numpy, pyarrow and the system itself."""

import json
import os
import subprocess
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).resolve().parent.parent
QUICKSTART = ROOT / "pipelines" / "quickstart.toml"
# Larger real data that may lie beside the project; tests that read it are extra.
SHARED = ROOT.parent / "shared" / "data"


class Vprep:
    """Runs the command in one directory."""

    def __init__(self, home):
        self.binary = os.environ["VPREP_BIN"]
        self.home = Path(home)
        # Set for every command, on top of the environment.
        self.always = {}

    def __call__(self, *args, code=0, **environment):
        """Runs a command line and returns the finished process; its exit code must be `code`."""
        done = subprocess.run(
            [self.binary, *map(str, args)],
            cwd=self.home,
            env=self.environment(**environment),
            capture_output=True,
            text=True,
            timeout=300,
        )
        assert done.returncode == code, f"exit {done.returncode}, not {code}\n{done.stdout}{done.stderr}"
        return done

    def json(self, *args, code=0):
        return json.loads(self(*args, "--json", code=code).stdout)

    def fails(self, *args, code=3):
        """Runs a command that must fail with `code`, and returns its one line."""
        done = self(*args, code=code)
        lines = [line for line in done.stderr.splitlines() if line.startswith("error:")]
        assert len(lines) == 1 and done.stderr.splitlines()[-1] == lines[0], done.stderr
        assert "panicked" not in done.stderr
        return lines[0]

    def environment(self, **more):
        kept = {k: v for k, v in os.environ.items() if not k.startswith("VPREP_")}
        return {**kept, **self.always, **more}

    def start(self, *args):
        return subprocess.Popen(
            [self.binary, *map(str, args)],
            cwd=self.home,
            env=self.environment(),
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def vprep(tmp_path):
    return Vprep(tmp_path)


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory):
    """The quickstart dataset, made once with two threads; tests must not change it."""
    home = tmp_path_factory.mktemp("quickstart")
    vprep = Vprep(home)
    vprep("run", QUICKSTART, "-d", home / "qs", "--threads", 2)
    return home / "qs"


def files(directory):
    """Every file below a directory but vprep's own state, by content."""
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(Path(directory).rglob("*"))
        if path.is_file() and ".vprep" not in path.relative_to(directory).parts
    }


def true_scores(metric, base, queries):
    """All scores in float64, `q x n`."""
    base, queries = base.astype(np.float64), queries.astype(np.float64)
    if metric == "l2":
        squares = (queries**2).sum(1)[:, None] + (base**2).sum(1)[None, :]
        return squares - 2 * queries @ base.T
    if metric == "cosine":
        unit = lambda x: x / np.where(n := np.linalg.norm(x, axis=1, keepdims=True), n, 1)
        base, queries = unit(base), unit(queries)
    return queries @ base.T


def check_truth(dataset, metric, k, rows=None, tolerance=1e-6):
    """Compares a dataset's truth with a float64 brute force, for all queries or some.

    Ids must be equal wherever scores differ by more than the tolerance, and scores within it.
    """
    base = np.load(dataset / "base.f32.npy", mmap_mode="r")
    queries = np.load(dataset / "queries.f32.npy")
    ids = np.load(dataset / "truth.ids.npy", mmap_mode="r")
    scores = np.load(dataset / "truth.scores.npy", mmap_mode="r")
    assert ids.shape == scores.shape == (len(queries), k)
    assert ids.dtype == np.int32 and scores.dtype == np.float32
    rows = np.arange(len(queries)) if rows is None else rows
    for block in np.array_split(rows, max(1, len(rows) * len(base) // 20_000_000)):
        exact = true_scores(metric, base, queries[block])
        sign = 1 if metric == "l2" else -1
        order = np.argsort(sign * exact, axis=1, kind="stable")[:, :k]
        best = np.take_along_axis(exact, order, axis=1)
        found = np.take_along_axis(exact, ids[block].astype(np.int64), axis=1)
        scale = np.maximum(1, np.abs(best))
        assert (np.abs(found - best) <= tolerance * scale).all(), "a neighbour is not one"
        assert (np.abs(scores[block] - best) <= tolerance * scale).all(), "a score is wrong"
        differ = ids[block] != order
        # Where ids differ, the scores of the two rows do not.
        assert (np.abs(found - best)[differ] <= (tolerance * scale)[differ]).all()
        assert all(len(set(row)) == k for row in ids[block]), "a row stands twice"
