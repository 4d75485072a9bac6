#!/usr/bin/env python3
"""PyTorch as a peer: what is best of it for a BERT on a CPU, by precision.

usage: torch_peer.py FOLDER THREADS float32|bfloat16|int8 [compiled]   (peers.py starts it)

Query, key and value are one product, attention is PyTorch's fused one, and nothing is
padded.  bfloat16 is of the blocks; embeddings and heads, which cost nothing, stay in float32.
int8 is dynamic: weights per channel beforehand, activations per product as it runs.
"compiled" is torch.compile with constants folded, and for int8 PyTorch's own way there:
export, quantisation for the x86 backend, compilation.
"""

import ctypes
import os
import sys
import warnings

import data
import numpy
import peer
import torch
from torch import nn
from torch.nn import functional

SLEEF = "libsleef.so.3"


def linear(weight_and_bias):
    weight, bias = (torch.from_numpy(numpy.array(values)) for values in weight_and_bias)
    made = nn.Linear(*reversed(weight.shape))
    made.weight, made.bias = nn.Parameter(weight), nn.Parameter(bias)
    return made


def layer_norm(stored, name):
    made = nn.LayerNorm(stored.width, stored.epsilon)
    made.weight, made.bias = (nn.Parameter(torch.from_numpy(values))
                              for values in stored.linear(name))
    return made


class Layer(nn.Module):
    def __init__(self, stored, number):
        super().__init__()
        at = f"bert.encoder.layer.{number}."
        self.heads = stored.heads
        self.query_key_value = linear(stored.query_key_value(number))
        self.seen = linear(stored.linear(at + "attention.output.dense"))
        self.seen_norm = layer_norm(stored, at + "attention.output.LayerNorm")
        self.inner = linear(stored.linear(at + "intermediate.dense"))
        self.outer = linear(stored.linear(at + "output.dense"))
        self.outer_norm = layer_norm(stored, at + "output.LayerNorm")

    def forward(self, rows):
        batch, length, width = rows.shape
        parts = self.query_key_value(rows).view(batch, length, 3, self.heads, -1)
        query, key, value = parts.permute(2, 0, 3, 1, 4).float().unbind(0)
        seen = functional.scaled_dot_product_attention(query, key, value)
        seen = seen.transpose(1, 2).reshape(batch, length, width).to(rows.dtype)
        rows = self.seen_norm(rows + self.seen(seen))
        return self.outer_norm(rows + self.outer(functional.gelu(self.inner(rows))))


class Blocks(nn.Module):
    """What is computed in another precision, and all that takes time."""

    def __init__(self, stored):
        super().__init__()
        self.layers = nn.Sequential(*(Layer(stored, i) for i in range(stored.layers)))

    def forward(self, rows):
        return self.layers(rows)


class Ends(nn.Module):
    """Before and behind the blocks."""

    def __init__(self, stored):
        super().__init__()
        table = "bert.embeddings."
        weights = {name: torch.from_numpy(values) for name, values in stored.weights.items()}
        self.words = weights[table + "word_embeddings.weight"]
        self.places = (weights[table + "position_embeddings.weight"] +
                       weights[table + "token_type_embeddings.weight"][0])
        self.norm = layer_norm(stored, table + "LayerNorm")
        self.pooler = linear(stored.linear("bert.pooler.dense"))
        self.classifier = linear(stored.linear("classifier"))

    def text_rows(self, ids):
        return self.norm(functional.embedding(ids, self.words) + self.places[: ids.shape[1]])

    def embedding(self, rows):
        return functional.normalize(rows.mean(1))

    def score(self, rows):
        pooled = torch.tanh(self.pooler(rows[:, 0]))
        return self.classifier(pooled).softmax(1)[:, 1]


