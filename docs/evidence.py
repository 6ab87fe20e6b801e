#!/usr/bin/env python3
"""Checks lists, chains and the seal of a run without Assay (docs/evidence.md): evidence.py RUN

Needs Python 3 and the program openssl (3.0 or later). Prints what does not fit, and files that no
list names; exit code 1 then. Files that nobody reads (docs/run-directory.md) are named too, and
change nothing.
"""
import base64
import hashlib
import json
import pathlib
import re
import subprocess
import sys
import tempfile

problems = []
notes = []
listed = set()

# Files of a round's folder, as in the table of docs/run-directory.md: those that are read, and those
# that may be there and are not.
NODE = r"[^/]+_noderank\d+/"
READ = re.compile(
    rf"{NODE}(config\.json|rank[^/]+\.out\.log(\.head|\.1)?|telemetry\.csv|evidence\.jsonl"
    rf"|set_result\.jsonl)|results/.*\.json|automl/journal\.jsonl|hook\.log")
UNREAD = re.compile(
    rf"{NODE}(hccl\.json|hostfile|ib_config|agent\.log|[^/]+_monitor\.log)|job\.json|results/.*"
    rf"|automl/weights/.*|train_result_info\.json|ais_result\.json|report\.txt")


def check_file(folder, record):
    path = folder / record["name"]
    listed.add(path)
    if path.is_symlink() or (path.exists() and not path.is_file()):
        return problems.append(f"{path} is no regular file")
    if not path.is_file():
        return problems.append(f"{path} is missing")
    content = path.read_bytes()
    found = (len(content), content.count(b"\n"), hashlib.sha256(content).hexdigest())
    if found != (record["bytes"], record["lines"], record["sha256"]):
        problems.append(f"{path} is not as it was listed")


def check_unlisted(run):
    for path in sorted(run.glob("*/round*/**/*")):
        case, folder, *rest = path.relative_to(run).parts
        if not re.fullmatch(r"round\d+", folder) or not rest:
            continue
        if path.is_dir() and not path.is_symlink():
            continue
        name = "/".join(rest)
        if path not in listed and READ.fullmatch(name):
            problems.append(f"{path} is on no list")
        elif path not in listed and not UNREAD.fullmatch(name):
            notes.append(f"{path} is on no list, and nobody reads it")


def check_run_files(run, event, last):
    """plan.json never changes; system.json may be the one before, when the run was killed between."""
    for record in event.get("files", []):
        if record["name"] == "plan.json":
            check_file(run, record)
        else:
            last[record["name"]] = last.get(record["name"], [])[-1:] + [record]


def check_chain(path, round_id, node, last, journaled):
    head = hashlib.sha256(f"assay evidence chain 1\n{round_id}\nnode {node}\n".encode()).hexdigest()
    heads = set()
    for number, line in enumerate(path.read_bytes().splitlines(), 1):
        body, _, end = line.rpartition(b',"head":"')
        head = hashlib.sha256(head.encode() + body + b"}").hexdigest()
        heads.add(head)
        if end != head.encode() + b'"}':
            return problems.append(f"{path}:{number} does not follow from the lines before")
    if head != last:
        problems.append(f"{path} does not end with the head that the journal has")
    if not journaled <= heads:
        problems.append(f"{path} lacks a head that the journal has")


def check_rounds(run):
    rounds = {}
    written = {}
    recorded = False
    for line in (run / "journal.jsonl").read_text().splitlines():
        try:
            event = json.loads(line)
        except json.JSONDecodeError:
            problems.append(f"{run / 'journal.jsonl'}: a line cannot be read")
            continue
        if event["event"] in ("run_start", "run_resume", "run_files"):
            recorded = recorded or "files" in event
            check_run_files(run, event, written)
        key = event.get("case"), event.get("round")
        if event["event"] == "round_start":
            rounds[key] = [event]
        elif key in rounds:
            rounds[key].append(event)
    for name, records in written.items():
        before = len(problems)
        check_file(run, records[-1])
        if len(problems) > before and len(records) > 1:  # as it was before, when it was killed
            del problems[before:]
            check_file(run, records[0])
    if recorded and (run / "system.json").exists() and "system.json" not in written:
        problems.append(f"{run / 'system.json'} is on no list")
    for (case, number), events in rounds.items():
        folder = run / case / f"round{number}"
        for event in events:
            if event["event"] == "round_files":
                for record in event["files"]:
                    check_file(folder, record)
            if event["event"] == "node_end":
                node_folder = folder / f"{event['host']}_noderank{event['node']}"
                for record in event["files"]:
                    check_file(node_folder, record)
                journaled = {other["head"] for other in events
                             if other["event"] == "chain" and other["node"] == event["node"]}
                check_chain(node_folder / "evidence.jsonl", events[0]["id"], event["node"],
                            event["head"], journaled)


def check_seal(run):
    if not (run / "seal.json").exists():
        return problems.append(f"{run / 'seal.json'} is missing: the run was killed, or goes on")
    seal = json.loads((run / "seal.json").read_text())
    for record in seal["files"]:
        check_file(run, record)
    if not seal["signature"]:
        return print("nobody signed this run")
    text = (f"assay seal 1\nrun {seal['run_id']}\nsigned_at {seal['signed_at']}\n"
            f"public_key {seal['public_key']}\n")
    for record in seal["files"]:
        text += f"file {record['sha256']} {record['bytes']} {record['lines']} {record['name']}\n"
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        (folder / "text").write_bytes(text.encode())
        (folder / "signature").write_bytes(base64.b64decode(seal["signature"]))
        # The beginning of every public Ed25519 key in PEM, then its 32 bytes.
        (folder / "key.pem").write_text("-----BEGIN PUBLIC KEY-----\nMCowBQYDK2VwAyEA"
                                        + seal["public_key"].removeprefix("ed25519:")
                                        + "\n-----END PUBLIC KEY-----\n")
        checked = subprocess.run(
            ["openssl", "pkeyutl", "-verify", "-pubin", "-inkey", "key.pem", "-rawin",
             "-in", "text", "-sigfile", "signature"], cwd=folder, capture_output=True, check=False)
    if checked.returncode != 0:
        problems.append(f"{run / 'seal.json'}: the signature is wrong")
    print("signed by " + seal["public_key"])


if __name__ == "__main__":
    if len(sys.argv) != 2:
        sys.exit(__doc__)
    check_seal(pathlib.Path(sys.argv[1]))
    check_rounds(pathlib.Path(sys.argv[1]))
    check_unlisted(pathlib.Path(sys.argv[1]))
    for note in notes:
        print("note: " + note)
    print("\n".join(problems) or "everything fits")
    sys.exit(1 if problems else 0)
