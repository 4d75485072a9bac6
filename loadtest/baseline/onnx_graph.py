#!/usr/bin/env python3
"""Writes a bundle's network as an ONNX file for ONNX Runtime on a CPU.

usage: onnx_graph.py MODEL_FOLDER float32|int8|int8_7bit OUT.onnx    (onnx_peer.py starts it)

A process of its own: Debian 13's python3-onnx and python3-onnxruntime register the same
schemas, so that one process cannot have both; and ONNX Runtime's tools, which would fuse and
quantise, want both.  So the graph is written as they leave it: attention, bias with GELU,
residual with LayerNorm are ONNX Runtime's own operators (com.microsoft).  int8 is what
quantize_dynamic(per_channel=True) makes: weights per channel; DynamicQuantizeMatMul is
DynamicQuantizeLinear, MatMulInteger and the scaling back, fused as the runtime fuses them.
int8_7bit is its reduce_range, for CPUs whose 8-bit products saturate (no VNNI).

Inputs:  ids 1 x tokens int64; regions pictures x regions x width float32, projected.
Outputs: embedding, pictures x width; score, a probability for each picture.
Pictures may have no regions: then it is text alone.
"""

import sys

import bundle
import numpy
import onnx
from onnx import TensorProto, helper, numpy_helper

FUSED = "com.microsoft"


class Graph:
    """Nodes and constants in the order in which they are added."""

    def __init__(self, stored, bits):
        self.stored, self.bits = stored, bits  # 32: not quantised
        self.nodes, self.constants = [], []

    def constant(self, values, name):
        self.constants.append(numpy_helper.from_array(numpy.array(values, order="C"), name))
        return name

    def add(self, kind, inputs, domain="", outputs=1, **attributes):
        names = [f"{kind}_{len(self.nodes)}_{i}" for i in range(outputs)]
        self.nodes.append(helper.make_node(kind, inputs, names, domain=domain, **attributes))
        return names[0] if outputs == 1 else names

    def product(self, rows, weight, name):
        """Without bias, which the operator behind it adds; `weight` is out x in."""
        if self.bits == 32:
            return self.add("MatMul", [rows, self.constant(weight.T, name)])
        limit = 2 ** (self.bits - 1) - 1
        scale = numpy.abs(weight).max(1) / limit
        scale[scale == 0] = 1
        quantised = numpy.rint(weight / scale[:, None]).astype(numpy.int8)
        return self.add("DynamicQuantizeMatMul",
                        [rows, self.constant(quantised.T, name),
                         self.constant(scale.astype(numpy.float32), name + ".scale"),
                         self.constant(numpy.zeros(len(scale), numpy.int8), name + ".zero")],
                        domain=FUSED)

    def residual_norm(self, rows, residual, name, bias):
        gain, shift = self.stored.linear(name)
        return self.add("SkipLayerNormalization",
                        [rows, residual, self.constant(gain, name + ".weight"),
                         self.constant(shift, name + ".bias"), bias],
                        domain=FUSED, epsilon=self.stored.epsilon)

    def layer(self, rows, number):
        at = f"bert.encoder.layer.{number}."
        stored = self.stored

        def biased(name):
            weight, bias = stored.linear(at + name)
            return weight, self.constant(bias, at + name + ".bias")

        weight, bias = stored.query_key_value(number)
        parts = self.product(rows, weight, at + "query_key_value")
        parts = self.add("Add", [parts, self.constant(bias, at + "query_key_value.bias")])
        parts = self.add("Split", [parts], outputs=3, axis=-1, num_outputs=3)
        seen = self.add("MultiHeadAttention", parts, domain=FUSED, num_heads=stored.heads)
        weight, bias = biased("attention.output.dense")
        seen = self.product(seen, weight, at + "attention.output.dense")
        rows = self.residual_norm(seen, rows, at + "attention.output.LayerNorm", bias)
        weight, bias = biased("intermediate.dense")
        inner = self.product(rows, weight, at + "intermediate.dense")
        inner = self.add("BiasGelu", [inner, bias], domain=FUSED)
        weight, bias = biased("output.dense")
        outer = self.product(inner, weight, at + "output.dense")
        return self.residual_norm(outer, rows, at + "output.LayerNorm", bias)

    def text_rows(self):
        table = "bert.embeddings."
        weights = self.stored.weights
        words = self.constant(weights[table + "word_embeddings.weight"], "words")
        places = self.constant(weights[table + "position_embeddings.weight"] +
                               weights[table + "token_type_embeddings.weight"][0], "places")
        zero, one = (self.constant(numpy.array([i], numpy.int64), f"index_{i}") for i in (0, 1))
        length = self.add("Shape", ["ids"], start=1)
        rows = self.add("Add", [self.add("Gather", [words, "ids"]),
                                self.add("Slice", [places, zero, length, zero])])
        gain, shift = self.stored.linear(table + "LayerNorm")
        rows = self.add("LayerNormalization",
                        [rows, self.constant(gain, "gain"), self.constant(shift, "shift")],
                        axis=-1, epsilon=self.stored.epsilon)
        pictures = self.add("Shape", ["regions"], start=0, end=1)
        return self.add("Expand", [rows, self.add("Concat", [pictures, one, one], axis=0)])

    def heads(self, rows):
        mean = self.add("ReduceMean", [rows, self.constant(numpy.array([1], numpy.int64), "axis")],
                        keepdims=0)
        first = self.add("Gather", [rows, self.constant(numpy.array(0, numpy.int64), "row")],
                         axis=1)
        for name in ("bert.pooler.dense", "classifier"):
            weight, bias = self.stored.linear(name)
            first = self.add("Gemm", [first, self.constant(weight, name + ".weight"),
                                      self.constant(bias, name + ".bias")], transB=1)
            if name != "classifier":
                first = self.add("Tanh", [first])
        score = self.add("Softmax", [first], axis=1)
        match = self.constant(numpy.array(1, numpy.int64), "match")
        self.nodes += [helper.make_node("LpNormalization", [mean], ["embedding"], axis=-1, p=2),
                       helper.make_node("Gather", [score, match], ["score"], axis=1)]

    def model(self):
        rows = self.add("Concat", [self.text_rows(), "regions"], axis=1)
        for number in range(self.stored.layers):
            rows = self.layer(rows, number)
        self.heads(rows)
        width = self.stored.width
        info = helper.make_tensor_value_info
        graph = helper.make_graph(
            self.nodes, "oscar",
            [info("ids", TensorProto.INT64, [1, "tokens"]),
             info("regions", TensorProto.FLOAT, ["pictures", "regions", width])],
            [info("embedding", TensorProto.FLOAT, ["pictures", width]),
             info("score", TensorProto.FLOAT, ["pictures"])], self.constants)
        return helper.make_model(graph, ir_version=9, opset_imports=[
            helper.make_opsetid("", 19), helper.make_opsetid(FUSED, 1)])


def main():
    folder, precision, out = sys.argv[1:]
    bits = {"float32": 32, "int8": 8, "int8_7bit": 7}[precision]
    onnx.save(Graph(bundle.Bundle(folder), bits).model(), out)


if __name__ == "__main__":
    main()
