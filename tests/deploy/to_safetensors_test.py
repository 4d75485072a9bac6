"""What PyTorch itself saves, in its old form and its new one, becomes the same bundle.

usage: to_safetensors_test.py TO_SAFETENSORS SIGHTLINECTL GOLDENS_FILE...
"""

import argparse
import collections
import contextlib
import importlib.util
import io
import json
import os
import struct
import subprocess
import sys
import unittest

import torch

SCRIPT, CTL = sys.argv[1:3]
GOLDENS = {os.path.basename(os.path.dirname(path)): os.path.dirname(path) for path in sys.argv[3:]}
WORK = os.environ["TEST_TMPDIR"]
spec = importlib.util.spec_from_file_location("to_safetensors", SCRIPT)
script = importlib.util.module_from_spec(spec)
spec.loader.exec_module(script)
DTYPES = {"F32": torch.float32, "I64": torch.int64}


def golden(name):
    with open(os.path.join(GOLDENS[name], "weights.safetensors"), "rb") as file:
        length = struct.unpack("<Q", file.read(8))[0]
        header = json.loads(file.read(length))
        data = file.read()
    header.pop("__metadata__", None)
    tensors = collections.OrderedDict()
    for key, entry in header.items():
        begin, end = entry["data_offsets"]
        tensor = torch.frombuffer(bytearray(data[begin:end]), dtype=DTYPES[entry["dtype"]])
        tensors[key] = tensor.reshape(entry["shape"])
    return tensors


def work(name):
    return os.path.join(WORK, name)


def to_safetensors(out, *arguments):
    """The exit status and what was said; in this process, as PyTorch takes seconds to start."""
    said = io.StringIO()
    with contextlib.redirect_stderr(said):
        status = script.main([work(out), *arguments])
    return status, said.getvalue()


def vocabulary(words, as_list):
    """A vocab.txt, or the JSON of SGRAF."""
    if not as_list:
        return "".join(f"{word}\n" for word in ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
                       + [f"word{i}" for i in range(5, words)])
    names = ["<pad>", "<start>", "<end>", "<unk>"] + [f"word{i}" for i in range(4, words)]
    return json.dumps({"word2idx": {name: i for i, name in enumerate(names)},
                       "idx2word": {str(i): name for i, name in enumerate(names)}, "idx": words})


def convert(path, words, *flags, as_list=False):
    with open(work("vocab.txt"), "w", encoding="utf-8") as file:
        file.write(vocabulary(words, as_list))
    return subprocess.run(
        [CTL, "convert", work(path), "--vocab", work("vocab.txt"), "--out", work("store"), *flags],
        capture_output=True, text=True, check=False)


