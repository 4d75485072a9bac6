#!/usr/bin/env python3
"""Turns checkpoints of any PyTorch into one safetensors file for `sightlinectl convert`.

usage: to_safetensors.py [--trust] OUT.safetensors CHECKPOINT...

Sightline reads what torch.save writes since PyTorch 1.6 by itself; this is for what is
older.  Needs PyTorch and nothing else.  Tensors of several files come together: the trunk
and the class_head.pt of an MMT-Retrieval folder are one model.

A dict of tensors is taken from below model_dict, model, state_dict or model_state_dict, or
else from the top; a list of three dicts there are SGRAF's img_enc, txt_enc and sim_enc.
Everything else is refused.  Names stay as they are but for a `module.` before all of them.

Old pickles can run code when they are loaded.  PyTorch's weights_only refuses whatever is
no tensor; with --trust the file is loaded all the same.  Do that for files of people whose
programs you would run.
"""

import argparse
import ctypes
import json
import os
import pickle
import struct
import sys

import torch

WRAPPERS = ("model_dict", "model", "state_dict", "model_state_dict")
SGRAF_PARTS = ("img_enc.", "txt_enc.", "sim_enc.")
DTYPES = {
    torch.float64: "F64",
    torch.float32: "F32",
    torch.float16: "F16",
    torch.bfloat16: "BF16",
    torch.int64: "I64",
    torch.int32: "I32",
    torch.int16: "I16",
    torch.int8: "I8",
    torch.uint8: "U8",
    torch.bool: "BOOL",
}


class Refused(Exception):
    """What is wrong with a file, and what to do."""


def load(path, trust):
    try:
        return torch.load(path, map_location="cpu", weights_only=not trust)
    except TypeError as error:
        if "weights_only" not in str(error):
            raise
        if not trust:
            raise Refused(f"{path}: this PyTorch has no weights_only; --trust loads the file "
                          "without it") from error
        return torch.load(path, map_location="cpu")
    except pickle.UnpicklingError as error:
        if trust:
            raise Refused(f"{path}: {error}") from error
        raise Refused(f"{path}: not of tensors alone; if you trust its author, add --trust "
                      f"({str(error).splitlines()[0]})") from error


def has_tensors(value):
    return isinstance(value, dict) and any(isinstance(v, torch.Tensor) for v in value.values())


def state_in(value, depth=3):
    """The dict of tensors, or list of three, in a wrapper of `value`, or else `value` itself:
    beside a wrapper a tensor may stand that is no weight.  None if there is none."""
    if isinstance(value, dict) and depth > 0:
        for key in WRAPPERS:
            found = state_in(value.get(key), depth - 1)
            if found is not None:
                return found
    three = isinstance(value, (list, tuple)) and len(value) == 3 and all(map(has_tensors, value))
    return value if has_tensors(value) or three else None


def find_state(value, path):
    """The dict of tensors, or list of three, in what was loaded."""
    state = state_in(value)
    if state is not None:
        return state
    if isinstance(value, torch.nn.Module):
        raise Refused(f"{path}: a whole module was saved; save its state_dict()")
    keys = ", ".join(map(str, list(value)[:10])) if isinstance(value, dict) else type(value).__name__
    raise Refused(f"{path}: no dict of tensors is in it; it has {keys}")


def named_tensors(state):
    """Names and tensors of one dict; what is no tensor is no weight."""
    tensors = {name: value for name, value in state.items() if isinstance(value, torch.Tensor)}
    parallel = "module."
    if all(name.startswith(parallel) for name in tensors):
        tensors = {name[len(parallel):]: value for name, value in tensors.items()}
    return tensors


def flatten(state):
    if isinstance(state, dict):
        return named_tensors(state)
    flat = {}
    for prefix, part in zip(SGRAF_PARTS, state):
        flat.update({prefix + name: value for name, value in named_tensors(part).items()})
    return flat


def dtype_of(name, tensor):
    if tensor.layout != torch.strided or tensor.dtype not in DTYPES:
        raise Refused(f"tensor {name} of type {tensor.dtype}, {tensor.layout}, cannot be stored")
    return DTYPES[tensor.dtype]


def write_safetensors(path, tensors):
    names = sorted(tensors)
    header, end = {}, 0
    for name in names:
        tensor = tensors[name]
        begin, end = end, end + tensor.numel() * tensor.element_size()
        header[name] = {
            "dtype": dtype_of(name, tensor),
            "shape": list(tensor.shape),
            "data_offsets": [begin, end],
        }
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)
    part = path + ".part"
    with open(part, "wb") as out:
        out.write(struct.pack("<Q", len(text)) + text)
        for name in names:
            tensor = tensors[name].detach().contiguous()
            size = tensor.numel() * tensor.element_size()
            if size:
                out.write((ctypes.c_char * size).from_address(tensor.data_ptr()))
    os.replace(part, path)


def convert(out, paths, trust):
    tensors = {}
    for path in paths:
        found = flatten(find_state(load(path, trust), path))
        twice = sorted(set(found) & set(tensors))
        if twice:
            raise Refused(f"{path}: another file has {', '.join(twice)} as well")
        tensors.update(found)
    write_safetensors(out, tensors)
    return len(tensors)


def main(arguments):
    parser = argparse.ArgumentParser(
        description="Turns checkpoints of any PyTorch into one safetensors file.")
    parser.add_argument("--trust", action="store_true", help="load pickles that may run code")
    parser.add_argument("out", metavar="OUT.safetensors")
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    options = parser.parse_args(arguments)
    try:
        count = convert(options.out, options.checkpoints, options.trust)
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {count} tensors to {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
