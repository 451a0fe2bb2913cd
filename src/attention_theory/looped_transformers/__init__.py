"""Looped Transformers as Programmable Computers (Giannou et al.)."""
