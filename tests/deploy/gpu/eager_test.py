"""PyTorch's blocks compute BERT's, over every load of a stack_check."""

import json
import os
import subprocess
import sys

import cases
import eager
import torch

SHAPE = {"hidden_size": 8, "heads": 2, "intermediate_size": 12}


def load(readout, precision="float32"):
    return {"load": f"all {readout}", "precision": precision, "sequences": 3, "length": 5, "readout": readout,
            "seconds": 0.25}


def plain_block(block, rows):
    """One sequence at a time, head by head, by the formulas."""
    done = []
    for one in rows:
        query, key, value = block.query_key_value(one).chunk(3, -1)
        heads = []
        for part in range(block.heads):
            width = one.shape[-1] // block.heads
            at = slice(part * width, (part + 1) * width)
            scores = query[:, at] @ key[:, at].T / width ** 0.5
            heads.append(torch.softmax(scores, -1) @ value[:, at])
        one = block.attention_norm(one + block.attention_output(torch.cat(heads, -1)))
        inner = block.intermediate(one)
        inner = inner * 0.5 * (1 + torch.erf(inner / 2 ** 0.5))
        done.append(block.output_norm(one + block.output(inner)))
    return torch.stack(done)


class EagerTest(cases.Case):

    def test_a_block_is_the_formulas(self):
        torch.manual_seed(3)
        block, rows = eager.Block(8, 2, 12), torch.randn(3, 5, 8)
        self.assertLess((block(rows) - plain_block(block, rows)).abs().max().item(), 1e-5)

    def test_attention_without_a_fused_one_is_the_same(self):
        query, key, value = torch.randn(3, 2, 2, 5, 4).unbind(0)
        plain = torch.softmax(query @ key.transpose(-2, -1) / 2, -1) @ value
        self.assertLess((eager.attention(query, key, value) - plain).abs().max().item(), 1e-5)

    def test_first_rows_alone_are_those_of_all_rows(self):
        torch.manual_seed(3)
        block, rows = eager.Block(8, 2, 12), torch.randn(3, 5, 8)
        first = block(rows, first_only=True)
        self.assertEqual(tuple(first.shape), (3, 1, 8))
        self.assertLess((first[:, 0] - block(rows)[:, 0]).abs().max().item(), 1e-5)

    def test_what_is_behind_attention_is_computed_of_first_rows_alone_and_in_the_last_layer_alone(self):
        blocks = torch.nn.Sequential(eager.Block(8, 2, 12), eager.Block(8, 2, 12))
        counted = []
        for block in blocks:
            block.output.register_forward_hook(lambda _, inputs, __: counted.append(inputs[0].shape[1]))
        for name in ("first", "all"):
            eager.Pass(blocks, load(name), "cpu")()
        self.assertEqual(counted, [5, 1, 5, 5])

    def test_what_is_read_has_the_shape_of_a_readout(self):
        blocks = torch.nn.Sequential(eager.Block(8, 2, 12))
        self.assertEqual([tuple(eager.Pass(blocks, load(name), "cpu")().shape) for name in ("all", "first", "mean")],
                         [(3, 5, 8), (3, 8), (3, 8)])

    def test_every_pass_of_a_stack_check_is_timed_in_its_precision(self):
        stack = {"layers": 2, "rounds": 3, "shape": SHAPE, "passes": [load("mean"), load("first", "bfloat16")]}
        self.write("stack.json", json.dumps(stack).encode())
        out = os.path.join(self.folder, "eager.json")
        subprocess.run([sys.executable, "-B", eager.__file__, "--stack", os.path.join(self.folder, "stack.json"),
                        "--device", "cpu", "--json", out], check=True)
        with open(out, encoding="utf-8") as file:
            result = json.load(file)
        self.assertEqual([(each["load"], each["precision"], each["beside"]) for each in result["passes"]],
                         [("all mean", "float32", 0.25), ("all first", "bfloat16", 0.25)])
        self.assertTrue(all(each["seconds"] > 0 for each in result["passes"]))

    def test_a_torch_without_the_device_is_told(self):
        self.assertEqual(eager.lacks("cpu"), "")
        torch.cuda.is_available = lambda: False
        self.assertIn("has no CUDA", eager.lacks("cuda"))


cases.main()
