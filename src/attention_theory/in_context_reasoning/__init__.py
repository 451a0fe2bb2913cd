"""One-Layer Transformers are Provably Optimal for In-context Reasoning (Nguyen, Nguyen-Tang)."""
