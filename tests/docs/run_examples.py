"""Executes the code blocks of a page in a folder of its own, as a reader would, one after the other in one shell.

usage: run_examples.py BIN_DIR PAGE         BIN_DIR: the folder of Assay's programs
       run_examples.py --count              what is executed, checked and shown, page by page
Ends with 1 when a block fails, 77 when the page needs what is not here.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import signal
import subprocess
import sys
import tempfile

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from examples import NEEDS, blocks_of  # noqa: E402

SOURCE = pathlib.Path(__file__).resolve().parents[2]
PYTHON = "/usr/bin/python3"
LIMIT_S = 240  # for a page

# What pages take for granted: a suite, and runs of it.
SUITE = """name: suite
telemetry: {prometheus: {}}
defaults: {limits: {time: 1m}, rules: {RULES}}
cases:
  - case: null:native:cpu:1:2:3
    config: {steps: 60, step_ms: 5}
"""


SUITE_KEYS = {"name", "description", "vendor", "cluster", "telemetry", "submission", "baseline", "container", "defaults",
              "cases", "hooks"}
# What a machine that runs other tests cannot promise.
SUITE = SUITE.replace("RULES", "min-steps: {min: 10}, " + ", ".join(f"{rule}: off" for rule in (
    "min-duration", "load-before", "other-runs", "cpu-taken", "cpu-shared", "steal", "memory-pressure", "swapping",
    "cpu-throttling", "repeat-spread", "interval-width", "steady-steps", "stalls", "throughput-long-enough")))
# A trainer that says how fast it is, as many do.
TRAINER = """import time
for step in range(30):
    time.sleep(0.02)
    print(f"step {step} Tokens/p/s: {1000 + step}", flush=True)
