"""Everything that reads a file: tokens, checkpoints, photographs."""
