"""Draw labelled documents from the model, then recover the components they were drawn from.

Run: python examples/recover.py
"""

import numpy as np

from vbnmf import SupervisedVBNMF, inter_label_sparsity

LABELS = np.array(["tea", "coffee", "cocoa"])
TOPICS = ["leaf kettle green steep", "bean roast espresso crema", "sweet milk powder warm"]
WORDS = np.array(" ".join([*TOPICS, "cup drink hot morning"]).split())

# Each label has a component of its own. All labels share the last one: "cup drink hot morning".
rng = np.random.default_rng(0)
T = np.kron(np.eye(4), [0.4, 0.3, 0.2, 0.1]) + 0.002
means = np.hstack([np.eye(3) * 30, np.full((3, 1), 15)])
y = rng.integers(0, 3, 500)
X = rng.poisson(rng.exponential(means[y] + 0.1) @ T)

model = SupervisedVBNMF(n_components=4, label_shape=1, n_init=3, random_state=0)
V = model.fit_coefficients(X, LABELS[y])

print(f"{'component':<34}" + "".join(f"{label:>9}" for label in model.classes_))
for words, activations in zip(model.components_, model.label_activations_.T, strict=True):
    top = " ".join(WORDS[np.argsort(-words)[:4]])
    print(f"{top:<34}" + "".join(f"{value:9.1f}" for value in activations))
print(f"\nbound {model.bound_:.1f} after {model.n_iter_} iterations, "
      f"inter-label sparsity {inter_label_sparsity(V, LABELS[y]):.3f}")  # fmt: skip
