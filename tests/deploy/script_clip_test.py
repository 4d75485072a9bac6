"""script_clip.py: CLIP as PyTorch's own layers compute it, and as Sightline serves it.

usage: script_clip_test.py SCRIPT_CLIP SIGHTLINECTL CHECK_SCRIPTS
"""

import contextlib
import importlib.util
import io
import json
import os
import subprocess
import sys
import unittest

import torch
from torch import nn
from torch.nn import functional as F

SCRIPT, CTL, CHECK = sys.argv[1:4]
WORK = os.environ["TEST_TMPDIR"]
sys.path.insert(0, os.path.dirname(SCRIPT))  # to_safetensors.py lies beside it
spec = importlib.util.spec_from_file_location("script_clip", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)

# Bytes in the order of CLIP's vocabulary: those that are printed as themselves come first.
ID = {letter: ord(letter) - ord("!") for letter in "abcdefghijklmnopqrstuvwxyz"}
MERGES = "#version: 0.2\nr e\nre d</w>\n"
RED, START, END = 513, 514, 515
TEXTS = {
    "a red": [START, ID["a"] + 256, RED, END],
    "Red": [START, RED, END],
    "ox": [START, ID["o"], ID["x"] + 256, END],
    # Cut to the twelve tokens that the model reads.
    "abcdefghijklmnop": [START] + [ID[letter] for letter in "abcdefghij"] + [END],
}
SIZES = ["--text-width", "32", "--text-layers", "2", "--context", "12", "--vision-width", "48",
         "--vision-layers", "2", "--patch", "8", "--image-size", "32", "--dimension", "24"]


def work(name):
    return os.path.join(WORK, name)


def run(*arguments):
    """The exit status and what was said."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = script.main([work("scripts"), "--merges", work("merges.txt"), "--head-size", "16",
                              *arguments])
    return status, said.getvalue()


def random_state():
    options = script.parse(["-", "--merges", work("merges.txt"), "--random", "1", "--head-size",
                            "16", *SIZES])
    return script.random_state(script.Sizes.chosen(516, options), 1)


def tower(state, prefix, layers, width, activation):
    """PyTorch's own encoder with these weights: the referee."""
    layer = nn.TransformerEncoderLayer(width, width // 16, 4 * width, 0, activation, 1e-5,
                                       batch_first=True, norm_first=True)
    encoder = nn.TransformerEncoder(layer, layers)
    names = {"self_attn.": "attn.", "linear1": "mlp.c_fc", "linear2": "mlp.c_proj",
             "norm1": "ln_1", "norm2": "ln_2"}
    weights = {}
    for name in encoder.state_dict():
        _, number, rest = name.split(".", 2)
        for ours, theirs in names.items():
            rest = rest.replace(ours, theirs)
        weights[name] = state[f"{prefix}resblocks.{number}.{rest}"]
    encoder.load_state_dict(weights)
    return encoder.train()  # in evaluation mode PyTorch may take a faster path; there is no dropout


def quick_gelu(x):
    return x * torch.sigmoid(1.702 * x)


def norm(x, state, name):
    return F.layer_norm(x, x.shape[-1:], state[name + ".weight"], state[name + ".bias"])


def embed_text(state, ids, activation=quick_gelu):
    x = state["token_embedding.weight"][ids] + state["positional_embedding"][:len(ids)]
    causal = torch.full((len(ids), len(ids)), float("-inf")).triu(1)
    x = tower(state, "transformer.", 2, 32, activation)(x.unsqueeze(0), mask=causal)[0, -1]
    return F.normalize(norm(x, state, "ln_final") @ state["text_projection"], dim=0)


def embed_pixels(state, pixels, activation=quick_gelu):
    width = 48
    patches = F.unfold(pixels.unsqueeze(0), 8, stride=8)[0].t()
    x = patches @ state["visual.conv1.weight"].reshape(width, -1).t()
    x = torch.cat([state["visual.class_embedding"].unsqueeze(0), x])
    x = norm(x + state["visual.positional_embedding"], state, "visual.ln_pre")
    x = tower(state, "visual.transformer.", 2, width, activation)(x.unsqueeze(0))[0, 0]
    return F.normalize(norm(x, state, "visual.ln_post") @ state["visual.proj"], dim=0)


