"""Algorithms written as programs for the machines; the listings lie beside the modules."""
