# `make run` and `make test` need nothing prepared: each sets up .venv and compiles the core, once.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
CORE   := $(wildcard src/sojourn/*/*.pyx src/sojourn/*/*.pxd src/sojourn/*/*.h)

.DEFAULT_GOAL := help
.PHONY: help setup run live test check stress cluster chaos mutants unfinished bench clean

help:           ## What one can do here
	@grep -E '^[a-z]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

setup: $(READY) ## Create .venv, install the package and compile its core

$(READY): pyproject.toml setup.py $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY)   ## A year of flights, replayed on Spark, checked, and drawn: build/flights/report.html
	$(BIN)/python -m examples.flights

live: $(READY)  ## A hundred thousand live timers, drawn in the terminal
	$(BIN)/python -m examples.live_timers

test: check     ## Everything that must hold before a change lands
	$(BIN)/python -m pytest

check: $(READY) ## Style, types and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

stress: $(READY) ## Threads at full speed, a million tasks at once
	$(BIN)/python -m pytest -m stress

cluster: $(READY) ## The pipeline on a Spark master and two workers, on loopback
	$(BIN)/python -m pytest -m cluster

chaos: $(READY) ## Streams killed at random points, a worker of a cluster killed
	$(BIN)/python -m pytest -m chaos tests/stream

unfinished: $(READY) ## What the purgatory and the hub do not hold yet (tests/unfinished.txt)
	$(BIN)/python -m pytest -m unfinished --tb=line

mutants: $(READY) ## Plant bugs one by one; the tests must notice each
	$(BIN)/python -m tests.mutants

bench: $(READY) ## Every timer a Python programmer can pick, and Kafka's, side by side
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks timer --json benchmarks/results/timer.json
	$(BIN)/python -m benchmarks bars benchmarks/results/timer.json

clean:          ## Remove everything that the other targets made
	rm -rf .venv build dist src/*.egg-info src/sojourn/*/_core.c src/sojourn/*/_core.*.so benchmarks/kafka/target
	find . -name __pycache__ -prune -exec rm -rf {} +
