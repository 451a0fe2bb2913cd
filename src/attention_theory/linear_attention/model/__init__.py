"""Multi-head linear attention: the model, its features, its coefficients, and its use as an autoregression."""
