"""Machines as files: frozen weights in a form that other programs can run."""
