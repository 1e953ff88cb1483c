"""Embedding speed of vprep, ONNX Runtime and sentence-transformers, in turn, in one run.

    python speed.py SPEED_PROGRAM MODEL_DIR QUICKSTART_SOURCE [ROUNDS]

SPEED_PROGRAM is the compiled `examples/speed.rs`, QUICKSTART_SOURCE the directory of the quickstart's
parquet files, whose texts are WordNet glosses. Three kinds of texts: glosses as they are; passages, four
glosses each; long texts, of 200 tokens and more. All run the same f32 weights on the same threads, from
texts to normalised vectors. In each round every contender embeds the same texts; what is printed is the
median over the rounds, in tokens/s without padding, and vprep's ratio to each. ONNX Runtime takes the
texts in batches of 4, 8, 16 and 32 as they come, and again sorted by length.
"""

import glob
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import onnxruntime
import pyarrow.parquet
import torch
from sentence_transformers import SentenceTransformer
from tokenizers import Tokenizer
from transformers import AutoModel

TOKENS = 12_000  # of a round, for each contender
MAX_LENGTH = 256


def corpora(source):
    glosses = []
    for path in sorted(glob.glob(f"{source}/base-*.parquet")):
        glosses += pyarrow.parquet.read_table(path)["text"].to_pylist()
    joined = lambda n: ["; ".join(glosses[i : i + n]) for i in range(0, len(glosses) - n, n)]
    return {"glosses": glosses, "passages": joined(4), "long": joined(14)}


class Vprep:
    def __init__(self, program, directory, texts, backend=None):
        self.file = tempfile.NamedTemporaryFile("w", suffix=".json")
        json.dump(texts, self.file)
        self.file.flush()
        command = [program, directory, self.file.name] + ([backend] if backend else [])
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)

    def run(self, start, end):
        """Tokens, and seconds."""
        self.process.stdin.write(f"{start} {end}\n")
        self.process.stdin.flush()
        tokens, seconds = self.process.stdout.readline().split()
        return int(tokens), float(seconds)


class Plain(torch.nn.Module):
    """BERT in operations that every exporter knows, over the weights of transformers' model."""

    def __init__(self, model):
        super().__init__()
        self.model, self.heads = model, model.config.num_attention_heads

    def forward(self, ids, mask, types):
        e = self.model.embeddings
        positions = torch.arange(ids.shape[1])
        x = e.LayerNorm(e.word_embeddings(ids) + e.position_embeddings(positions) + e.token_type_embeddings(types))
        bias = (1 - mask[:, None, None, :].float()) * -1e9
        split = lambda y: y.unflatten(-1, (self.heads, -1)).transpose(1, 2)
        for layer in self.model.encoder.layer:
            a, o = getattr(layer.attention, "self"), layer.attention.output
            q, k, v = split(a.query(x)), split(a.key(x)), split(a.value(x))
            weights = torch.softmax(q @ k.transpose(2, 3) / (q.shape[-1] ** 0.5) + bias, dim=-1)
            x = o.LayerNorm(o.dense((weights @ v).transpose(1, 2).flatten(2)) + x)
            inner = torch.nn.functional.gelu(layer.intermediate.dense(x))
            x = layer.output.LayerNorm(layer.output.dense(inner) + x)
        return x


