"""Measures assay-train and PyTorch turn and turn about; see run.sh."""
import os
import sys
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision
from PIL import Image

from assay_steps import step_seconds

program, folder, threads, rounds = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
torch.set_num_threads(threads)


class BasicBlock(nn.Module):
    """Of He et al.'s networks for 32×32 images, with option A shortcuts."""

    def __init__(self, inp, out, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inp, out, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(out)
        self.conv2 = nn.Conv2d(out, out, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(out)
        self.relu = nn.ReLU(inplace=True)
        self.stride, self.new = stride, out - inp

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        if self.stride > 1:
            x = F.pad(x[:, :, ::2, ::2], (0, 0, 0, 0, self.new // 2, self.new - self.new // 2))
        return self.relu(y + x)


class ResNet20(nn.Module):
    def __init__(self):
        super().__init__()
        blocks, inp = [], 16
        for width in (16, 32, 64):
            for i in range(3):
                blocks.append(BasicBlock(inp, width, 2 if width > 16 and i == 0 else 1))
                inp = width
        self.stem = nn.Sequential(nn.Conv2d(3, 16, 3, 1, 1, bias=False), nn.BatchNorm2d(16),
                                  nn.ReLU(inplace=True))
        self.blocks = nn.Sequential(*blocks)
        self.fc = nn.Linear(64, 10)

    def forward(self, x):
        return self.fc(F.adaptive_avg_pool2d(self.blocks(self.stem(x)), 1).flatten(1))


class Bert(nn.Module):
    """As train/models/bert, of PyTorch's encoder layers."""

    def __init__(self, vocabulary, layers, width, heads, inner):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(512, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        layer = nn.TransformerEncoderLayer(width, heads, inner, dropout=0.0, activation="gelu",
                                           layer_norm_eps=1e-12, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, layers)
        self.pooler = nn.Linear(width, width)
        self.next = nn.Linear(width, 2)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, 1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens, segments, padding, picked):
        x = self.words(tokens) + self.segments(segments) + self.positions.weight[:tokens.size(1)]
        x = self.encoder(self.norm(x), src_key_padding_mask=padding)
        nsp = self.next(torch.tanh(self.pooler(x[:, 0])))
        h = x.reshape(-1, x.size(2))[picked]
        h = self.transform_norm(F.gelu(self.transform(h)))
        return F.linear(h, self.words.weight, self.bias), nsp


class RMSNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x):
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + 1e-5) * self.weight


class LlamaBlock(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        self.norm1, self.norm2 = RMSNorm(width), RMSNorm(width)
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.head, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.gate_up = nn.Linear(width, 2 * inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def forward(self, x, cos, sin, mask):
        batch, length, _ = x.shape
        qkv = self.qkv(self.norm1(x)).view(batch, length, -1, self.head).transpose(1, 2)
        q, k, v = qkv.split([self.heads, self.kv_heads, self.kv_heads], 1)
        turned = lambda y: y * cos + torch.cat([-y[..., self.head // 2:], y[..., :self.head // 2]], -1) * sin
        q, k = turned(q), turned(k)
        k, v = (y.repeat_interleave(self.heads // self.kv_heads, 1) for y in (k, v))
        scores = (q @ k.transpose(2, 3)) * self.head ** -0.5 + mask
        x = x + self.out((scores.softmax(-1) @ v).transpose(1, 2).reshape(x.shape))
        gate, up = self.gate_up(self.norm2(x)).chunk(2, -1)
        return x + self.down(F.silu(gate) * up)


class Llama(nn.Module):
    """As train/models/llama, of plain operators; input and output are one matrix."""

    def __init__(self, vocabulary, layers, width, heads, kv_heads, inner, length):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.blocks = nn.ModuleList(LlamaBlock(width, heads, kv_heads, inner) for _ in range(layers))
        self.norm = RMSNorm(width)
        head = width // heads
        angles = torch.outer(torch.arange(length).float(), 500000.0 ** (-torch.arange(0, head, 2) / head))
        angles = torch.cat([angles, angles], -1)
        self.cos, self.sin = angles.cos(), angles.sin()
        self.mask = torch.full((length, length), -float("inf")).triu(1)

    def forward(self, tokens):
        x = self.words(tokens)
        for block in self.blocks:
            x = block(x, self.cos, self.sin, self.mask)
        return F.linear(self.norm(x), self.words.weight)


def groups(model, decay):
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": weights, "weight_decay": decay}, {"params": others, "weight_decay": 0}]


def python_step(name, batch, layout):
    torch.manual_seed(1)
    if name.startswith("resnet"):
        small = name == "resnet20"
        model = ResNet20() if small else torchvision.models.resnet50(num_classes=2)
        size, classes = (32, 10) if small else (224, 2)
        x = torch.randn(batch, 3, size, size)
        y = torch.randint(0, classes, (batch,))
        if layout == "channels_last":
            model = model.to(memory_format=torch.channels_last)
            x = x.contiguous(memory_format=torch.channels_last)
        optimizer = torch.optim.SGD(groups(model, 5e-4), 1e-3, momentum=0.9, foreach=True)
        forward = lambda: F.cross_entropy(model(x), y)
    elif name == "llama-tiny":
        vocabulary, length = 64, 128
        model = Llama(vocabulary, 2, 128, 4, 2, 384, length)
        tokens = torch.randint(0, vocabulary, (batch, length + 1))
        optimizer = torch.optim.AdamW(groups(model, 0.01), 1e-4, betas=(0.9, 0.95), foreach=True)
        forward = lambda: F.cross_entropy(model(tokens[:, :-1]).flatten(0, 1), tokens[:, 1:].flatten())
    else:
        vocabulary, length = 104, 64
        model = Bert(vocabulary, 2, 128, 2, 512)
        tokens = torch.randint(0, vocabulary, (batch, length))
        segments = torch.randint(0, 2, (batch, length))
        # As in the generated text: half to entirely full, 15 % of the tokens masked.
        lengths = torch.randint(length // 2, length + 1, (batch,))
        padding = torch.arange(length)[None] >= lengths[:, None]
        picked = torch.cat([b * length + torch.randperm(int(n))[:max(1, int(0.15 * n))]
                            for b, n in enumerate(lengths)])
        words, after = torch.randint(0, vocabulary, (len(picked),)), torch.randint(0, 2, (batch,))
        optimizer = torch.optim.AdamW(groups(model, 0.01), 1e-4, eps=1e-6, foreach=True)

        def forward():
            mlm, nsp = model(tokens, segments, padding, picked)
            return F.cross_entropy(mlm, words) + F.cross_entropy(nsp, after)
    model.train()

    def step():
        optimizer.zero_grad(set_to_none=True)
        loss = forward()
        loss.backward()
        if not name.startswith("resnet"):
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        return loss.item()
    return step


def python_rate(name, batch, layout, steps):
    step = python_step(name, batch, layout)
    step()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return batch / sorted(times)[len(times) // 2]


def assay_rate(name, batch, steps):
    config = {"batch_size": batch, "max_steps": steps + 1, "epochs": 0, "threads": threads,
              "repeat_batch": True, "eval_size": 64, "learning_rate": 1e-3, "warmup_steps": 0}
    if name == "resnet50":
        config.update({"data": "folder", "path": os.path.join(folder, "images"),
                       "label_smoothing": 0.0, "weight_decay": 5e-4})
        del config["eval_size"]
    if name in ("bert-tiny", "llama-tiny"):
        config.update({"learning_rate": 1e-4})
    times = step_seconds(program, name, config, folder)
    times = sorted(times[1:])
    return batch / times[len(times) // 2]


def make_images():
    """A folder of JPEGs for ResNet-50, whose default input is 224×224."""
    rng = np.random.default_rng(1)
    for split, count in (("train", 16), ("val", 2)):
        for label in ("a", "b"):
            place = os.path.join(folder, "images", split, label)
            os.makedirs(place)
            for i in range(count):
                pixels = rng.integers(0, 256, (256, 256, 3), dtype=np.uint8)
                Image.fromarray(pixels).save(os.path.join(place, f"{i}.jpg"))


make_images()
print(f"PyTorch {torch.__version__}, {threads} threads, medians over steps, best of {rounds} rounds")
print(f"{'workload':10} {'batch':>5} {'assay':>9} {'python':>9} {'(channels-last)':>16}  ratio")
for name, batch, steps in (("resnet20", 128, 12), ("resnet50", 8, 6), ("bert-tiny", 64, 20),
                           ("llama-tiny", 16, 30)):
    if sys.argv[5:] and name not in sys.argv[5:]:
        continue
    ours = theirs = theirs_last = 0.0
    for _ in range(rounds):  # turn and turn about, so that a busy machine slows both
        ours = max(ours, assay_rate(name, batch, steps))
        theirs = max(theirs, python_rate(name, batch, "contiguous", steps))
        if name.startswith("resnet"):
            theirs_last = max(theirs_last, python_rate(name, batch, "channels_last", steps))
    best = max(theirs, theirs_last)
    last = f"{theirs_last:16.1f}" if theirs_last else " " * 16
    print(f"{name:10} {batch:5} {ours:9.1f} {theirs:9.1f} {last}  {ours / best:.2f}", flush=True)
