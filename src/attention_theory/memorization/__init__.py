"""Memorization Capacity of Multi-Head Attention in Transformers (Mahdavi, Liao, Thrampoulidis)."""