class ToSafetensors(unittest.TestCase):
    def convert_all(self, saved, name, words, *flags, trust=False):
        """The ids that the new form, and the old one by way of the script, give."""
        config = ["--config", os.path.join(GOLDENS[name], "config.json")]
        torch.save(saved, work("new.pt"))
        torch.save(saved, work("old.pt"), _use_new_zipfile_serialization=False)
        refused = convert("old.pt", words, *config, *flags, as_list=name == "saf")
        self.assertEqual(refused.returncode, 1)
        self.assertIn("to_safetensors.py", refused.stderr)
        status, said = to_safetensors("old.safetensors", work("old.pt"),
                                      *(["--trust"] if trust else []))
        self.assertEqual(status, 0, said)
        ids = []
        for path in ("new.pt", "old.safetensors"):
            done = convert(path, words, *config, *flags, as_list=name == "saf")
            self.assertEqual(done.returncode, 0, done.stderr)
            ids.append(done.stdout)
        self.assertEqual(ids[0], ids[1])
        return ids[0]

    def test_state_dict(self):
        state = golden("uniter_small")
        plain = self.convert_all(state, "uniter_small", 120)
        # Parameters, a view of a larger storage, and one that lies in another order.
        state["uniter.pooler.dense.bias"] = torch.nn.Parameter(state["uniter.pooler.dense.bias"])
        word = state["uniter.embeddings.word_embeddings.weight"]
        state["uniter.embeddings.word_embeddings.weight"] = torch.cat([word, word])[120:]
        dense = state["uniter.pooler.dense.weight"]
        state["uniter.pooler.dense.weight"] = dense.t().contiguous().t()
        self.assertEqual(self.convert_all(state, "uniter_small", 120), plain)

    def test_module_state_dict_has_metadata(self):
        module = torch.nn.Module()
        for name, tensor in golden("uniter_small").items():
            *path, last = name.split(".")
            inner = module
            for part in path:
                if part not in dict(inner.named_children()):
                    inner.add_module(part, torch.nn.Module())
                inner = dict(inner.named_children())[part]
            inner.register_parameter(last, torch.nn.Parameter(tensor))
        self.assertEqual(self.convert_all(module.state_dict(), "uniter_small", 120),
                         self.convert_all(golden("uniter_small"), "uniter_small", 120))

    def test_training_state_is_passed_over(self):
        state = golden("lightningdot")
        parameters = [torch.nn.Parameter(torch.ones(3))]
        optimizer = torch.optim.AdamW(parameters)
        parameters[0].sum().backward()
        optimizer.step()
        saved = {"model_dict": state, "optimizer_dict": optimizer.state_dict(), "offset": 7,
                 "epoch": 14, "encoder_params": {"lr": 1e-5, "names": ("a", None, True)}}
        # weights_only of PyTorch 1.13 knows no floating-point numbers.
        self.assertEqual(self.convert_all(saved, "lightningdot", 150, trust=True),
                         self.convert_all(state, "lightningdot", 150))

    def test_tensor_beside_the_wrapper(self):
        state = golden("uniter_small")
        saved = {"best_rsum": torch.tensor(3.5), "model": state, "state_dict": {}}
        self.assertEqual(self.convert_all(saved, "uniter_small", 120),
                         self.convert_all(state, "uniter_small", 120))

    def test_sgraf_with_options(self):
        state = golden("saf")
        parts = [{key[8:]: value for key, value in state.items() if key.startswith(prefix)}
                 for prefix in ("img_enc.", "txt_enc.", "sim_enc.")]
        saved = {"epoch": 3, "model": parts, "best_rsum": 400.5, "Eiters": 10,
                 "opt": argparse.Namespace(batch_size=128, module_name="SAF")}
        torch.save(saved, work("old.pt"), _use_new_zipfile_serialization=False)
        status, said = to_safetensors("x.safetensors", work("old.pt"))
        self.assertEqual(status, 2)
        self.assertIn("--trust", said)
        self.convert_all(saved, "saf", 60, trust=True)

    def test_parts_come_together(self):
        state = golden("oscar")
        torch.save({k[5:]: v for k, v in state.items() if k.startswith("bert.")}, work("trunk.bin"))
        torch.save({k: v for k, v in state.items() if k.startswith("classifier")}, work("head.pt"))
        status, said = to_safetensors("joint.safetensors", work("trunk.bin"), work("head.pt"))
        self.assertEqual(status, 0, said)
        done = convert("joint.safetensors", 150, "--heads", "4")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("cosine", done.stderr)
        self.assertIn("softmax_match", done.stderr)

    def in_folder(self, name, arguments, new=False):
        """A folder with an OSCAR, its config.json and training_args.bin of these arguments."""
        os.makedirs(work(name), exist_ok=True)
        torch.save(golden("oscar"), work(f"{name}/pytorch_model.bin"),
                   _use_new_zipfile_serialization=False)
        with open(work(f"{name}/config.json"), "w", encoding="utf-8") as file:
            json.dump({"num_attention_heads": 4, "max_img_seq_length": 33}, file)
        torch.save(arguments, work(f"{name}/training_args.bin"), _use_new_zipfile_serialization=new)
        return work(f"{name}/pytorch_model.bin")

    def test_training_arguments_go_along(self):
        arguments = argparse.Namespace(
            max_seq_length=40, max_img_seq_length=30, att_mask_type="CLR", add_od_labels=True,
            img_layer_norm_eps=1e-5, device=torch.device("cpu"), dtype=torch.float16, lr=5e-5,
            layers=collections.OrderedDict(a=1), names={"x"}, sizes=collections.Counter("ab"),
            weight=torch.ones(3), max_tag_length=None)
        for new in (False, True):
            name = f"trained{new}"
            checkpoint = self.in_folder(name, arguments, new)
            os.makedirs(work(f"{name}_out"), exist_ok=True)
            status, said = to_safetensors(f"{name}_out/x.safetensors", checkpoint)
            self.assertEqual(status, 0, said)
            self.assertIn("max_seq_length 40", said)
            with open(work(f"{name}_out/config.json"), encoding="utf-8") as file:
                self.assertEqual(json.load(file), {
                    "max_seq_length": 40, "max_img_seq_length": 33, "att_mask_type": "CLR",
                    "add_od_labels": True, "img_layer_norm_eps": 1e-5, "num_attention_heads": 4})
            done = convert(f"{name}_out/x.safetensors", 150)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertNotIn("warning", done.stderr)
            self.assertIn("up to 40 tokens, segment 1", done.stderr)
            self.assertIn("33 regions", done.stderr)
            # Again, and into the folder of the checkpoint itself.
            self.assertEqual(to_safetensors(f"{name}_out/x.safetensors", checkpoint)[0], 0)
            self.assertEqual(to_safetensors(f"{name}/x.safetensors", checkpoint)[0], 0)
            done = convert(f"{name}/x.safetensors", 150)
            self.assertNotIn("warning", done.stderr)

    def test_training_arguments_can_lie_elsewhere(self):
        checkpoint = self.in_folder("elsewhere", argparse.Namespace(max_seq_length=40))
        torch.save(argparse.Namespace(max_seq_length=50, add_od_labels=False), work("other.bin"),
                   _use_new_zipfile_serialization=False)
        os.makedirs(work("elsewhere_out"))
        status, said = to_safetensors("elsewhere_out/x.safetensors", "--training-args",
                                      work("other.bin"), checkpoint)
        self.assertEqual(status, 0, said)
        done = convert("elsewhere_out/x.safetensors", 150)
        self.assertIn("up to 50 tokens", done.stderr)
        self.assertNotIn("segment 1", done.stderr)  # no tags
        # Another config.json is not written over.
        status, said = to_safetensors("elsewhere_out/x.safetensors", checkpoint)
        self.assertEqual(status, 2)
        self.assertIn("says something else", said)

    def test_training_arguments_run_nothing(self):
        class Program:
            def __reduce__(self):
                return os.mkdir, (work("ran"),)

        checkpoint = self.in_folder("hostile", argparse.Namespace(max_seq_length=40, x=Program()))
        os.makedirs(work("hostile_out"))
        status, said = to_safetensors("hostile_out/x.safetensors", checkpoint, "--trust")
        self.assertEqual(status, 0, said)
        self.assertIn("max_seq_length 40", said)
        self.assertFalse(os.path.exists(work("ran")))
        with open(work("hostile/training_args.bin"), "wb") as file:
            file.write(b"\x80\x02}q\x00(X\x03")
        status, said = to_safetensors("hostile_out/y.safetensors", checkpoint)
        self.assertEqual(status, 2)
        self.assertIn("training_args.bin", said)
        self.assertFalse(os.path.exists(work("hostile_out/y.safetensors")))

    def test_numbers_of_other_types(self):
        state = golden("uniter_small")
        for dtype in (torch.float16, torch.bfloat16, torch.float64):
            self.convert_all({k: v.to(dtype) for k, v in state.items()}, "uniter_small", 120)

    def test_what_is_no_checkpoint_is_refused(self):
        torch.save({"lr": 1}, work("no.pt"))
        status, said = to_safetensors("x.safetensors", work("no.pt"))
        self.assertEqual(status, 2)
        self.assertIn("lr", said)
        self.assertFalse(os.path.exists(work("x.safetensors")))

    def test_a_truncated_file_is_told_so(self):
        for form in (True, False):
            torch.save(golden("uniter_small"), work("whole.pt"),
                       _use_new_zipfile_serialization=form)
            with open(work("whole.pt"), "rb") as file:
                whole = file.read()
            with open(work("cut.pt"), "wb") as file:
                file.write(whole[:len(whole) // 2])
            status, said = to_safetensors("x.safetensors", work("cut.pt"))
            self.assertEqual(status, 2, said)
            self.assertIn("truncated", said)
            self.assertNotIn("--trust", said)


if __name__ == "__main__":
    program = unittest.main(argv=sys.argv[:1], exit=False)
    result = program.result
    failed = len(result.failures) + len(result.errors)
    print(f"cases: {result.testsRun - failed} passed, {failed} failed")
    sys.exit(1 if failed or result.testsRun == 0 else 0)
