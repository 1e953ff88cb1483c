"""Two writers, interrupts and kills."""

import os
import random
import signal
import time

import numpy as np
import pytest

from conftest import files

SYNTH = ["synth", "--rows", 60_000, "--dim", 64, "--queries", 2_000, "--seed", 9, "-d", "d"]


@pytest.fixture
def dataset(vprep):
    vprep(*SYNTH)
    vprep("split", "-d", "d")
    return vprep.home / "d"


def started(vprep, *args):
    """Starts a command and waits until it holds the dataset and works."""
    process = vprep.start(*args)
    deadline = time.monotonic() + 30
    tmp = vprep.home / "d" / ".vprep" / "tmp"
    while not any(tmp.glob("*")):
        assert process.poll() is None, process.communicate()
        assert time.monotonic() < deadline
        time.sleep(0.001)
    return process


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("command", [["truth"], ["build", "--store", "hnsw"]])
def test_an_interrupt_ends_with_130_and_changes_nothing(vprep, dataset, command, number):
    before = files(dataset)
    process = started(vprep, *command, "-d", "d")
    sent = time.monotonic()
    process.send_signal(number)
    _, stderr = process.communicate(timeout=30)
    assert process.returncode == 130
    assert time.monotonic() - sent < 10
    assert "error: interrupted" in stderr
    assert files(dataset) == before
    assert not any((dataset / ".vprep" / "tmp").glob("*"))


def test_a_second_writer_is_refused(vprep, dataset):
    first = started(vprep, "build", "--store", "hnsw", "-d", "d")
    error = vprep.fails("split", "-d", "d")
    assert f"process {first.pid}" in error and "is writing to this dataset" in error
    # Readers are not.
    vprep("inspect", "d")
    first.send_signal(signal.SIGINT)
    first.communicate(timeout=30)
    vprep("split", "-d", "d")


def test_kills_at_random_moments_change_nothing_in_the_end(vprep, dataset):
    """Killed and started again until it finishes: the truth is that of a run left alone."""
    vprep("truth", "-d", "d", "--threads", 1)
    expected = files(dataset)
    for name in ["truth.ids.npy", "truth.scores.npy"]:
        (dataset / name).unlink()
    clock = time.monotonic()
    vprep("truth", "-d", "d")
    whole = time.monotonic() - clock
    assert files(dataset) == expected
    moments = random.Random(4)
    for _ in range(8):
        (dataset / "truth.ids.npy").unlink(missing_ok=True)
        process = vprep.start("truth", "-d", "d")
        time.sleep(moments.uniform(0, whole))
        process.kill()
        process.communicate()
    vprep("truth", "-d", "d")
    assert files(dataset) == expected
    assert not (dataset / ".vprep" / "tmp").exists()
