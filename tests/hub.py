"""The hub and file server of the tests, `vprep-testhub`, and Python's client of it."""

import json
import os
import subprocess
import sys
import urllib.request
from pathlib import Path


class Hub:
    """A running server. Every download of the client runs in a process of its own, as the library
    reads its environment once."""

    def __init__(self, folder: Path, setup):
        folder.mkdir(parents=True, exist_ok=True)
        path = folder / "setup.json"
        path.write_text(json.dumps(setup))
        self.child = subprocess.Popen(
            [os.environ["VPREP_TESTHUB"], path], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self.url = self.child.stdout.readline().strip()
        self.home = folder / "home"

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.child.stdin.close()
        assert self.child.wait(10) == 0

    def control(self, method, path, value=None):
        body = None if value is None else json.dumps(value).encode()
        request = urllib.request.Request(f"{self.url}/_test/{path}", body, method=method)
        with urllib.request.urlopen(request) as response:
            return json.load(response)

    def fault(self, path, fault, **rest):
        self.control("POST", "faults", {"path": path, "fault": fault, **rest})

    def log(self):
        """The requests since the last call, but for one that the client makes once a day."""
        log = self.control("GET", "log")
        self.control("DELETE", "log")
        return [entry for entry in log if entry["target"] != "/api/agent-harnesses"]

    def python(self, code, **env):
        """Prints an expression, or the names of the exception's classes."""
        script = f"""
import hashlib, sys
import huggingface_hub
from huggingface_hub import HfApi, hf_hub_download, snapshot_download
def sha256(path): return hashlib.sha256(open(path, "rb").read()).hexdigest()
try:
    print({code})
except Exception as error:
    print(" ".join(kind.__name__ for kind in type(error).__mro__))
    print(error, file=sys.stderr)
"""
        env = {"PATH": os.environ["PATH"], "HF_HOME": str(self.home), "HF_ENDPOINT": self.url, **env}
        done = subprocess.run([sys.executable, "-c", script], env=env, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        return done.stdout.strip()
