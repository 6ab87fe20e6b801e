"""Writes Assay's strict PerfLog lines (docs/perflog.md) from a Python trainer. Copy it as it is.

    log = PerfLog(); log.train_start()
    log.step_end(step, loss=loss, samples=batch_size)      # once a step, from every rank
    log.train_end(); log.finished(converged=True, final_acc1=75.9)
"""
import json, math, os, sys, time


class PerfLog:
    def __init__(self, rank=None, fd=1):
        self.rank = int(os.environ.get("RANK", -1)) if rank is None else rank
        self.fd = fd

    def event(self, name, value=None, **extras):
        line = {"event": name}
        if value is not None:
            bad = [k for k, v in value.items() if isinstance(v, float) and not math.isfinite(v)]
            line["value"] = {k: None if k in bad else v for k, v in value.items()}
            if bad:
                line["value"]["nonfinite"] = bad
        frame = sys._getframe(2)
        line.update(extras, metadata={
            "file": os.path.basename(frame.f_code.co_filename), "lineno": frame.f_lineno,
            "time_ms": time.time_ns() // 1000000, "rank": self.rank,
            "mono_us": time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000})
        sys.stdout.flush()
        os.write(self.fd, f"[PerfLog] {json.dumps(line, allow_nan=False)}\n".encode())

    def init_start(self): self.event("INIT_START")
    def init_end(self): self.event("INIT_END")
    def train_start(self): self.event("TRAIN_START")
    def train_end(self): self.event("TRAIN_END")
    def epoch_begin(self, epoch): self.event("EPOCH_BEGIN", epoch=epoch)
    def epoch_end(self, epoch): self.event("EPOCH_END", epoch=epoch)
    def step_end(self, step, **value): self.event("STEP_END", value, step=step)
    def evaluate(self, step, time_s, **value):
        self.event("EVALUATE", {**value, "time": time_s}, step=step)
    def phase(self, name, time_s): self.event("PHASE", {"name": name, "time": time_s})
    def finished(self, **value): self.event("FINISHED", value)
