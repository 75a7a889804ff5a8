# `make` alone lists the targets.

VENV := .venv
BIN := $(VENV)/bin
PORT ?= 8000
PYTEST ?=
BENCH ?=
SCENARIO ?= websubmit-paced
LOAD ?=
MATRIX ?=
PACKAGES ?= /var/tmp/edna-packages
APP ?= websubmit
DATABASES ?= sqlite,mariadb,postgres
EXAMPLES ?= 1000
# One more than the two cores of a small machine: tests wait for servers, browsers and other processes.
WORKERS ?= 3
PIP_INSTALL = $(BIN)/pip install --quiet --disable-pip-version-check --constraint requirements.txt
COULD_NOT = { echo "error: the Python packages could not be installed (the reason is above); is a package index reachable?" >&2; exit 1; }
export PYTHONUNBUFFERED := 1
# The tests are compiled once, and not by every process of every run, wherever images set this.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help demo serve venv test test-quick test-deep test-cluster test-tpm lint lint-types lint-style compiled format bench load docs pictures release test-matrix test-packages clean
.DEFAULT_GOAL := help

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "make %-12s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)
	@echo
	@echo "PYTHON=python3.12 chooses the Python; PORT=8000 the port of serve, GUARDIANS=1 starts five guardians beside it; PYTEST='-k reveal', BENCH='--quick' and LOAD='--seconds 60' add arguments;"
	@echo "DATABASES=sqlite,mariadb,postgres chooses those of test, WORKERS=3 by how many processes; EDNA_TEST_MARIADB_URL, EDNA_TEST_POSTGRES_URL name servers of yours."

demo: $(VENV)/.site ## Show in the terminal what edna does: APP=websubmit, lobsters or hotcrp, on embedded SQLite (needs only Python)
	@$(BIN)/python manage.py demo $(APP)

serve: $(VENV)/.site ## Serve the three sample applications and their admin on http://localhost:8000/, seeded if they have no data yet
	@exec env PORT=$(PORT) BIN=$(BIN) GUARDIANS=$(GUARDIANS) .ci/serve

venv: $(VENV)/.mariadb ## Make or renew .venv with everything that developing takes

test: ## Run the linters, then the whole suite on SQLite, on MariaDB and on PostgreSQL (root or sudo, if packages are missing)
	@.ci/system-packages
	@$(MAKE) --no-print-directory $(VENV)/.mariadb
	@$(MAKE) --no-print-directory --jobs=2 lint compiled
	@$(BIN)/python -m benchmarks.kit.servers run --databases $(DATABASES) -- python -m pytest -n $(WORKERS) --dist worksteal $(PYTEST)

test-quick: $(VENV)/.dev ## Run the quick part of the suite on SQLite only, on all cores: a minute
	@$(BIN)/python -m pytest -q -n auto -m "not slow and not browser and not thorough and not long" $(PYTEST)

