"""Learning Linear Attention in Polynomial Time (Yau et al.)."""
