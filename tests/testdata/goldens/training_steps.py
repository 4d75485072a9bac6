#!/usr/bin/env python3
"""Three optimiser steps of each golden model, by plain PyTorch in float64.

    training_steps.py [FOLDER ...]      # default: all beside this file

Writes FOLDER/training.json, the objective, the optimiser's numbers and what came out (and, of a
folder that has no network, whose network and case it learns with, what its bundle's manifest says
besides, and what its weights' names begin with that go), and FOLDER/training.safetensors: of five
tensors the gradient of each step ("gradient 1/NAME"), before clipping, and what three steps changed
("change/NAME"); and of norms over a batch their running statistics then ("running/NAME").  Names
are those of a bundle's weights.  Networks are written out here again, from the papers, sequence by
sequence: nothing is shared with what is tested.
"""
import json
import math
import pathlib
import struct
import sys

import torch
import torch.nn.functional as F

HERE = pathlib.Path(__file__).resolve().parent
# Ten times what tests allow, of what a tensor was changed by.
LEAST_DIFFERENCE = 1e-2
DTYPES = {"F32": torch.float32, "I64": torch.int64}


def read(path):
    data = path.read_bytes()
    (length,) = struct.unpack("<Q", data[:8])
    header = json.loads(data[8:8 + length])
    tensors = {}
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        begin, end = entry["data_offsets"]
        raw = bytearray(data[8 + length + begin:8 + length + end])
        tensor = torch.frombuffer(raw, dtype=DTYPES[entry["dtype"]]).reshape(entry["shape"])
        tensors[name] = tensor.double() if tensor.is_floating_point() else tensor
    return tensors


def write(path, tensors):
    header, blobs, offset = {}, [], 0
    for name in sorted(tensors):
        blob = tensors[name].float().contiguous().numpy().tobytes()
        header[name] = {"dtype": "F32", "shape": list(tensors[name].shape),
                        "data_offsets": [offset, offset + len(blob)]}
        blobs.append(blob)
        offset += len(blob)
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + b"".join(blobs))


def unit(x):
    return x / x.norm(dim=-1, keepdim=True)


class Bert:
    """A post-LN stack of blocks and what is before it, of one sequence at a time."""

    def __init__(self, weights, prefix, config):
        self.w, self.prefix = weights, prefix
        self.heads = config["num_attention_heads"]
        self.layers = config["num_hidden_layers"]

    def linear(self, name, x):
        return F.linear(x, self.w[self.prefix + name + ".weight"],
                        self.w[self.prefix + name + ".bias"])

    def norm(self, name, x):
        weight = self.w[self.prefix + name + ".weight"]
        return F.layer_norm(x, weight.shape, weight, self.w[self.prefix + name + ".bias"], 1e-12)

    def text(self, ids, first=0, kind=0):
        e = self.prefix + "embeddings."
        # As in the released code, [PAD] learns nothing.
        rows = (F.embedding(ids, self.w[e + "word_embeddings.weight"], padding_idx=0) +
                self.w[e + "position_embeddings.weight"][first:first + len(ids)] +
                self.w[e + "token_type_embeddings.weight"][kind])
        return self.norm("embeddings.LayerNorm", rows)

    def blocks(self, x, seen=None):
        """L x H -> L x H; `seen` says which rows others may look at."""
        for i in range(self.layers):
            layer = f"encoder.layer.{i}."
            q, k, v = (self.linear(layer + "attention.self." + part, x).view(
                len(x), self.heads, -1).transpose(0, 1) for part in ("query", "key", "value"))
            scores = q @ k.transpose(1, 2) / math.sqrt(q.shape[-1])
            if seen is not None:
                scores = scores.masked_fill(~seen, -1e4)
            mixed = (scores.softmax(-1) @ v).transpose(0, 1).reshape(x.shape)
            x = self.norm(layer + "attention.output.LayerNorm",
                          x + self.linear(layer + "attention.output.dense", mixed))
            inner = F.gelu(self.linear(layer + "intermediate.dense", x))
            x = self.norm(layer + "output.LayerNorm",
                          x + self.linear(layer + "output.dense", inner))
        return x

    def pooled(self, x):
        return torch.tanh(self.linear("pooler.dense", x[0]))


