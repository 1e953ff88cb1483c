"""The readers of `examples/` in Python, Go and Rust: alike to the byte, right, and not to be fooled."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from conftest import ROOT, Vprep


@pytest.fixture(scope="session")
def readers(tmp_path_factory):
    """The three commands. Go compiles with the toolchain that `make setup` installs, or the one there is."""
    go = shutil.which("go", path=f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}")
    assert go, "no Go toolchain: run `make setup`"
    program = tmp_path_factory.mktemp("go") / "read-dataset"
    offline = {"GOTOOLCHAIN": "local", "GOPROXY": "off", "GOFLAGS": "-mod=readonly", "CGO_ENABLED": "0"}
    for command in (["vet", "."], ["build", "-o", program, "."]):
        directory, environment = ROOT / "examples" / "go", os.environ | offline
        subprocess.run([go, *command], cwd=directory, env=environment, check=True, timeout=600)
    rust = Path(os.environ["VPREP_BIN"]).resolve().parent / "read-dataset"
    assert rust.exists(), f"{rust}: missing; build it with `make testhub`"
    return {
        "python": [sys.executable, ROOT / "examples" / "python" / "read_dataset.py"],
        "go": [program],
        "rust": [rust],
    }


def read(reader, *arguments, code=0):
    done = subprocess.run([*map(str, reader), *map(str, arguments)], capture_output=True, text=True, timeout=60)
    assert done.returncode == code, done.stdout + done.stderr
    return done.stdout if code == 0 else done.stderr


def read_alike(readers, *arguments):
    """What every reader prints."""
    texts = {name: read(reader, *arguments) for name, reader in readers.items()}
    assert texts["python"] == texts["go"] == texts["rust"], texts
    return texts["python"]


def test_three_languages_read_the_same(readers, quickstart):
    manifest = json.loads((quickstart / "manifest.json").read_text())
    base, queries = np.load(quickstart / "base.f32.npy"), np.load(quickstart / "queries.f32.npy")
    ids, scores = np.load(quickstart / "truth.ids.npy"), np.load(quickstart / "truth.scores.npy")
    for qidx, (k, target) in [(0, (10, 0.9)), (17, (10, 0.95)), (999, (100, 0.99))]:
        lines = read_alike(readers, "--sha256", quickstart, qidx, "hnsw", k, target).splitlines()
        assert lines[0] == "quickstart: 8000 x 384, 1000 queries, cosine"
        assert lines[1] == f"query {qidx}: " + " ".join(f"{value:.6f}" for value in queries[qidx][:5])
        for rank in range(5):
            row, score = ids[qidx, rank], scores[qidx, rank]
            start = f"neighbour {rank + 1}: row {row}, score {score:.6f}, computed here "
            assert lines[2 + rank].startswith(start)
            here = float(lines[2 + rank].removeprefix(start))
            assert abs(here - base[row].astype(float) @ queries[qidx].astype(float)) < 1e-6
        cell = next(c for c in manifest["stores"]["hnsw"]["cells"] if (c["k"], c["target"]) == (k, target))
        assert lines[7] == (
            f"hnsw: recall {target:.4f} at k = {k} is reached with expansion_search = {cell['value']}; "
            f"{cell['held_out_recall']:.4f} ({cell['held_out_low']:.4f} to {cell['held_out_high']:.4f}) "
            "on 800 held-out queries"
        )
        assert len(lines) == 8


@pytest.fixture(scope="session")
def capped(tmp_path_factory):
    """A small dataset by l2 whose cap lies below the target, with an exact store beside."""
    home = tmp_path_factory.mktemp("capped")
    (home / "capped.toml").write_text(
        'schema = 1\nname = "capped"\nmetric = "l2"\n'
        "[synth]\nrows = 3000\ndim = 3\nqueries = 60\nseed = 5\n"
        "[split]\ncalibration = 30\n[truth]\nk = 4\n[build.flat]\n[build.hnsw]\nm = 2\nef-construction = 2\n"
        "[calibrate]\ntarget = [1.0]\nk = [4]\nmax-value = 4\n[manifest]\n"
    )
    Vprep(home)("run", "capped.toml", "-d", "capped", code=4)
    return home / "capped"


def test_a_target_that_is_not_reached_is_said(readers, capped):
    lines = read_alike(readers, capped, 3, "hnsw", 4, 1).splitlines()
    assert lines[0] == "capped: 3000 x 3, 60 queries, l2"
    # A vector and a truth narrower than what is shown.
    assert len(lines[1].split()) == 2 + 3 and len(lines) == 2 + 4 + 1
    for line in lines[2:6]:
        stated, here = line.split("score ")[1].split(", computed here ")
        assert abs(float(stated) - float(here)) < 1e-5
    manifest = json.loads((capped / "manifest.json").read_text())
    (cell,) = manifest["stores"]["hnsw"]["cells"]
    assert not cell["reached"]
    best = f"expansion_search = {cell['value']}, with {cell['calibration_recall']:.4f}"
    assert lines[6] == f"hnsw: recall 1.0000 at k = 4 is NOT REACHED; the best is {best}"
    exact = read_alike(readers, capped, 3, "flat", 4, 1).splitlines()[6]
    assert exact.startswith("flat: recall 1.0000 at k = 4 is reached with no knob; 1.0000 (")


def edited(path, **keys):
    manifest = json.loads(path.read_text())
    path.write_text(json.dumps(manifest | keys))


def entry(manifest, role, **keys):
    """The list of files, one entry changed."""
    return [{**file, **keys} if file["role"] == role else file for file in manifest["files"]]


@pytest.mark.parametrize(
    "fault, arguments, says",
    [
        ("schema", [0, "hnsw", 4, 1], "schema"),
        ("short", [0, "hnsw", 4, 1], "bytes"),
        ("byte", ["hash", 0, "hnsw", 4, 1], "sha256"),
        ("type", [0, "hnsw", 4, 1], "base.f32.npy"),
        ("fortran", [0, "hnsw", 4, 1], "base.f32.npy"),
        ("shape", [0, "hnsw", 4, 1], "base.f32.npy"),
        ("path", [0, "hnsw", 4, 1], "not a path inside the dataset"),
        ("role", [0, "hnsw", 4, 1], "no file with the role truth_scores"),
        ("none", [60, "hnsw", 4, 1], "60"),
        ("none", [-1, "hnsw", 4, 1], ""),
        ("none", [0, "faiss", 4, 1], "no store faiss"),
        ("none", [0, "hnsw", 4, 0.5], "not calibrated to recall 0.5 at k = 4"),
    ],
)
def test_what_is_wrong_is_refused(readers, capped, tmp_path, fault, arguments, says):
    dataset = tmp_path / "d"
    shutil.copytree(capped, dataset)
    base, path = dataset / "base.f32.npy", dataset / "manifest.json"
    manifest, vectors = json.loads(path.read_text()), np.load(base)

    def put(array):
        """Another base, with its size in the manifest: only its header is wrong."""
        np.save(base, array)
        edited(path, files=entry(manifest, "base", bytes=base.stat().st_size))

    if fault == "schema":
        edited(path, schema=2)
    elif fault == "short":
        base.write_bytes(base.read_bytes()[:-4])
    elif fault == "byte":
        content = bytearray(base.read_bytes())
        content[1000] ^= 1
        base.write_bytes(content)
        # Nothing but the digest tells.
        read_alike(readers, dataset, *arguments[1:])
    elif fault == "type":
        put(vectors.astype(">f4"))
    elif fault == "fortran":
        put(np.asfortranarray(vectors))
    elif fault == "shape":
        put(np.ascontiguousarray(vectors.T))
    elif fault == "path":
        edited(path, files=entry(manifest, "base", path="../d/base.f32.npy"))
    elif fault == "role":
        edited(path, files=[file for file in manifest["files"] if file["role"] != "truth_scores"])
    if arguments[0] == "hash":
        arguments = ["--sha256", dataset, *arguments[1:]]
    else:
        arguments = [dataset, *arguments]
    for name, reader in readers.items():
        line = read(reader, *arguments, code=1)
        assert line.startswith("error: ") and says in line and line.count("\n") == 1, f"{name}: {line}"
