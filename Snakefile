# The graph of the book: a notebook's run, the pages made from the runs, the site made from the pages.
#
#   snakemake --cores 2 --keep-going                          everything, at laptop size
#   snakemake --cores 2 --config profile=full                at full size (a GPU is one resource: gpu=1)
#   snakemake --executor slurm --jobs 20 --config profile=full notebooks

from bookpress.files import digest_of_file
from bookpress.layout import Layout
from bookpress.notebook import Notebook, SourceError
from bookpress.profile import settings_for
from bookpress.reach import Reach

PROFILE = config.get("profile", "laptop")
LAYOUT = Layout.here()
REACH = Reach(LAYOUT, PROFILE)
NOTEBOOKS = LAYOUT.notebooks()


def settings(wildcards):
    return settings_for(wildcards.notebook, PROFILE, LAYOUT)


def fingerprint(wildcards):
    """A source that cannot be read is no reason to stop the others: its run will say what is wrong with it."""
    notebook = Notebook(wildcards.notebook, LAYOUT)
    try:
        return REACH.fingerprint(notebook)
    except SourceError:
        return digest_of_file(notebook.path)


rule site:
    input:
        "build/bound",
        "_config.yml",
        [str(path) for pattern in ("*.md", "*.bib") for path in sorted(LAYOUT.book.glob(pattern))],
        [str(path) for folder in ("papers", "static") for path in sorted((LAYOUT.book / folder).glob("*"))],
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
        runtime=lambda wildcards: int(settings(wildcards).minutes) + 5,
    message:
        "run {wildcards.notebook}"
    shell:
        f"book run {{wildcards.notebook}} --profile {PROFILE} --brief"


rule bind:
    input:
        rules.notebooks.input,
        expand("notebooks/{notebook}.py", notebook=NOTEBOOKS),
        [str(path) for path in sorted(LAYOUT.claims.glob("*.yaml"))],
        [str(path) for path in sorted(LAYOUT.profiles.glob("*.yaml"))],
        [str(path) for path in sorted(LAYOUT.results.rglob("*.json"))],
        [str(path) for path in sorted((LAYOUT.packages / "bookpress").glob("*.py"))],
    output:
        touch("build/bound"),
    message:
        "bind the pages"
    shell:
        f"book bind --profile {PROFILE}"