class Oscar(Bert):
    def __init__(self, weights, config):
        super().__init__(weights, "bert.", config)
        self.cls, self.normed = config.get("cls_id", 1), config["use_img_layernorm"]

    def regions(self, features):
        rows = self.linear("img_embedding", features)
        return self.norm("LayerNorm", rows) if self.normed else rows

    def embed_text(self, ids):
        return unit(self.blocks(self.text(ids)).mean(0))

    def embed_image(self, image):
        cls = self.text(torch.tensor([self.cls]))
        return unit(self.blocks(torch.cat([cls, self.regions(image["features"])])).mean(0))

    def score(self, ids, image):
        rows = self.blocks(torch.cat([self.text(ids), self.regions(image["features"])]))
        return F.linear(self.pooled(rows), self.w["classifier.weight"], self.w["classifier.bias"])


class Uniter(Bert):
    def __init__(self, weights, config, prefix="uniter."):
        super().__init__(weights, prefix, config)

    def regions(self, image):
        e = "img_embeddings."
        rows = (self.norm(e + "img_layer_norm", self.linear(e + "img_linear", image["features"])) +
                self.norm(e + "pos_layer_norm", self.linear(e + "pos_linear", image["boxes"])) +
                self.w[self.prefix + "embeddings.token_type_embeddings.weight"][1])
        return self.norm(e + "LayerNorm", rows)

    def score(self, ids, image):
        rows = self.blocks(torch.cat([self.text(ids), self.regions(image)]))
        return F.linear(self.pooled(rows), self.w["rank_output.weight"],
                        self.w["rank_output.bias"])


class LightningDot:
    def __init__(self, weights, config):
        self.w = weights
        self.texts = Bert(weights, "txt_model.bert.", config)
        self.images = Uniter(weights, config, "img_model.bert.")
        self.cls, self.sep = config["cls_id"], config["sep_id"]

    def project(self, tower, row):
        p = tower + ".encode_proj."
        inner = F.gelu(F.linear(row, self.w[p + "0.weight"], self.w[p + "0.bias"]))
        weight = self.w[p + "2.weight"]
        inner = F.layer_norm(inner, weight.shape, weight, self.w[p + "2.bias"], 1e-12)
        return F.linear(inner, self.w[p + "3.weight"], self.w[p + "3.bias"])

    def embed_text(self, ids):
        return self.project("txt_model", self.texts.blocks(self.texts.text(ids))[0])

    def embed_image(self, image):
        parts = [self.images.text(torch.tensor([self.cls])), self.images.regions(image)]
        if len(image.get("ocr", [])) > 0:
            ids = torch.cat([torch.tensor([self.sep]), image["ocr"]])
            parts.append(self.images.text(ids, first=1))
        return self.project("img_model", self.images.blocks(torch.cat(parts))[0])


class VlDeformer(Oscar):
    def __init__(self, weights, config):
        super().__init__(weights, config)
        self.config = config

    def padded(self, ids, length, kind):
        real = self.text(ids, kind=kind)
        padding = self.text(torch.zeros(length - len(ids), dtype=torch.int64), len(ids), kind)
        return torch.cat([real, padding]), torch.arange(length) < len(ids)

    def embed(self, rows, seen):
        rows = self.blocks(rows, seen)
        return unit(torch.tanh(rows[0] if self.config.get("first_row") else rows.mean(0)))

    def embed_text(self, ids):
        return self.embed(*self.padded(ids, self.config["max_seq_length"], 0))

    def embed_image(self, image):
        tags, seen_tags = self.padded(image["tags"], self.config["max_tag_length"], 1)
        count = self.config["max_img_seq_length"]
        features = torch.zeros(count, image["features"].shape[1]).double()
        features[:len(image["features"])] = image["features"]
        seen = torch.arange(count) < len(image["features"])
        return self.embed(torch.cat([tags, self.regions(features)]), torch.cat([seen_tags, seen]))


