# Targets that document themselves: `make help`. Plain cargo commands work without make.

export CARGO_TARGET_DIR ?= $(HOME)/.cache/vprep/target
VPREP_CACHE ?= $(HOME)/.cache/vprep
VENV := $(VPREP_CACHE)/venv
VPREP := $(CARGO_TARGET_DIR)/release/vprep
CARGO_FLAGS := --release --locked

.DEFAULT_GOAL := help
.PHONY: help build quickstart calibrate validate test test-rust test-python setup lint fmt doc deny bless

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## /{printf "  %-14s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

build: ## Build the command, optimised
	cargo build $(CARGO_FLAGS) -p vprep

quickstart: build ## Build, then make the quickstart dataset and print its calibration (2 minutes once compiled)
	$(VPREP) run pipelines/quickstart.toml

calibrate: build ## Calibrate the quickstart dataset to recall 0.95
	$(VPREP) calibrate -d datasets/quickstart --target 0.95

validate: build ## Check the quickstart dataset against its manifest
	$(VPREP) validate datasets/quickstart

test: setup test-rust test-python ## Set up and run every test

test-rust: ## Unit, property, conformance and command-line tests
	cargo test $(CARGO_FLAGS) --workspace

test-python: build setup ## Compare the command with numpy and pyarrow, and break it
	VPREP_BIN=$(VPREP) $(VENV)/bin/python -m pytest -q tests

# The environment is made anew when the requirements change, and appears whole or not at all.
setup: $(VENV)/.requirements-$(shell cksum < tests/requirements.txt | cut -d ' ' -f 1) ## Install what the tests need (a Python environment in the cache)

$(VENV)/.requirements-%: tests/requirements.txt
	rm -rf $(VENV)
	python3 -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r tests/requirements.txt
	touch $@

lint: ## Formatting and clippy, warnings denied
	cargo fmt --all --check
	cargo clippy $(CARGO_FLAGS) --workspace --all-targets -- -D warnings

fmt: ## Format the code
	cargo fmt --all

doc: ## Documentation, warnings denied
	RUSTDOCFLAGS="-D warnings" cargo doc $(CARGO_FLAGS) --workspace --no-deps

deny: ## Licences, advisories and duplicates of dependencies (needs cargo-deny)
	cargo deny check

bless: ## Rewrite the expected output of the command-line cases and the JSON Schemas
	TRYCMD=overwrite cargo test $(CARGO_FLAGS) -p vprep --test cli
	VPREP_BLESS=1 cargo test $(CARGO_FLAGS) -p vprep-manifest --test schema
