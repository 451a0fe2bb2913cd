"""Parts of every machine: frozen layers, codes of numbers, access to memory, the adder and the branch."""
