# Needs python3 (3.11 or newer), make and the package registry. Everything else is set up here, in .venv.
PYTHON ?= python3
VENV   ?= .venv
BIN     = $(VENV)/bin
PORT   ?= $(or $(MANGA_PORT),$(shell echo $${MANGA_PORT:-8080}))
# In the quotes of the shell, which would read what a setting says.
AT      = 'http://127.0.0.1:$(subst ','\'',$(PORT))'
ENOUGH  = $(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "Python 3.11 or newer is needed")'
# What meets the server on a socket only has environments of its own: the clients that tests drive, the example agent among
# them, the tokenizers that results are measured by, and the tools that look at the dependencies.
STRANDS = .cache/clients/strands
PYTHON_CLIENTS = $(STRANDS)/.lock $(STRANDS)-before/.lock .cache/clients/openai-agents/.lock .cache/clients/mcp-1/.lock .cache/clients/tokenizers/.lock .cache/clients/evals/.lock
NPM     = .cache/clients/npm
CDK     = .cache/clients/cdk
UV_HOME = .cache/uv
UV      = $(UV_HOME)/bin/uv
# The registry that pip is told of, for uv too.
export UV_DEFAULT_INDEX ?= $(PIP_INDEX_URL)
CLIENTS = $(PYTHON_CLIENTS) $(NPM)/.lock $(CDK)/.lock
# Clients are installed uncompiled, and compiled as they are imported. Kept, or each of the hundreds of processes that tests
# start would compile anew, longer than it then works.
unexport PYTHONDONTWRITEBYTECODE
# One process of tests waits for servers half of the time, so there are two where there are two processors. Each starts
# OpenSearch and the others for itself: more would be more memory than a small machine has. ARGS="-n0" is one without workers.
PYTEST  = $(BIN)/python -m tests.again -n auto --maxprocesses 2 --dist worksteal

# What .env says is in the environment of every recipe. It is no makefile: include would take its $, # and quotes for its own.
ifneq ($(wildcard .env),)
SHELL   = infra/dotenv.py
endif

.PHONY: run test test-all test-stack pod clients installed check types chaos conformance load fleet fuzz smoke seed schema doctor agent bench bench-auth bench-orders bench-stack mutants quality snapshots example lock sbom audit demo synth capacity clean help

help: ## what there is
	@grep -hE '^[a-z-]+:.*##' Makefile | sed -E 's/:.*## /\t/' | expand -t 13

run: $(VENV)/.runtime ## serve the demo catalogue on 127.0.0.1:8080; MANGA_* settings pass through
	@exec $(if $(filter command,$(origin PORT)),env MANGA_PORT=$(PORT)) $(BIN)/python -m server serve --with-parent

test: $(VENV)/.dev $(CLIENTS) ## the gate: all tests but those that are marked slow; ARGS="-m slow tests/chaos" are some of those
	@$(PYTEST) -m "not slow" $(ARGS)

test-all: $(VENV)/.dev $(CLIENTS) ## everything: the slow tests too, make example, make pod (an hour)
	@MANGA_TEST_EXEC=1 $(PYTEST) $(ARGS)
	@$(MAKE) --no-print-directory types example pod ARGS=

clients: $(CLIENTS) ## the environments of the clients that tests drive

installed: $(VENV)/.dev $(CLIENTS) .cache/sbom/.lock ## every environment that check, sbom, audit and test need; -j makes them side by side

test-stack: $(VENV)/.dev $(CLIENTS) ## the wire tests against real OpenSearch, DynamoDB and Redis (tests/README.md)
	@MANGA_TEST_STACK=1 $(PYTEST) tests/wire $(ARGS)

pod: $(VENV)/.dev ## both images as one task on Fargate: a conversation, a crash, an end, a deployment (needs root, buildah, podman)
	@MANGA_TEST_POD=1 $(BIN)/python -m tests.again tests/pod -s $(ARGS)