class M3p(Bert):
    def __init__(self, weights, config):
        super().__init__(weights, "", config)

    def at(self, rows, first):
        places = self.w["position_embeddings.weight"][first:first + len(rows)]
        return self.norm("layer_norm_emb", rows + places)

    def words(self, ids):
        return self.w["embeddings.weight"][ids]

    def regions(self, image):
        e = "image_embeddings."
        rows = (self.linear(e + "image_embeddings", image["features"]) +
                self.linear(e + "image_location_embeddings", image["boxes"]))
        return self.at(self.norm(e + "LayerNorm", rows), 0)

    def embed_text(self, ids):
        return unit(self.blocks(self.at(self.words(ids), 0)).mean(0))

    def embed_image(self, image):
        regions = self.regions(image)
        start = self.at(self.words(torch.tensor([0])), len(regions))
        return unit(self.blocks(torch.cat([regions, start])).mean(0))

    def score(self, ids, image):
        regions = self.regions(image)
        rows = self.blocks(torch.cat([regions, self.at(self.words(ids), len(regions))]))
        pooled = torch.tanh(self.linear("pooled_layer.dense", rows[0]))
        return F.linear(pooled, self.w["classifier.weight"], self.w["classifier.bias"])


class Sgraf:
    """In training mode: norms by the batch, which is all images, all words of all captions
    (T-EMDE's), or all pairs of a caption with the images (SAF's)."""

    def __init__(self, weights, config):
        self.w, self.config = weights, config
        self.norms = {}  # running mean and variance, by name

    def linear(self, name, x):
        return F.linear(x, self.w[name + ".weight"], self.w[name + ".bias"])

    def batch_norm(self, name, x, dims):
        """Over `dims`; the channels are the one other dimension."""
        mean = x.mean(dims, keepdim=True)
        variance = x.var(dims, unbiased=False, keepdim=True)
        shape = mean.shape
        old = self.norms.get(name, (torch.zeros(1).double(), torch.ones(1).double()))
        self.norms[name] = (0.9 * old[0] + 0.1 * mean.detach().flatten(),
                            0.9 * old[1] + 0.1 * x.detach().var(dims).flatten())
        return ((x - mean) / (variance + 1e-5).sqrt() * self.w[name + ".weight"].view(shape) +
                self.w[name + ".bias"].view(shape))

    @staticmethod
    def l2n(x, dim=-1):
        return x / (x.norm(dim=dim, keepdim=True) + 1e-8)

    def gru(self, x, ending):
        """Gated recurrent units (Cho et al., 2014) over the rows of x, as torch.nn.GRU has them."""
        g = "txt_enc.cap_rnn."
        inputs = F.linear(x, self.w[g + "weight_ih" + ending], self.w[g + "bias_ih" + ending])
        state, states = torch.zeros(self.config["embed_size"]).double(), []
        for row in inputs:
            seen = F.linear(state, self.w[g + "weight_hh" + ending],
                            self.w[g + "bias_hh" + ending]).chunk(3)
            reset, update, new = row.chunk(3)
            reset, update = torch.sigmoid(reset + seen[0]), torch.sigmoid(update + seen[1])
            new = torch.tanh(new + reset * seen[2])
            state = (1 - update) * new + update * state
            states.append(state)
        return torch.stack(states)

    def words(self, ids):
        x = self.w["txt_enc.embed.weight"][ids]
        back = self.gru(x.flip(0), "_l0_reverse").flip(0)
        return self.l2n((self.gru(x, "_l0") + back) / 2)

    def image_globals(self, images):
        if self.config.get("without_node"):
            return [None] * len(images)
        if self.config["temde"]:
            return self.sketches("v_emde", list(images))
        g = "sim_enc.v_global_w."
        local = self.batch_norm(g + "embedding_local.1",
                                self.linear(g + "embedding_local.0", images), (0, 2))
        whole = self.batch_norm(g + "embedding_global.1",
                                self.linear(g + "embedding_global.0", images.mean(1)), (0,))
        return torch.stack([self.attended(g, a, b, rows)
                            for a, b, rows in zip(local, whole, images)])

    def attended(self, g, local, whole, rows):
        scores = self.linear(g + "embedding_common.0", torch.tanh(local) * torch.tanh(whole))
        return self.l2n((scores.softmax(0) * rows).sum(0))

    def text_globals(self, texts):
        if self.config.get("without_node"):
            return [None] * len(texts)
        if self.config["temde"]:
            return self.sketches("t_emde", texts)
        g = "sim_enc.t_global_w."
        return torch.stack([
            self.attended(g, self.linear(g + "embedding_local.0", rows),
                          self.linear(g + "embedding_global.0", rows.mean(0)), rows)
            for rows in texts])

    def sketches(self, side, items):
        c = "sim_enc." + side + ".coder."
        n, k, d = (self.config["emde_" + part] for part in "nkd")
        z = self.batch_norm(c + "bn1", self.linear(c + "l1", torch.cat(items)), (0,))
        distances = (z.view(-1, n, k, d) - self.w[c + "centroids"].view(n, k, d)).pow(2).sum(-1)
        votes = (-self.w[c + "temp"] * distances).softmax(-1)
        sums = [part.sum(0) for part in votes.split([len(item) for item in items])]
        return torch.stack([self.l2n(each).flatten() for each in sums])

    def similarity(self, images, texts):
        """Images x captions."""
        regions = self.l2n(self.linear("img_enc.fc", images))
        words = [self.words(ids) for ids in texts]
        image_globals, text_globals = self.image_globals(regions), self.text_globals(words)
        columns = [self.column(regions, image_globals, t, whole)
                   for t, whole in zip(words, text_globals)]
        return torch.stack(columns, 1)

    def column(self, regions, image_globals, words, text_global):
        scores = self.l2n(F.leaky_relu(regions @ words.T, 0.1), 2)  # images x R x L
        context = self.l2n((9 * scores).softmax(1).transpose(1, 2) @ regions)
        local = self.l2n(self.linear("sim_enc.sim_tranloc_w", (context - words).pow(2)))
        if text_global is None:
            return self.scored(local)
        if self.config["temde"]:
            both = torch.cat([text_global.expand(len(regions), -1), image_globals], 1)
            whole = F.relu(self.linear("sim_enc.emde_fuse", both))
        else:
            whole = self.l2n(self.linear("sim_enc.sim_tranglo_w",
                                         (image_globals - text_global).pow(2)))
        return self.scored(torch.cat([whole.unsqueeze(1), local], 1))

    def scored(self, nodes):
        return torch.sigmoid(self.linear("sim_enc.sim_eval_w", self.aggregate(nodes))).squeeze(1)

    def aggregate(self, nodes):
        if self.config["module"] == "SAF":
            raw = self.batch_norm("sim_enc.SAF_module.bn",
                                  self.linear("sim_enc.SAF_module.attn_sim_w", nodes), (0, 1))
            weights = torch.sigmoid(raw)
            weights = weights / (weights.abs().sum(1, keepdim=True) + 1e-8)
            return self.l2n((weights * nodes).sum(1))
        for i in range(self.config["sgr_step"]):
            step = f"sim_enc.SGR_module.{i}."
            edges = (self.linear(step + "graph_query_w", nodes) @
                     self.linear(step + "graph_key_w", nodes).transpose(1, 2)).softmax(-1)
            nodes = F.relu(self.linear(step + "sim_graph_w", edges @ nodes))
        return nodes[:, 0]


