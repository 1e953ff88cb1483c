"""`inspect` against planted faults."""

import numpy as np


def test_duplicates_and_contained_queries_are_found(vprep):
    rng = np.random.default_rng(5)
    base = rng.standard_normal((300, 8)).astype("<f4")
    base[[10, 20, 30, 40]] = base[5]
    base[[100, 200]] = base[50]
    queries = rng.standard_normal((20, 8)).astype("<f4")
    queries[[3, 4]] = base[7]
    queries[9] = base[40]
    for name, vectors in [("base", base), ("queries", queries)]:
        np.save(vprep.home / f"{name}.npy", vectors)
        vprep("import", f"{name}.npy", "--role", name, "-d", "d")

    found = vprep.json("inspect", "d")
    counts = [(s["duplicate_rows"], s["duplicate_groups"], s["largest_group"]) for s in found["sets"]]
    assert counts == [(6, 2, 5), (1, 1, 2)]
    assert [note for note in found["notes"] if note.startswith("3 queries are rows of the base")]
    text = vprep("inspect", "d").stdout
    assert "  duplicates   6 in 2 groups, the largest of 5 rows\n" in text

    # Other queries share nothing, and a set without duplicates has groups of one row.
    np.save(vprep.home / "other.npy", rng.standard_normal((20, 8)).astype("<f4"))
    vprep("import", "base.npy", "--role", "base", "-d", "e")
    vprep("import", "other.npy", "--role", "queries", "-d", "e")
    found = vprep.json("inspect", "e")
    assert not [note for note in found["notes"] if "rows of the base" in note]
    assert found["sets"][1]["duplicate_groups"] == 0 and found["sets"][1]["largest_group"] == 1
