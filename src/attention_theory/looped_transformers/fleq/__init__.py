"""FLEQ, SUBLEQ with functions: the language, its assembler and the transformer that runs it."""
