// The six features of Algorithm 2 for tokens of two entries: ⟨z_j, z_k⟩ z_l of the last token, for the pairs {1, 2},
// {1, 1} and {2, 2} of entries, and l fastest. It is what certificate_features of the package gives.
window.instruments.cubicFeatures = (tokens) => {
  "use strict";
  const sum = (j, k) => tokens.reduce((total, token) => total + token[j] * token[k], 0);
  const last = tokens[tokens.length - 1];
  return [sum(0, 1), sum(0, 0), sum(1, 1)].flatMap((product) => last.map((entry) => product * entry));
};
