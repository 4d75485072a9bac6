#!/usr/bin/env python3
"""Scripts a CLIP, so that Sightline can serve it.

usage: script_clip.py FOLDER --merges FILE --checkpoint FILE
       script_clip.py FOLDER --merges FILE --random SEED [sizes]
       sightlinectl convert --scripts FOLDER --out STORE

Needs PyTorch and nothing else.  Writes text_encoder.pt, region_extractor.pt,
image_encoder.pt, the merges and manifest.json into FOLDER.  What each module takes and gives
is said in common/models/torchscript/README.md; this is also the example to follow for another model.

A checkpoint is a vision-transformer CLIP: OpenAI's own file (an archive of torch.jit), a
state dict of that naming as open_clip has it, or one of the transformers library.  Sizes come
from its tensors; attention heads are 64 wide in all that were published.  The merges are
bpe_simple_vocab_16e6.txt.gz of OpenAI's release.
"""

import argparse
import gzip
import json
import math
import os
import re
import shutil
import sys
import zipfile

try:
    import torch
except ModuleNotFoundError:
    sys.exit("error: this Python has no PyTorch; Debian's has (apt install python3-torch, "
             "then /usr/bin/python3 FILE.py ...), or pip install torch")
from torch import Tensor, nn
from torch.nn import functional as F

from to_safetensors import Refused, find_state, load, named_tensors

MEAN = (0.48145466, 0.4578275, 0.40821073)
DEVIATION = (0.26862954, 0.26130258, 0.27577711)
# What CLIP's tokenizer has beside its merges: bytes, bytes at the end of a word, two specials.
BASE_TOKENS = 512 + 2
MAX_MERGES = 48894

# The transformers library's names, as OpenAI's.  Its queries, keys and values are apart.
RENAMES = (
    (r"text_model\.embeddings\.token_embedding", "token_embedding"),
    (r"text_model\.embeddings\.position_embedding\.weight", "positional_embedding"),
    (r"text_model\.encoder\.layers", "transformer.resblocks"),
    (r"text_model\.final_layer_norm", "ln_final"),
    (r"text_projection\.weight", "text_projection"),
    (r"vision_model\.embeddings\.class_embedding", "visual.class_embedding"),
    (r"vision_model\.embeddings\.patch_embedding", "visual.conv1"),
    (r"vision_model\.embeddings\.position_embedding\.weight", "visual.positional_embedding"),
    (r"vision_model\.pre_layrnorm", "visual.ln_pre"),
    (r"vision_model\.encoder\.layers", "visual.transformer.resblocks"),
    (r"vision_model\.post_layernorm", "visual.ln_post"),
    (r"visual_projection\.weight", "visual.proj"),
    (r"\.self_attn\.", ".attn."),
    (r"\.layer_norm", ".ln_"),
    (r"\.mlp\.fc1", ".mlp.c_fc"),
    (r"\.mlp\.fc2", ".mlp.c_proj"),
)
# Not weights of the towers.
IGNORED = re.compile(r"logit_scale|input_resolution|context_length|vocab_size|.*position_ids")


class Attention(nn.Module):
    def __init__(self, width: int, heads: int):
        super().__init__()
        self.heads = heads
        self.in_proj_weight = nn.Parameter(torch.empty(3 * width, width))
        self.in_proj_bias = nn.Parameter(torch.empty(3 * width))
        self.out_proj = nn.Linear(width, width)

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        batch, length, width = x.shape
        size = width // self.heads
        projected = F.linear(x, self.in_proj_weight, self.in_proj_bias)
        query, key, value = projected.view(batch, length, 3, self.heads, size).permute(
            2, 0, 3, 1, 4).unbind(0)
        scores = query @ key.transpose(-1, -2) / math.sqrt(size)
        if causal:
            later = torch.ones(length, length, dtype=torch.bool).triu(1)
            scores = scores.masked_fill(later, float("-inf"))
        read = torch.softmax(scores, -1) @ value
        return self.out_proj(read.transpose(1, 2).reshape(batch, length, width))