# --- objectives, of all items of a case as one batch ---


def embeddings(network, texts, images):
    return (torch.stack([network.embed_text(ids) for ids in texts]),
            torch.stack([network.embed_image(image) for image in images]))


def cmr(network, texts, images):
    t, v = embeddings(network, texts, images)
    target = torch.arange(len(t))
    return (F.cross_entropy(t @ v.T, target) + F.cross_entropy(v @ t.T, target)) / 2


def decomposed(network, texts, images):
    t, v = embeddings(network, texts, images)
    target, scores = torch.arange(len(t)), t @ v.T / 0.005
    return F.cross_entropy(scores, target) + F.cross_entropy(scores.T, target)


def cosine_hinge(network, texts, images):
    t, v = embeddings(network, texts, images)
    distances = 1 - v @ t.T
    right = distances.diagonal()
    wrong = distances + 2 * torch.eye(len(t)).double()
    return (F.relu(right - wrong.min(1).values + 0.1) +
            F.relu(right - wrong.min(0).values + 0.1)).mean()


def neighbour(i, texts):
    return (i + 1) % len(texts)


def match(network, texts, images):
    """Each text with its image, and with the next one's, which is wrong."""
    logits = [network.score(ids, images[i]) for i, ids in enumerate(texts)]
    logits += [network.score(ids, images[neighbour(i, texts)]) for i, ids in enumerate(texts)]
    target = torch.tensor([1] * len(texts) + [0] * len(texts))
    return F.cross_entropy(torch.stack(logits), target)


