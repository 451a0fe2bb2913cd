"""The experiments of Section 5 and Appendix D: training by seeds and on counts, and what is read off the runs."""
