"""HDF5 files as h5py writes them, in every layout that ann-benchmarks' files occur in."""

import h5py
import numpy as np
import pytest

N, DIM, Q, K = 257, 12, 9, 10
RNG = np.random.default_rng(7)
TRAIN = RNG.standard_normal((N, DIM))
TEST = RNG.standard_normal((Q, DIM))

LAYOUTS = {
    "contiguous": lambda shape: {},
    "chunks": lambda shape: {"chunks": (32, shape[1])},
    "chunks across rows, gzip": lambda shape: {"chunks": (5, 5), "compression": "gzip"},
    "gzip and shuffle": lambda shape: {"chunks": (4, shape[1]), "compression": "gzip", "shuffle": True},
    "checksums": lambda shape: {"chunks": (9, shape[1]), "fletcher32": True},
    "lzf": lambda shape: {"chunks": (9, shape[1]), "compression": "lzf", "shuffle": True},
    "as h5py chooses": lambda shape: {"chunks": True, "compression": 4},
    "growing": lambda shape: {"maxshape": (None, shape[1])},
    "growing both ways": lambda shape: {"maxshape": (None, None), "chunks": (16, 4)},
}


def write(path, train=TRAIN, test=TEST, kind="f4", libver=("earliest", "latest"), layout="contiguous", text=str):
    """A file by ann-benchmarks' rules, with exact neighbours by Euclidean distance."""
    d = np.linalg.norm(test[:, None] - train[None], axis=2)
    ids = np.argsort(d, axis=1, kind="stable")[:, :K]
    with h5py.File(path, "w", libver=libver) as file:
        for name, array in {
            "train": train.astype(kind),
            "test": test.astype(kind),
            "neighbors": ids.astype("i8" if kind == "f8" else "i4"),
            "distances": np.take_along_axis(d, ids, axis=1).astype("f8" if kind == "f8" else "f4"),
        }.items():
            options = LAYOUTS[layout](array.shape)
            if isinstance(options.get("chunks"), tuple) and "maxshape" not in options:
                options["chunks"] = tuple(map(min, options["chunks"], array.shape))
            file.create_dataset(name, data=array, **options)
        file.attrs["type"] = text("dense")
        file.attrs["distance"] = text("euclidean")
        file.attrs["dimension"] = train.shape[1]
        file.attrs["point_type"] = text("float")


def imported(vprep, name, *options):
    for role in ("base", "queries"):
        vprep("import", name, "--role", role, "--metric", "l2", "-d", "d", *options)
    base, queries = (np.load(vprep.home / "d" / f"{role}.f32.npy") for role in ("base", "queries"))
    assert base.dtype == queries.dtype == np.float32
    return base, queries


@pytest.mark.parametrize("libver", ["earliest", "v108", "v110", "v114", "latest"])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_every_layout_of_every_version(vprep, layout, libver):
    for name, kind, text in (("a.hdf5", "f4", str), ("b.h5", "f8", np.bytes_)):
        write(vprep.home / name, kind=kind, libver=(libver, "latest"), layout=layout, text=text)
        base, queries = imported(vprep, name)
        assert np.array_equal(base, TRAIN.astype(kind).astype("f4"))
        assert np.array_equal(queries, TEST.astype(kind).astype("f4"))


@pytest.mark.parametrize("kind", ["f2", "f4", "f8", ">f2", ">f4", ">f8", "i1", "u1"])
def test_every_type(vprep, kind):
    scale = 1 if "f" in kind else 40
    shift = 128 if kind == "u1" else 0
    train, test = (np.clip(a * scale + shift, shift - 128, shift + 127) for a in (TRAIN, TEST))
    for layout in ("contiguous", "gzip and shuffle"):
        write(vprep.home / "a.hdf5", train, test, kind, layout=layout)
        base, queries = imported(vprep, "a.hdf5")
        assert np.array_equal(base, train.astype(kind).astype("f4"))
        assert np.array_equal(queries, test.astype(kind).astype("f4"))


def test_the_truth_of_what_was_imported_is_the_file_s(vprep):
    write(vprep.home / "a.hdf5", layout="gzip and shuffle")
    imported(vprep, "a.hdf5")
    vprep("truth", "--k", K, "-d", "d")
    with h5py.File(vprep.home / "a.hdf5") as file:
        assert np.array_equal(np.load(vprep.home / "d/truth.ids.npy"), file["neighbors"])
        squared = np.load(vprep.home / "d/truth.scores.npy")
        np.testing.assert_allclose(np.sqrt(squared), file["distances"], rtol=1e-6)