"""


SERVER = re.compile(r"^assay serve .*&( *#.*)?$", re.M)
# A reader waits until the server has said its address. It listens a moment before.
READY = ("for _ in $(seq 600); do (exec 3<>/dev/tcp/127.0.0.1/8480) 2>/dev/null && "
         "grep -q 127.0.0.1:8480 \"$PAGE_LOG\" && break; sleep 0.1; done")


def pages():
    yield from ("README.md", "README.zh-CN.md", "CONTRIBUTING.md")
    for page in sorted((SOURCE / "docs").rglob("*.md")):
        name = page.relative_to(SOURCE).as_posix()
        # Translations have the blocks of their originals (scripts/check-translations.sh).
        if not (name.startswith("docs/zh/") and (SOURCE / "docs" / name.removeprefix("docs/zh/")).exists()):
            yield name


class Failure(Exception):
    pass


class Checker:
    def __init__(self, programs, folder):
        self.programs = pathlib.Path(programs).resolve()
        self.folder = pathlib.Path(folder)
        self.help = {}
        self.environment = {
            "PATH": f"{self.programs}:/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "HOME": str(self.folder / "home"),
            "ASSAY_KEYS": str(self.folder / "keys"), "PYTHONPATH": str(SOURCE / "python"), "LC_ALL": "C.UTF-8",
            "PYTHONDONTWRITEBYTECODE": "1", "PAGE_LOG": str(self.folder / "page.log")}
        (self.folder / "home").mkdir()

    def program(self, *arguments):
        return subprocess.run([self.programs / "assay", *arguments], capture_output=True, text=True, timeout=120,
                              env=self.environment, cwd=self.folder)

    def prepare(self):
        """Makes the runs that pages speak of."""
        for name in ("examples", "conf"):
            shutil.copytree(SOURCE / name, self.folder / name)
        (self.folder / "suite.yaml").write_text(SUITE)
        (self.folder / "train.py").write_text(TRAINER)
        for number in (1, 2, 3):
            made = self.program("run", "suite.yaml", "--out", "made")
            if made.returncode not in (0, 6):
                raise Failure(f"the run that pages speak of failed:\n{made.stderr}")
            (self.folder / "results").mkdir(exist_ok=True)
            newest = (self.folder / "made/latest").resolve()
            shutil.copytree(newest, self.folder / f"results/{newest.name}", symlinks=True)
            (self.folder / f"results/run{number}").symlink_to(newest.name)
        (self.folder / "results/latest").symlink_to(newest.name)

    # Options and commands exist.

    def help_of(self, command):
        if command not in self.help:
            shown = self.program(*command, "--help")
            self.help[command] = shown.stdout if shown.returncode == 0 else None
        return self.help[command]

    def check_usage(self, text):
        for line in text.replace("\\\n", " ").split("\n"):
            for call in re.findall(r"(?:^|[(|&;] *|\$\()assay +([a-z][^|&;)]*)", line.split(" # ")[0].split("  #")[0]):
                words = [word.strip("[]") for word in call.split()]
                command = tuple(words[:1])
                if self.help_of(command) is None:
                    raise Failure(f"there is no command 'assay {words[0]}': {line.strip()}")
                if len(words) > 1 and re.fullmatch("[a-z]+", words[1]) and self.help_of((*command, words[1])):
                    command = (*command, words[1])
                for option in re.findall(r"(?<![\w'\"/-])(--[a-z][a-z-]*)", call):
                    if not re.search(re.escape(option) + r"(?![a-z-])", self.help_of(command)) and not re.search(
                            re.escape(option) + r"(?![a-z-])", self.help_of(command[:1])):
                        raise Failure(f"'assay {' '.join(command)}' has no option {option}: {line.strip()}")

    def check_suite(self, text, name="page.yaml"):
        import yaml
        try:
            content = yaml.safe_load(text)
        except yaml.YAMLError as error:
            raise Failure(f"no YAML: {error}") from error
        if not isinstance(content, dict):
            return
        if not SUITE_KEYS & content.keys():  # of a case
            text = "cases:\n  - name: page\n    command: python3 train.py\n" + "".join(
                f"    {line}\n" for line in text.split("\n"))
        elif "cases" not in content:
            text += "\ncases: [null:native:cpu:1:1:1]\n"
        if "name" not in content:
            text = "name: page\n" + text
        file = self.folder / name
        file.write_text(text)
        planned = self.program("run", str(file), "--dry-run")
        if planned.returncode != 0:
            raise Failure(f"cannot be planned:\n{planned.stderr}")

    def check_cpp(self, text, words):
        header, _, before = " ".join(words[1:]).partition(";")
        source = f'#include "{header}"\nvoid page() {{\n{before}\n{text.replace("…", "")}\n}}\n'
        compiled = subprocess.run(["g++", "-std=c++20", "-fsyntax-only", f"-I{SOURCE}/src", "-x", "c++", "-"], input=source,
                                  text=True, capture_output=True, timeout=120)
        if compiled.returncode != 0:
            raise Failure(compiled.stderr)

    def script_of(self, blocks):
        """All that is executed, with a line before each block that says which."""
        lines = ["set -eo pipefail",
                 # A verdict is about this machine and how busy it is, not about the page.
                 'assay() { local code=0; command assay "$@" || code=$?; case "$1 $code" in *" 6" | *" 7" | "check 3") ;; '
                 '*) return $code ;; esac; }']
        for block in blocks:
            lines.append(f"echo '@@ {block.line}' >&2")
            if block.words[:1] == ["file"]:
                lines += [f"cat > {shlex.quote(block.words[1])} <<'@@END'", block.text.rstrip("\n"), "@@END"]
            elif block.kind == "python":
                lines += [f"{PYTHON} - <<'@@END'", block.text.rstrip("\n"), "@@END"]
            else:
                lines.append(SERVER.sub(lambda match: match[0] + "\n" + READY, block.text))
        return "\n".join(lines) + "\n"

    def run(self, blocks):
        script = self.folder / "page.sh"
        script.write_text(self.script_of(blocks))
        # Ports that pages name are its own, where this system lets it.
        apart = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"', "sh"]
        if subprocess.run([*apart, "true"], capture_output=True, check=False).returncode != 0:
            apart = []
        with open(self.folder / "page.log", "w", encoding="utf-8") as log:
            process = subprocess.Popen([*apart, "bash", str(script)], stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                                       env=self.environment, cwd=self.folder, start_new_session=True)
            try:
                code = process.wait(timeout=LIMIT_S)
            except subprocess.TimeoutExpired:
                code = "no end after %d s" % LIMIT_S
            finally:
                try:
                    os.killpg(process.pid, signal.SIGTERM)  # servers that the page has started
                except ProcessLookupError:
                    pass
        if code != 0:
            said = (self.folder / "page.log").read_text(errors="replace")
            place = re.findall(r"^@@ (\d+)$", said, re.M)[-1:]
            raise Failure(f"line {''.join(place)}: {code}\n{said[-3000:]}")


def plan_of(blocks):
    """What is done with each block: to execute, to check, to show."""
    out = {"run": [], "check": [], "shown": []}
    for block in blocks:
        action = block.action
        if action == "unknown":
            raise Failure(f"line {block.line}: what is this block? Say it before it (tests/docs/examples.py)")
        if action == "needs" and block.words[1] not in NEEDS:
            raise Failure(f"line {block.line}: unknown need '{block.words[1]}'")
        executed = action == "file" or (action == "run" and block.kind in ("sh", "python"))
        out["run" if executed else "shown" if action == "shown" else "check"].append(block)
    return out


def test(programs, page):
    blocks = blocks_of((SOURCE / page).read_text(encoding="utf-8"))
    try:
        plan = plan_of(blocks)
        with tempfile.TemporaryDirectory(prefix="assay-docs-") as folder:
            checker = Checker(programs, folder)
            for block in plan["check"]:
                try:
                    if block.action in ("usage", "needs"):
                        checker.check_usage(block.text) if block.kind == "sh" else None
                    elif block.action == "suite":
                        checker.check_suite(block.text)
                    elif block.action == "cpp":
                        checker.check_cpp(block.text, block.words)
                    elif block.action == "parse":
                        json.loads(block.text)
                except Failure as failure:
                    raise Failure(f"line {block.line}: {failure}") from failure
            for program in re.findall(r"^(assay-[a-z-]+) ", "".join(block.text for block in plan["run"]), re.M):
                if not (checker.programs / program).exists():
                    print(f"needs system: a build with {program}")
                    sys.exit(77)
            if plan["run"]:
                checker.prepare()
                checker.run(plan["run"])
    except Failure as failure:
        sys.exit(f"{page}: {failure}")
    print(f"{page}: {len(plan['run'])} blocks executed, {len(plan['check'])} checked, {len(plan['shown'])} shown")


def count():
    total = {}
    needs = {}
    for page in pages():
        plan = plan_of(blocks_of((SOURCE / page).read_text(encoding="utf-8")))
        for what, blocks in plan.items():
            total[what] = total.get(what, 0) + len(blocks)
            for block in blocks:
                if block.action == "needs":
                    needs[block.words[1]] = needs.get(block.words[1], 0) + 1
        print(f"{page}: " + ", ".join(f"{len(blocks)} {what}" for what, blocks in plan.items() if blocks))
    print("all:", ", ".join(f"{number} {what}" for what, number in total.items()))
    print("not executed because of what they need:", ", ".join(f"{n} {what}" for what, n in sorted(needs.items())))


if __name__ == "__main__":
    if sys.argv[1:] == ["--count"]:
        count()
    elif len(sys.argv) == 3:
        test(*sys.argv[1:])
    else:
        sys.exit(__doc__)
