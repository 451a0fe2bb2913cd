"""Learning linear attention: Algorithm 1, its certificate, and the other ways to fit the same models."""