check: $(VENV)/.dev $(STRANDS)/.lock .cache/clients/openai-agents/.lock $(CDK)/.lock ## lint, format, types, import rule, locks, sizes
	@$(BIN)/ruff check . && $(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/mypy --python-executable $(STRANDS)/bin/python infra/agent/*.py
	@$(BIN)/mypy infra/agent/examples/json_rpc.py
	@$(BIN)/mypy --python-executable .cache/clients/openai-agents/bin/python infra/agent/examples/openai_agents.py
	@$(BIN)/mypy --follow-imports silent --python-executable $(CDK)/bin/python infra/cdk/*.py infra/cdk/*/*.py
	@$(BIN)/lint-imports
	@$(BIN)/python infra/lock.py --check
	@$(BIN)/python infra/ratchet.py

types: $(VENV)/.dev $(CDK)/.lock ## check the stacks against the CDK's own types (a minute and a half; the tests synthesise them, which checks them as well)
	@$(BIN)/mypy --config-file= --strict --explicit-package-bases --follow-imports silent --python-executable $(CDK)/bin/python infra/cdk/*.py infra/cdk/*/*.py

smoke: ## talk to a running server as a person would, with curl
	@sh infra/smoke.sh $(AT)

seed: $(VENV)/.runtime ## fill the OpenSearch and DynamoDB of the MANGA_* settings; ARGS="--catalog FILE", "--dry-run"
	@$(BIN)/python -m infra.seed $(ARGS)

schema: $(VENV)/.runtime ## print the JSON Schema of a line of a file of your own: of the catalogue, or ARGS=volumes, ARGS=orders
	@$(BIN)/python -m server schema $(or $(ARGS),catalog)

doctor: $(VENV)/.runtime ## check every dependency of the MANGA_* settings, and say what to do
	@$(BIN)/python -m server doctor $(ARGS)

agent: $(STRANDS)/.lock ## an example agent in conversation with a running server; ARGS="--bedrock" for a real model
	@$(STRANDS)/bin/python -m infra.agent.agent --url $(AT)/sse $(ARGS)

bench: $(VENV)/.dev ## figures: this server beside the bare SDK
	@$(BIN)/python -m tests.load.bench $(ARGS)

bench-stack: $(VENV)/.dev ## figures on real OpenSearch, DynamoDB and Redis; ARGS="--write", "--bars"
	@$(BIN)/python -m tests.load.stack $(ARGS)

bench-auth: $(VENV)/.dev ## what tokens cost: none, token and jwt in turn
	@$(BIN)/python -m tests.load.auth $(ARGS)

bench-orders: $(VENV)/.dev ## whether the time of an answer tells a foreign order from a missing one
	@$(BIN)/python -m tests.load.order_timing $(ARGS)

load: $(VENV)/.dev ## open-loop load to the knee, a soak, turns on the real stack (25 minutes); writes tests/load/report.md
	@$(BIN)/python -m tests.load.open_loop --stack --write $(ARGS)

fleet: $(VENV)/.dev ## how many tasks a shop needs, simulated; ARGS=--write keeps it in tests/load/report.md
	@$(BIN)/python -m tests.load.fleet $(ARGS)

capacity: $(VENV)/.dev ## what a shop needs in AWS and what that costs; writes infra/CAPACITY.md and its plot
	@$(BIN)/python -m infra.capacity $(ARGS)

chaos: $(VENV)/.dev $(STRANDS)/.lock ## every fault at every backend of the real stack (15 minutes; clocks need libfaketime); writes tests/chaos/report.md
	@$(BIN)/python -m tests.chaos.run --write $(ARGS)

conformance: $(VENV)/.dev $(NPM)/.lock ## the official conformance suite in both eras, against a fixture app; a table of its scenarios
	@$(BIN)/python -m tests.conformance.run $(ARGS)

fuzz: $(VENV)/.dev ## 200,000 hostile inputs at a running server
	@$(BIN)/python -m tests.fuzz.run $(ARGS)

snapshots: $(VENV)/.dev ## write anew what follows from the code: tests/snapshots, tables and the map of the documents, .env.example
	@$(BIN)/python -m tests.snapshots.update

example: $(VENV)/.dev ## follow infra/docs/adding-a-tool.md in a copy, and check the tool that it adds (half a minute)
	@$(BIN)/python -m tests.new_tool $(ARGS)

mutants: $(VENV)/.dev .cache/mutants/environment/.lock ## how many small faults the tests notice (half an hour); ARGS="--seed 7", "--write"
	@.cache/mutants/environment/bin/python tests/mutants/run.py $(ARGS)

quality: $(VENV)/.dev ## search quality: nDCG@10 by kind of query, and how far conditions are obeyed
	@$(BIN)/python tests/quality/run.py $(ARGS); ranked=$$?; $(BIN)/python -m tests.quality.conditions && exit $$ranked

sbom: $(VENV)/.runtime .cache/sbom/.lock ## the software bill of materials in .cache/sbom.json, and the licences
	@.cache/sbom/bin/python infra/sbom.py $(BIN)/python .cache/sbom.json

audit: .cache/sbom/.lock ## known weaknesses of every locked package, from OSV; says so where OSV cannot be reached
	@.cache/sbom/bin/python infra/audit.py $(ARGS)

demo: $(VENV)/.dev ## write the demo catalogue's generated files again
	@$(BIN)/python -m infra.demo.generate

synth: $(CDK)/.lock ## write the CloudFormation templates of both stages to .cache/cdk/{dev,prod}; no network, no account
	@$(CDK)/bin/python -m infra.cdk $(ARGS)

lock: $(VENV)/.dev ## resolve the dependencies anew
	@$(BIN)/python infra/lock.py

clean: ## remove what was installed and computed: .venv and .cache
	rm -rf $(VENV) .cache

.cache/sbom/.lock: requirements-sbom.lock
.cache/mutants/environment/.lock: tests/mutants/requirements.lock
$(STRANDS)/.lock: infra/agent/requirements.lock
$(STRANDS)-before/.lock: tests/wire/clients/strands-before.lock
.cache/clients/openai-agents/.lock: tests/wire/clients/openai-agents.lock
.cache/clients/mcp-1/.lock: tests/wire/clients/mcp-1.lock
.cache/clients/tokenizers/.lock: tests/quality/tokens/tokenizers.lock
.cache/clients/evals/.lock: tests/evals/requirements.lock
$(CDK)/.lock: infra/cdk/requirements.lock

# Each keeps the lock that it was made from, written last: half an installation is none.
.cache/sbom/.lock .cache/mutants/environment/.lock $(PYTHON_CLIENTS) $(CDK)/.lock: | $(UV)
	@echo "installing into $(@D) (once)"
	@$(ENOUGH)
	@rm -rf $(@D) && $(UV) venv --quiet --python $(PYTHON) $(@D)
	@$(UV) pip install --python $(@D)/bin/python --require-hashes --no-deps -r $<
	@cp $< $@

# By itself, pinned by the lock of the tools: it installs their environments in a tenth of the time that pip takes.
$(UV): requirements-dev.lock
	@echo "installing into $(UV_HOME) (once)"
	@$(ENOUGH)
	@rm -rf $(UV_HOME) && $(PYTHON) -m venv $(UV_HOME)
	@sed -n '/^uv==/,/[^\\]$$/p' $< > $(UV_HOME)/lock
	@$(UV_HOME)/bin/python -m pip install --disable-pip-version-check --require-hashes --no-deps -r $(UV_HOME)/lock
	@touch $@

# Clients in TypeScript and the official suites, with the Node that they need. Outside CI they may be missing: their tests say so.
$(NPM)/.lock: tests/wire/clients/package.json tests/wire/clients/package-lock.json
	@echo "installing into $(@D) (once)"
	@rm -rf $(@D) && mkdir -p $(@D) && cp $^ $(@D)
	@(cd $(@D) && npm ci --ignore-scripts --no-audit --no-fund --fetch-retries=1 && cp package-lock.json .lock) \
	  || (echo "npm could not install them" >&2; test "$$CI" != true)

$(VENV)/.created:
	@echo "making $(VENV) (once)" >&2
	@$(ENOUGH)
	@$(PYTHON) -m venv $(VENV)
	@touch $@

$(VENV)/.runtime: requirements.lock $(VENV)/.created
	@echo "installing into $(VENV) (once)" >&2
	@$(BIN)/python -m pip install --disable-pip-version-check --require-hashes --no-deps -r requirements.lock >&2
	@touch $@

$(VENV)/.dev: requirements-dev.lock $(VENV)/.created | $(UV)
	@echo "installing the tools for tests into $(VENV) (once)"
	@$(UV) pip install --python $(BIN)/python --require-hashes --no-deps -r requirements-dev.lock
	@touch $@ $(VENV)/.runtime
