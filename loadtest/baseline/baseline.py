#!/usr/bin/env python3
"""The papers' way, in plain PyTorch: one matrix product over all embeddings, and a
cross-encoder over all candidates in one batch, captions padded to the model's limit and
regions projected for each pair.  No index, no stored projections, no threads but torch's.

usage: baseline.py FOLDER THREADS     (compare.py starts it; data.py says what FOLDER holds,
                                      side.py what is said)
"""

import os
import sys

import bundle
import data
import numpy
import side
import torch
from torch.nn import functional


class Oscar:
    """A bundle's network, written out."""

    def __init__(self, folder):
        stored = bundle.Bundle(folder)
        self.heads, self.layers, self.epsilon = stored.heads, stored.layers, stored.epsilon
        self.tokenizer = stored.tokenizer
        self.weights = {name: torch.from_numpy(values) for name, values in stored.weights.items()}

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
        self.tokenizer = self.model.tokenizer
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
        padded = torch.zeros((len(items), self.tokenizer.longest), dtype=torch.long)
        mask = torch.zeros(padded.shape)
        padded[:, : len(ids)] = torch.tensor(ids)
        mask[:, : len(ids)] = 1
        return self.model.match(padded, mask, self.regions[items % data.PICTURES])

    def end_to_end(self, number):
        found = self.search_for(self.text_encoding(number))
        return self.rerank(number, found.indices[0]).sort(descending=True).values


def main():
    torch.set_num_threads(int(sys.argv[2]))
    with torch.no_grad():
        baseline = Baseline(sys.argv[1])
        side.serve({
            "text_encoding": lambda number: baseline.text_encoding(number)[0].tolist(),
            "search": lambda number: torch.cat([part[0] for part in
                                                baseline.search(number)]).tolist(),
            "reranking": lambda number: baseline.reranking(number).tolist(),
            "end_to_end": lambda number: baseline.end_to_end(number).tolist(),
        })


if __name__ == "__main__":
    main()
