# Leasehold's commands. `make` alone lists them.

SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
MAKEFLAGS += --no-print-directory

export CDK_DISABLE_CLI_TELEMETRY := true
export UV_PYTHON_DOWNLOADS := never
# Some machines forbid .pyc files; without them every start is more than twice as slow. Empty means allowed.
export PYTHONDONTWRITEBYTECODE :=

# The first Python 3.13 found: on the PATH, then among pyenv's. `make setup PYTHON=/path/to/python3.13` overrides it.
PYTHON ?= $(shell for candidate in python3.13 python3 "$$HOME"/.pyenv/versions/3.13*/bin/python; do \
	"$$candidate" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 13))' >/dev/null 2>&1 \
	&& { echo "$$candidate"; break; }; done)

BIN := .venv/bin
UV := $(BIN)/uv
PYTEST := $(BIN)/pytest
# Arguments for pytest: make test-fast ARGS="-k lease"
ARGS ?=

LIBRARY := layers/leasehold/python/leasehold
CHECKED := $(wildcard $(LIBRARY) functions infra app.py docs tests)

# One stamp per thing that is installed: each is made again only when what it is made from has changed.
UV_READY := .venv/.uv-ready
PACKAGES_READY := .venv/.packages-ready
PYTHON_READY := .venv/.project-ready
MINISTACK_READY := .venv-ministack/.ready
CELERY_READY := .venv-celery/.ready
DOCS_READY := .venv-docs/.ready
NODE_READY := node_modules/.ready

.PHONY: help setup browser lint types layers test test-deep test-fast format docs demo policies screenshots requirements \
	clean bench spin model properties simulate simulate-teeth limits mutate stories

help:  ## List the commands
	@grep -hE '^[a-z-]+:.*  ## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*  ## (.*)/\1\t\2/' \
		| while IFS=$$'\t' read -r name what; do printf '  make %-14s %s\n' "$$name" "$$what"; done

# Side by side, as most of it is waiting for what is fetched.
setup:  ## Install all that development needs, into this folder only
	@make -s -j 3 $(PYTHON_READY) $(MINISTACK_READY) $(NODE_READY)
	@echo "==> ready"

# What runs on the deployed stacks waits more than it works, so it runs beside the rest, and comes first where both could
# work. What measures time is its last part, and waits for the file that says that nothing else runs any more.
DEPLOYED := tests/acceptance tests/e2e

test: setup browser spin lint layers  ## All that CI runs: style, types, layers and every test
	@echo "==> checking types, and running the tests on the deployed stacks, beside all other tests: what they say comes at the end"
	@# With job control, else what runs beside would ignore Ctrl-C, and so would what it starts. Not by the variable of
	@# make's own name, else `make -n test` would run all of this. It ends by SIGTERM, which nobody ignores.
	@set -m; logs=$$(mktemp -d); export LEASEHOLD_QUIET=$$logs/quiet; result=0; \
	$(PYTEST) -m "not deep" $(DEPLOYED) $(ARGS) >$$logs/deployed 2>&1 & deployed=$$!; \
	make --no-print-directory types >$$logs/types 2>&1 & types=$$!; \
	trap '{ kill $$types $$deployed; wait $$deployed; } 2>/dev/null || true; rm -rf $$logs' EXIT; \
	nice $(PYTEST) -n 2 --dist loadgroup -m "not deep" $(addprefix --ignore ,$(DEPLOYED)) $(ARGS) || result=$$?; \
	wait $$types || result=$$?; cat $$logs/types; \
	touch $$LEASEHOLD_QUIET; wait $$deployed || result=$$?; cat $$logs/deployed; exit $$result

# Into the system, so only as root; everybody else is told, and the tests that need it say so and are skipped.
browser:  ## Find Chromium, which the console is tried in; install it on Debian if this is root
	@for name in chromium chromium-browser google-chrome google-chrome-stable; do \
		! command -v $$name >/dev/null || exit 0; done; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing Chromium, which the console is tried in"; \
		export DEBIAN_FRONTEND=noninteractive; \
		install() { apt-get install -qq --yes --no-install-recommends chromium >/dev/null; }; \
		install 2>/dev/null || { apt-get update -qq; install; }; \
	else \
		echo "==> no Chromium on the PATH, and it can only be installed as root: the console is not tried in a browser"; \
	fi

