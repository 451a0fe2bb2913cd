"""The graph of the Snakefile, run in plain words.

In come targets and what was left of earlier builds. Out go runs that Snakemake has ordered, on cores or on a cluster,
and last a list of what failed and why. It uses the rooms of notebooks and claims.
"""
