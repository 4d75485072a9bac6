"""A model bundle as PyTorch's and ONNX Runtime's sides read it: sizes, weights, tokens."""

import json
import os
import re
import struct

import numpy


def read_safetensors(path):
    """Name to a float32 array, whatever is stored."""
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
        tensors[name] = values.reshape(facts["shape"]).astype(numpy.float32)
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


class Bundle:
    """An OSCAR: BERT over tokens and regions (Li et al., 2020), post-norm, exact GELU."""

    def __init__(self, folder):
        with open(os.path.join(folder, "manifest.json"), encoding="utf-8") as file:
            manifest = json.load(file)
        transformer = manifest["transformer"]
        self.heads = transformer["head_count"]
        self.layers = transformer["layer_count"]
        self.width = transformer["hidden_size"]
        self.epsilon = transformer["layer_norm_epsilon"]
        self.tokenizer = Tokenizer(os.path.join(folder, "vocab.txt"),
                                   manifest["tokenizer"]["max_token_count"])
        self.weights = read_safetensors(os.path.join(folder, "weights.safetensors"))

    def linear(self, name):
        """Weight (out x in) and bias."""
        return self.weights[name + ".weight"], self.weights[name + ".bias"]

    def query_key_value(self, layer):
        """The three projections of a layer's attention as one, which every engine prefers."""
        parts = [self.linear(f"bert.encoder.layer.{layer}.attention.self.{part}")
                 for part in ("query", "key", "value")]
        return (numpy.concatenate([weight for weight, _ in parts]),
                numpy.concatenate([bias for _, bias in parts]))

    def project(self, regions):
        """Regions (... x features) as the corpus encoder stores them: projected, normalised."""
        weight, bias = self.linear("bert.img_embedding")
        rows = regions @ weight.T + bias
        rows -= rows.mean(-1, keepdims=True)
        rows /= numpy.sqrt((rows ** 2).mean(-1, keepdims=True) + self.epsilon)
        gain, shift = self.linear("bert.LayerNorm")
        return rows * gain + shift
