"""Vectors in the formats of other tools, written here by numpy."""

import json

import numpy as np
import pytest

ROWS, DIM = 300, 24


def small_integers():
    """Numbers that every type of these formats holds exactly."""
    return np.random.default_rng(7).integers(0, 128, (ROWS, DIM))


def bin_with(header, dtype, sign=1):
    def write(path, numbers):
        values = (sign * numbers).astype(dtype)
        path.write_bytes(np.array(numbers.shape, header).tobytes() + values.tobytes())
        return values

    return write


def vecs(dtype):
    def write(path, numbers):
        values = numbers.astype(dtype)
        head = np.full((len(values), 1), values.shape[1], "<i4").view(np.uint8)
        path.write_bytes(np.hstack([head, values.view(np.uint8)]).tobytes())
        return values

    return write


def arrays(path, numbers):
    path.write_text("".join(json.dumps(row) + "\n" for row in numbers.tolist()))
    return numbers


def objects(path, numbers):
    rows = ({"id": f"v{i}", "emb": row, "text": "x"} for i, row in enumerate(numbers.tolist()))
    path.write_text("\n".join(map(json.dumps, rows)))
    return numbers


WRITERS = {
    "a.fbin": bin_with("<u4", "<f4", -1),
    "long.fbin": bin_with("<u8", "<f4", -1),
    "a.f16bin": bin_with("<u4", "<f2", -1),
    "a.hbin": bin_with("<u4", "<f2"),
    "long.f16bin": bin_with("<u8", "<f2"),
    "a.u8bin": bin_with("<u4", "u1"),
    "long.u8bin": bin_with("<u8", "u1"),
    "a.i8bin": bin_with("<u4", "i1", -1),
    "long.i8bin": bin_with("<u8", "i1", -1),
    "a.fvecs": vecs("<f4"),
    "a.bvecs": vecs("u1"),
    "half.npy": lambda path, n: np.save(path, n.astype("<f2")) or n,
    "arrays.jsonl": arrays,
    "objects.jsonl": objects,
}


@pytest.mark.parametrize("name", WRITERS)
def test_vectors_are_the_numbers_they_were(vprep, tmp_path, name):
    expected = WRITERS[name](tmp_path / name, small_integers())
    dataset = tmp_path / "dataset"
    vprep("import", tmp_path / name, "--role", "base", "-d", dataset)
    base = np.load(dataset / "base.f32.npy")
    assert base.dtype == np.float32
    assert np.array_equal(base, expected.astype(np.float32))


def test_a_file_that_neither_header_fits_names_both_sizes(vprep, tmp_path):
    path = tmp_path / "a.u8bin"
    path.write_bytes(np.array([2, 3], "<u8").tobytes() + bytes(5))
    done = vprep("import", path, "--role", "base", "-d", tmp_path / "dataset", code=3)
    assert "which make 8 bytes" in done.stderr and "which make 22 bytes" in done.stderr
    assert not (tmp_path / "dataset" / "base.f32.npy").exists()
