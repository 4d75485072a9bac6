#!/usr/bin/env python3
"""ONNX Runtime as a peer.

usage: onnx_peer.py FOLDER THREADS float32|int8    (peers.py starts it)

All of its optimisations, and as many threads in an operator as asked for.  onnx_graph.py
writes what it runs.
"""

import os
import subprocess
import sys
import tempfile

import numpy
import onnxruntime
import peer

HERE = os.path.dirname(os.path.abspath(__file__))


def session_of(folder, threads, precision):
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    if precision == "int8" and not peer.has_vnni():
        precision = "int8_7bit"
    with tempfile.TemporaryDirectory() as work:
        path = os.path.join(work, "model.onnx")
        subprocess.run([sys.executable, os.path.join(HERE, "onnx_graph.py"),
                        os.path.join(folder, "model"), precision, path], check=True)
        return onnxruntime.InferenceSession(path, options, ["CPUExecutionProvider"])


class Engine:
    def __init__(self, session, width):
        self.session, self.no_regions = session, numpy.zeros((1, 0, width), numpy.float32)

    def run(self, output, ids, regions):
        return self.session.run([output], {"ids": ids, "regions": regions})[0]

    def embed(self, ids):
        return self.run("embedding", ids, self.no_regions)

    def match(self, ids, regions):
        return self.run("score", ids, regions)


def main():
    folder, threads, precision = sys.argv[1], int(sys.argv[2]), sys.argv[3]
    peer.serve(folder, lambda stored: Engine(session_of(folder, threads, precision), stored.width))


if __name__ == "__main__":
    main()
