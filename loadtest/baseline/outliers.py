#!/usr/bin/env python3
"""Copies a BERT's weights with outlier channels planted in its layers: CHANNELS of the width,
the same in each LayerNorm, TIMES as large.  Trained models have such, and a scale for a whole
tensor or row is lost on them; random weights have none.

usage: outliers.py IN.safetensors OUT.safetensors
"""

import json
import re
import struct
import sys

import numpy

CHANNELS = 6
TIMES = 40
PLANTED = re.compile(r"bert\.encoder\.layer\.\d+\.(attention\.)?output\.LayerNorm\.(weight|bias)")


def channels_of(width):
    """Some, far from each other."""
    return [(2 * i + 1) * width // (2 * CHANNELS) for i in range(CHANNELS)]


def main():
    with open(sys.argv[1], "rb") as file:
        prefix = file.read(8)
        header = file.read(*struct.unpack("<Q", prefix))
        body = bytearray(file.read())
    for name, facts in json.loads(header).items():
        if PLANTED.fullmatch(name):
            kind = {"F16": numpy.float16, "F32": numpy.float32}[facts["dtype"]]
            begin, end = facts["data_offsets"]
            values = numpy.frombuffer(memoryview(body)[begin:end], kind)
            values[channels_of(len(values))] *= kind(TIMES)
    with open(sys.argv[2], "wb") as file:
        file.write(prefix + header + body)


if __name__ == "__main__":
    main()
