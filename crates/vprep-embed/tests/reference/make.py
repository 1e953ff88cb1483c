"""Makes the texts and the reference vectors of this directory, with PyTorch in float64.

    python make.py DIRECTORY_OF_ALL_MINILM_L6_V2

Needs numpy, torch and transformers. Run by hand when the texts change; the tests need only what it
wrote: texts.json (texts for the real model), minilm.npy (their vectors by all-MiniLM-L6-v2),
ids.json (the tokens of
those that are odd, cut at 512), seeded.json (texts of 3 tokens and more) and seeded.npy (their vectors by a BERT of the shape of
bge-small-en-v1.5 with the weights of `seeded_weights`, CLS pooling, 512 tokens).
"""

import json
import random
import sys
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from transformers import AutoTokenizer, BertConfig, BertModel

HERE = Path(__file__).parent
ODD = [
    "", " ", "\t\r\n", "a", "?", "...", "\u0000", "a\u0000b", "\u0085", "one\u0085two", "\ufeffmark", "\ufffd",
    "line one\nline two\r\nline three", 'say "yes", \'no\'', "tab\tseparated\tvalues", "\u200bzero\u200bwidth",
    "soft\u00adhyphen", "non\u00a0breaking", "\u2028line\u2029paragraph", "bell\u0007 escape\u001b[0m", "\u202eright to left",
    "café", "cafe\u0301", "naïve Ångström Straße", "İstanbul ıspanak", "ΑΒΓ αβγς", "Привет, мир", "שלום עולם", "مرحبا بالعالم",
    "नमस्ते दुनिया", "สวัสดีชาวโลก", "안녕하세요 세계", "こんにちは世界", "カタカナ ひらがな", "你好，世界", "漢字 kanji 漢字", "\U00020000\U0002a6d6",
    "😀", "👩‍👩‍👧‍👦 family", "🇩🇪🇫🇷", "text with 🚀 and 🎉", "👍🏽", "①②③ ½ ⅷ", "ﬁ ﬂ ligatures", "ｆｕｌｌｗｉｄｔｈ", "x² + y² = z²",
    "∑∏∫√∞≠≤", "€100 £50 ¥7", "user@example.org", "https://example.org/a?b=c&d=%20#e", "C:\\path\\file", "/usr/bin/env", "1,234,567.89",
    "2026-01-31T23:59:59Z", "CamelCaseWord snake_case_word kebab-case-word", "UPPER lower MiXeD", "[CLS] [SEP] [PAD] [MASK] [UNK]",
    "##ing ##ed", "[unused0]", "<b>bold</b> &amp; <br/>", "{\"key\": [1, 2, null]}", "SELECT * FROM t WHERE a = 'b';", "$x^2$ \\frac{a}{b}",
    "don't can't it's", "aaaaaaaaaa" * 9, "a" * 100, "a" * 101, "pneumonoultramicroscopicsilicovolcanoconiosis", "!" * 300, "\U0010ffff", "\ue000",
    "e" + "\u0301" * 40, "trailing space ", " leading space", "many      spaces", "ﷺ", "ℌ𝔢𝔩𝔩𝔬", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "a\u0300\u0301\u0302", "\u1e9e", "ǆ ǅ Ǆ", "०१२३",
]


def texts(words):
    """The odd ones, then seeded sentences of 1 to 600 words."""
    draw = random.Random(20261022)
    made = list(ODD)
    for i in range(240):
        count = 1 + i % 30 if i < 150 else draw.randrange(31, 120) if i < 210 else draw.randrange(120, 601)
        made.append(" ".join(draw.choice(words) for _ in range(count)))
    return made


def splitmix(seed, count):
    """`count` values from -0.5 to 0.5, in f32: step i of SplitMix64 from `seed`, its upper 24 bits."""
    with np.errstate(over="ignore"):
        z = np.uint64(seed) + (np.arange(count, dtype=np.uint64) + np.uint64(1)) * np.uint64(0x9E3779B97F4A7C15)
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        z = z ^ (z >> np.uint64(31))
    return (z >> np.uint64(40)).astype(np.float32) / np.float32(1 << 24) - np.float32(0.5)


def seeded_weights(model):
    """Fills the model. Tensor t, in the order of their sorted names, has seed t * 2^32. Matrices and biases
    are 0.25 times the values, embeddings as they are; scales of layer norms are 1 plus the values."""
    tensors = {name: p for name, p in model.named_parameters() if not name.startswith("pooler.")}
    for seed, name in enumerate(sorted(tensors)):
        values = splitmix(seed << 32, tensors[name].numel())
        if name.endswith("LayerNorm.weight"):
            values = values + np.float32(1)
        elif not name.startswith("embeddings."):
            values = values * np.float32(0.25)
        tensors[name].data = torch.from_numpy(values.reshape(tensors[name].shape).copy())


def embed(model, tokenizer, batch, length, pooling):
    model = model.double().eval()
    vectors = []
    for text in batch:
        encoded = tokenizer(text, truncation=True, max_length=length, return_tensors="pt")
        with torch.no_grad():
            hidden = model(**encoded).last_hidden_state[0]
        pooled = hidden[0] if pooling == "cls" else hidden.mean(0)
        vectors.append(torch.nn.functional.normalize(pooled, dim=0).float().numpy())
    return np.stack(vectors)


def ids(path):
    tokenizer = Tokenizer.from_file(str(path))
    tokenizer.no_padding()
    tokenizer.enable_truncation(512)
    return [tokenizer.encode(text).ids for text in ODD]


def save(name, content):
    if name.endswith(".npy"):
        np.save(HERE / name, content)
    else:
        (HERE / name).write_text("[\n" + ",\n".join(map(json.dumps, content)) + "\n]\n")


def main():
    directory = sys.argv[1]
    torch.set_num_threads(1)
    tokenizer = AutoTokenizer.from_pretrained(directory)
    vocabulary = sorted(tokenizer.get_vocab(), key=tokenizer.get_vocab().get)
    words = [word for word in vocabulary if word.isascii() and word.isalpha() and len(word) > 2]
    batch = texts(words)
    save("texts.json", batch)
    save("ids.json", ids(Path(directory) / "tokenizer.json"))
    save("minilm.npy", embed(BertModel.from_pretrained(directory), tokenizer, batch, 256, "mean"))

    # The shape of bge-small-en-v1.5.
    config = BertConfig(hidden_size=384, num_hidden_layers=12, num_attention_heads=12, intermediate_size=1536)
    model = BertModel(config, add_pooling_layer=False)
    seeded_weights(model)
    draw = random.Random(7)
    lengths = [3, 4, 5, 7, 8, 15, 16, 17, 31, 33, 47, 64, 65, 100, 128, 200, 255, 256, 257, 384, 511, 512, 513, 700]
    batch = [" ".join(draw.choice(words) for _ in range(length - 2)) for length in lengths]
    save("seeded.json", batch)
    save("seeded.npy", embed(model, tokenizer, batch, 512, "cls"))


if __name__ == "__main__":
    main()
