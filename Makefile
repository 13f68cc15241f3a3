# Every target works on a fresh machine: what it needs is made or fetched first.

PYTHON ?= python3
BIN := .venv/bin
INSTALLED := .venv/.installed
PACKAGES := api cypher lineage_graph loaders
SOURCES := .cache/src
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes --no-header --upgrade

.DEFAULT_GOAL := help
.PHONY: help venv demo test lint format docs bench neo4j neo4j-artifacts java lock clean

help: ## list the targets
	@grep -E '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z0-9-]+):.*## /\1\t/' | expand -t 10

venv: $(INSTALLED) ## install the locked dependencies and the project into .venv

$(INSTALLED): requirements.lock pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("Python 3.11 or newer is needed; set PYTHON=" if sys.version_info < (3, 11) else 0)'
	@$(PYTHON) -c 'import ensurepip' || { echo "venv is missing; on Debian: apt-get install python3-venv" >&2; exit 1; }
	test -x $(BIN)/python || $(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --require-hashes -r requirements.lock
	$(BIN)/python -m pip install --quiet --no-deps --no-build-isolation -e .
	touch $@

demo: venv ## fill a data folder with the sample pipeline, answer one question of each kind, serve on port 5000
	$(BIN)/lineage-graph demo

test: venv neo4j-artifacts lint docs ## everything the pipeline checks: lint, docs, the suite with a real Neo4j
	$(BIN)/python -m pytest

lint: venv ## ruff, mypy --strict, the direction of imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	@# mypy and import-linter read folders, not the package-dir mapping, so they get the tree as it installs.
	@rm -rf $(SOURCES) && mkdir -p $(SOURCES)/lineage_graph
	@ln -s $(addprefix ../../../,$(wildcard lineage_graph/*) api cypher loaders) $(SOURCES)/lineage_graph/
	MYPYPATH=$(SOURCES) $(BIN)/mypy --strict -p lineage_graph
	PYTHONPATH=$(SOURCES) $(BIN)/lint-imports --no-logo --no-cache

format: venv ## put the code into its layout
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: venv ## build the documentation into site/, check its links and those of the repository's pages
	$(BIN)/zensical build --clean --strict
	$(BIN)/python -m pytest --quiet tests/test_links.py

bench: venv ## measure; see bench/
	$(BIN)/python -m bench

neo4j: venv neo4j-artifacts ## run a Neo4j to try things on, until Ctrl-C
	$(BIN)/python -m tests.neo4j_server

neo4j-artifacts: venv java
	$(BIN)/python -m tests.neo4j_server --fetch

# Neo4j runs on Java and comes by Maven, unless an address or a Docker engine gives one (tests/neo4j_server.py).
java:
	@test -n "$$LINEAGE_NEO4J_URI" || docker info >/dev/null 2>&1 || { command -v java && command -v mvn; } >/dev/null || \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		apt-get update -qq && apt-get install -qq -y --no-install-recommends openjdk-17-jre-headless maven; \
	else \
		echo "Java 17 and Maven are needed for Neo4j; on Debian: apt-get install openjdk-17-jre-headless maven." >&2; \
		echo "Or start Docker, or set LINEAGE_NEO4J_URI to an empty Neo4j 5." >&2; exit 1; \
	fi

lock: venv ## bring both locks to the newest versions pyproject.toml allows
	$(LOCK) --all-extras pyproject.toml -o requirements.lock
	$(LOCK) -c requirements.lock pyproject.toml -o requirements-runtime.lock

clean: ## remove all that was made or fetched here
	rm -rf .venv .cache .hypothesis .mypy_cache .pytest_cache .ruff_cache build dist site *.egg-info
	find . -name __pycache__ -type d -prune -exec rm -rf {} +
