"""The site.

In come the records of all runs and what people wrote under ``book/``. Out go the pages that nobody writes (notebooks,
scoreboard, errata, maps), as Markdown where it can be, and the directives and roles that set them. It uses every other
room; nothing but the command line uses it.
"""
