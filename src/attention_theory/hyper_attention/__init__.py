"""A Theoretical Study of (Hyper) Self-Attention through the Lens of Interactions (Ustaomeroglu, Qu)."""
