"""Python's huggingface_hub downloads from the test hub, unmodified: the hub that vprep is tested
against is not vprep's own idea of the protocol."""

import hashlib
import json
import urllib.request
from pathlib import Path

import pytest

from hub import Hub

PINNED = "5c38ec7c405ec4b44b94cc5a9bb96e735b38267a"
LARGE = 30_000_000
# What the library reads at once: it resumes at a multiple of this.
CHUNK = 10 * 1024 * 1024
TRAIN = "datasets/acme/words/data/train.parquet"
SETUP = {
    "tokens": {"hf_good": ["acme/secret"], "hf_other": []},
    "page": 2,
    "repos": [
        {
            "kind": "dataset",
            "id": "acme/words",
            "formerly": ["old/words"],
            "files": {"README.md": {"text": "# words\n"}, "data/a b.txt": {"text": "spaced"}},
            "lfs": {"data/train.parquet": {"random": {"seed": 7, "bytes": LARGE}}},
        },
        {
            "kind": "model",
            "id": "acme/tiny",
            "commit": PINNED,
            "git_delivery": "direct",
            "lfs_delivery": "cdn307",
            "files": {"config.json": {"text": "{}"}},
            "lfs": {"model.safetensors": {"random": {"seed": 8, "bytes": LARGE}}},
        },
        {
            "kind": "model",
            "id": "acme/near",
            "lfs_delivery": "relative",
            "lfs": {"model.safetensors": {"random": {"seed": 8, "bytes": LARGE}}},
        },
        {
            "kind": "dataset",
            "id": "acme/secret",
            "gated": True,
            "files": {"a.txt": {"text": "secret"}},
            "lfs": {"b.bin": {"random": {"seed": 9, "bytes": 1000}}},
        },
    ],
}


@pytest.fixture
def hub(tmp_path):
    with Hub(tmp_path, SETUP) as hub:
        yield hub


def train_sha256(hub):
    listing = urllib.request.urlopen(f"{hub.url}/api/datasets/acme/words/tree/main/data")
    entries = {entry["path"]: entry for entry in json.load(listing)}
    hub.control("DELETE", "log")
    return entries["data/train.parquet"]["lfs"]["oid"]


DOWNLOAD = 'sha256(hf_hub_download("acme/words", "data/train.parquet", repo_type="dataset"))'


def test_a_large_file_through_the_cdn_and_into_the_cache(hub):
    sha256 = train_sha256(hub)
    assert hub.python(DOWNLOAD) == sha256
    head, get = hub.log()
    assert (head["method"], head["status"], head["cdn"]) == ("HEAD", 302, False)
    assert (get["method"], get["status"], get["cdn"], get["bytes"]) == ("GET", 200, True, LARGE)
    blobs = hub.home / "hub/datasets--acme--words/blobs"
    assert [path.name for path in blobs.iterdir()] == [sha256]
    # Once more: only the question whether it has changed.
    assert hub.python(DOWNLOAD) == sha256
    assert [entry["method"] for entry in hub.log()] == ["HEAD"]


def test_offline_asks_nothing(hub):
    assert "LocalEntryNotFoundError" in hub.python(DOWNLOAD, HF_HUB_OFFLINE="1")
    assert hub.log() == []
    sha256 = hub.python(DOWNLOAD)
    hub.log()
    assert hub.python(DOWNLOAD, HF_HUB_OFFLINE="1") == sha256
    assert hub.log() == []


def test_snapshots(hub):
    code = 'snapshot_download("acme/words", repo_type="dataset")'
    folder = Path(hub.python(code))
    assert sorted(str(p.relative_to(folder)) for p in folder.rglob("*") if p.is_file()) == [
        "README.md",
        "data/a b.txt",
        "data/train.parquet",
    ]
    assert (folder / "data/a b.txt").read_text() == "spaced"
    hub.log()
    assert hub.python(code, HF_HUB_OFFLINE="1") == str(folder)
    assert hub.log() == []
    model = Path(hub.python('snapshot_download("acme/tiny")'))
    assert model.name == PINNED
    assert (model / "config.json").read_text() == "{}"
    pinned = f'hf_hub_download("acme/tiny", "config.json", revision="{PINNED}")'
    hub.log()
    assert Path(hub.python(pinned)).parent == model
    assert hub.log() == []


def test_relative_redirects_and_renamed_repositories(hub):
    code = 'sha256(hf_hub_download("acme/near", "model.safetensors"))'
    sha256 = hub.python(code)
    assert sha256 == hub.python('sha256(hf_hub_download("acme/tiny", "model.safetensors"))')
    old = 'open(hf_hub_download("old/words", "README.md", repo_type="dataset")).read()'
    assert hub.python(old) == "# words"


