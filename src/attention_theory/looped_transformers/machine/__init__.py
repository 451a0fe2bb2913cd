"""What every machine is built of: frozen layers, codes of numbers, access to memory, the adder and the branch."""
