"""Training throughput of assay-train against PyTorch on one CUDA device, in one call.

usage: python3 bench/train/gpu.py PROGRAM [--compile] [--only NAME] [--steps N] [--profile]

Both train in bf16 autocast on one batch that stays on the device, PyTorch with channels-last, fused
optimizers and scaled_dot_product_attention. Times are between device events, medians over steps.
"""
import argparse
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision

from assay_steps import step_seconds

device = torch.device("cuda")
torch.backends.cudnn.benchmark = True


class Layer(nn.Module):
    def __init__(self, width, heads, inner, dropout):
        super().__init__()
        self.heads, self.rate = heads, dropout
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm1 = nn.LayerNorm(width, 1e-12)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.norm2 = nn.LayerNorm(width, 1e-12)

    def forward(self, x):
        b, s, w = x.shape
        q, k, v = self.qkv(x).view(b, s, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, dropout_p=self.rate)
        y = self.out(y.transpose(1, 2).reshape(b, s, w))
        x = self.norm1(x + F.dropout(y, self.rate))
        y = self.down(F.gelu(self.up(x)))
        return self.norm2(x + F.dropout(y, self.rate))


class Bert(nn.Module):
    """BERT for pre-training, as train/models/bert."""

    def __init__(self, vocabulary=30522, layers=24, width=1024, heads=16, inner=4096, dropout=0.1):
        super().__init__()
        self.rate = dropout
        self.words = nn.Embedding(vocabulary, width)
        self.positions = nn.Embedding(512, width)
        self.segments = nn.Embedding(2, width)
        self.norm = nn.LayerNorm(width, 1e-12)
        self.layers = nn.ModuleList(Layer(width, heads, inner, dropout) for _ in range(layers))
        self.pooler = nn.Linear(width, width)
        self.next = nn.Linear(width, 2)
        self.transform = nn.Linear(width, width)
        self.transform_norm = nn.LayerNorm(width, 1e-12)
        self.bias = nn.Parameter(torch.zeros(vocabulary))

    def forward(self, tokens, segments, picked):
        x = self.words(tokens) + self.segments(segments) + self.positions.weight[:tokens.size(1)]
        x = F.dropout(self.norm(x), self.rate)
        for layer in self.layers:
            x = layer(x)
        nsp = self.next(torch.tanh(self.pooler(x[:, 0])))
        h = x.reshape(-1, x.size(2))
        if picked is not None:
            h = h[picked]
        h = self.transform_norm(F.gelu(self.transform(h)))
        return F.linear(h, self.words.weight, self.bias), nsp


def groups(model, decay):
    weights = [p for p in model.parameters() if p.dim() > 1]
    others = [p for p in model.parameters() if p.dim() <= 1]
    return [{"params": weights, "weight_decay": decay}, {"params": others, "weight_decay": 0}]


def resnet_step(batch, compiled):
    model = torchvision.models.resnet50().to(device, memory_format=torch.channels_last)
    x = torch.randn(batch, 3, 224, 224, device=device).contiguous(memory_format=torch.channels_last)
    y = torch.randint(0, 1000, (batch,), device=device)
    optimizer = torch.optim.SGD(groups(model, 5e-5), 1e-3, momentum=0.9, fused=True)
    run = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            logits = run(x)
        F.cross_entropy(logits.float(), y, label_smoothing=0.1).backward()
        optimizer.step()
    return step


def bert_step(batch, compiled, masked):
    model = Bert().to(device)
    tokens = torch.randint(0, 30522, (batch, 512), device=device)
    segments = torch.randint(0, 2, (batch, 512), device=device)
    picked = None
    count = batch * 512
    if masked:
        rows = torch.stack([torch.randperm(512)[:76].sort()[0] + 512 * b for b in range(batch)])
        picked = rows.flatten().to(device)
        count = picked.numel()
    words = torch.randint(0, 30522, (count,), device=device)
    after = torch.randint(0, 2, (batch,), device=device)
    optimizer = torch.optim.AdamW(groups(model, 0.01), 1e-4, eps=1e-6, fused=True)
    run = torch.compile(model) if compiled else model

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16):
            mlm, nsp = run(tokens, segments, picked)
        (F.cross_entropy(mlm.float(), words) + F.cross_entropy(nsp.float(), after)).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()
    return step