class Mlp(nn.Module):
    """With x sigmoid(1.702 x), as OpenAI trained, or GELU, as most of open_clip is."""

    def __init__(self, width: int, quick_gelu: bool):
        super().__init__()
        self.quick_gelu = quick_gelu
        self.c_fc = nn.Linear(width, 4 * width)
        self.c_proj = nn.Linear(4 * width, width)

    def forward(self, x: Tensor) -> Tensor:
        x = self.c_fc(x)
        return self.c_proj(x * torch.sigmoid(1.702 * x) if self.quick_gelu else F.gelu(x))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, quick_gelu: bool):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.attn = Attention(width, heads)
        self.ln_2 = nn.LayerNorm(width)
        self.mlp = Mlp(width, quick_gelu)

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        x = x + self.attn(self.ln_1(x), causal)
        return x + self.mlp(self.ln_2(x))


class Transformer(nn.Module):
    def __init__(self, width: int, layers: int, heads: int, quick_gelu: bool):
        super().__init__()
        self.resblocks = nn.ModuleList(
            [Block(width, heads, quick_gelu) for _ in range(layers)])

    def forward(self, x: Tensor, causal: bool) -> Tensor:
        for block in self.resblocks:
            x = block(x, causal)
        return x


class TextEncoder(nn.Module):
    """Reads the last token.  What is padded comes after it, where a causal mask sees nothing."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes.text_width
        self.token_embedding = nn.Embedding(sizes.words, width)
        self.positional_embedding = nn.Parameter(torch.empty(sizes.context, width))
        self.transformer = Transformer(width, sizes.text_layers, sizes.heads(width),
                                       sizes.quick_gelu)
        self.ln_final = nn.LayerNorm(width)
        self.text_projection = nn.Parameter(torch.empty(width, sizes.dimension))

    def forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        x = self.token_embedding(ids) + self.positional_embedding[:ids.size(1)]
        x = self.transformer(x, True)
        last = mask.sum(1).long() - 1
        x = x[torch.arange(ids.size(0)), last]
        return self.ln_final(x) @ self.text_projection


class RegionExtractor(nn.Module):
    """The image tower without its head: one region, the class token, over the whole picture."""

    def __init__(self, sizes):
        super().__init__()
        width = sizes.vision_width
        self.conv1 = nn.Conv2d(3, width, sizes.patch, sizes.patch, bias=False)
        self.class_embedding = nn.Parameter(torch.empty(width))
        self.positional_embedding = nn.Parameter(torch.empty(sizes.grid ** 2 + 1, width))
        self.ln_pre = nn.LayerNorm(width)
        self.transformer = Transformer(width, sizes.vision_layers, sizes.heads(width),
                                       sizes.quick_gelu)

    def forward(self, pixels: Tensor) -> tuple[Tensor, Tensor]:
        patches = self.conv1(pixels).flatten(2).transpose(1, 2)
        first = self.class_embedding.expand(pixels.size(0), 1, -1)
        x = torch.cat([first, patches], 1) + self.positional_embedding
        x = self.transformer(self.ln_pre(x), False)
        return x[:, :1], torch.tensor([[[0.0, 0.0, 1.0, 1.0]]])


class ImageEncoder(nn.Module):
    """The image tower's head."""

    def __init__(self, sizes):
        super().__init__()
        self.ln_post = nn.LayerNorm(sizes.vision_width)
        self.proj = nn.Parameter(torch.empty(sizes.vision_width, sizes.dimension))

    def forward(self, features: Tensor, boxes: Tensor, mask: Tensor) -> Tensor:
        return self.ln_post(features[:, 0]) @ self.proj


# File, module, where its tensors are in a checkpoint.
PARTS = (
    ("text_encoder.pt", TextEncoder, ""),
    ("region_extractor.pt", RegionExtractor, "visual."),
    ("image_encoder.pt", ImageEncoder, "visual."),
)


