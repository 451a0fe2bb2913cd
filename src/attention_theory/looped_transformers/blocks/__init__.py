"""Blocks that compute a function in a few layers: sums, products, transposes and approximations by sigmoids."""
