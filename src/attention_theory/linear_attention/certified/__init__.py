"""Certificates of the chapter on linear attention: what holds for every input of a range."""
