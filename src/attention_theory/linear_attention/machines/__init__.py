"""Programs that one layer of linear attention runs: from blocks of heads to the universal Turing machine."""
