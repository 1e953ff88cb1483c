"""Reads a dataset of vprep with numpy alone: vectors, true neighbours, and a store's search setting.

    python read_dataset.py [--sha256] DATASET QIDX STORE K TARGET
"""

import hashlib
import json
import sys
from pathlib import Path, PurePosixPath

import numpy as np

SHOWN = 5


class Dataset:
    """A dataset as its manifest describes it; the matrices are memory-mapped."""

    def __init__(self, directory, sha256=False):
        self.directory, self.sha256 = Path(directory), sha256
        self.manifest = json.loads((self.directory / "manifest.json").read_text(encoding="utf-8"))
        if self.manifest["schema"] != 1:
            raise ValueError(f"manifest.json: schema {self.manifest['schema']}, this reader knows 1")
        dim, queries = self.manifest["dim"], self.manifest["counts"]["queries"]
        self.base = self.matrix("base", "<f4", self.manifest["counts"]["base"], dim)
        self.queries = self.matrix("queries", "<f4", queries, dim)
        k = self.manifest["truth"]["k"]
        self.truth = self.matrix("truth_ids", "<i4", queries, k)
        self.scores = self.matrix("truth_scores", "<f4", queries, k)

    def matrix(self, role, dtype, rows, columns):
        """The matrix of a role, `(rows, columns)`, after everything that the manifest says was checked."""
        entry = next((entry for entry in self.manifest["files"] if entry["role"] == role), None)
        if entry is None:
            raise ValueError(f"manifest.json: no file with the role {role}")
        name = PurePosixPath(entry["path"])
        if name.is_absolute() or ".." in name.parts:
            raise ValueError(f"{name}: not a path inside the dataset")
        path = self.directory / name
        if path.stat().st_size != entry["bytes"]:
            raise ValueError(f"{name}: {path.stat().st_size} bytes, the manifest says {entry['bytes']}")
        if self.sha256:
            with open(path, "rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
            if digest != entry["sha256"]:
                raise ValueError(f"{name}: sha256 {digest}, the manifest says {entry['sha256']}")
        # numpy parses the header; what it says must be what the manifest says.
        matrix = np.load(path, mmap_mode="r", allow_pickle=False)
        if matrix.dtype != np.dtype(dtype) or not matrix.flags.c_contiguous:
            raise ValueError(f"{name}: {matrix.dtype} in C order: {matrix.flags.c_contiguous}; not {dtype} in C order")
        if matrix.shape != (rows, columns):
            raise ValueError(f"{name}: shape {matrix.shape}, the manifest says {(rows, columns)}")
        return matrix

    def score(self, query, row):
        """The score of a row of the base: larger is better, but for l2, the squared distance."""
        a, b = self.queries[query].astype(np.float64), self.base[row].astype(np.float64)
        if self.manifest["metric"] == "l2":
            return ((a - b) ** 2).sum()
        norms = np.sqrt(a @ a) * np.sqrt(b @ b) if self.manifest["metric"] == "cosine" else 1.0
        return a @ b / norms if norms > 0 else 0.0

    def cell(self, store, k, target):
        """What calibration found for a store at (k, target); `reached` says whether it holds."""
        if store not in self.manifest["stores"]:
            raise ValueError(f"manifest.json: no store {store}")
        for cell in self.manifest["stores"][store]["cells"]:
            if (cell["k"], cell["target"]) == (k, target):
                return cell
        raise ValueError(f"manifest.json: {store} is not calibrated to recall {target} at k = {k}")


def setting(cell):
    """A cell in words."""
    what = f"{cell['store']}: recall {cell['target']:.4f} at k = {cell['k']} is "
    knob = "no knob"
    if cell["knob"] is not None:
        knob = f"{cell['knob']} = {'none' if cell['value'] is None else cell['value']}"
    recall = lambda name: "unknown" if cell[name] is None else f"{cell[name]:.4f}"
    if not cell["reached"]:
        return what + f"NOT REACHED; the best is {knob}, with {recall('calibration_recall')}"
    proved = f"{recall('held_out_recall')} ({recall('held_out_low')} to {recall('held_out_high')})"
    return what + f"reached with {knob}; {proved} on {cell['held_out_queries']} held-out queries"


def main(arguments):
    sha256 = arguments[:1] == ["--sha256"]
    directory, qidx, store, k, target = arguments[sha256:]
    dataset, qidx = Dataset(directory, sha256), int(qidx)
    manifest, rows = dataset.manifest, dataset.truth.shape[0]
    if not 0 <= qidx < rows:
        raise ValueError(f"query {qidx}: there are {rows} queries")
    cell = dataset.cell(store, int(k), float(target))
    print(f"{manifest['name']}: {len(dataset.base)} x {manifest['dim']}, {rows} queries, {manifest['metric']}")
    print(f"query {qidx}:", *(f"{value:.6f}" for value in dataset.queries[qidx][:SHOWN]))
    for rank, (row, score) in enumerate(zip(dataset.truth[qidx][:SHOWN], dataset.scores[qidx]), 1):
        if not 0 <= row < len(dataset.base):
            raise ValueError(f"truth of query {qidx}: there is no row {row}")
        print(f"neighbour {rank}: row {row}, score {score:.6f}, computed here {dataset.score(qidx, row):.6f}")
    print(setting(cell))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except (KeyError, TypeError, ValueError, OSError) as error:
        sys.exit(f"error: {error}")
