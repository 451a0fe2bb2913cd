"""Certificates of the chapter on looped transformers: what holds for every input of a range."""
