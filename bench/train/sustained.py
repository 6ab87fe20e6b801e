"""Sustained training speed of assay-train against PyTorch on one CUDA device.

usage: python3 bench/train/sustained.py PROGRAM [--minutes 5] [--only NAME]

Each trains for so many minutes without a pause, with the models and settings of gpu.py. What is
shown is of the last four fifths of that time, when the device is as warm as it gets: samples per
second over all steps, mean power and joules a sample by the device's energy counter, mean SM clock
against its maximum, and the share of the samples at which the power limit held the clock down.
"""
import argparse
import ctypes
import tempfile
import threading
import time

import torch

import gpu
from assay_steps import step_ends

class Device(threading.Thread):
    """Reads NVML five times a second."""

    SM, POWER_CAP = 1, 4

    def __init__(self):
        super().__init__(daemon=True)
        self.nvml = ctypes.CDLL("libnvidia-ml.so.1")
        self.nvml.nvmlInit_v2()
        self.handle = ctypes.c_void_p()
        self.nvml.nvmlDeviceGetHandleByIndex_v2(0, ctypes.byref(self.handle))
        self.samples = []
        self.start()

    def read(self, name, kind, *before):
        value = kind()
        code = getattr(self.nvml, name)(self.handle, *before, ctypes.byref(value))
        return value.value if code == 0 else float("nan")

    def run(self):
        while True:
            self.samples.append((
                time.monotonic(),
                self.read("nvmlDeviceGetTotalEnergyConsumption", ctypes.c_ulonglong) / 1000,
                self.read("nvmlDeviceGetClockInfo", ctypes.c_uint, self.SM),
                self.read("nvmlDeviceGetCurrentClocksThrottleReasons", ctypes.c_ulonglong)))
            time.sleep(0.2)

    def between(self, begin, end):
        part = [s for s in self.samples if begin <= s[0] <= end]
        seconds = part[-1][0] - part[0][0]
        joules = part[-1][1] - part[0][1]
        clock = sum(s[2] for s in part) / len(part)
        limited = sum(1 for s in part if int(s[3]) & self.POWER_CAP) / len(part)
        return joules / seconds, clock, limited

    def limits(self):
        return (self.read("nvmlDeviceGetEnforcedPowerLimit", ctypes.c_uint) / 1000,
                self.read("nvmlDeviceGetMaxClockInfo", ctypes.c_uint, self.SM))


def window(ends):
    """Begin, end and number of the steps in the last four fifths."""
    first = next(i for i, t in enumerate(ends) if t >= ends[0] + (ends[-1] - ends[0]) / 5)
    return ends[first], ends[-1], len(ends) - 1 - first


def pytorch(make, batch, minutes):
    torch.manual_seed(1)
    step = make(batch, False)
    ends = []
    stop = time.monotonic() + 60 * minutes
    while time.monotonic() < stop:
        step()
        torch.cuda.synchronize()
        ends.append(time.monotonic())
    del step
    torch.cuda.empty_cache()
    return ends


def assay(program, name, batch, folder, minutes):
    rate = gpu.assay_rate(program, name, batch, folder, 30)
    config = gpu.assay_config(name, batch, folder, int(60 * minutes * rate / batch))
    return [event["metadata"]["mono_us"] / 1e6
            for event in step_ends(program, name, config, folder)]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program", help="assay-train")
    parser.add_argument("--minutes", type=float, default=5)
    parser.add_argument("--only", action="append", default=[])
    arguments = parser.parse_args()
    device = Device()
    power, clock = device.limits()
    print(f"PyTorch {torch.__version__}, {torch.cuda.get_device_name()}, bf16, power limit "
          f"{power:.0f} W, SM clock at most {clock} MHz")
    print(f"{'workload':11} {'who':11} {'samples/s':>9} {'W':>6} {'J/sample':>9} {'MHz':>6} "
          f"{'limited':>8}", flush=True)
    with tempfile.TemporaryDirectory() as folder:
        gpu.make_text(folder, 512)
        for name, batch, make, _ in gpu.cases:
            if not name or (arguments.only and name not in arguments.only):
                continue
            for who, run in (
                    ("assay-train", lambda: assay(arguments.program, name, batch, folder,
                                                  arguments.minutes)),
                    ("PyTorch", lambda: pytorch(make, batch, arguments.minutes))):
                begin, end, steps = window(run())
                watts, mhz, limited = device.between(begin, end)
                speed = steps * batch / (end - begin)
                print(f"{name:11} {who:11} {speed:9.0f} {watts:6.0f} {watts / speed:9.4f} "
                      f"{mhz:6.0f} {limited:8.1%}", flush=True)


if __name__ == "__main__":
    main()
