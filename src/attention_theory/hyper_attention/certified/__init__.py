"""Certificates of the chapter on hyper-attention: what holds for every input of a range."""
