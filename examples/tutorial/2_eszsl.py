"""
2. A map from rows to class vectors
===================================

The simplest method that works: a bilinear score ``xᵀVa`` of a row ``x`` and a class
vector ``a``. ``ESZSL`` finds ``V`` in closed form, by a ridge regression on the labelled
letters. Its two ridges are chosen by holding out whole letters.

Run it with: ``python examples/tutorial/2_eszsl.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import ESZSL
from unseen.datasets import load_letters_to_digits
from unseen.metrics import accuracy_by_class, per_class_accuracy

data = load_letters_to_digits()
model = ESZSL(data.semantics).fit(data.X[data.train], data.y[data.train])  # letters only
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]
answers = model.predict(digits)
print("candidates:", *model.classes_)
print(f"{per_class_accuracy(truth, answers):.1%} of the digits are right per class; chance is 10%")

# %%
# Where is it right? Rows are the true digits, columns the answers.
classes = list(model.classes_)
counts = np.zeros((len(classes), len(classes)))
for true, answer in zip(truth, answers, strict=True):
    counts[classes.index(true), classes.index(answer)] += 1
figure, axis = plt.subplots(figsize=(5.4, 4.8), layout="constrained")
picture = axis.imshow(counts / counts.sum(axis=1, keepdims=True), cmap="Blues", vmin=0, vmax=1)
axis.set_xticks(range(len(classes)), classes)
axis.set_yticks(range(len(classes)), classes)
axis.set(xlabel="answer", ylabel="true digit", title="ESZSL has seen no digit")
figure.colorbar(picture, label="share of the digit's rows")
plt.show()

# %%
# The hardest digits are those whose handwritten form is unlike the printed one.
for digit, share in sorted(accuracy_by_class(truth, answers).items(), key=lambda item: item[1])[:3]:
    print(f"{digit}: {share:.0%} right")
