"""Certificates of the chapter on in-context reasoning: what holds for every input of a range."""
