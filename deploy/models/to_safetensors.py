#!/usr/bin/env python3
"""Turns checkpoints of any PyTorch into one safetensors file for `sightlinectl convert`.

usage: to_safetensors.py [--trust] [--training-args FILE] OUT.safetensors CHECKPOINT...

Sightline reads what torch.save writes since PyTorch 1.6 by itself; this is for what is
older.  Needs PyTorch and nothing else.  Tensors of several files come together: the trunk
and the class_head.pt of an MMT-Retrieval folder are one model.

A dict of tensors is taken from below model_dict, model, state_dict or model_state_dict, or
else from the top; a list of three dicts there are SGRAF's img_enc, txt_enc and sim_enc.
Everything else is refused.  Names stay as they are but for a `module.` before all of them.

What `sightlinectl convert` reads beside a checkpoint goes along: into a config.json beside OUT
come the config.json beside the first CHECKPOINT and, where that leaves them open, lengths, mask
and tags from the training_args.bin there, or from FILE.  Of those pickles nothing is imported
or run, trusted or not.

Old pickles of tensors can run code when they are loaded.  PyTorch's weights_only refuses whatever is
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
import zipfile

try:
    import torch
except ModuleNotFoundError:
    sys.exit("error: this Python has no PyTorch; Debian's has (apt install python3-torch, "
             "then /usr/bin/python3 FILE.py ...), or pip install torch")

WRAPPERS = ("model_dict", "model", "state_dict", "model_state_dict")
SGRAF_PARTS = ("img_enc.", "txt_enc.", "sim_enc.")
# What convert reads of training arguments (common/models/convert/checkpoint.cc).
ARGUMENTS = {
    "max_seq_length": int,
    "max_img_seq_length": int,
    "max_tag_length": int,
    "att_mask_type": str,
    "add_od_labels": bool,
    "img_layer_norm_eps": float,
}
LEGACY_MAGIC = 0x1950A86A20F9469CFC6C  # what torch.save began its files with before 1.6
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
    except (RuntimeError, EOFError) as error:
        raise Refused(f"{path}: the file is damaged or truncated "
                      f"({(str(error) or 'it ends too early').splitlines()[0]})") from error
    except pickle.UnpicklingError as error:
        if "EOF" in str(error) or "truncated" in str(error):
            raise Refused(f"{path}: the file is damaged or truncated") from error
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


class Shell:
    """Stands for any object of a pickle: keeps its state, does nothing that its class would."""

    state = None

    def __new__(cls, *_, **__):
        return super().__new__(cls)

    def __setstate__(self, state):
        self.state = state

    def nothing(self, *_, **__):
        """What becomes of the items of a list, a set or a dict, and of a call."""

    append = extend = add = __setitem__ = __call__ = nothing


class DataUnpickler(pickle.Unpickler):
    """Reads numbers, texts, lists and dicts; all else comes out as a Shell."""

    def __init__(self, file):
        super().__init__(file, encoding="latin1")  # Python 2's texts may have any bytes

    def find_class(self, module, name):
        return Shell

    def persistent_load(self, pid):
        return Shell()


def unpickled(path):
    """The object of a file of torch.save, new or old, or of pickle.dump."""
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            name = next(name for name in archive.namelist() if name.endswith("data.pkl"))
            with archive.open(name) as file:
                return DataUnpickler(file).load()
    with open(path, "rb") as file:
        value = DataUnpickler(file).load()
        if value == LEGACY_MAGIC:
            for _ in ("protocol", "system"):
                DataUnpickler(file).load()
            value = DataUnpickler(file).load()
        return value


def training_arguments(path):
    """What convert reads of an argparse.Namespace, or of any object with such a state."""
    try:
        value = unpickled(path)
    except OSError:
        raise
    except Exception as error:  # damaged pickles raise nearly anything
        raise Refused(f"{path}: no pickle of training arguments ({error!r}); moved away, it is "
                      "not read, and flags of `sightlinectl convert` can say the same") from error
    state = value.state if isinstance(value, Shell) else value
    if not isinstance(state, dict):
        raise Refused(f"{path}: no training arguments, but {type(state).__name__}")
    return {name: state[name] for name, kind in ARGUMENTS.items()
            if type(state.get(name)) is kind and state[name] == state[name]}  # no NaN


def read_config(path):
    with open(path, encoding="utf-8") as file:
        try:
            config = json.load(file)
        except ValueError as error:
            raise Refused(f"{path}: {error}") from error
    if not isinstance(config, dict):
        raise Refused(f"{path} is not a JSON object")
    return config


def config_for(out, checkpoint, arguments_file):
    """What config.json beside OUT shall say; None if there is nothing to say or it does so."""
    folder = os.path.dirname(checkpoint)
    source = os.path.join(folder, "config.json")
    target = os.path.join(os.path.dirname(out), "config.json")
    beside = os.path.join(folder, "training_args.bin")
    if arguments_file is None and os.path.exists(beside):
        arguments_file = beside
    config = training_arguments(arguments_file) if arguments_file is not None else {}
    if os.path.exists(source):
        config.update(read_config(source))
    if not config:
        return None
    if os.path.exists(target):
        if read_config(target) == config:
            return None
        if not (os.path.exists(source) and os.path.samefile(source, target)):
            raise Refused(f"{target} is there and says something else; write {out} to a folder of "
                          "its own")
    return config


def write_config(out, config):
    path = os.path.join(os.path.dirname(out), "config.json")
    with open(path + ".part", "w", encoding="utf-8") as file:
        json.dump(config, file, indent=2)
        file.write("\n")
    os.replace(path + ".part", path)
    told = ", ".join(f"{name} {config[name]}" for name in ARGUMENTS if name in config)
    print(f"wrote {path}" + (f": {told}" if told else ""), file=sys.stderr)


def convert(out, paths, trust, arguments_file=None):
    config = config_for(out, paths[0], arguments_file)
    tensors = {}
    for path in paths:
        found = flatten(find_state(load(path, trust), path))
        twice = sorted(set(found) & set(tensors))
        if twice:
            raise Refused(f"{path}: another file has {', '.join(twice)} as well")
        tensors.update(found)
    write_safetensors(out, tensors)
    if config is not None:
        write_config(out, config)
    return len(tensors)


def main(arguments):
    parser = argparse.ArgumentParser(
        description="Turns checkpoints of any PyTorch into one safetensors file.")
    parser.add_argument("--trust", action="store_true", help="load pickles that may run code")
    parser.add_argument("--training-args", metavar="FILE",
                        help="default: the training_args.bin beside the first CHECKPOINT")
    parser.add_argument("out", metavar="OUT.safetensors")
    parser.add_argument("checkpoints", nargs="+", metavar="CHECKPOINT")
    options = parser.parse_args(arguments)
    try:
        count = convert(options.out, options.checkpoints, options.trust, options.training_args)
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {count} tensors to {options.out}", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
