"""Small language models with these layers, and their training."""
