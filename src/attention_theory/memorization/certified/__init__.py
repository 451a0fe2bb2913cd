"""Certificates of the chapter on memorization: what holds for every input of a range."""