# As above: without it the model's tests are skipped, and say why.
spin:  ## Find Spin, which checks the model of the lease; install it on Debian if this is root
	@! command -v spin >/dev/null || exit 0; \
	if [ "$$(id -u)" = 0 ] && command -v apt-get >/dev/null; then \
		echo "==> installing Spin, which checks the model of the lease"; \
		export DEBIAN_FRONTEND=noninteractive; \
		install() { apt-get install -qq --yes --no-install-recommends spin gcc libc6-dev >/dev/null; }; \
		install 2>/dev/null || { apt-get update -qq; install; }; \
	else \
		echo "==> no spin on the PATH, and it can only be installed as root (Debian: apt-get install spin gcc)"; \
	fi

model: $(PYTHON_READY) spin  ## Search all that three workers and two jobs can do, and break every guard: see docs/model.md
	@$(BIN)/python -m tests.model

properties: $(PYTHON_READY) $(NODE_READY)  ## State machines against every table: 2,000 examples of 100 steps each
	@LEASEHOLD_PROPERTIES=full $(PYTEST) -n 2 tests/properties $(ARGS)

# SEED replays one seed and prints its whole trace; TWICE compares two runs of each of its seeds, byte for byte.
SEEDS ?= 20000
SEED ?=
TWICE ?=
simulate: $(PYTHON_READY)  ## Run 20,000 seeds of the fault simulation (SEEDS=n), some of them twice (TWICE=n), or one again (SEED=n)
	@$(BIN)/python -m tests.simulation $(if $(SEED),--seed $(SEED),$(if $(TWICE),--twice $(TWICE),--seeds $(SEEDS)))

simulate-teeth: $(PYTHON_READY)  ## Take away each guard of the state machine in turn: the simulation must notice
	@$(BIN)/python -m tests.simulation.teeth

# SEED names another sample. ROOMS are folders or files of the library.
COUNT ?= 300
ROOMS ?= kernel limits pollers
mutate: $(PYTHON_READY)  ## Change the meaning of the kernel and of limits in 300 random places (COUNT, SEED): is it noticed?
	@$(BIN)/python -m tests.mutate --count $(COUNT) --seed $(or $(SEED),1) --rooms $(ROOMS)

stories: $(PYTHON_READY)  ## Write down anew what the queue does in each story of tests/stories: look at what has changed
	@$(BIN)/python -m tests.stories

# CASES names some of them, and then leaves the page as it is.
CASES ?=
limits: $(PYTHON_READY)  ## Measure what waiting for limits costs, in virtual time, for docs/limits.md (CASES="a b" for some)
	@$(BIN)/python -m tests.limits $(CASES)

# What each part finds: docs/reliability.md. Without PART all of them, in one run.
DEEP_stores := tests/contract
DEEP_faults := tests/crash
DEEP_model := tests/model
DEEP_agreement := tests/simulation tests/properties
DEEP_size := tests/cost tests/groups tests/schedules tests/limits tests/admin
DEEP_deployed := tests/e2e tests/acceptance tests/console
DEEP_package := tests/package tests/infra
DEEP_PARTS := stores faults model agreement size deployed package
PART ?= $(DEEP_PARTS)
test-deep: setup browser spin  ## What make test leaves out because it takes long (PART=stores|faults|model|agreement|size|deployed|package for one)
	@for part in $(PART); do case " $(DEEP_PARTS) " in *" $$part "*) ;; \
		*) echo "there is no part $$part. Use one of: $(DEEP_PARTS)" >&2; exit 2;; esac; done
	@$(PYTEST) -n 2 --dist loadgroup -m deep $(foreach part,$(PART),$(DEEP_$(part))) $(ARGS)

test-fast: $(PYTHON_READY) $(NODE_READY)  ## The tests that take seconds, e.g. make test-fast ARGS="-k lease"
	@$(PYTEST) -n 2 -m "not slow and not ministack" $(ARGS)

lint: $(PYTHON_READY)  ## Check style and formatting
	@echo "==> checking style"
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .

types: $(PYTHON_READY)  ## Check types
	@echo "==> checking types"
	@$(BIN)/mypy $(CHECKED)

layers: $(PYTHON_READY)  ## Check that each layer imports only from those below it
	@echo "==> checking layers"
	@$(BIN)/lint-imports

format: $(PYTHON_READY)  ## Format the code and repair what can be repaired
	@$(BIN)/ruff check --fix-only .
	@$(BIN)/ruff format .

docs: $(PYTHON_READY) $(DOCS_READY)  ## Write what follows from code and figures into the pages anew, and build their site in build/site
	@set -e; for page in generate generate_aws generate_cli generate_cost generate_package generate_reliability generate_sdk; do $(BIN)/python docs/$$page.py; done
	@rm -rf build/pages && mkdir -p build/pages/tests/benchmarks
	@cp -r *.md LICENSE docs build/pages/ && cp -r tests/benchmarks/results build/pages/tests/benchmarks/
	@.venv-docs/bin/mkdocs build --quiet --clean && echo "wrote build/site/README.html"

