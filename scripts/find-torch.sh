#!/usr/bin/env bash
# Prints three lines about the PyTorch of python3, without importing it, which would take seconds:
#   cuda|cpu|none   the device it computes on; none: there is no PyTorch that programs can be built with
#   ROOT            its folder
#   VERSION
set -euo pipefail
python3 - 2>/dev/null <<'PYTHON' || printf 'none\n\n\n'
import importlib.util, pathlib, re
spec = importlib.util.find_spec("torch")
root = pathlib.Path(list(spec.submodule_search_locations)[0])
version = re.search(r"__version__[^=]*= *['\"]([^'\"]+)", (root / "version.py").read_text()).group(1)
header = (root / "include/torch/csrc/api/include/torch/torch.h").exists()
library = root / "lib"
kind = "none"
if header and (library / "libtorch_cpu.so").exists():
    kind = "cuda" if (library / "libtorch_cuda.so").exists() else "cpu"
print(kind, root, version, sep="\n")
PYTHON