def sigmoid_hinge(network, texts, images):
    right = torch.cat([network.score(ids, images[i]) for i, ids in enumerate(texts)])
    wrong = torch.cat([network.score(ids, images[neighbour(i, texts)])
                       for i, ids in enumerate(texts)])
    return F.relu(0.2 + torch.sigmoid(wrong) - torch.sigmoid(right)).mean()


def matrix_hinge(network, texts, images):
    """SGRAF's: as many captions as images, caption i of image i."""
    count = min(len(texts), len(images))
    scores = network.similarity(torch.stack([image["features"] for image in images[:count]]),
                                texts[:count])
    right = scores.diagonal().unsqueeze(1)
    others = ~torch.eye(count, dtype=torch.bool)
    by_image = (F.relu(0.2 + scores - right) * others).max(1).values
    by_text = (F.relu(0.2 + scores - right.T) * others).max(0).values
    return by_image.sum() + by_text.sum()


def linear_rates(peak, warm_up, steps):
    """The schedule, and its first three rates."""
    rates = []
    for step in range(3):
        if step < warm_up:
            rates.append(peak * (step + 1) / warm_up)
        else:
            rates.append(peak * (1 - (step - warm_up) / (steps - warm_up)))
    return {"decay": "linear", "peak": peak, "warmup_steps": warm_up, "steps": steps}, rates


def cosine_rates(peak, warm_up, steps):
    schedule, rates = linear_rates(peak, warm_up, steps)
    for step in range(warm_up, 3):
        done = (step - warm_up) / (steps - warm_up)
        rates[step] = peak * 0.5 * (1 + math.cos(math.pi * done))
    return dict(schedule, decay="cosine"), rates