demo: $(PYTHON_READY) $(MINISTACK_READY) $(NODE_READY)  ## See it deployed and at work on this machine; no account needed
	@$(BIN)/leasehold demo

# On an otherwise idle machine: what else runs is part of the figures. Fails if a figure misses its bound.
bench: setup $(CELERY_READY)  ## Measure costs, CPU, lateness and throughput in under ten minutes; writes tests/benchmarks/results
	@$(BIN)/python -m tests.benchmarks

policies: $(PYTHON_READY)  ## Write tests/infra/policies anew after rights were meant to change; review the difference
	@$(BIN)/python -m tests.infra.policy_snapshot
	@git --no-pager diff --stat -- tests/infra/policies

screenshots: $(PYTHON_READY) browser  ## Take the pictures of the console in docs/console anew
	@$(BIN)/python -m tests.console.screenshots

COMPILE = $(UV) pip compile --quiet $(UPGRADE) --universal --python-version 3.13 --generate-hashes \
	--no-emit-index-url --no-emit-find-links --custom-compile-command "make requirements"
UPGRADE ?=

# In this order: the later files are held to the versions of the earlier ones. A file that stays the same keeps its
# time, or every environment would be made anew.
requirements: $(UV_READY)  ## Pin the packages anew after an .in file changed (UPGRADE=--upgrade for newer versions)
	@for name in requirements/uv $(LIBRARY)/cdk/requirements requirements/dev $(LIBRARY)/local/tools/ministack requirements/celery requirements/docs; do \
		echo "==> pinning $$name.txt"; cp -p $$name.txt $$name.before; $(COMPILE) $$name.in -o $$name.txt; \
		if cmp -s $$name.before $$name.txt; then mv $$name.before $$name.txt; else rm $$name.before; fi; done

clean:  ## Stop the local AWS and remove all that was installed or built
	@if [ -x $(BIN)/leasehold ]; then $(BIN)/leasehold local down || true; fi
	rm -rf .leasehold
	rm -rf .venv .venv-ministack .venv-celery .venv-docs node_modules cdk.out dist build .hypothesis
	rm -rf .mypy_cache .pytest_cache .ruff_cache .import_linter_cache
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

$(UV_READY): requirements/uv.txt
	@python="$(PYTHON)"; \
	if [ -z "$$python" ]; then \
		echo "Leasehold needs Python 3.13, and none was found on the PATH or in ~/.pyenv/versions." >&2; \
		echo "Install it (for example: pyenv install 3.13), or name it: make setup PYTHON=/path/to/python3.13" >&2; \
		exit 1; \
	fi; \
	echo "==> making .venv with $$("$$python" --version)"; \
	"$$python" -m venv --clear .venv
	@echo "==> installing uv, which installs the rest"
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
	@touch $@

$(PACKAGES_READY): requirements/dev.txt $(UV_READY)
	@echo "==> installing the development packages (requirements/dev.txt)"
	@$(UV) pip sync --quiet --python .venv --require-hashes requirements/dev.txt
	@touch $@

$(PYTHON_READY): pyproject.toml $(PACKAGES_READY)
	@echo "==> installing leasehold itself, editable"
	@$(UV) pip install --quiet --python .venv --no-deps --no-build-isolation --editable .
	@touch $@

$(MINISTACK_READY): $(LIBRARY)/local/tools/ministack.txt $(UV_READY)
	@echo "==> installing ministack, the local AWS, into .venv-ministack"
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-ministack
	@$(UV) pip sync --quiet --python .venv-ministack --compile-bytecode --require-hashes $<
	@touch $@

# Only for `make docs`.
$(DOCS_READY): requirements/docs.txt $(UV_READY)
	@echo "==> installing mkdocs, which builds the site, into .venv-docs"
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-docs
	@$(UV) pip sync --quiet --python .venv-docs --require-hashes $<
	@touch $@

# Only for `make bench`, which compares with it.
$(CELERY_READY): requirements/celery.txt $(UV_READY)
	@echo "==> installing Celery, which is compared with, into .venv-celery"
	@$(UV) venv --quiet --clear --python $(BIN)/python .venv-celery
	@$(UV) pip sync --quiet --python .venv-celery --compile-bytecode --require-hashes requirements/celery.txt
	@touch $@

$(NODE_READY): package.json package-lock.json .npmrc
	@command -v npm >/dev/null || { \
		echo "Leasehold's tests and stacks need Node.js 20 or newer with npm; install it and run this again." >&2; \
		exit 1; }
	@echo "==> installing the CDK command line and dynoxide, a local DynamoDB, from npm"
	@npm ci --no-audit --no-fund --loglevel=error
	@touch $@
