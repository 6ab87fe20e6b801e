"""Fits y = 3x + 1 by gradient descent: a workload as small as it can be."""
import json
import os
import random
import sys
import time

samples = int(next(word for word in sys.argv if word.startswith("--samples=")).split("=")[1])
instance = int(os.environ["JOB_INSTANCE"])
random.seed(instance)
w = b = 0.0
start = time.monotonic()
for _ in range(samples):
    x = random.random()
    error = w * x + b - (3 * x + 1)
    w -= 0.1 * error * x
    b -= 0.1 * error
speed = samples / (time.monotonic() - start)
print(f"instance {instance}: w {w:.3f}, b {b:.3f}, speed {speed:.1f} samples/s", flush=True)
with open(os.path.join(os.environ["JOB_OUTPUT"], f"instance{instance}.json"), "w") as out:
    json.dump({"w": w, "b": b, "speed": speed}, out)
