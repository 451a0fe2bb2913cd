# The graph of the book: a notebook's run, the pages made from the runs, the site made from the pages.
#
#   snakemake --cores 2 --keep-going                          everything, at laptop size
#   snakemake --cores 2 --config profile=full                at full size (a GPU is one resource: gpu=1)
#   snakemake notebooks --workflow-profile workflow/profiles/slurm

import sys

from rich.console import Console

from bookpress.notebooks import client
from bookpress.graph.build import show_failures, why_not
from bookpress.graph.cluster import blindness, last_words
from bookpress.notebooks.exports import export_modules
from bookpress.files import digest_of_file
from bookpress.site.instruments import instrument_pages
from bookpress.notebooks.kernels import start_server
from bookpress.layout import Layout
from bookpress.notebooks.source import Notebook, SourceError
from bookpress.notebooks.profile import settings_for
from bookpress.layout import LAPTOP
from bookpress.notebooks.dependencies import Reach
from bookpress.sweeps.work import load_plan

# Snakemake's jobs are commands of the press; the client has them forked where a kernel server runs.
BOOK = f"{sys.executable} -S {client.__file__}"
PROFILE = config.get("profile", "laptop")
LAYOUT = Layout.here()
REACH = Reach(LAYOUT, PROFILE)
NOTEBOOKS = LAYOUT.notebooks()
LIST = LAYOUT.sources / "longest.txt"
LONGEST = LIST.read_text(encoding="utf-8").split() if LIST.is_file() else []


def settings(wildcards):
    return settings_for(wildcards.notebook, PROFILE, LAYOUT)


def fingerprint(wildcards):
    """A source that cannot be read is no reason to stop the others: its run will say what is wrong with it."""
    notebook = Notebook(wildcards.notebook, LAYOUT)
    try:
        return REACH.fingerprint(notebook)
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
    if workflow.executor_plugin.name == "slurm":
        executor = workflow.executor_settings
        if why := blindness(executor.status_command, executor.init_seconds_before_status_checks):
            print(why, file=sys.stderr)
            sys.exit(1)
    if PROFILE == LAPTOP and workflow.local_exec:
        start_server(LAYOUT.build / "kernels.log")


# What failed in a cluster's jobs is said last; `book build` says it of its own.
onerror:
    if not workflow.local_exec:
        left = [job for job in workflow.dag.needrun_jobs() if not workflow.dag.finished(job)]
        names = sorted(job.wildcards.notebook for job in left if job.rule.name == "notebook")
        why = {name: last_words(LAYOUT.root, "notebook", name) or why_not(LAYOUT, name, PROFILE) for name in names}
        if why:
            show_failures(why, Console(stderr=True))


rule site:
    input:
        "build/bound",
        "_config.yml",
        [str(path) for pattern in ("*.md", "*.bib") for path in sorted(LAYOUT.book.glob(pattern))],
        [
            str(path)
            for folder in ("papers", "instruments", "static")
            for path in sorted((LAYOUT.book / folder).rglob("*"))
            if path.is_file()
        ],
    output:
        "_build/html/index.html",
    log:
        "build/site.log",
    shell:
        "jupyter-book build book --config _config.yml --path-output . "
        "-W -n --keep-going > {log} 2>&1 || (tail -40 {log}; exit 1)"


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
        f"{BOOK} run {{wildcards.notebook}} --profile {PROFILE} --brief"


rule bind:
    input:
        rules.notebooks.input,
        expand("notebooks/{notebook}.py", notebook=NOTEBOOKS),
        [str(path) for path in sorted(LAYOUT.claims.glob("*.yaml"))],
        [str(path) for path in sorted(LAYOUT.profiles.glob("*.yaml"))],
        [str(path) for path in sorted(LAYOUT.results.rglob("*.json"))],
        [str(path) for path in sorted((LAYOUT.packages / "bookpress").rglob("*.py"))],
        [str(path) for path in instrument_pages(LAYOUT)],
        lambda wildcards: [str(path) for path in REACH.files_behind(export_modules(LAYOUT))],
    output:
        touch("build/bound"),
    log:
        "build/bind.log",
    message:
        "bind the pages"
    shell:
        f"book bind --profile {PROFILE} > {{log}} 2>&1 || (tail -40 {{log}}; exit 1)"


# `book sweep` and `book points` name a plan. What a point finds is its record, which the job writes by itself and which
# no rule of the graph may remove; what the graph sees is a token.
PLAN = config.get("plan", "")
TASKS = load_plan(LAYOUT, PLAN) if PLAN else {}


rule points:
    input:
        expand("build/plans/{plan}/{point}.done", plan=PLAN, point=TASKS),


rule point:
    output:
        "build/plans/{plan}/{point}.done",
    resources:
        gpu=lambda wildcards: int(TASKS[wildcards.point]["gpu"]),
        runtime=lambda wildcards: int(TASKS[wildcards.point]["minutes"]) + 5,
        mem_mb=lambda wildcards: TASKS[wildcards.point]["memory_mb"],
    priority:
        lambda wildcards: len(TASKS) - int(wildcards.point)
    shell:
        f"{BOOK} point {{wildcards.plan}} {{wildcards.point}}"