class Sizes:
    """How large each part of a CLIP is."""

    def __init__(self, options, **numbers):
        self.head_size = options.head_size
        self.quick_gelu = options.activation == "quickgelu"
        self.__dict__.update(numbers)

    @classmethod
    def of(cls, state, options):
        for name in ("token_embedding.weight", "positional_embedding", "text_projection",
                     "visual.conv1.weight", "visual.positional_embedding"):
            if name not in state:
                raise Refused(f"{options.checkpoint} is no CLIP with a vision transformer: it has "
                              f"no {name}; it has {', '.join(sorted(state)[:5])} and so on")
        words, text_width = state["token_embedding.weight"].shape
        vision_width, _, patch, _ = state["visual.conv1.weight"].shape
        return cls(options, words=words, text_width=text_width,
                   context=state["positional_embedding"].shape[0],
                   dimension=state["text_projection"].shape[1],
                   text_layers=layer_count(state, "transformer.resblocks."),
                   vision_width=vision_width, patch=patch,
                   grid=math.isqrt(state["visual.positional_embedding"].shape[0] - 1),
                   vision_layers=layer_count(state, "visual.transformer.resblocks."))

    @classmethod
    def chosen(cls, words, options):
        return cls(options, words=words, text_width=options.text_width, context=options.context,
                   dimension=options.dimension, text_layers=options.text_layers,
                   vision_width=options.vision_width, patch=options.patch,
                   grid=options.image_size // options.patch, vision_layers=options.vision_layers)

    def heads(self, width):
        if width % self.head_size:
            raise Refused(f"a width of {width} is no multiple of the heads' {self.head_size}; "
                          "--head-size")
        return width // self.head_size


def layer_count(state, prefix):
    numbers = [name[len(prefix):].split(".")[0] for name in state if name.startswith(prefix)]
    return 1 + max(map(int, numbers), default=-1)


def read_checkpoint(path, trust):
    """Its tensors by OpenAI's names, in float32."""
    is_script = False
    if zipfile.is_zipfile(path):
        with zipfile.ZipFile(path) as archive:
            is_script = any("/code/" in name for name in archive.namelist())
    state = (torch.jit.load(path, map_location="cpu").state_dict() if is_script
             else find_state(load(path, trust), path))
    state = named_tensors(state)
    if any(name.startswith("text_model.") for name in state):
        state = openai_names(state)
    return {name: tensor.float() for name, tensor in state.items() if not IGNORED.fullmatch(name)}


def openai_names(state):
    renamed = {}
    for name, tensor in state.items():
        # A linear layer holds its matrix the other way round than a product with a parameter.
        if name in ("text_projection.weight", "visual_projection.weight"):
            tensor = tensor.t()
        for pattern, replacement in RENAMES:
            name = re.sub(pattern, replacement, name)
        renamed[name] = tensor
    for name in [name for name in renamed if ".attn.q_proj." in name]:
        parts = [renamed.pop(name.replace("q_proj", f"{part}_proj"), None) for part in "qkv"]
        if all(part is not None for part in parts):
            renamed[name.replace("q_proj.", "in_proj_")] = torch.cat(parts)
    return renamed


def make_modules(sizes, state, path):
    """The parts with the state's weights; everything that does not fit in one message."""
    modules, expected = {}, {}
    for file, make, prefix in PARTS:
        modules[file] = make(sizes).eval().requires_grad_(False)
        expected.update({prefix + name: tensor.shape
                         for name, tensor in modules[file].state_dict().items()})
    problems = [f"missing {name}" for name in sorted(set(expected) - set(state))]
    problems += [f"unexpected {name}" for name in sorted(set(state) - set(expected))]
    problems += [f"{name} is {list(state[name].shape)}, wanted {list(shape)}"
                 for name, shape in sorted(expected.items())
                 if name in state and state[name].shape != shape]
    if problems:
        raise Refused(f"{path} is not the CLIP that its sizes tell of: {'; '.join(problems)}")
    for file, _, prefix in PARTS:
        module = modules[file]
        module.load_state_dict({name: state[prefix + name] for name in module.state_dict()})
    return modules


def random_state(sizes, seed):
    generator = torch.Generator().manual_seed(seed)
    state = {}
    for _, make, prefix in PARTS:
        for name, tensor in make(sizes).state_dict().items():
            noise = torch.randn(tensor.shape, generator=generator)
            # Wide enough that outputs differ clearly; norms stay near the identity.
            scale = tensor.shape[-1] ** -0.5 if tensor.dim() > 1 else 0.1
            is_norm = re.search(r"ln_\w+\.weight$", name) is not None
            state[prefix + name] = noise * scale + (1.0 if is_norm else 0.0)
    return state


def count_words(path):
    with open(path, "rb") as file:
        data = file.read()
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    lines = data.decode("utf-8").splitlines()[1:]
    merges = [line for line in lines[:MAX_MERGES] if line]
    return BASE_TOKENS + len(merges)


def manifest(sizes, vocabulary, description):
    return {
        "family": "torchscript",
        "description": description,
        "tokenizer": {"kind": "BYTE_LEVEL_BPE", "vocabulary_file": vocabulary,
                      "max_token_count": sizes.context},
        "embedding": {"dimension": sizes.dimension, "metric": "COSINE"},
        "torch_script": {
            "text_encoder": "text_encoder.pt",
            "image_encoder": "image_encoder.pt",
            "region_extractor": "region_extractor.pt",
            "pixels": {"image_size": sizes.patch * sizes.grid, "fit": "CROP", "filter": "BICUBIC",
                       "mean": MEAN, "standard_deviation": DEVIATION},
            "vocabulary_size": sizes.words,
            "region_feature_size": sizes.vision_width,
            "max_region_count": 1,
        },
    }


def script_clip(options):
    words = count_words(options.merges)
    if options.checkpoint:
        state = read_checkpoint(options.checkpoint, options.trust)
        sizes = Sizes.of(state, options)
    else:
        sizes = Sizes.chosen(words, options)
        state = random_state(sizes, options.random)
    if words != sizes.words:
        raise Refused(f"{options.merges} makes {words} tokens, but the word table has "
                      f"{sizes.words} rows; these are not the merges of that checkpoint")
    modules = make_modules(sizes, state, options.checkpoint or "the random state")
    os.makedirs(options.folder, exist_ok=True)
    for file, module in modules.items():
        torch.jit.script(module).save(os.path.join(options.folder, file))
    vocabulary = "merges.txt.gz" if options.merges.endswith(".gz") else "merges.txt"
    shutil.copyfile(options.merges, os.path.join(options.folder, vocabulary))
    with open(os.path.join(options.folder, "manifest.json"), "w", encoding="utf-8") as out:
        json.dump(manifest(sizes, vocabulary, options.description), out, indent=2)
        out.write("\n")
    return modules


def parse(arguments):
    parser = argparse.ArgumentParser(description="Scripts a CLIP, so that Sightline can serve it.")
    parser.add_argument("folder", metavar="FOLDER", help="where to write")
    parser.add_argument("--merges", required=True, metavar="FILE", help="of the tokenizer")
    source = parser.add_mutually_exclusive_group(required=True)
    source.add_argument("--checkpoint", metavar="FILE", help="trained weights")
    parser.add_argument("--trust", action="store_true",
                        help="unpickle the checkpoint, which may run its author's code")
    source.add_argument("--random", type=int, metavar="SEED", help="weights for trying it out")
    parser.add_argument("--activation", choices=("quickgelu", "gelu"), default="quickgelu",
                        help="of the feed-forward layers")
    parser.add_argument("--head-size", type=int, default=64, help="width of an attention head")
    parser.add_argument("--description", default="CLIP", help="one line for people")
    # ViT-B/32, of random weights.
    for name, size in (("text-width", 512), ("text-layers", 12), ("context", 77),
                       ("vision-width", 768), ("vision-layers", 12), ("patch", 32),
                       ("image-size", 224), ("dimension", 512)):
        parser.add_argument(f"--{name}", type=int, default=size,
                            help=f"with --random; default {size}")
    return parser.parse_args(arguments)


def main(arguments):
    options = parse(arguments)
    try:
        script_clip(options)
    except (Refused, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    print(f"wrote {options.folder}; now: sightlinectl convert --scripts {options.folder} "
          "--out STORE", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
