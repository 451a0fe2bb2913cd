"""Functions of interacting tokens: what they are, what data determines them, and how they are learned."""
