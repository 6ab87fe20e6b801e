"""The logging library of ais-bench's workloads, as a command and as a module.

    python3 ais_utils.py set_result training throughput_ratio 123.4

The module `set_result` comes from the program that runs the workload.
"""
import sys
import time

import set_result as _transport


class _Moment(float):
    """Seconds since the epoch, as version 1 of ais-bench gives them; `.decode()` gives date and
    time as text, which is what version 2 gives as bytes."""

    def decode(self, encoding="utf-8", errors="strict"):
        return time.strftime("%Y-%m-%d %H:%M:%S", time.localtime(self))


def get_datatime():
    return _Moment(time.time())


def calc_throughput_rate(nums, start_time, end_time=None):
    """nums / (end_time - start_time); with two arguments the second is the time taken. 0 where no
    time passed."""
    elapsed = start_time if end_time is None else end_time - start_time
    return nums / elapsed if elapsed else 0


def calc_lantency(elapsedtime, count):
    return elapsedtime / count if count else 0


def calc_single_avg_power(idle_avg, run_avg):
    """W above idle. The formula of ais-bench is not published; this one is Assay's."""
    return max(0, float(run_avg) - float(idle_avg))


def calc_single_max_power(idle_avg, run_max):
    """W above idle at most, as calc_single_avg_power."""
    return max(0, float(run_max) - float(idle_avg))


def set_result(mode, key, value):
    _transport.set_result(mode, key, value)


def main(argv):
    if len(argv) != 5 or argv[1] != "set_result":
        sys.stderr.write("usage: ais_utils.py set_result MODE KEY VALUE\n")
        return 2
    try:
        set_result(argv[2], argv[3], argv[4])
    except (ValueError, RuntimeError, OSError) as error:
        sys.stderr.write("ais_utils: %s\n" % error)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv))
