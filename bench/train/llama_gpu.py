"""Pre-training of Llama by assay-train against PyTorch on one CUDA device, in one call.

usage: python3 bench/train/llama_gpu.py PROGRAM [--only CASE] [--steps N] [--eager] [--attention flash|cudnn]
                                        [--no-python] [--brief]

Cases: 1b, 3b, 8b, all of them without --only. The same shapes, input and output matrices apart. 1b and 3b train in bf16
with fp32 weights and fused AdamW on both sides; PyTorch by autocast, torch.compile and scaled_dot_product_attention with
grouped queries, on random tokens. 8b has one sequence of 8192: PyTorch with weights and optimizer in bf16 and every block
computed again, assay-train with fp32 weights and moments in bf16. assay-train is measured
with cuBLAS's algorithms chosen by trials (`product_trials`), in fp8, and at a second batch size, too. Times are between device events, medians over steps. MFU counts the causal half
of attention and a peak of 989.4 TFLOP/s (H100, H200 in bf16), for fp8 too.
"""
import argparse
import multiprocessing
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint

from assay_steps import step_seconds

device = torch.device("cuda")
PEAK = 989.4e12
SHAPES = {"1b": (16, 2048, 32, 8, 8192), "3b": (28, 3072, 24, 8, 8192), "8b": (32, 4096, 32, 8, 14336)}
VOCABULARY = 128256


