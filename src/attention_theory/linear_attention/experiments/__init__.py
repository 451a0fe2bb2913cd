"""The tasks, students and training of the paper's experiments."""
