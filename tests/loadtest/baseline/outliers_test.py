"""Planted outlier channels: in every LayerNorm of a layer, and nowhere else."""

import json
import os
import struct
import sys

import cases  # which finds the modules
import bundle
import numpy
import outliers

NORMS = ["bert.encoder.layer.0.attention.output.LayerNorm.weight",
         "bert.encoder.layer.11.output.LayerNorm.bias"]
OTHERS = ["bert.embeddings.LayerNorm.weight", "bert.encoder.layer.0.output.dense.bias"]


class Outliers(cases.Case):
    def test_the_same_channels_of_each_layer_are_larger(self):
        values = numpy.linspace(1, 2, 64).astype(numpy.float16)
        header, body = {}, b""
        for name in NORMS + OTHERS:
            header[name] = {"dtype": "F16", "shape": [64],
                            "data_offsets": [len(body), len(body) + values.nbytes]}
            body += values.tobytes()
        text = json.dumps(header).encode()
        path = self.write("in", struct.pack("<Q", len(text)) + text + body)
        out = os.path.join(self.folder, "out")
        sys.argv = ["outliers.py", path, out]
        outliers.main()
        planted = bundle.read_safetensors(out)
        channels = outliers.channels_of(64)
        self.assertEqual(len(set(channels)), 6)
        for name in NORMS:
            times = planted[name] / values.astype(numpy.float32)
            self.assertTrue(numpy.allclose(times[channels], 40, rtol=1e-3), name)
            self.assertTrue((numpy.delete(times, channels) == 1).all(), name)
        for name in OTHERS:
            self.assertTrue((planted[name] == values).all(), name)


if __name__ == "__main__":
    cases.main()
