"""The examples of the paper: agents, hunters and prey, genotypes, pictures, time series."""