class Engine:
    def __init__(self, stored, of_text, of_pairs, dtype):
        self.ends = Ends(stored)
        self.of_text, self.of_pairs, self.dtype = of_text, of_pairs, dtype

    def embed(self, ids):
        rows = self.ends.text_rows(torch.from_numpy(ids)).to(self.dtype)
        return self.ends.embedding(self.of_text(rows).float()).numpy()

    def match(self, ids, regions):
        text = self.ends.text_rows(torch.from_numpy(ids)).expand(len(regions), -1, -1)
        rows = torch.cat([text, torch.from_numpy(regions)], 1).to(self.dtype)
        return self.ends.score(self.of_pairs(rows).float()).numpy()


class WholeRange(nn.Module):
    """A quantised Linear whose activations have 8 bits; PyTorch's own leaves them 7, which only
    CPUs need whose products saturate."""

    def __init__(self, made):
        super().__init__()
        self.packed = made._packed_params._packed_params

    def forward(self, rows):
        return torch.ops.quantized.linear_dynamic(rows, self.packed, False)


def quantised(blocks):
    """By the best engine that this build of PyTorch has."""
    from torch.ao import quantization
    engines = torch.backends.quantized.supported_engines
    engine = next((name for name in ("x86", "fbgemm", "onednn") if name in engines), None)
    if engine is None:
        raise RuntimeError(f"PyTorch quantises by none of {', '.join(engines)} on this CPU")
    torch.backends.quantized.engine = engine
    wanted = {nn.Linear: quantization.per_channel_dynamic_qconfig}
    blocks = quantization.quantize_dynamic(blocks, wanted)
    if peer.has_vnni():
        for layer in blocks.layers:
            for name in ("query_key_value", "seen", "inner", "outer"):
                setattr(layer, name, WholeRange(getattr(layer, name)))
    return blocks


def exported_quantised(blocks, rows):
    from torch.ao.quantization import quantize_pt2e
    from torch.ao.quantization.quantizer import x86_inductor_quantizer as x86
    quantizer = x86.X86InductorQuantizer().set_global(
        x86.get_default_x86_inductor_quantization_config(is_dynamic=True,
                                                         reduce_range=not peer.has_vnni()))
    prepared = quantize_pt2e.prepare_pt2e(
        torch.export.export_for_training(blocks, (rows,)).module(), quantizer)
    prepared(rows)
    return quantize_pt2e.convert_pt2e(prepared)


def check_vectors():
    """Without these torch.compile says nothing and makes code several times as slow."""
    # What it compiles does not name this library, which Debian's PyTorch has not built in.
    ctypes.CDLL(SLEEF, ctypes.RTLD_GLOBAL)
    os.environ["LD_PRELOAD"] = SLEEF  # of the processes in which it tries what it compiled
    from torch._inductor import cpu_vec_isa
    if not cpu_vec_isa.valid_vec_isa_list():
        raise RuntimeError("torch.compile cannot build for this CPU's vector instructions")


def compiled(blocks, rows, precision):
    from torch._inductor import config
    # Weights are packed and products chosen by trying; in float32 that takes oneDNN's products
    # in place of OpenBLAS's, which are faster.
    config.freezing = config.max_autotune = precision != "float32"
    if precision == "int8":
        blocks = exported_quantised(blocks, rows)
    return torch.compile(blocks, dynamic=False)


def engine_of(stored, precision, compile_it):
    dtype = torch.bfloat16 if precision == "bfloat16" else torch.float32
    blocks = Blocks(stored).eval().to(dtype)
    if not compile_it:
        if precision == "int8":
            blocks = quantised(blocks)
        return Engine(stored, blocks, blocks, dtype)
    check_vectors()
    # A function for each shape.
    shapes = ((1, data.TOKENS), (data.CANDIDATES, data.TOKENS + data.REGIONS))
    of_text, of_pairs = (compiled(blocks, torch.zeros(*shape, stored.width, dtype=dtype), precision)
                         for shape in shapes)
    return Engine(stored, of_text, of_pairs, dtype)


def main():
    warnings.filterwarnings("ignore")
    torch.set_num_threads(int(sys.argv[2]))
    with torch.no_grad():
        peer.serve(sys.argv[1],
                   lambda stored: engine_of(stored, sys.argv[3], "compiled" in sys.argv[4:]))


if __name__ == "__main__":
    main()
