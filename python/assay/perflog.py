"""Writes Assay's strict PerfLog lines (docs/perflog.md). Needs nothing but Python: this file can also be
copied into a trainer as it is.

    log = PerfLog()                                        # to stdout; the rank from $RANK
    log.init_start(); ...; log.init_end()
    log.train_start()
    log.step_end(step, loss=loss, samples=batch_size)      # once a step, from every rank
    log.train_end()
    log.finished(converged=True, final_acc1=75.9)
"""
import json
import math
import os
import sys
import time

MAX_LINE = 4096  # bytes; longer lines are not written at once, so that those of other processes mix in


def now():
    """This moment on both clocks, as `metadata` of an event has it."""
    return {"time_ms": time.time_ns() // 1_000_000,
            "mono_us": time.clock_gettime_ns(time.CLOCK_MONOTONIC) // 1000}


def plain(value):
    """A number as JSON has it, of Python, NumPy or PyTorch; what is neither number nor text stays out."""
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    item = getattr(value, "item", None)
    try:
        return item() if callable(item) else None
    except (TypeError, ValueError, RuntimeError):  # an array of several numbers
        return None


def caller():
    """File and line of whoever logs: the first frame outside of this package."""
    own = __name__.partition(".")[0]
    frame = sys._getframe(1)
    while frame.f_back and str(frame.f_globals.get("__name__")).partition(".")[0] == own:
        frame = frame.f_back
    return os.path.basename(frame.f_code.co_filename), frame.f_lineno


class PerfLog:
    """One rank's log. Errors of writing are counted in `failed`, never raised: a log does not end a training."""

    def __init__(self, rank=None, fd=1):
        self.rank = int(os.environ.get("RANK", -1)) if rank is None else rank
        self.fd = fd
        self.failed = 0

    def event(self, name, value=None, at=None, **extras):
        """One line. `at`: a moment of now(), else this one."""
        line = {"event": name}
        if value is not None:
            line["value"] = self._value(value)
        file, lineno = caller()
        line.update(extras, metadata={"file": file, "lineno": lineno, **(at or now()), "rank": self.rank})
        self._write(line)

    def _value(self, value):
        numbers = {key: plain(one) for key, one in value.items() if one is not None}
        bad = [key for key, one in numbers.items() if isinstance(one, float) and not math.isfinite(one)]
        out = {key: None if key in bad else one for key, one in numbers.items() if one is not None}
        if bad:
            out["nonfinite"] = bad
        return out

    def _write(self, line):
        text = f"[PerfLog] {json.dumps(line, allow_nan=False)}\n".encode()
        dropped = 0
        while len(text) > MAX_LINE and line.get("value"):
            line["value"].pop(next(reversed([k for k in line["value"] if k != "dropped_fields"]), None), None)
            dropped += 1
            line["value"]["dropped_fields"] = dropped
            text = f"[PerfLog] {json.dumps(line, allow_nan=False)}\n".encode()
            if len(line["value"]) <= 1:
                break
        try:
            sys.stdout.flush()
            os.write(self.fd, text)
        except (OSError, ValueError):
            self.failed += 1

    def init_start(self):
        self.event("INIT_START")

    def init_end(self):
        self.event("INIT_END")

    def train_start(self):
        self.event("TRAIN_START")

    def train_end(self):
        self.event("TRAIN_END")

    def epoch_begin(self, epoch):
        self.event("EPOCH_BEGIN", epoch=epoch)

    def epoch_end(self, epoch):
        self.event("EPOCH_END", epoch=epoch)

    def step_end(self, step, at=None, **value):
        self.event("STEP_END", value, at=at, step=step)

    def evaluate(self, step, time_s, **value):
        self.event("EVALUATE", {**value, "time": time_s}, step=step)

    def phase(self, name, time_s):
        self.event("PHASE", {"name": name, "time": time_s})

    def finished(self, **value):
        self.event("FINISHED", value)
