"""The experiments of Section 5 and Appendix D: training on counts, and how losses and ends are read off runs."""