def step_rates(peak, drop_every, factor):
    schedule = {"decay": "step", "peak": peak, "warmup_steps": 0, "steps": 3,
                "drop_every": drop_every, "drop_factor": factor}
    return schedule, [peak * factor ** (step // drop_every) for step in range(3)]


BLOCK = "encoder.layer.1.attention.self.query.weight"
# Adam divides by a gradient's own size: with an epsilon as small as the papers', clipping changes
# next to nothing, and a gradient that is nothing but float32's rounding moves a weight by the whole
# rate.  Much larger than gradients, it makes steps so small that weights' rounding is seen.
EPSILON = 1e-3
# Of weights of a few hundredths, steps of which are a few hundred thousandths.
DECAY = 0.5
SGRAF_RECIPE = {
    "objective": ("matrix_hinge", matrix_hinge), "beta2": 0.999, "epsilon": EPSILON,
    "decay": DECAY, "clip": 1.0, "rates": step_rates(2e-4, 2, 0.1),
}
# By folder; numbers of models.md section 5, but for those that are to be seen in three steps:
# epsilon, decay and clipping.
RECIPES = {
    "oscar": {
        "network": Oscar, "objective": ("pairwise", match), "beta2": 0.999, "epsilon": 1e-4,
        "decay": DECAY, "clip": 0.5, "rates": linear_rates(2e-5, 0, 5),
        "tensors": ["bert.embeddings.token_type_embeddings.weight", "bert.img_embedding.bias",
                    "bert." + BLOCK, "bert.pooler.dense.bias", "classifier.weight"],
    },
    "uniter_small": {
        "network": Uniter, "objective": ("sigmoid_hinge", sigmoid_hinge), "beta2": 0.98,
        "epsilon": 1e-5, "decay": DECAY, "clip": 0.01, "rates": linear_rates(5e-5, 1, 3),
        "tensors": ["uniter.embeddings.token_type_embeddings.weight",
                    "uniter.img_embeddings.pos_linear.weight",
                    "uniter.img_embeddings.img_layer_norm.weight", "uniter." + BLOCK,
                    "rank_output.weight"],
    },
    "lightningdot": {
        "network": LightningDot, "objective": ("cmr", cmr), "beta2": 0.98, "epsilon": EPSILON,
        "decay": DECAY, "clip": 2.0, "rates": linear_rates(5e-5, 2, 4),
        "tensors": ["img_model.bert.img_embeddings.img_linear.bias",
                    "img_model.encode_proj.2.weight", "txt_model.bert." + BLOCK,
                    "txt_model.bert.embeddings.LayerNorm.weight",
                    "txt_model.encode_proj.3.bias"],
    },
    "m3p": {
        "network": M3p, "objective": ("hinge", cosine_hinge), "beta2": 0.999,
        "epsilon": EPSILON, "decay": DECAY, "clip": 0.5, "rates": linear_rates(5e-5, 0, 4),
        "tensors": ["embeddings.weight", "image_embeddings.image_location_embeddings.weight",
                    BLOCK, "layer_norm_emb.weight", "encoder.layer.0.output.dense.bias"],
    },
    "vldeformer": {
        "network": VlDeformer, "objective": ("decomposed", decomposed),
        "beta2": 0.999, "epsilon": EPSILON, "decay": DECAY, "clip": 1.0,
        "rates": cosine_rates(5e-5, 1, 4),
        "tensors": ["bert.embeddings.word_embeddings.weight", "bert.img_embedding.bias",
                    "bert.LayerNorm.weight", "bert." + BLOCK,
                    "bert.encoder.layer.0.intermediate.dense.bias"],
    },
    "saf": dict(SGRAF_RECIPE, network=Sgraf, tensors=[
        "img_enc.fc.bias", "txt_enc.cap_rnn.bias_hh_l0_reverse",
        "sim_enc.v_global_w.embedding_local.1.weight", "sim_enc.SAF_module.attn_sim_w.weight",
        "sim_enc.sim_tranglo_w.weight"]),
    "sgr_temde": dict(SGRAF_RECIPE, network=Sgraf, tensors=[
        "txt_enc.embed.weight", "sim_enc.t_emde.coder.centroids",
        "sim_enc.v_emde.coder.bn1.bias", "sim_enc.SGR_module.1.graph_query_w.weight",
        "sim_enc.emde_fuse.weight"]),
}
RECIPES["oscar_ln"] = RECIPES["oscar"]
RECIPES["lightningdot_scene_text"] = RECIPES["lightningdot"]
RECIPES["saf_temde"] = dict(RECIPES["saf"], tensors=[
    "img_enc.fc.bias", "sim_enc.v_emde.coder.bn1.weight", "sim_enc.v_emde.coder.temp",
    "sim_enc.SAF_module.bn.weight", "sim_enc.sim_eval_w.weight"])
RECIPES["sgr"] = dict(RECIPES["saf"], tensors=[
    "img_enc.fc.weight", "txt_enc.cap_rnn.bias_ih_l0",
    "sim_enc.t_global_w.embedding_common.0.weight", "sim_enc.SGR_module.2.sim_graph_w.weight",
    "sim_enc.sim_tranloc_w.bias"])

# Others than its family's, of another folder's network and case: objectives that recipes name too,
# and what a bundle's manifest may say that a converted checkpoint's does not.
RECIPES["oscar_hinge"] = dict(RECIPES["m3p"], of="oscar", network=Oscar, tensors=[
    "bert.embeddings.position_embeddings.weight", "bert.embeddings.LayerNorm.weight",
    "bert.img_embedding.weight", "bert." + BLOCK, "bert.encoder.layer.0.output.dense.bias"])
RECIPES["m3p_pairwise"] = dict(RECIPES["oscar"], of="m3p", network=M3p, clip=0.05, tensors=[
    "embeddings.weight", "image_embeddings.image_embeddings.bias", BLOCK,
    "pooled_layer.dense.weight", "classifier.weight"])
RECIPES["vldeformer_cls"] = dict(RECIPES["vldeformer"], of="vldeformer",
                                 config={"first_row": True}, manifest="embedding { rows: FIRST_ROW }",
                                 without=[])
WITHOUT_NODE = {"config": {"without_node": True}, "manifest": "sgraf { without_global_node: true }",
                "without": ["sim_enc.v_global_w.", "sim_enc.t_global_w.", "sim_enc.sim_tranglo_w."]}
RECIPES["saf_without_node"] = dict(RECIPES["saf"], of="saf", clip=0.5, **WITHOUT_NODE, tensors=[
    "img_enc.fc.bias", "txt_enc.embed.weight", "sim_enc.SAF_module.attn_sim_w.weight",
    "sim_enc.sim_tranloc_w.weight", "sim_enc.sim_eval_w.weight"])
RECIPES["sgr_without_node"] = dict(RECIPES["sgr"], of="sgr", **WITHOUT_NODE, tensors=[
    "img_enc.fc.weight", "txt_enc.cap_rnn.bias_ih_l0", "sim_enc.SGR_module.0.graph_key_w.weight",
    "sim_enc.SGR_module.2.sim_graph_w.weight", "sim_enc.sim_tranloc_w.bias"])

# An M3P's bundle names its blocks as BERT does.
M3P_NAMES = [("attentions.", "q_lin", "attention.self.query"),
             ("attentions.", "k_lin", "attention.self.key"),
             ("attentions.", "v_lin", "attention.self.value"),
             ("attentions.", "out_lin", "attention.output.dense"),
             ("layer_norm1.", "", "attention.output.LayerNorm"),
             ("ffns.", "lin1", "intermediate.dense"), ("ffns.", "lin2", "output.dense"),
             ("layer_norm2.", "", "output.LayerNorm")]


def bundle_name(family, name):
    if family != "m3p":
        return name
    for group, part, new in M3P_NAMES:
        if name.startswith(group):
            number, rest = name[len(group):].split(".", 1)
            if rest.startswith(part):
                return f"encoder.layer.{number}.{new}.{rest.split('.')[-1]}"
    return name


def decays(name):
    """As UNITER's, OSCAR's and MMT's trainers decide."""
    return not any(part in name for part in ("bias", "LayerNorm.weight"))


def inputs(case, config):
    if config["family"] == "sgraf":
        texts = [ids[:n] for ids, n in zip(case["captions"], case["caption_length"])]
        return texts, [{"features": features} for features in case["regions"]]
    texts = [ids[:n] for ids, n in zip(case["input_ids"], case["text_length"])]
    images = []
    for i, count in enumerate(case["region_count"]):
        image = {"features": case["region_features"][i, :count]}
        if "region_boxes" in case:
            image["boxes"] = case["region_boxes"][i, :count]
        for part, ids, length in (("tags", "tag_ids", "tag_length"),
                                  ("ocr", "ocr_ids", "ocr_length")):
            if ids in case:
                image[part] = case[ids][i, :case[length][i]]
        images.append(image)
    return texts, images


def learn(folder, recipe):
    """What three steps do: tensors to keep, losses, gradients' norms."""
    folder = folder.parent / recipe.get("of", folder.name)
    config = dict(json.loads((folder / "config.json").read_text()), **recipe.get("config", {}))
    weights = {bundle_name(config["family"], name): value.clone()
               for name, value in read(folder / "weights.safetensors").items()}
    learnt = {name: value.requires_grad_() for name, value in weights.items()
              if value.is_floating_point() and "running_" not in name}
    before = {name: value.detach().clone() for name, value in learnt.items()}
    network = recipe["network"](weights, config)
    texts, images = inputs(read(folder / "case.safetensors"), config)
    objective = recipe["objective"][1]
    objective(network, texts, images).backward()
    used = {name: value for name, value in learnt.items() if value.grad is not None}
    optimizer = torch.optim.AdamW(
        [{"params": [v for n, v in used.items() if decays(n)], "weight_decay": recipe["decay"]},
         {"params": [v for n, v in used.items() if not decays(n)], "weight_decay": 0}],
        betas=(0.9, recipe["beta2"]), eps=recipe["epsilon"])
    losses, norms, tensors = [], [], {}
    for name_of_norm in getattr(network, "norms", {}):
        network.norms[name_of_norm] = (weights[name_of_norm + ".running_mean"].clone(),
                                       weights[name_of_norm + ".running_var"].clone())
    for step, rate in enumerate(recipe["rates"][1]):
        optimizer.zero_grad()
        loss = objective(network, texts, images)
        loss.backward()
        losses.append(loss.item())
        for each in recipe["tensors"]:
            tensors[f"gradient {step + 1}/{each}"] = used[each].grad.clone()
        norms.append(torch.nn.utils.clip_grad_norm_(used.values(), recipe["clip"]).item())
        for group in optimizer.param_groups:
            group["lr"] = rate
        optimizer.step()
    for each in recipe["tensors"]:
        tensors["change/" + each] = used[each].detach() - before[each]
    for norm, (mean, variance) in getattr(network, "norms", {}).items():
        tensors["running/" + norm + ".running_mean"] = mean
        tensors["running/" + norm + ".running_var"] = variance
    return tensors, losses, norms


def require_active(folder, recipe, tensors):
    """A golden that would be the same without decay, clipping or schedule holds nobody to them."""
    without = {"decay": 0.0, "clip": 1e9, "rates": (None, [recipe["rates"][0]["peak"]] * 3)}
    for part, value in without.items():
        other = learn(folder, dict(recipe, **{part: value}))[0]
        differences = {}
        for each in recipe["tensors"]:
            change = tensors["change/" + each]
            differences[each] = ((other["change/" + each] - change).norm() / change.norm()).item()
        seen = [name for name, value in differences.items() if value >= LEAST_DIFFERENCE]
        if not seen:
            sys.exit(f"{folder.name}: without {part} nothing changes by more than "
                     f"{max(differences.values()):.1e}; choose other numbers")
        print(f"{folder.name}: without {part} {len(seen)} of {len(differences)} tensors differ, the "
              f"most by {max(differences.values()):.1e}")


def write_golden(folder):
    recipe = RECIPES[folder.name]
    tensors, losses, norms = learn(folder, recipe)
    folder.mkdir(exist_ok=True)
    require_active(folder, recipe, tensors)
    write(folder / "training.safetensors", tensors)
    schedule, rates = recipe["rates"]
    said = {part: recipe[part] for part in ("of", "manifest", "without") if part in recipe}
    said |= {"objective": recipe["objective"][0], "beta1": 0.9, "beta2": recipe["beta2"],
             "epsilon": recipe["epsilon"], "weight_decay": recipe["decay"],
             "clip_norm": recipe["clip"], "schedule": schedule, "rates": rates,
             "losses": losses, "gradient_norms": norms, "tensors": recipe["tensors"]}
    (folder / "training.json").write_text(json.dumps(said, indent=1) + "\n")
    print(folder.name, said["objective"], "losses", losses, "norms", norms)


def main():
    folders = [pathlib.Path(path) for path in sys.argv[1:]]
    for folder in folders or [HERE / name for name in sorted(RECIPES)]:
        write_golden(folder.resolve())


main()