test-deep: $(VENV)/.dev ## Go through every history of up to five acts, tell thousands of new stories about the zoo (tests/properties), on SQLite, kill at every step, and mutate 100,000 bags: hours
	@EDNA_ACTS=5 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal tests/properties/test_every_history.py tests/properties/test_all_left_histories.py $(PYTEST)
	@EDNA_ZOO_EXAMPLES=$(EXAMPLES) EDNA_ZOO_STEPS=40 EDNA_RANDOM_EXAMPLES=1 $(BIN)/python -m pytest -q tests/properties/test_zoo_model.py -k 'not part' $(PYTEST)
	@EDNA_ZOO_PARTS=$(EXAMPLES) EDNA_ZOO_EXAMPLES=20 EDNA_ZOO_STEPS=20 EDNA_RANDOM_EXAMPLES=1 $(BIN)/python -m pytest -q -n $(WORKERS) tests/properties/test_zoo_model.py -k part $(PYTEST)
	@EDNA_RANDOM_EXAMPLES=1 $(BIN)/python -m pytest -q -n $(WORKERS) --dist worksteal $$(grep -l '^from hypothesis' tests/*/test_*.py | grep -v 'test_zoo_model\|test_description') $(PYTEST)
	@EDNA_DEEP=1 $(BIN)/python -m benchmarks.kit.servers run --databases $(DATABASES) -- python -m pytest -q tests/faults $(PYTEST)
	@EDNA_HTTP_EXAMPLES=300 EDNA_RANDOM_EXAMPLES=1 $(BIN)/python -m pytest -q tests/custody/test_description.py $(PYTEST)
	@EDNA_FUZZ_BAGS=100000 $(BIN)/python -m pytest -q tests/opener/test_fuzz.py $(PYTEST)
	@EDNA_TEST_PEOPLE=16000 $(BIN)/python -m benchmarks.kit.servers run --databases mariadb -- python -m pytest -q tests/workers/test_ten_kills.py $(PYTEST)

test-cluster: $(VENV)/.mariadb ## Kill nodes of a Galera cluster, cut connections, promote a standby: what stands beyond one server (root or sudo, if packages are missing)
	@.ci/system-packages --cluster
	@EDNA_CLUSTER=1 $(BIN)/python -m benchmarks.kit.servers run --databases mariadb,postgres -- python -m pytest -q tests/cluster $(PYTEST)

test-matrix: ## Run the quick part under other Pythons, Djangos and database servers, in systems of their own (root): MATRIX='--columns trixie'
	@$$(.ci/find-python) .ci/matrix.py $(MATRIX) $(if $(PYTEST),-- $(PYTEST))

test-packages: $(VENV)/.dev ## Tell stories with the real packages of third-party applications, in environments of their own: PACKAGES=/var/tmp/edna-packages
	@$(BIN)/python .ci/packages.py $(PACKAGES)
	@EDNA_PACKAGES=$(PACKAGES) $(BIN)/python -m pytest -q tests/acceptance/test_packages.py $(PYTEST)

test-tpm: $(VENV)/.dev ## Attest to a monitor with TPMs in software: installs swtpm, and builds tpm2-pytss into .venv (root or sudo)
	@.ci/system-packages --tpm
	@$(PIP_INSTALL) --constraint .ci/tools.txt tpm2-pytss || $(COULD_NOT)
	@EDNA_TPM=1 $(BIN)/python -m pytest -q tests/policies/test_tpm.py $(PYTEST)

test-abe: $(VENV)/.dev ## Seal to policies by attributes: builds circl's tkn20 into .venv, and attacks it (Go; root or sudo, if that is missing)
	@.ci/system-packages --abe
	@DJANGO_SETTINGS_MODULE=config.settings_test $(BIN)/python manage.py edna_monitor library
	@$(BIN)/python -m pytest -q tests/policies $(PYTEST)

lint: lint-types lint-style ## Check style, types, the rule of direction, and that no migration is missing

lint-types: $(VENV)/.dev
	$(BIN)/mypy --no-error-summary

lint-style: $(VENV)/.dev
	$(BIN)/ruff check --quiet .
	$(BIN)/ruff format --quiet --check .
	$(BIN)/lint-imports --no-logo
	DJANGO_SETTINGS_MODULE=config.settings_test $(BIN)/python manage.py makemigrations --check --dry-run

# Once, while types are checked: the processes of the suite would each do it for themselves. What fails here fails there, and says why.
compiled: $(VENV)/.dev
	-@$(BIN)/python -m pytest -q --collect-only >/dev/null 2>&1

format: $(VENV)/.dev ## Rewrite the code in the house's style
	$(BIN)/ruff check --quiet --fix .
	$(BIN)/ruff format --quiet .

bench: $(VENV)/.mariadb ## Measure every operation beside its hand-written baseline, on private servers and on SQLite, and draw it
	@$(BIN)/python -m benchmarks $(BENCH)

load: $(VENV)/.mariadb ## Load on a sample site while others disguise and reveal, on private servers: SCENARIO=websubmit-paced (LOAD=--list lists them)
	@$(BIN)/python -m loadtest $(SCENARIO) $(LOAD)

docs: build/venv-docs/.made ## Build the documentation site, with search and the pages of the docstrings; a broken link is an error
	@mkdir -p build/docs/sources
	@build/venv-docs/bin/sphinx-build -q -W --keep-going -c docs -d build/docs/doctrees build/docs/sources build/docs/html
	@echo "build/docs/html/index.html is the first page"

pictures: $(VENV)/.dev ## Renew the pictures of pages in docs/pictures, from what the browser tests see
	@$(BIN)/python .ci/pictures.py

release: build/venv-release/.made ## Build sdist and wheel, check them, list what they bring, and follow the README with the wheel alone
	@build/venv-release/bin/python .ci/release.py

clean: ## Remove what the targets made: .venv, build, var (the sample site's data and keys) and caches
	rm -rf $(VENV) build dist var .pytest_cache .mypy_cache .ruff_cache .import_linter_cache .hypothesis
	find . -name __pycache__ -type d -prune -exec rm -rf {} +

# One environment, filled as far as a target needs; each stamp is renewed when what it was made from changes.

$(VENV)/.made:
	@python=$$(.ci/find-python) && $$python -m venv $(VENV)
	@touch $@

$(VENV)/.site: $(VENV)/.made pyproject.toml requirements.txt
	@echo "Installing the library and what the sample site needs into $(VENV)"
	@$(PIP_INSTALL) --editable . gunicorn whitenoise || $(COULD_NOT)
	@touch $@

$(VENV)/.dev: $(VENV)/.site
	@echo "Installing the tools for tests and development into $(VENV)"
	@$(PIP_INSTALL) --editable '.[dev,postgres]' || $(COULD_NOT)
	@touch $@

# Apart from the others because mysqlclient comes without binaries: it takes a compiler and MariaDB's headers.
$(VENV)/.mariadb: $(VENV)/.dev
	@.ci/system-packages --build-only
	@$(PIP_INSTALL) --editable '.[mariadb]' || $(COULD_NOT)
	@touch $@

# Tools that neither the site nor the tests need: each extra in an environment of its own.

build/venv-%/.made: pyproject.toml requirements.txt .ci/tools.txt
	@echo "Installing what the extra '$*' names into $(@D)"
	@mkdir -p build && python=$$(.ci/find-python) && $$python -m venv $(@D)
	@$(@D)/bin/pip install --quiet --disable-pip-version-check -c requirements.txt -c .ci/tools.txt --editable '.[$*]' || $(COULD_NOT)
	@touch $@
