"""
A model file, and a class that joins later
==========================================

A model is saved to one file without code in it. A class that comes up later needs a vector, and no
training.

Run it with: ``python examples/model_file.py``
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib import pyplot as plt

import unseen
from unseen import ESZSL
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
nine = "9"
without = {c: data.semantics[c] for c in data.semantics.classes if str(c) != nine}
model = ESZSL(without).fit(data.X[data.train], data.y[data.train])

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.safetensors"
    model.save(path)
    print(f"the file has {path.stat().st_size // 1024} KiB")
    loaded = unseen.load(path)

nines = data.X[data.test_unseen][data.y[data.test_unseen] == nine]
before = loaded.predict(nines)
print("candidates:", *loaded.classes_)

# %%
# The nine joins: its vector is enough.
loaded.set_params(semantics=without | {nine: data.semantics[nine]})
after = loaded.predict(nines)
print("candidates:", *loaded.classes_)
print(f"{np.mean(after == nine):.0%} of the nines are now called nine")

figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
classes = [str(c) for c in loaded.classes_]
places = np.arange(len(classes))
axis.bar(places - 0.2, [np.sum(before == c) for c in classes], 0.4, label="before")
axis.bar(places + 0.2, [np.sum(after == c) for c in classes], 0.4, label="after")
axis.set_xticks(places, classes)
axis.set(xlabel="answer", ylabel="handwritten nines")
axis.legend()
plt.show()
