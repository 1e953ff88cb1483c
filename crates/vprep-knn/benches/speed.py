"""Exact search of vprep and of FAISS, in turn, in one run.

    python speed.py SEARCH_PROGRAM BASE.npy QUERIES.npy METRIC ROWS QUERIES[,QUERIES...] [ROUNDS]

SEARCH_PROGRAM is the compiled `examples/search.rs`. Each round times both on the same rows and queries, top
100, on the same threads: vprep from the mapped file to its answer, FAISS an `IndexFlatIP` or `IndexFlatL2`
from `add` to its answer. FAISS runs with its BLAS threshold as it is and lowered so that BLAS is used from
the second query on, and the better of the two counts. What is printed is the median over the rounds and the
ratio of the medians. The rows found are compared: where they differ, float64 says who is right.

Where the processor has AVX-512, OpenBLAS is told to use it.
"""

import os
import statistics
import subprocess
import sys
import tempfile
import time

import numpy as np

with open("/proc/cpuinfo") as cpu:
    if "avx512f" in cpu.read():
        os.environ["OPENBLAS_CORETYPE"] = "SkylakeX"
import faiss  # after the choice of its kernels

K = 100


class Vprep:
    def __init__(self, program, base, queries, metric):
        self.out = tempfile.NamedTemporaryFile(suffix=".i32")
        self.process = subprocess.Popen(
            [program, base, queries, metric, str(K), self.out.name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return float(self.process.stdout.readline())

    def search(self, rows, count):
        seconds = self.ask(f"{rows} {count}")
        return seconds, np.fromfile(self.out.name, np.int32).reshape(count, K)


def faiss_search(base, queries, metric, threshold):
    faiss.cvar.distance_compute_blas_threshold = threshold
    start = time.perf_counter()
    index = faiss.IndexFlatL2(base.shape[1]) if metric == "l2" else faiss.IndexFlatIP(base.shape[1])
    index.add(base)
    _, found = index.search(queries, K)
    return time.perf_counter() - start, found


def wrong(base, queries, metric, found, count):
    """Queries among the first `count` whose rows are not those that float64 gives, ties by row."""
    wrong = 0
    for query, rows in zip(queries[:count].astype(np.float64), found):
        scores = np.empty(len(base))
        for start in range(0, len(base), 65536):
            part = base[start : start + 65536].astype(np.float64)
            scores[start : start + len(part)] = (
                -((part - query) ** 2).sum(axis=1) if metric == "l2" else part @ query
            )
        best = np.argsort(-scores, kind="stable")[:K]
        # The order of summation differs from vprep's by a few roundings.
        same = np.allclose(scores[best], scores[rows], rtol=1e-13, atol=1e-14 * np.abs(scores).max())
        wrong += not same
    return wrong


def main():
    program, base_path, queries_path, metric, rows, counts = sys.argv[1:7]
    rounds = int(sys.argv[7]) if len(sys.argv) > 7 else 5
    base = np.load(base_path, mmap_mode="r")
    rows = min(int(rows), len(base))
    base = np.ascontiguousarray(base[:rows])
    all_queries = np.load(queries_path)
    vprep = Vprep(program, base_path, queries_path, metric)
    threads = os.cpu_count()
    faiss.omp_set_num_threads(threads)
    print(f"{rows:,} x {base.shape[1]}, {metric}, top {K}, {threads} threads, FAISS {faiss.__version__}")
    print(f"load {os.getloadavg()[0]:.1f}, f32 product of the gemm crate {vprep.ask('peak'):.0f} GFLOP/s")
    print("queries   vprep s   FAISS s  (threshold 1)  ratio   Gop/s  wrong of checked")
    for count in map(int, counts.split(",")):
        queries = np.resize(all_queries, (count, base.shape[1])).astype(np.float32)
        times = {"vprep": [], "faiss": [], "blas": []}
        for _ in range(rounds):
            seconds, found = vprep.search(rows, count)
            times["vprep"].append(seconds)
            times["faiss"].append(faiss_search(base, queries, metric, 20)[0])
            if 1 < count:
                times["blas"].append(faiss_search(base, queries, metric, 1)[0])
        medians = {name: statistics.median(values) for name, values in times.items() if values}
        ours = medians.pop("vprep")
        checked = min(count, len(all_queries), 20 if base.size < 1 << 29 else 5)
        errors = wrong(base, queries, metric, found, checked)
        blas = f"{medians['blas']:9.3f}" if "blas" in medians else "        -"
        print(
            f"{count:7,} {ours:9.3f} {medians['faiss']:9.3f} {blas:>14} {min(medians.values()) / ours:7.2f}"
            f" {2 * rows * base.shape[1] * count / ours / 1e9:7.0f}  {errors} of {checked}",
            flush=True,
        )


main()
