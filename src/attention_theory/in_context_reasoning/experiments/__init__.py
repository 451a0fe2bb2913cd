"""Experiments of Appendix D: linear attention trained on bigram counts, and how ends hang on seeds and rates."""
