"""Reports a result to the run: what ais-bench's workloads import as `set_result`.

The same file and the same rules as libais_utils.so (src/aisbench/result_writer.h). Python 3.6 or
later, nothing else is needed.
"""
import fcntl
import json
import os
import re
import sys
import time

_VARIABLE = "ASSAY_SET_RESULT"
_KEYS = ("throughput_ratio", "accuracy", "result", "average_power", "max_power",
         "energy_consumption", "efficientcy", "infer_latency", "resource_util_ratio")
_TIME_KEY = re.compile(r"[A-Za-z0-9_]+_(start|end)_time\Z")
_LONGEST_VALUE = 4096


def set_result(mode, key, value):
    """Raises ValueError for a wrong mode, key or value, RuntimeError outside of a run."""
    value = value.decode("utf-8", "replace") if isinstance(value, bytes) else str(value)
    if mode not in ("training", "inference"):
        raise ValueError("the mode is training or inference, not %r" % (mode,))
    if key not in _KEYS and not (_TIME_KEY.match(key) and len(key) <= 64):
        raise ValueError("there is no key %r; keys are %s, and NAME_start_time, NAME_end_time"
                         % (key, ", ".join(_KEYS)))
    if not value:
        raise ValueError("the value of %s is empty" % key)
    if len(value.encode("utf-8", "replace")) > _LONGEST_VALUE:
        raise ValueError("the value of %s is longer than 4096 bytes" % key)
    path = os.environ.get(_VARIABLE)
    if not path:
        raise RuntimeError(_VARIABLE + " is not set: start the workload with 'assay ais test'")
    line = json.dumps({"wall_ns": int(time.time() * 1e9), "mono_ns": int(time.monotonic() * 1e9),
                       "utc_offset_s": time.localtime().tm_gmtoff, "pid": os.getpid(), "mode": mode, "key": key, "value": value}) + "\n"
    fd = os.open(path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
    try:
        fcntl.flock(fd, fcntl.LOCK_EX)
        end = os.lseek(fd, 0, os.SEEK_END)
        if end > 0 and os.pread(fd, 1, end - 1) != b"\n":
            line = "\n" + line  # a process was killed while it wrote
        data = line.encode("utf-8")
        while data:
            data = data[os.write(fd, data):]
    finally:
        os.close(fd)


def main(argv):
    if len(argv) != 5 or argv[1] != "set_result":
        sys.stderr.write("usage: %s set_result MODE KEY VALUE\n" % os.path.basename(argv[0]))
        return 2
    try:
        set_result(argv[2], argv[3], argv[4])
    except (ValueError, RuntimeError, OSError) as error:
        sys.stderr.write("set_result: %s\n" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