class Onnx:
    def __init__(self, directory):
        model = Plain(AutoModel.from_pretrained(directory).eval())
        inputs = torch.ones(2, 9, dtype=torch.int64)
        names = ["input_ids", "attention_mask", "token_type_ids"]
        axes = {name: {0: "batch", 1: "length"} for name in [*names, "hidden"]}
        with tempfile.TemporaryDirectory() as folder:
            path = f"{folder}/model.onnx"
            torch.onnx.export(
                model, (inputs, inputs, torch.zeros_like(inputs)), path, input_names=names,
                output_names=["hidden"], dynamic_axes=axes, opset_version=17, dynamo=False,
            )
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = os.cpu_count()
            options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
            self.session = onnxruntime.InferenceSession(path, options, providers=["CPUExecutionProvider"])
        self.tokenizer = Tokenizer.from_file(f"{directory}/tokenizer.json")
        self.tokenizer.enable_truncation(MAX_LENGTH)
        self.tokenizer.enable_padding()

    def run(self, texts, batch):
        vectors = []
        for start in range(0, len(texts), batch):
            encoded = self.tokenizer.encode_batch(texts[start : start + batch])
            mask = np.array([e.attention_mask for e in encoded])
            ids = np.array([e.ids for e in encoded])
            feed = {"input_ids": ids, "attention_mask": mask, "token_type_ids": np.zeros_like(ids)}
            (hidden,) = self.session.run(["hidden"], feed)
            mask = mask[:, :, None].astype(np.float32)
            pooled = (hidden * mask).sum(1) / mask.sum(1)
            vectors.append(pooled / np.linalg.norm(pooled, axis=1, keepdims=True))
        return np.concatenate(vectors)


def timed(work):
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main():
    program, directory, source = sys.argv[1:4]
    rounds = int(sys.argv[4]) if len(sys.argv) > 4 else 5
    torch.set_num_threads(os.cpu_count())
    onnx = Onnx(directory)
    st = SentenceTransformer(directory, device="cpu")
    st.max_seq_length = MAX_LENGTH
    texts = ["a short text", "a text that is somewhat longer than the other one"]
    difference = np.abs(onnx.run(texts, 2) - st.encode(texts, normalize_embeddings=True)).max()
    assert difference < 1e-5, f"ONNX Runtime and sentence-transformers differ by {difference}"
    load = " ".join(Path("/proc/loadavg").read_text().split()[:3])
    print(f"{os.cpu_count()} threads, load {load}, {rounds} rounds, medians; onnxruntime "
          f"{onnxruntime.__version__}, torch {torch.__version__}")
    print(f"{'texts':10}{'tokens':>8}{'vprep':>9}{'onnx':>9}{'batch':>6}{'ratio':>7}"
          f"{'sorted':>9}{'ratio':>7}{'s-t':>9}{'ratio':>7}  tokens/s")
    for name, texts in corpora(source).items():
        vprep = Vprep(program, directory, texts)
        count = 64
        per_text = vprep.run(0, count)[0] / count
        count = max(32, int(TOKENS / per_text))
        seen = {}
        for turn in range(rounds):
            start = turn * count % (len(texts) - count)
            part = texts[start : start + count]
            ordered = sorted(part, key=len)
            tokens, seconds = vprep.run(start, start + count)
            note = lambda key, seconds: seen.setdefault(key, []).append(tokens / seconds)
            note("vprep", seconds)
            for batch in (4, 8, 16, 32):
                note(("onnx", batch), timed(lambda: onnx.run(part, batch)))
                note(("sorted", batch), timed(lambda: onnx.run(ordered, batch)))
                note("vprep", vprep.run(start, start + count)[1])
            note("st", timed(lambda: st.encode(part, batch_size=32, normalize_embeddings=True)))
        rate = {key: statistics.median(values) for key, values in seen.items()}
        best = max((4, 8, 16, 32), key=lambda batch: rate["onnx", batch])
        plain, ordered = rate["onnx", best], max(rate["sorted", b] for b in (4, 8, 16, 32))
        ours = rate["vprep"]
        print(f"{name:10}{per_text:8.1f}{ours:9.0f}{plain:9.0f}{best:6}{ours / plain:7.2f}"
              f"{ordered:9.0f}{ours / ordered:7.2f}{rate['st']:9.0f}{ours / rate['st']:7.2f}")
        single = {"vprep": [], "onnx": [], "s-t": []}
        for i in range(40):
            single["vprep"].append(vprep.run(i, i + 1)[1])
            single["onnx"].append(timed(lambda: onnx.run(texts[i : i + 1], 1)))
            single["s-t"].append(timed(lambda: st.encode(texts[i : i + 1], normalize_embeddings=True)))
        times = ", ".join(f"{key} {statistics.median(value) * 1e3:.1f}" for key, value in single.items())
        print(f"{'':10}one text, ms: {times}")


if __name__ == "__main__":
    main()
