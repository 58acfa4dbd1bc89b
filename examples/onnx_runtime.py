"""
In another runtime, by ONNX
===========================

A fitted model as an ONNX graph (extra ``onnx``): features in, class scores out, and no Python
needed. A class can be added to the file.

Run it with: ``python examples/onnx_runtime.py``
"""

import json
import tempfile
from pathlib import Path

import numpy as np
import onnxruntime
from matplotlib import pyplot as plt

from unseen import ASTE, add_classes_to_onnx, export_onnx
from unseen.datasets import load_letters_to_digits

data = load_letters_to_digits()
model = ASTE(data.semantics).fit(data.X[data.train], data.y[data.train])
digits = data.X[data.test_unseen].astype("float32")

with tempfile.TemporaryDirectory() as folder:
    path = Path(folder) / "digits.onnx"
    export_onnx(model, path)
    size = path.stat().st_size
    session = onnxruntime.InferenceSession(path.read_bytes())
    add_classes_to_onnx(path, {"ten": data.semantics[data.seen_classes[0]]})
    larger = onnxruntime.InferenceSession(path.read_bytes())

scores = session.run(None, {"features": digits})[0]
expected = model.decision_function(digits)
print(f"the file has {size // 1024} KiB")
print("classes:", *json.loads(session.get_modelmeta().custom_metadata_map["classes"]))
print(f"largest difference from Python: {np.abs(scores - expected).max() / np.abs(expected).max():.0e}")
answers = larger.run(None, {"features": digits})[0].argmax(axis=1)
print(f"after adding a class: {np.mean(answers == len(model.classes_)):.1%} of the digits go to it")

# %%
# The scores of one digit, in both runtimes:
figure, axis = plt.subplots(figsize=(6, 3.2), layout="constrained")
places = np.arange(len(model.classes_))
axis.bar(places - 0.2, expected[0], 0.4, label="Python")
axis.bar(places + 0.2, scores[0], 0.4, label="onnxruntime")
axis.set_xticks(places, [str(c) for c in model.classes_])
axis.set(xlabel="class", ylabel="score of the first digit")
axis.legend()
plt.show()
