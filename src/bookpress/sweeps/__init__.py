"""Many runs of one notebook.

In come axes, from the command line or from ``notebooks/profiles/full.yaml``. Out go points, each with a record that is
made once and kept, and of all points one table and one picture. It uses the graph and the rooms below it.
"""
