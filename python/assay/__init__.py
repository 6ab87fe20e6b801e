"""Assay from Python: read results and runs, and say from a trainer what it does.

    assay.Run, assay.runs, assay.metrics       results and runs, as frames of pandas
    assay.PerfLog, assay.Training              a trainer's log, line by line or as a loop
    assay.lightning, assay.huggingface         the same as callbacks

Pure Python 3.8 or later; only frames need another package. docs/python.md has examples.
"""
from .perflog import PerfLog
from .results import NotARun, Run, frame, metrics, runs
from .training import Training

__all__ = ["NotARun", "PerfLog", "Run", "Training", "frame", "metrics", "runs"]
__version__ = "0.1.0"
