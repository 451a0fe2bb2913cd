"""SUBLEQ: the language, its assembler, the transformer that runs it, and the machines it simulates."""
