#!/usr/bin/env python3
"""The papers' way, in plain PyTorch: one matrix product over all embeddings, and a
cross-encoder over all candidates in one batch, captions padded to the model's limit and
regions projected for each pair.  No index, no stored projections, no threads but torch's.

usage: baseline.py FOLDER THREADS     (compare.py starts it; data.py says what FOLDER holds)

Reads "TASK FIRST COUNT" lines, does TASK for COUNT queries beginning with the FIRST-th, and
answers {"seconds": of all, "answer": numbers of the last} a line.
"""

import json
import os
import re
import struct
import sys
import time

import data
import numpy
import torch
from torch.nn import functional


def read_safetensors(path):
    with open(path, "rb") as file:
        (length,) = struct.unpack("<Q", file.read(8))
        header = json.loads(file.read(length))
        body = file.read()
    kinds = {"F16": numpy.float16, "F32": numpy.float32}
    tensors = {}
    for name, facts in header.items():
        if name == "__metadata__":
            continue
        begin, end = facts["data_offsets"]
        values = numpy.frombuffer(body[begin:end], kinds[facts["dtype"]])
        tensors[name] = torch.from_numpy(values.reshape(facts["shape"]).astype(numpy.float32))
    return tensors


class Tokenizer:
    """WordPiece of lower-case text in ASCII, which the queries are."""

    def __init__(self, path, longest):
        self.longest = longest
        with open(path, encoding="utf-8") as file:
            self.ids = {token: i for i, token in enumerate(file.read().split("\n")[:-1])}

    def __call__(self, text):
        pieces = []
        for word in re.findall(r"[a-z0-9]+|[^\sa-z0-9]", text.lower()):
            pieces += self.pieces(word)
        return [self.ids["[CLS]"], *pieces[: self.longest - 2], self.ids["[SEP]"]]

    def pieces(self, word):
        ids, begin = [], 0
        while begin < len(word):
            for end in range(len(word), begin, -1):
                piece = ("##" if begin else "") + word[begin:end]
                if piece in self.ids:
                    break
            else:
                return [self.ids["[UNK]"]]
            ids.append(self.ids[piece])
            begin = end
        return ids


class Oscar:
    """BERT over tokens and regions (Li et al., 2020), post-norm, exact GELU."""

    def __init__(self, folder):
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        self.heads = manifest["transformer"]["head_count"]
        self.layers = manifest["transformer"]["layer_count"]
        self.epsilon = manifest["transformer"]["layer_norm_epsilon"]
        self.longest = manifest["tokenizer"]["max_token_count"]
        self.weights = read_safetensors(os.path.join(folder, "weights.safetensors"))

    def linear(self, name, x):
        return functional.linear(x, self.weights[name + ".weight"], self.weights[name + ".bias"])

    def norm(self, name, x):
        return functional.layer_norm(x, x.shape[-1:], self.weights[name + ".weight"],
                                     self.weights[name + ".bias"], self.epsilon)

    def text_rows(self, ids):
        table = "bert.embeddings."
        rows = functional.embedding(ids, self.weights[table + "word_embeddings.weight"])
        rows = rows + self.weights[table + "position_embeddings.weight"][: ids.shape[1]]
        rows = rows + self.weights[table + "token_type_embeddings.weight"][0]
        return self.norm(table + "LayerNorm", rows)

    def region_rows(self, regions):
        return self.norm("bert.LayerNorm", self.linear("bert.img_embedding", regions))

    def encode(self, rows, mask):
        bias = ((1 - mask) * -10000.0)[:, None, None, :]
        batch, length, width = rows.shape

        def by_head(x):
            return x.view(batch, length, self.heads, width // self.heads).transpose(1, 2)

        for layer in range(self.layers):
            at = f"bert.encoder.layer.{layer}."
            query, key, value = (by_head(self.linear(f"{at}attention.self.{part}", rows))
                                 for part in ("query", "key", "value"))
            scores = query @ key.transpose(2, 3) / (width // self.heads) ** 0.5 + bias
            seen = (scores.softmax(-1) @ value).transpose(1, 2).reshape(batch, length, width)
            rows = self.norm(at + "attention.output.LayerNorm",
                             rows + self.linear(at + "attention.output.dense", seen))
            inner = functional.gelu(self.linear(at + "intermediate.dense", rows))
            rows = self.norm(at + "output.LayerNorm",
                             rows + self.linear(at + "output.dense", inner))
        return rows

    def embed_text(self, ids):
        rows = self.encode(self.text_rows(ids), torch.ones(ids.shape))
        return functional.normalize(rows.mean(1))

    def match(self, ids, mask, regions):
        """Probability that the caption matches, of each picture."""
        rows = torch.cat([self.text_rows(ids), self.region_rows(regions)], 1)
        seen = torch.cat([mask, torch.ones(regions.shape[:2])], 1)
        first = self.encode(rows, seen)[:, 0]
        pooled = torch.tanh(self.linear("bert.pooler.dense", first))
        return self.linear("classifier", pooled).softmax(1)[:, 1]


class Baseline:
    def __init__(self, folder):
        self.model = Oscar(os.path.join(folder, "model"))
        self.tokenizer = Tokenizer(os.path.join(folder, "model", "vocab.txt"), self.model.longest)
        self.queries = data.queries(folder)
        self.vectors = torch.from_numpy(numpy.array(data.vectors(folder)))
        self.regions = torch.from_numpy(numpy.array(data.regions(folder)))

    def text_encoding(self, number):
        ids = self.tokenizer(self.queries[number % len(self.queries)])
        return self.model.embed_text(torch.tensor([ids]))

    def search(self, number):
        return self.search_for(self.vectors[number % data.ITEMS][None])

    def search_for(self, query):
        return (query @ self.vectors.t()).topk(data.CANDIDATES, dim=1)

    def reranking(self, number):
        return self.rerank(number, torch.arange(data.CANDIDATES) + number)

    def rerank(self, number, items):
        ids = self.tokenizer(self.queries[number % len(self.queries)])
        padded = torch.zeros((len(items), self.model.longest), dtype=torch.long)
        mask = torch.zeros(padded.shape)
        padded[:, : len(ids)] = torch.tensor(ids)
        mask[:, : len(ids)] = 1
        return self.model.match(padded, mask, self.regions[items % data.PICTURES])

    def end_to_end(self, number):
        found = self.search_for(self.text_encoding(number))
        return self.rerank(number, found.indices[0]).sort(descending=True).values


TASKS = {
    "text_encoding": lambda side, number: side.text_encoding(number)[0],
    "search": lambda side, number: torch.cat([part[0] for part in side.search(number)]),
    "reranking": lambda side, number: side.reranking(number),
    "end_to_end": lambda side, number: side.end_to_end(number),
}


def main():
    torch.set_num_threads(int(sys.argv[2]))
    with torch.no_grad():
        side = Baseline(sys.argv[1])
        print("ready", flush=True)
        for line in sys.stdin:
            task, first, count = line.split()
            begin = time.monotonic()
            for i in range(int(count)):
                answer = TASKS[task](side, int(first) + i)
            seconds = time.monotonic() - begin
            print(json.dumps({"seconds": seconds, "answer": answer.tolist()}), flush=True)


if __name__ == "__main__":
    main()
