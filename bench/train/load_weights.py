"""How fast a Llama's weights are read from safetensors, against the disk.

usage: python3 bench/train/load_weights.py PROGRAM [MODEL] [FOLDER] [KEY=VALUE...]

assay-train exports MODEL (llama-8b) in bf16 to FOLDER (a temporary one), and begins a training with it and without it. What
the first step comes later is the time of reading. The disk is read by dd, with files that are not in memory; as root only,
else both read from memory. KEY=VALUE are options of assay-train, such as optimizer_state=bf16.
"""
import glob
import os
import subprocess
import sys
import tempfile
import time

from assay_steps import step_ends


def forget_files():
    """What was read is read from the disk again."""
    try:
        os.sync()
        with open("/proc/sys/vm/drop_caches", "w") as file:
            file.write("3")
    except PermissionError:
        print("note: not root, so files may be read from memory")


def first_step_s(program, model, config, folder):
    """From the start of the program to the end of its first step."""
    forget_files()
    begin = time.time()
    return step_ends(program, model, config, folder)[0]["metadata"]["time_ms"] / 1e3 - begin


def disk_s(files):
    forget_files()
    begin = time.time()
    for file in files:
        subprocess.run(["dd", f"if={file}", "of=/dev/null", "bs=16M", "status=none"], check=True)
    return time.time() - begin


def main():
    arguments = [word for word in sys.argv[1:] if "=" not in word]
    options = {key: int(value) if value.isdigit() else value
               for key, value in (word.split("=", 1) for word in sys.argv[1:] if "=" in word)}
    program, model = arguments[0], arguments[1] if len(arguments) > 1 else "llama-8b"
    with tempfile.TemporaryDirectory(dir=arguments[2] if len(arguments) > 2 else None) as folder:
        weights = os.path.join(folder, "weights")
        config = {"max_steps": 1, "epochs": 0, "train_size": 16, "eval_size": 0, **options}
        step_ends(program, model, {**config, "export": weights, "export_type": "bf16"}, folder)
        files = sorted(glob.glob(os.path.join(weights, "*.safetensors")))
        size = sum(os.path.getsize(file) for file in files)
        print(f"{model}: {size / 1e9:.2f} GB in {len(files)} files", flush=True)
        for _ in range(2):
            disk = disk_s(files)
            without = first_step_s(program, model, config, folder)
            loading = first_step_s(program, model, {**config, "weights": weights}, folder) - without
            print(f"disk {size / disk / 1e9:.2f} GB/s, first step after {without:.1f} s without weights, {loading:.1f} s later "
                  f"with them: {size / loading / 1e9:.2f} GB/s, {disk / loading:.2f} of the disk", flush=True)


main()