def preprocess(rgb):
    """Height x width x 3 bytes, the shorter side to 32, as CLIP does with PIL: across, then down,
    in whole numbers."""
    x = rgb.permute(2, 0, 1).unsqueeze(0).float()
    height, width = rgb.shape[:2]
    size = [32 * side // min(height, width) for side in (height, width)]
    for step in ([height, size[1]], size):
        x = F.interpolate(x, step, mode="bicubic", antialias=True).clamp(0, 255).round()
    x = x[0] / 255
    top, left = (round((side - 32) / 2) for side in size)
    x = x[:, top:top + 32, left:left + 32]
    mean, deviation = (torch.tensor(numbers).view(3, 1, 1)
                       for numbers in (script.MEAN, script.DEVIATION))
    return (x - mean) / deviation


def pictures():
    generator = torch.Generator().manual_seed(3)
    return [torch.randint(0, 256, (height, width, 3), generator=generator, dtype=torch.uint8)
            for height, width in ((32, 32), (50, 40), (20, 33), (90, 100))]


def expected(state, activation=quick_gelu):
    return {
        "texts": [{"text": text, "ids": ids,
                   "embedding": embed_text(state, ids, activation).tolist()}
                  for text, ids in TEXTS.items()],
        "pictures": [{"width": rgb.shape[1], "height": rgb.shape[0], "rgb": rgb.flatten().tolist(),
                      "embedding": embed_pixels(state, preprocess(rgb), activation).tolist()}
                     for rgb in pictures()],
    }


def huggingface_names(state):
    """What the transformers library calls them."""
    renamed = {"logit_scale": torch.tensor(4.6),
               "text_model.embeddings.position_ids": torch.arange(12).unsqueeze(0)}
    for name, tensor in state.items():
        model = "vision_model" if name.startswith("visual.") else "text_model"
        name = name.replace("visual.", "")
        if name in ("text_projection", "proj"):
            side = "visual" if name == "proj" else "text"
            renamed[f"{side}_projection.weight"] = tensor.t().contiguous()
            continue
        for ours, theirs in (("transformer.resblocks", "encoder.layers"),
                             ("token_embedding", "embeddings.token_embedding"),
                             ("positional_embedding", "embeddings.position_embedding.weight"),
                             ("class_embedding", "embeddings.class_embedding"),
                             ("conv1", "embeddings.patch_embedding"), ("ln_pre", "pre_layrnorm"),
                             ("ln_post", "post_layernorm"), ("ln_final", "final_layer_norm"),
                             (".ln_", ".layer_norm"), (".attn.", ".self_attn."),
                             ("c_fc", "fc1"), ("c_proj", "fc2")):
            name = name.replace(ours, theirs)
        if "in_proj_" in name:
            for letter, part in zip("qkv", tensor.chunk(3)):
                renamed[f"{model}.{name.replace('in_proj_', letter + '_proj.')}"] = part.clone()
        else:
            renamed[f"{model}.{name}"] = tensor
    return renamed


class ScriptClip(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(work("merges.txt"), "w", encoding="utf-8") as out:
            out.write(MERGES)
        cls.state = random_state()

    def serve(self, wanted):
        """Bundles what was scripted and lets Sightline compute the same."""
        bundled = subprocess.run(
            [CTL, "convert", "--scripts", work("scripts"), "--out", work("store")],
            capture_output=True, text=True, check=False)
        self.assertEqual(bundled.returncode, 0, bundled.stderr)
        with open(work("expected.json"), "w", encoding="utf-8") as out:
            json.dump(wanted, out)
        checked = subprocess.run(
            [CHECK, work("store"), bundled.stdout.strip(), work("expected.json")],
            capture_output=True, text=True, check=False)
        self.assertEqual(checked.returncode, 0, checked.stderr)
        return bundled

    def test_random_weights_are_served(self):
        status, said = run("--random", "1", *SIZES)
        self.assertEqual(status, 0, said)
        bundled = self.serve(expected(self.state))
        self.assertIn("torchscript", bundled.stderr)
        wanted = expected(self.state)
        wanted["texts"][1]["embedding"][5] += 0.001
        with self.assertRaises(AssertionError):
            self.serve(wanted)

    def test_scripts_give_what_their_modules_give(self):
        options = script.parse([work("both"), "--merges", work("merges.txt"), "--random", "1",
                                "--head-size", "16", *SIZES])
        modules = script.script_clip(options)
        ids, mask = torch.randint(0, 516, (3, 9)), torch.ones(3, 9)
        mask[1, 4:] = 0
        pixels, features = torch.randn(1, 3, 32, 32), torch.randn(2, 1, 48)
        inputs = {"text_encoder.pt": (ids, mask), "region_extractor.pt": (pixels,),
                  "image_encoder.pt": (features, torch.zeros(2, 1, 4), torch.ones(2, 1))}
        for file, given in inputs.items():
            scripted = torch.jit.load(os.path.join(work("both"), file))
            # As servers run it: PyTorch's optimizer compiles anew for each shape, for minutes
            # where it has LLVM.
            with torch.jit.optimized_execution(False):
                torch.testing.assert_close(scripted(*given), modules[file](*given), rtol=0, atol=0)

    def test_checkpoints_of_each_kind(self):
        openai = dict(self.state, logit_scale=torch.tensor(4.6),
                      input_resolution=torch.tensor(32), context_length=torch.tensor(12),
                      vocab_size=torch.tensor(516))
        torch.save(openai, work("openai.pt"))
        torch.save(huggingface_names(self.state), work("huggingface.bin"))
        torch.save({"epoch": 3, "state_dict": {"module." + k: v for k, v in self.state.items()}},
                   work("open_clip.pt"))
        holder = nn.Module()  # OpenAI's files are archives of torch.jit
        for name, tensor in openai.items():
            inner = holder
            *path, last = name.split(".")
            for part in path:
                if not hasattr(inner, part):
                    inner.add_module(part, nn.Module())
                inner = getattr(inner, part)
            inner.register_buffer(last, tensor)
        torch.jit.script(holder).save(work("archive.pt"))
        wanted = expected(self.state)
        for name in ("openai.pt", "huggingface.bin", "open_clip.pt", "archive.pt"):
            status, said = run("--checkpoint", work(name))
            self.assertEqual(status, 0, said)
            self.serve(wanted)

    def test_gelu_of_open_clip(self):
        torch.save(self.state, work("openai.pt"))
        status, said = run("--checkpoint", work("openai.pt"), "--activation", "gelu")
        self.assertEqual(status, 0, said)
        self.serve(expected(self.state, F.gelu))

    def refused(self, state, *arguments):
        torch.save(state, work("wrong.pt"))
        status, said = run("--checkpoint", work("wrong.pt"), *arguments)
        self.assertEqual(status, 2)
        return said

    def test_what_is_no_clip_is_named(self):
        said = self.refused({"bert.pooler.dense.weight": torch.ones(2, 2)})
        self.assertIn("wrong.pt is no CLIP", said)
        self.assertIn("bert.pooler.dense.weight", said)

    def test_everything_that_does_not_fit_is_named(self):
        state = dict(self.state, more=torch.ones(3))
        del state["visual.ln_post.bias"]
        state["ln_final.weight"] = torch.ones(31)
        said = self.refused(state)
        for part in ("missing visual.ln_post.bias", "unexpected more",
                     "ln_final.weight is [31], wanted [32]"):
            self.assertIn(part, said)

    def test_other_merges_are_refused(self):
        state = dict(self.state)
        state["token_embedding.weight"] = torch.ones(517, 32)
        self.assertIn("makes 516 tokens, but the word table has 517 rows", self.refused(state))

    def test_heads_of_another_width_are_refused(self):
        self.assertIn("--head-size", self.refused(self.state, "--head-size", "20"))


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1], exit=False)
    result = program.result
    failed = len(result.failures) + len(result.errors)
    print(f"cases: {result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or result.testsRun == 0 else 0)
