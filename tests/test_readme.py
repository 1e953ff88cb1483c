"""What the README says that commands print is what they print.

Every `console` block is run, line by line, in one copy of the repository's data. Times and digests
differ from run to run and are masked before the comparison. `VPREP_BLESS=1` rewrites the README.
"""

import os
import re
import subprocess
from pathlib import Path

from conftest import ROOT, Vprep

BLOCK = re.compile(r"^```console\n(.*?)^```", re.M | re.S)
MASKS = [
    (re.compile(r" *\d+\.\d s\b"), " TIME"),
    (re.compile(r"\b[0-9a-f]{12,64}\b"), "DIGEST"),
    (re.compile(r"vprep \d+\.\d+\.\d+"), "vprep VERSION"),
    (re.compile(r"at most [\d.]+ .iB of memory"), "at most SIZE of memory"),
    # The last bit of a distance in an index may depend on the processor.
    (re.compile(r"^hnsw .*$", re.M), "RESULT OF HNSW"),
    (re.compile(r'^ +"(value|evaluations|held_out_low|held_out_high|\w*recall)": .*$', re.M), "RESULT"),
    (re.compile(r"\d+ measurements"), "N measurements"),
]


def masked(text):
    for pattern, mark in MASKS:
        text = pattern.sub(mark, text)
    return text


def test_readme_commands_print_what_it_says(vprep):
    (vprep.home / "pipelines").symlink_to(ROOT / "pipelines")
    (vprep.home / "datasets" / "quickstart").mkdir(parents=True)
    source = vprep.home / "datasets" / "quickstart" / "source"
    source.symlink_to(ROOT / "datasets" / "quickstart" / "source")
    path = f"{Path(vprep.binary).resolve().parent}:{os.environ['PATH']}"
    # One thread, so that the index and what follows from it are the same in every run.
    environment = vprep.environment(PATH=path, VPREP_THREADS="1", COLUMNS="100")

    def run(block):
        lines = []
        for line in block.group(1).splitlines():
            if line.startswith("$ "):
                done = subprocess.run(
                    ["bash", "-c", line[2:]], cwd=vprep.home, env=environment, timeout=300,
                    stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
                )
                lines += [line, *done.stdout.splitlines()]
        return "```console\n" + "\n".join(lines) + "\n```"

    readme = ROOT / "README.md"
    before = readme.read_text()
    after = BLOCK.sub(run, before)
    if os.environ.get("VPREP_BLESS"):
        readme.write_text(after)
        return
    assert masked(after) == masked(before)