class Block(nn.Module):
    def __init__(self, width, heads, kv_heads, inner):
        super().__init__()
        self.heads, self.kv_heads, self.head = heads, kv_heads, width // heads
        self.norm1 = nn.RMSNorm(width, 1e-5)
        self.q = nn.Linear(width, width, bias=False)
        self.kv = nn.Linear(width, 2 * kv_heads * self.head, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        self.norm2 = nn.RMSNorm(width, 1e-5)
        self.gate = nn.Linear(width, inner, bias=False)
        self.up = nn.Linear(width, inner, bias=False)
        self.down = nn.Linear(inner, width, bias=False)

    def rotate(self, x, cosine, sine):
        a, b = x.chunk(2, -1)
        return torch.cat([a * cosine - b * sine, b * cosine + a * sine], -1).to(x.dtype)

    def forward(self, x, cosine, sine):
        b, s, w = x.shape
        y = self.norm1(x)
        q = self.q(y).view(b, s, self.heads, self.head).transpose(1, 2)
        k, v = self.kv(y).view(b, s, 2, self.kv_heads, self.head).permute(2, 0, 3, 1, 4)
        q, k = self.rotate(q, cosine, sine), self.rotate(k, cosine, sine)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True, enable_gqa=True)
        x = x + self.out(y.transpose(1, 2).reshape(b, s, w))
        y = self.norm2(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class Llama(nn.Module):
    def __init__(self, layers, width, heads, kv_heads, inner):
        super().__init__()
        self.words = nn.Embedding(VOCABULARY, width)
        self.blocks = nn.ModuleList(Block(width, heads, kv_heads, inner) for _ in range(layers))
        self.norm = nn.RMSNorm(width, 1e-5)
        self.output = nn.Linear(width, VOCABULARY, bias=False)
        self.head = width // heads
        self.recompute = False

    def forward(self, tokens, labels):
        frequency = 500000.0 ** (-torch.arange(0, self.head, 2, device=device) / self.head)
        angles = torch.arange(tokens.size(1), device=device)[:, None] * frequency[None, :]
        cosine, sine = angles.cos(), angles.sin()
        x = self.words(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, cosine, sine, use_reentrant=False) if self.recompute else block(x, cosine, sine)
        return F.cross_entropy(self.output(self.norm(x)).flatten(0, 1), labels.flatten())


def flops_per_token(layers, width, heads, kv_heads, inner, length):
    head = width // heads
    block = (heads + 2 * kv_heads) * head * width + width * width + 3 * width * inner
    return 6 * (layers * block + VOCABULARY * width) + 6 * layers * width * length


def python_seconds(size, batch, length, steps, compiled, small):
    """`small`: weights and optimizer in bf16, every block computed again in backward."""
    torch.manual_seed(1)
    with torch.device(device):
        model = Llama(*SHAPES[size])
    if small:
        model = model.to(torch.bfloat16)
    model.recompute = small
    tokens = torch.randint(0, VOCABULARY, (batch, length + 1), device=device)
    optimizer = torch.optim.AdamW(model.parameters(), 3e-4, betas=(0.9, 0.95), weight_decay=0.1, fused=True)
    run = model
    if compiled and small:
        for block in model.blocks:
            block.compile()
    elif compiled:
        run = torch.compile(model)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", torch.bfloat16, enabled=not small):
            loss = run(tokens[:, :-1], tokens[:, 1:])
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
        optimizer.step()

    for _ in range(5):
        step()
    marks = [torch.cuda.Event(enable_timing=True) for _ in range(steps + 1)]
    marks[0].record()
    for mark in marks[1:]:
        step()
        mark.record()
    torch.cuda.synchronize()
    times = sorted(a.elapsed_time(b) / 1000 for a, b in zip(marks, marks[1:]))
    return times[len(times) // 2]


def apart(function, *arguments):
    """Calls it in a process of its own, which gives the device's memory back."""
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        return pool.apply(function, arguments)


def assay_seconds(program, size, batch, length, steps, attention, precision, small, trials):
    config = {"device": "cuda", "precision": precision, "batch_size": batch, "sequence": length, "tied": "no",
              "max_steps": steps + 8, "epochs": 0, "eval_every": 1000000, "eval_size": 1, "eval_batch_size": 1,
              "warmup_steps": 0, "learning_rate": 3e-4, "loader_threads": 2, "attention": attention,
              "product_trials": trials}
    if small:
        config.update(optimizer_state="bf16")
    with tempfile.TemporaryDirectory() as folder:
        times = sorted(step_seconds(program, "llama-" + size, config, folder)[8:])
    return times[len(times) // 2]


# Of each size: sequences and their length, the other number of sequences, and whether memory is short.
CASES = {"1b": (8, 4096, 16, False), "3b": (2, 4096, 4, False), "8b": (1, 8192, None, True)}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="assay-train, or - to measure PyTorch alone")
    parser.add_argument("--only", action="append", default=[], choices=CASES)
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--eager", action="store_true", help="PyTorch without torch.compile")
    parser.add_argument("--no-python", action="store_true", help="measure assay-train alone")
    parser.add_argument("--brief", action="store_true", help="bf16 at the first batch size alone")
    parser.add_argument("--attention", default="auto")
    arguments = parser.parse_args()
    print(f"PyTorch {torch.__version__}, {apart(torch.cuda.get_device_name)}", flush=True)
    for size, (batch, length, other, small) in CASES.items():
        if arguments.only and size not in arguments.only:
            continue

        def report(name, rows, seconds):
            tokens = rows * length
            flops = flops_per_token(*SHAPES[size], length) * tokens
            print(f"llama-{size} {rows} x {length} {name}: {seconds * 1000:.1f} ms, {tokens / seconds:,.0f} tokens/s, "
                  f"MFU {flops / seconds / PEAK:.3f}", flush=True)
            return seconds / rows

        def assay(rows, precision, trials=False):
            return report(f"assay-train {precision}" + (" with trials" if trials else ""), rows,
                          assay_seconds(arguments.program, size, rows, length, arguments.steps, arguments.attention,
                                        precision, small, trials))

        python = None
        if not arguments.no_python:
            python = report("PyTorch bf16", batch,
                            apart(python_seconds, size, batch, length, arguments.steps, not arguments.eager, small))
        if arguments.program == "-":
            continue
        plain = assay(batch, "bf16")
        bf16 = assay(batch, "bf16", trials=True)
        if python:
            print(f"llama-{size}: {python / plain:.3f} times PyTorch, with trials {python / bf16:.3f}", flush=True)
        if arguments.brief:
            continue
        fp8 = assay(batch, "fp8")
        print(f"llama-{size}: fp8 is {plain / fp8:.2f} times bf16", flush=True)
        if other:
            bf16 = assay(other, "bf16", trials=True)
            fp8 = assay(other, "fp8")
            print(f"llama-{size} with {other} sequences: fp8 is {bf16 / fp8:.2f} times bf16", flush=True)


if __name__ == "__main__":
    main()
