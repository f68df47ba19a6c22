# `make run` and `make test` need nothing prepared: each sets up .venv and compiles the core, once.

PYTHON ?= python3
BIN    := .venv/bin
READY  := .venv/.ready
CORE   := $(wildcard src/sojourn/*/*.pyx src/sojourn/*/*.pxd src/sojourn/*/*.h)

QUICK  := $(addprefix tests/,contract unit rules model property purgatory hub durable)

.DEFAULT_GOAL := help
.PHONY: help setup run live picture quick test format check stress simulate crashes kills serve screenshot million soak load files cluster brokers kafka connect lakes sparks chaos mutants bench figures docs other-python clean

help:           ## What one can do here
	@grep -E '^[a-z-]+: .*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 14

setup: $(READY) ## Create .venv, install the package and compile its core

$(READY): pyproject.toml setup.py $(CORE)
	@test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

run: $(READY)   ## A year of flights, replayed on Spark, checked, and drawn: build/flights/report.html
	$(BIN)/python -m examples.flights

live: $(READY)  ## A hundred thousand live waits, drawn in the terminal (the same: sojourn demo)
	$(BIN)/python -m sojourn demo --seconds 30

picture: $(READY) ## The picture in the README, from a run of half a minute
	$(BIN)/python -m sojourn.demo.picture docs/images/live_timers.svg

test: check     ## Everything that must hold before a change lands
	$(BIN)/python -m pytest

quick: .venv-quick/.ready ## Timer, rules, purgatory and hub, without Java and Spark: about a minute
	HYPOTHESIS_PROFILE=few .venv-quick/bin/python -m pytest $(QUICK)

.venv-quick/.ready: pyproject.toml setup.py $(CORE)
	@test -x .venv-quick/bin/python || $(PYTHON) -m venv .venv-quick
	.venv-quick/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[quick]'
	@touch $@

format: $(READY) ## Style, mended
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

check: $(READY) ## Style, types and who may import whom
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

simulate: $(READY) ## Random programs against a model, N of them (100,000); a failure says its seed
	$(BIN)/python -m tests.simulate programs $(or $(N),100000) $(if $(SEED),--seed $(SEED))

crashes: $(READY) ## Random programs for a durable hub that crashes, N of them (10,000); a failure says its seed
	$(BIN)/python -m tests.simulate crashes $(or $(N),10000) $(if $(SEED),--seed $(SEED))

kills: $(READY) ## A durable hub under load in a process that is killed, N times (1,000); an oracle knows what was answered
	$(BIN)/python -m tests.durable.kills $(or $(N),1000) $(if $(SEED),--seed $(SEED))

serve: $(READY) ## A service with a little life in it, and its dashboard: http://127.0.0.1:7420/ui
	$(BIN)/python -m sojourn.service.demo build/serve

screenshot: $(READY) ## The picture of the dashboard in the README, with chromium
	PYTHONPATH=tests:. $(BIN)/python -m tests.service.ui.picture docs/images/dashboard.png

million: $(READY) ## The dashboard with N pending waits (1,000,000), in a browser: first paint, updates
	$(if $(N),WAITS=$(N)) $(BIN)/python -m pytest -m million -s tests/service/ui

soak: $(READY)  ## A durable hub, an hour of load in virtual time: constant memory, bounded disk; a stream, thirty days: constant state
	$(BIN)/python -m pytest -m soak tests/durable tests/stream

load: $(READY)  ## The service: killed under an open-loop load N times (20), clients ask again, ten thousand streams, many examples
	$(BIN)/python -m tests.service.kills $(or $(N),20) $(if $(SEED),--seed $(SEED))
	SCHEMA_EXAMPLES=200 $(BIN)/python -m pytest -m 'load or not load' tests/service/test_load.py tests/service/test_schema.py

files: $(READY) ## Generated log files through every engine, N of them (1,000), every tenth as a stream; a failure says its seed
	$(BIN)/python -m tests.files $(or $(N),1000) $(if $(SEED),--seed $(SEED)) $(if $(FORMAT),--format $(FORMAT))

stress: $(READY) ## Threads at full speed, a million tasks at once
	$(BIN)/python -m pytest -m stress

brokers: $(READY) ## Simulated clusters of brokers with faults, N of them (10,000), held to their promises
	$(BIN)/python -m tests.simulate clusters $(or $(N),10000) $(if $(SEED),--seed $(SEED))

cluster: $(READY) ## The pipeline on a Spark master and two workers, on loopback
	$(BIN)/python -m pytest -m cluster

kafka: $(READY)  ## Streams from and to a Kafka broker on loopback
	$(BIN)/python -m pytest -m kafka

connect: $(READY) ## Spark Connect: a client, and a server on loopback
	$(BIN)/python -m pytest -m connect

# PySpark 4.1 leaves sockets for the garbage collector to close.
UNCLOSED := -W ignore::ResourceWarning -W ignore::pytest.PytestUnraisableExceptionWarning
ON_SPARK := tests/cli/test_stream.py tests/parity/test_spark.py tests/spark/test_files.py tests/stream/test_spark_parity.py \
	tests/stream/test_stream.py

define on_spark
	$(PYTHON) -m venv build/sparks/$(1)
	build/sparks/$(1)/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
		--editable '.[cli,spark]' 'pyspark[sql]$(2)' 'pandas<3' hypothesis pytest
	build/sparks/$(1)/bin/python -m sojourn doctor
	build/sparks/$(1)/bin/python -m pytest $(ON_SPARK) $(UNCLOSED)
endef

sparks: $(READY) ## The pipeline on the lowest PySpark that is supported and on the newest, each in an environment of its own
	$(call on_spark,lowest,==4.1.0)
	$(call on_spark,newest,<5)

lakes: $(READY) ## Delta, Iceberg and Avro, whose jars come from Maven, on the newest PySpark that all three have a release for
	$(PYTHON) -m venv build/lakes
	build/lakes/bin/python -m pip install --quiet --disable-pip-version-check --upgrade \
		--editable '.[cli,spark]' 'pyspark[sql]==4.1.1' 'pandas<3' hypothesis pytest
	build/lakes/bin/python -m pytest -m lakes tests/stream/test_lakes.py $(UNCLOSED)

chaos: $(READY) ## Streams killed at random points, a worker of a cluster killed
	$(BIN)/python -m pytest -m chaos tests/stream

mutants: $(READY) ## Plant bugs one by one; the tests must notice each
	$(BIN)/python -m tests.mutants

bench: $(READY) ## Every timer a Python programmer can pick, and Kafka's, side by side
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[bench]'
	$(BIN)/python -m benchmarks timer --json benchmarks/results/timer.json
	$(BIN)/python -m benchmarks bars benchmarks/results/timer.json

figures: $(READY) ## The tables of README and docs, drawn from benchmarks/measured
	$(BIN)/python -m benchmarks figures

other-python: $(READY) ## Build the wheel for another Python (PYTHON3=..., or the newest found) and test it in a clean environment
	$(BIN)/python -m tests.other_python $(PYTHON3)

docs: $(READY)  ## The documentation as a site, in build/site; warnings are errors
	@$(BIN)/python -c 'import furo, myst_parser, sphinx' 2>/dev/null || $(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[docs]'
	$(BIN)/python -m sphinx -W --keep-going -q docs build/site
	@echo 'open build/site/index.html'

clean:          ## Remove everything that the other targets made
	rm -rf .venv .venv-quick build dist src/*.egg-info src/sojourn/*/_core.c src/sojourn/*/_core.*.so benchmarks/kafka/target
	find . -name __pycache__ -prune -exec rm -rf {} +
