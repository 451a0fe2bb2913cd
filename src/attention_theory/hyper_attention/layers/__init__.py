"""The layers: self-attention, HyperFeatureAttention, HyperAttention, and fast forms of them."""