def test_a_dataset_by_name(vprep):
    with h5py.File(vprep.home / "a.h5", "w") as file:
        file["deep/er/emb"] = TRAIN.astype("f4")
        file["soft"] = h5py.SoftLink("/deep/er/emb")
        file["text"] = "words"
    for name in ("deep/er/emb", "/deep/er/emb", "soft"):
        vprep("import", "a.h5", "--role", "base", "--vector-column", name, "-d", "d")
        assert np.array_equal(np.load(vprep.home / "d/base.f32.npy"), TRAIN.astype("f4"))
    line = vprep.fails("import", "a.h5", "--role", "queries", "-d", "d")
    assert "has no dataset `test`" in line and "--vector-column" in line
    line = vprep.fails("import", "a.h5", "--role", "base", "--vector-column", "text", "-d", "d")
    assert "`text`" in line



def outside(file):
    with h5py.File(file.filename + ".other", "w") as other:
        other["train"] = TRAIN
    file["train"] = h5py.ExternalLink(other_name(file), "/train")


def other_name(file):
    return file.filename + ".other"


def virtual(file):
    with h5py.File(other_name(file), "w") as other:
        other["train"] = TRAIN
    layout = h5py.VirtualLayout((N, DIM), "f8")
    layout[...] = h5py.VirtualSource(other_name(file), "train", (N, DIM))
    file.create_virtual_dataset("train", layout)


def external(file):
    TRAIN.tofile(other_name(file))
    file.create_dataset("train", (N, DIM), "f8", external=[(other_name(file), 0, N * DIM * 8)])


def put(data):
    return lambda file: file.create_dataset("train", data=data)


REFUSED = {
    "in another file by a link": (outside, "points out of the file"),
    "in another file as a view": (virtual, "points out of the file"),
    "in another file as raw bytes": (external, "points out of the file"),
    "one dimension": (put(TRAIN.ravel()), "two dimensions"),
    "three dimensions": (put(TRAIN[None]), "two dimensions"),
    "no rows": (put(TRAIN[:0]), "holds no vectors"),
    "integers": (put(TRAIN.astype("i4")), "i32"),
    "bits": (put(TRAIN > 0), "`train`"),
    "complex numbers": (put(TRAIN.astype("c8")), "`train`"),
    "NaN": (put(np.where(np.eye(N, DIM, 2, bool), np.nan, TRAIN)), "row"),
    "beyond float32": (put(TRAIN * 1e39), "range of float32"),
    "never written": (lambda file: file.create_dataset("train", (10**9, 768), "f4"), "not all written"),
    "never written, in chunks": (
        lambda file: file.create_dataset("train", (10**12, 768), "f4", chunks=(100, 768), compression=1),
        "not all written",
    ),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_holds_no_vectors_is_refused(vprep, case):
    make, word = REFUSED[case]
    with h5py.File(vprep.home / "a.hdf5", "w") as file:
        make(file)
    line = vprep.fails("import", "a.hdf5", "--role", "base", "-d", "d")
    assert "a.hdf5" in line and word in line
    assert not (vprep.home / "d/base.f32.npy").exists()


@pytest.mark.parametrize("libver", ["earliest", "latest"])
@pytest.mark.parametrize("layout", ["contiguous", "gzip and shuffle"])
def test_a_file_cut_short_or_changed_is_an_error_or_read(vprep, layout, libver):
    write(vprep.home / "a.hdf5", libver=(libver, "latest"), layout=layout)
    whole = (vprep.home / "a.hdf5").read_bytes()
    rng = np.random.default_rng(3)
    for turn in range(40):
        bytes_ = bytearray(whole)
        if turn % 2:
            del bytes_[rng.integers(len(bytes_)) :]
        else:
            for at in rng.integers(min(len(bytes_), 4096), size=3):
                bytes_[at] ^= 1 << rng.integers(8)
        (vprep.home / "a.hdf5").write_bytes(bytes_)
        done = vprep.start("import", "a.hdf5", "--role", "base", "-d", "d")
        _, said = done.communicate(timeout=60)
        assert done.returncode in (0, 3) and "panicked" not in str(said)