def median_ms(step, steps):
    for _ in range(8):
        step()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    times = sorted(a.elapsed_time(b) for a, b in zip(marks, marks[1:]))
    return times[len(times) // 2]


def python_rate(make, batch, compiled, steps, profiled=False):
    torch.manual_seed(1)
    step = make(batch, compiled)
    rate = batch / median_ms(step, steps) * 1000
    if profiled and not compiled:
        with torch.profiler.profile() as profile:
            step()
            torch.cuda.synchronize()
        print(profile.key_averages().table(sort_by="self_cuda_time_total", row_limit=28,
                                           max_name_column_width=70), flush=True)
    del step
    torch.cuda.empty_cache()
    return rate


def assay_config(name, batch, folder, steps):
    config = {"device": "cuda", "precision": "bf16", "batch_size": batch, "eval_batch_size": 8,
              "max_steps": steps, "epochs": 0, "repeat_batch": True,
              "learning_rate": 1e-4, "warmup_steps": 0, "eval_every": 1000000,
              "cudnn_trials": "always"}
    if name == "resnet50":
        config.update({"data": "glyphs", "glyph_size": 224, "classes": 1000, "loader_threads": 8,
                       "train_size": batch, "eval_size": 8})
    else:
        config.update({"data": "text", "path": os.path.join(folder, "text"), "optimizer": "adamw",
                       "vocabulary": os.path.join(folder, "vocabulary.txt"), "sequence": 512})
    return config


def assay_rate(program, name, batch, folder, steps):
    config = assay_config(name, batch, folder, steps + 8)
    times = sorted(step_seconds(program, name, config, folder)[8:])
    return batch / times[len(times) // 2]


def make_text(folder, documents):
    """Documents that fill a sequence of 512 exactly, of a vocabulary as large as BERT's."""
    words = [f"w{i:05}" for i in range(30517)]
    with open(os.path.join(folder, "vocabulary.txt"), "w") as file:
        file.write("\n".join(["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"] + words) + "\n")
    os.makedirs(os.path.join(folder, "text"))
    with open(os.path.join(folder, "text", "all.txt"), "w") as file:
        for _ in range(documents):
            file.write(" ".join(words[i] for i in torch.randint(0, len(words), (509,))) + "\n\n")


cases = [("resnet50", 256, resnet_step, "ResNet-50"),
         ("bert-large", 64, lambda b, c: bert_step(b, c, True), "BERT-large, masked positions"),
         ("", 64, lambda b, c: bert_step(b, c, False), "BERT-large, all positions")]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="assay-train, or - to measure PyTorch alone")
    parser.add_argument("--compile", action="store_true", help="also measure torch.compile")
    parser.add_argument("--only", action="append", default=[])
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--profile", action="store_true", help="print PyTorch's time per kernel")
    arguments = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, bf16", flush=True)
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        make_text(folder, 512)
        for name, batch, make, title in cases:
            if arguments.only and name not in arguments.only:
                continue
            eager = python_rate(make, batch, False, arguments.steps, arguments.profile)
            compiled = python_rate(make, batch, True, arguments.steps) if arguments.compile else 0
            ours = 0
            if name and arguments.program != "-":
                ours = assay_rate(arguments.program, name, batch, folder, arguments.steps)
            rows.append((title, batch, ours, eager, compiled))
            print(rows[-1], flush=True)
    print(f"{'workload':30} {'batch':>5} {'assay':>8} {'eager':>8} {'compiled':>8}  ratio (eager, compiled)")
    for title, batch, ours, eager, compiled in rows:
        against = f"{ours / compiled:.2f}" if compiled and ours else "-"
        print(f"{title:30} {batch:5} {ours:8.0f} {eager:8.0f} {compiled:8.0f}  "
              f"{ours / eager:.2f}, {against}")


if __name__ == "__main__":
    main()
