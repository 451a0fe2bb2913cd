# The graph of the book: a notebook's run, the pages made from the runs, the site made from the pages.
#
#   snakemake --cores 2 --keep-going                          everything, at laptop size
#   snakemake --cores 2 --config profile=full                at full size (a GPU is one resource: gpu=1)
#   snakemake notebooks --workflow-profile workflow/profiles/slurm

import atexit
import json
import shlex
import sys
from contextlib import ExitStack
from pathlib import Path

from rich.console import Console

from bookpress.graph.build import BuildError, show_failures, the_only_build, why_ends_are_unseen
from bookpress.graph.progress import last_words, reason_in
from bookpress.files import digest_of_file
from bookpress.notebooks.kernels import start_server
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook, SourceError
from bookpress.notebooks.profile import settings_for
from bookpress.layout import LAPTOP
from bookpress.notebooks.dependencies import Dependencies

# Snakemake's jobs are commands of the press.
BOOK = shlex.join([sys.executable, "-m", "bookpress.cli"])
PROFILE = config.get("profile", "laptop")
HELD = ExitStack()
atexit.register(HELD.close)
LAYOUT = Layout.here()
DEPENDENCIES = Dependencies(LAYOUT, PROFILE)
NOTEBOOKS = LAYOUT.notebooks()
LIST = LAYOUT.sources / "longest.txt"
LONGEST = LIST.read_text(encoding="utf-8").split() if LIST.is_file() else []


def relative(path):
    """The path from the root of the book, which may have spaces and braces in its name."""
    return path.relative_to(LAYOUT.root).as_posix()


def files(folder, pattern):
    return [relative(path) for path in sorted(folder.rglob(pattern)) if path.is_file()]


def settings(wildcards):
    return settings_for(wildcards.notebook, PROFILE, LAYOUT)


def fingerprint(wildcards):
    """A source that cannot be read is no reason to stop the others: its run will say what is wrong with it."""
    notebook = Notebook(wildcards.notebook, LAYOUT)
    try:
        return DEPENDENCIES.fingerprint(notebook)
    except SourceError:
        return digest_of_file(notebook.path)


wildcard_constraints:
    notebook=r"[^/]+/[^/]+",
    point=r"\d+",


# The longest begin first, so that the cores end together.
PRIORITY = {notebook: len(LONGEST) - place for place, notebook in enumerate(LONGEST)}


localrules:
    site,
    notebooks,
    bind,


# Most laptop runs are shorter than the imports of a kernel, so a build keeps one process from which kernels are forked.
# A job on a cluster has a kernel of its own, which counts towards its memory.
onstart:
    try:
        if not PLAN:  # many may work at the same points
            HELD.enter_context(the_only_build(LAYOUT))
        if workflow.executor_plugin.name == "slurm":
            executor = workflow.executor_settings
            if why := why_ends_are_unseen(executor.status_command, executor.init_seconds_before_status_checks):
                raise BuildError(why)
    except BuildError as error:
        logger.error(str(error), extra={"event": "error"})
        sys.exit(1)
    if PROFILE == LAPTOP and workflow.local_exec:
        start_server(LAYOUT.build / "kernels.log", LAYOUT.matplotlib)
    logger.info("", extra={"needed": [job.message or job.rule.name for job in workflow.dag.needrun_jobs()]})


# What failed in a cluster's jobs is said last; `book build` says it of its own.
onerror:
    if not workflow.local_exec:
        left = [job for job in workflow.dag.needrun_jobs() if not workflow.dag.finished(job)]
        names = sorted(job.wildcards.notebook for job in left if job.rule.name == "notebook")
        logs = {name: LAYOUT.log(name, PROFILE).relative_to(LAYOUT.root) for name in names}
        why = {name: last_words(LAYOUT.root, "notebook", name) or f"{reason_in(log)} ({log})" for name, log in logs.items()}
        show_failures(why, Console(stderr=True))


rule site:
    input:
        "build/bound",
        "_config.yml",
        [path for pattern in ("*.md", "*.bib") for path in files(LAYOUT.book, pattern) if path.count("/") == 1],
        [path for folder in ("papers", "instruments", "static") for path in files(LAYOUT.book / folder, "*")],
    output:
        "_build/html/index.html",
    log:
        "build/site.log",
    message:
        "build the site"
    shell:
        "NO_COLOR=1 jupyter-book build book --config _config.yml --path-output . -W -n --keep-going > {log} 2>&1"


rule notebooks:
    input:
        expand("build/{profile}/{notebook}.json", profile=PROFILE, notebook=NOTEBOOKS),


# What a run depends on is in the fingerprint: the code cells, the parameters, the modules that they reach by import.
# The source itself is an old input, so that a change of prose binds the page again and runs nothing.
rule notebook:
    input:
        ancient("notebooks/{notebook}.py"),
    output:
        f"build/{PROFILE}/{{notebook}}.ipynb",
        f"build/{PROFILE}/{{notebook}}.json",
    log:
        f"build/{PROFILE}/{{notebook}}.log",
    params:
        fingerprint=fingerprint,
    resources:
        gpu=lambda wildcards: int(settings(wildcards).gpu),
        mem_mb=lambda wildcards: settings(wildcards).memory_mb,
        runtime=lambda wildcards: int(settings(wildcards).minutes) + 5,
    priority:
        lambda wildcards: PRIORITY.get(wildcards.notebook, 0)
    message:
        "run {wildcards.notebook}"
    shell:
        "{BOOK} run {wildcards.notebook:q} --profile {PROFILE:q} > {log:q} 2>&1"


rule bind:
    input:
        rules.notebooks.input,
        expand("notebooks/{notebook}.py", notebook=NOTEBOOKS),
        files(LAYOUT.claims, "*.yaml"),
        files(LAYOUT.profiles, "*.yaml"),
        files(LAYOUT.results, "*.json"),
        [path for path in files(LAYOUT.packages, "*") if "__pycache__" not in path and ".egg-info" not in path],
        files(LAYOUT.book / "instruments", "*.md"),
    output:
        "build/bound",
    log:
        "build/bind.log",
    message:
        "bind the pages"
    shell:
        "{BOOK} bind --profile {PROFILE:q} > {log} 2>&1"


# `book sweep` and `book points` name a plan. Its points are records that the jobs write; the graph sees a token of each.
PLAN = config.get("plan", "")
TASKS = json.loads((LAYOUT.plan(PLAN) / "plan.json").read_bytes()) if PLAN else {}


rule points:
    input:
        expand("build/plans/{plan}/{point}.done", plan=PLAN, point=TASKS),


rule point:
    output:
        touch("build/plans/{plan}/{point}.done"),
    log:
        "build/plans/{plan}/{point}.log",
    resources:
        gpu=lambda wildcards: int(TASKS[wildcards.point]["limits"]["gpu"]),
        runtime=lambda wildcards: int(TASKS[wildcards.point]["limits"]["minutes"]) + 5,
        mem_mb=lambda wildcards: TASKS[wildcards.point]["limits"]["memory_mb"],
    params:
        name=lambda wildcards: Path(TASKS[wildcards.point]["record"]).stem,
    priority:
        lambda wildcards: len(TASKS) - int(wildcards.point)
    message:
        "make {params.name}"
    shell:
        "({BOOK} point {wildcards.plan:q} {wildcards.point}) > {log} 2>&1"
