"""Code blocks of a page, and what is done with each of them (docs/dev/documents.md).

A comment before a block says what it is where that cannot be seen:

    <!-- example: shown -->            a format or an output: not to be executed
    <!-- example: usage -->            a synopsis: its commands and options must exist
    <!-- example: needs WHAT -->       cannot be executed by a test: a cluster, gpu, cloud, network, root, minutes, source;
                                       its commands and options must exist
    <!-- example: file NAME -->        written to NAME for the blocks that follow; YAML with cases is planned, too
    <!-- example: cpp HEADER; TEXT --> compiled as the body of a function behind TEXT
"""
import re
from dataclasses import dataclass, field

NEEDS = ("cluster", "gpu", "cloud", "network", "root", "minutes", "source")
COMMANDS = ("assay", "assay-train", "assay-micro", "assay-cloud-emulator", "mkdir", "cat", "python3", "printf", "tar", "cd",
            "./bench.sh", "./test.sh", "cmake", "apt", "sudo", "curl", "ssh", "scp", "source", "for", "export", "duckdb",
            "promtool", "ninja", "ctest", "pip", "prometheus", "tensorboard", "mlflow", "wandb", "podman", "echo", "git", "rm", "head", "sh", "grep", "ls")
DIRECTIVE = re.compile(r"^<!-- example: (.*) -->$")
VARIABLE = re.compile(r"^[A-Z_]+=\S+ ")


@dataclass
class Block:
    line: int  # where it begins, from 1
    text: str
    kind: str  # sh, yaml, python, cpp, json, text
    words: list = field(default_factory=list)  # of the directive

    @property
    def action(self):
        if self.words:
            return self.words[0]
        return {"sh": "run", "yaml": "suite", "python": "run", "json": "parse"}.get(self.kind, "unknown")


def is_shell(text):
    first = VARIABLE.sub("", text.lstrip().split("\n", 1)[0])
    word = first.split()[0] if first.split() else ""
    return word in COMMANDS or word.startswith(("build/", "bench/", "scripts/", "packaging/", "docs/", "tests/"))


def kind_of(language, text):
    if language in ("sh", "bash", "shell", "console"):
        return "sh"
    if language:
        return language
    if is_shell(text):
        return "sh"
    return "yaml" if re.match(r"[a-z_]+:( |$)", text, re.M) else "text"


def blocks_of(text):
    """All blocks of a page, fenced and indented ones."""
    lines, found, directive, at = text.split("\n"), [], [], 0
    while at < len(lines):
        line = lines[at]
        fence = re.match(r"^( *)```(\S*)", line)
        previous = lines[at - 1].strip() if at else ""
        if match := DIRECTIVE.match(line.strip()):
            directive = match[1].split()
            at += 1
        elif fence:
            end = next(i for i in range(at + 1, len(lines)) if lines[i].strip().startswith("```"))
            body = "\n".join(one[len(fence[1]):] for one in lines[at + 1:end]) + "\n"
            found.append(Block(at + 1, body, kind_of(fence[2], body), directive))
            directive, at = [], end + 1
        elif line.startswith("    ") and (previous == "" or previous.startswith("<!--")):
            end = at
            while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
                end += 1
            body = "\n".join(one[4:] for one in lines[at:end]).rstrip() + "\n"
            found.append(Block(at + 1, body, kind_of("", body), directive))
            directive, at = [], end
        else:
            if line.strip():
                directive = []
            at += 1
    return found
