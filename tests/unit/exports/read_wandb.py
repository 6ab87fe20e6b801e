"""An offline run of Weights & Biases, read from the definition of its format alone (LevelDB's log with plain CRC-32,
the wire format of protocol buffers, the field numbers of wandb_internal.proto) by a program that shares nothing with
the writer, and written to a file as JSON. Values stay the text that they are in the log.

read_wandb.py FOLDER|LOG OUT"""
import json
import os
import re
import struct
import sys
import zlib

BLOCK, HEADER = 32768, 7
FULL, FIRST, MIDDLE, LAST = 1, 2, 3, 4
NAMES = {2: "history", 3: "summary", 7: "stats", 17: "run", 18: "exit", 20: "final", 21: "header", 22: "footer"}


def records(data, parts=None):
    """Every record; into `parts` goes the type and length of every part."""
    ident, magic, version = struct.unpack_from("<4sHB", data)
    assert (ident, magic, version) == (b":W&B", 0xBEE1, 0), (ident, magic, version)
    at, record = HEADER, None
    while at < len(data):
        left = BLOCK - at % BLOCK
        if left < HEADER:
            assert data[at:at + left] == bytes(left), "padding"
            at += left
            continue
        checksum, length, kind = struct.unpack_from("<IHB", data, at)
        body = data[at + HEADER:at + HEADER + length]
        assert len(body) == length and HEADER + length <= left, "a part reaches beyond its block"
        assert checksum == zlib.crc32(bytes([kind]) + body), "checksum"
        assert (record is None) == (kind in (FULL, FIRST)), f"part {kind} in the wrong place"
        assert kind in (FULL, LAST) or HEADER + length == left, "a part that goes on does not fill its block"
        if parts is not None:
            parts.append([kind, length])
        record = (record or b"") + body
        if kind in (FULL, LAST):
            yield record
            record = None
        at += HEADER + length
    assert record is None, "the last record is cut"


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        shift += 7
        if byte < 0x80:
            return value, at


def fields(data):
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        number, wire = key >> 3, key & 7
        if wire == 0:
            value, at = varint(data, at)
        else:
            assert wire == 2, f"wire type {wire}"
            length, at = varint(data, at)
            value, at = data[at:at + length], at + length
            assert len(value) == length, "a field is cut"
        yield number, value


def items(data, field):
    out = {}
    for number, value in fields(data):
        if number == field:
            one = dict(fields(value))
            assert set(one) == {1, 16}, one
            key = one[1].decode()
            assert key and key not in out, f"{key} twice"
            json.loads(one[16])  # Python's reader takes NaN and Infinity, too
            out[key] = one[16].decode()
    return out


def seconds(data):
    parts = dict(fields(data))
    return parts.get(1, 0) + parts.get(2, 0) / 1e9


def read_run(folder):
    name = re.fullmatch(r"offline-run-(\d{8}_\d{6})-([a-z0-9]+)", os.path.basename(folder))
    assert name, folder
    id = name[2]
    assert sorted(os.listdir(folder)) == ["files", f"run-{id}.wandb"], os.listdir(folder)
    assert sorted(os.listdir(os.path.join(folder, "files"))) == ["config.yaml", "wandb-summary.json"]
    with open(os.path.join(folder, f"run-{id}.wandb"), "rb") as file:
        data = file.read()
    out = {"started": name[1], "kinds": [], "history": [], "stats": [], "summary": {}}
    for number, record in enumerate(records(data), 1):
        parts = dict(fields(record))
        assert parts.pop(1) == number, "records are numbered from 1"
        control = parts.pop(16, None)
        (field, body), = parts.items()  # exactly one message
        kind = NAMES[field]
        out["kinds"].append(kind)
        if kind in ("run", "exit"):
            assert dict(fields(control))[4], "no mailbox slot"
        if kind == "run":
            one = dict(fields(body))
            assert one[1].decode() == id, one[1]
            run = {name: one[number].decode() for number, name in
                   {3: "project", 6: "group", 7: "job_type", 8: "name", 9: "notes", 13: "host"}.items() if number in one}
            run["tags"] = [value.decode() for number, value in fields(body) if number == 10]
            run["config"] = {key: json.loads(value) for key, value in items(one[4], 1).items()}
            run["start_time"] = seconds(one[17])
            out["run"] = run
        elif kind == "history":
            step = dict(fields(dict(fields(body))[2]))[1]
            row = items(body, 1)
            assert int(row["_step"]) == step and (not out["history"] or step > int(out["history"][-1]["_step"])), step
            out["history"].append(row)
        elif kind == "stats":
            out["stats"].append({"at": seconds(dict(fields(body))[2]), **items(body, 3)})
        elif kind == "summary":
            out["summary"].update(items(body, 1))
        elif kind == "exit":
            one = dict(fields(body))
            out["exit_code"], out["runtime"] = one[1], one[2]
    # What the client needs, in the order that it needs.
    assert out["kinds"][:2] == ["header", "run"] and out["kinds"][-3:] == ["exit", "final", "footer"], out["kinds"]
    with open(os.path.join(folder, "files", "wandb-summary.json"), encoding="utf-8") as file:
        text = file.read()
    assert json.dumps(json.loads(text), sort_keys=True) == json.dumps(
        {key: json.loads(value) for key, value in out["summary"].items()}, sort_keys=True), text
    with open(os.path.join(folder, "files", "config.yaml"), encoding="utf-8") as file:
        out["config.yaml"] = file.read()
    return out


def read_folder(folder):
    """The runs of a folder by their names."""
    runs = [read_run(os.path.join(folder, name)) for name in sorted(os.listdir(folder))]
    out = {run["run"]["name"]: run for run in runs}
    assert len(out) == len(runs), "a name twice"
    return out


if __name__ == "__main__":
    if os.path.isfile(sys.argv[1]):  # a log alone: its parts and the lengths of its records
        with open(sys.argv[1], "rb") as file:
            parts = []
            read = {"lengths": [len(record) for record in records(file.read(), parts)], "parts": parts}
    else:
        read = read_folder(sys.argv[1])
    with open(sys.argv[2], "w", encoding="utf-8") as file:
        json.dump(read, file)