def test_gated(hub):
    code = 'open(hf_hub_download("acme/secret", "a.txt", repo_type="dataset")).read()'
    assert "GatedRepoError" in hub.python(code)
    assert "GatedRepoError" in hub.python(code, HF_TOKEN="hf_other")
    # A wrong token is another matter, on the hub too.
    assert "HfHubHTTPError" in hub.python(code, HF_TOKEN="hf_wrong")
    hub.log()
    assert hub.python(code, HF_TOKEN="hf_good") == "secret"
    assert all(entry["authorization"] for entry in hub.log())
    large = 'sha256(hf_hub_download("acme/secret", "b.bin", repo_type="dataset"))'
    assert len(hub.python(large, HF_TOKEN="hf_good")) == 64
    # The token stays with the hub.
    assert [(e["cdn"], e["authorization"]) for e in hub.log()] == [(False, True), (True, False)]
    assert hub.python('HfApi().whoami()["name"]', HF_TOKEN="hf_good") == "tester"


def test_missing_things(hub):
    for code, error in [
        ('hf_hub_download("acme/words", "x", repo_type="dataset")', "RemoteEntryNotFoundError"),
        ('hf_hub_download("acme/words", "README.md", repo_type="dataset", revision="v9")', "RevisionNotFoundError"),
        ('hf_hub_download("acme/words", "README.md")', "RepositoryNotFoundError"),
        ('snapshot_download("acme/none")', "RepositoryNotFoundError"),
    ]:
        assert error in hub.python(code), code
    no_exist = list((hub.home / "hub/datasets--acme--words/.no_exist").rglob("x"))
    assert len(no_exist) == 1


def test_the_interface(hub):
    info = 'HfApi().dataset_info("acme/words", files_metadata=True)'
    sha256 = train_sha256(hub)
    assert hub.python(f'[s.lfs.sha256 for s in {info}.siblings if s.lfs]') == str([sha256])
    # Two on a page, so that this follows links.
    tree = 'HfApi().list_repo_tree("acme/words", repo_type="dataset", recursive=True, expand=True)'
    assert hub.python(f"[e.path for e in {tree}]") == str(["README.md", "data", "data/a b.txt", "data/train.parquet"])
    paths = 'HfApi().get_paths_info("acme/words", ["data/train.parquet", "none"], repo_type="dataset")'
    assert hub.python(f"[e.lfs.sha256 for e in {paths}]") == str([sha256])
    assert hub.python('HfApi().model_info("acme/tiny").sha') == PINNED
    assert hub.python('HfApi().list_repo_refs("acme/words", repo_type="dataset").branches[0].name') == "main"
    assert hub.python('HfApi().file_exists("acme/tiny", "none")') == "False"


def test_a_cut_is_resumed_within_the_process(hub):
    sha256 = train_sha256(hub)
    hub.fault(TRAIN, {"kind": "cut", "after": LARGE * 9 // 10}, times=1)
    assert hub.python(DOWNLOAD) == sha256
    downloads = [entry for entry in hub.log() if entry["method"] == "GET"]
    assert [entry["status"] for entry in downloads] == [200, 206]
    assert downloads[1]["range"] == f"bytes={2 * CHUNK}-"
    assert downloads[1]["bytes"] == LARGE - 2 * CHUNK


def test_range_ignored_after_a_cut(hub):
    sha256 = train_sha256(hub)
    hub.fault(TRAIN, {"kind": "cut", "after": LARGE // 2}, times=1)
    hub.fault(TRAIN, {"kind": "ignore-range"})
    assert hub.python(DOWNLOAD) == sha256
    downloads = [entry for entry in hub.log() if entry["method"] == "GET"]
    assert [entry["status"] for entry in downloads] == [200, 200]
    assert [entry["range"] for entry in downloads] == [None, f"bytes={CHUNK}-"]


def test_nothing_is_resumed_by_a_second_process(hub):
    """What huggingface_hub does today (its issue 4196), and vprep must do better."""
    sha256 = train_sha256(hub)
    hub.fault(TRAIN, {"kind": "cut", "after": LARGE // 2}, times=1)
    hub.fault(TRAIN, {"kind": "status", "code": 404}, skip=1, times=1)
    assert "Error" in hub.python(DOWNLOAD)
    hub.log()
    assert hub.python(DOWNLOAD) == sha256
    assert [e["range"] for e in hub.log() if e["method"] == "GET"] == [None]


def test_a_rate_limit_is_waited_for(hub):
    sha256 = train_sha256(hub)
    hub.fault(TRAIN, {"kind": "too-many-requests", "retry_after": {"seconds": 1}}, times=1)
    assert hub.python(DOWNLOAD) == sha256
    assert [entry["status"] for entry in hub.log() if entry["method"] == "GET"] == [429, 200]


def test_a_flipped_byte_is_not_noticed(hub):
    """huggingface_hub checks the size only: a cache it has filled must be verified."""
    hub.fault(TRAIN, {"kind": "flip-byte", "offset": 5}, times=1)
    wrong = hub.python(DOWNLOAD)
    assert len(wrong) == 64 and wrong != train_sha256(hub)


def test_local_copies_serve_from_disk(hub, tmp_path):
    content = bytes(range(256)) * 1000
    path = tmp_path / "on-disk.bin"
    path.write_bytes(content)
    repo = {"kind": "dataset", "id": "acme/disk", "lfs": {"x.bin": {"disk": str(path)}}}
    hub.control("POST", "setup", {"repos": [repo]})
    code = 'sha256(hf_hub_download("acme/disk", "x.bin", repo_type="dataset"))'
    assert hub.python(code) == hashlib.sha256(content).hexdigest()
