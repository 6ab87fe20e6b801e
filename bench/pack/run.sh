#!/bin/sh
# assay pack and unpack against 'tar | zstd -T2' and 'zstd -d | tar', on the same run, turn and turn
# about. usage: bench/pack/run.sh [BUILD_DIR] [MEGABYTES]
set -eu
build=$(realpath "${1:-build/release}")
megabytes=${2:-800}
for program in assay bench_perflog; do
  [ -x "$build/bin/$program" ] || { echo "no $build/bin/$program: build it first" >&2; exit 2; }
done
folder=$(mktemp -d "${TMPDIR:-/tmp}/assay-bench-pack.XXXXXX")
trap 'rm -rf "$folder"' EXIT
export ASSAY_KEYS="$folder/keys"
cat >"$folder/suite.yaml" <<'SUITE'
cases: [{case: null:native:cpu:1:1:1, config: {steps: 20, step_ms: 30}}]
SUITE
"$build/bin/assay" run "$folder/suite.yaml" --out "$folder/results" >/dev/null 2>&1 || true
# Logs as a run of many ranks has them.
for part in 1 2 3 4 5 6 7 8; do
  "$build/bin/bench_perflog" --generate "$folder/results/latest/monitor$part.log" $((megabytes * 125000))
done
python3 - "$build/bin/assay" "$folder" <<'PY'
import os, resource, shutil, statistics, subprocess, sys, time

assay, folder = sys.argv[1:]
run = os.path.realpath(folder + "/results/latest")
size = sum(os.path.getsize(os.path.join(d, f)) for d, _, fs in os.walk(run) for f in fs)
print(f"run: {size / 1e6:.0f} MB, {os.cpu_count()} processors")
ours, theirs = f"{folder}/run.assay", f"{folder}/run.tar.zst"

def cpu():
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime

def seconds(command):
    start, before = time.monotonic(), cpu()
    subprocess.run(command, shell=True, check=True, stdout=subprocess.DEVNULL)
    return time.monotonic() - start, cpu() - before

def emptied(path):
    shutil.rmtree(path, ignore_errors=True)
    return path

best, used = {}, {}
def measure(name, command):
    wall, busy = seconds(command)
    best[name] = min(best.get(name, 1e9), wall)
    used.setdefault(name, []).append(busy)

for _ in range(5):
    measure("assay pack", f"{assay} pack {run} --replace -o {ours}")
    # As durable as what 'assay pack' leaves.
    measure("tar | zstd -T2", f"tar -C {run} -cf - . | zstd -T2 -q -f -o {theirs} && sync {theirs}")
    out = emptied(f"{folder}/a")
    measure("assay unpack", f"{assay} unpack {ours} -o {out}")
    out = emptied(f"{folder}/b")
    os.mkdir(out)
    measure("zstd -d | tar", f"zstd -dc {theirs} | tar -C {out} -xf -")
for name, least in best.items():
    print(f"{name:15} {least:6.2f} s  {size / least / 1e6:7.0f} MB/s  "
          f"CPU {statistics.median(used[name]):.2f} s")
print(f"packed: {os.path.getsize(ours) / 1e6:.1f} MB, by zstd {os.path.getsize(theirs) / 1e6:.1f} MB")
print(f"ratio of times: pack {best['assay pack'] / best['tar | zstd -T2']:.2f}, "
      f"unpack {best['assay unpack'] / best['zstd -d | tar']:.2f}")
# What other programs do to the clock, they do less to this.
def ratio(ours, theirs):
    return statistics.median(used[ours]) / statistics.median(used[theirs])
print(f"ratio of CPU times: pack {ratio('assay pack', 'tar | zstd -T2'):.2f}, "
      f"unpack {ratio('assay unpack', 'zstd -d | tar'):.2f}")
PY
