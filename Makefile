# Two commands on a fresh machine (Python 3.11 or later, pip and make): `make demo` and `make test`.

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed
TEXTATTACK := .venv-textattack
ART := .venv-art

.PHONY: help venv demo test tests lint test-fast test-browser test-slow docs docs-tables benchmark-rsmi benchmark-attacks benchmark-certify textattack-venv art-venv clean

help:
	@echo "make demo            break a plain model with typos, defend the same encoder, certify it, one page about it (about 5 minutes on 2 free cores)"
	@echo "make test            everything CI checks: tests, ruff, mypy (about 8 minutes on 2 free cores)"
	@echo "make test-fast       the quick tests of every room, without lint, network or browser (about a minute)"
	@echo "make venv            only prepare the environment in $(VENV)"
	@echo "make test-slow       tests that train real models for minutes"
	@echo "make test-browser    only the tests in a real browser (needs Chromium; make test runs them too)"
	@echo "make docs            build the documentation into site/, offline; a broken link is an error"
	@echo "make docs-tables     write the tables of the docs anew, from the code"
	@echo "make benchmark-rsmi  cost of RSMI against plain fine-tuning"
	@echo "make textattack-venv TextAttack in its own environment, for the attack benchmark"
	@echo "make benchmark-attacks RUN=…  attack speed against TextAttack"
	@echo "make art-venv        ART in its own environment, for the certificate benchmark"
	@echo "make benchmark-certify RUN=…  certificates: our samplers against bare forwards and ART"
	@echo "make clean           remove the environments and caches"

venv: $(STAMP)

$(STAMP): pyproject.toml constraints.txt
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -c constraints.txt -e '.[dev]'
	@touch $(STAMP)

demo: venv
	$(BIN)/unfooled demo --out demo

test: venv
	@$(MAKE) --no-print-directory -j 2 lint tests  # mypy takes one core for 40 s: the tests begin beside it

tests: venv
	$(BIN)/python -m pytest -m "not slow" -n 2 --dist loadfile --no-loadscope-reorder

lint: venv
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

test-fast: venv
	$(BIN)/python -m pytest -m "not slow and not full and not network and not browser and not ray" -n 2 --dist loadfile --no-loadscope-reorder

test-browser: venv
	$(BIN)/python -m pytest -m browser

test-slow: venv
	$(BIN)/python -m pytest -m slow

docs: venv
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --site-dir site

docs-tables: venv
	$(BIN)/python docs/tables.py

benchmark-rsmi: venv
	$(BIN)/python benchmarks/rsmi_cost.py

textattack-venv: $(TEXTATTACK)/.installed

$(TEXTATTACK)/.installed: benchmarks/requirements-textattack.txt
	@test -x $(TEXTATTACK)/bin/python || $(PYTHON) -m venv $(TEXTATTACK)
	$(TEXTATTACK)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-textattack.txt
	@touch $@

benchmark-attacks: venv textattack-venv
	@test -n "$(RUN)" || { echo "Name a plain movie-reviews run: make benchmark-attacks RUN=runs/plain"; exit 2; }
	$(BIN)/python benchmarks/attack_speed.py --run $(RUN)

art-venv: $(ART)/.installed

$(ART)/.installed: benchmarks/requirements-art.txt
	@test -x $(ART)/bin/python || $(PYTHON) -m venv $(ART)
	$(ART)/bin/python -m pip install --quiet --disable-pip-version-check -r benchmarks/requirements-art.txt
	@touch $@

# Without ART the rest is measured all the same, and says so.
benchmark-certify: venv
	@test -n "$(RUN)" || { echo "Name a run of single texts: make benchmark-certify RUN=runs/noise"; exit 2; }
	-@$(MAKE) art-venv
	$(BIN)/python benchmarks/certify_speed.py --run $(RUN)

clean:
	rm -rf $(VENV) $(TEXTATTACK) $(ART) .pytest_cache .mypy_cache .ruff_cache .hypothesis build src/*.egg-info
