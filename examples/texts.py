"""
Tickets, with a real encoder
============================

A dozen texts, four classes with a description each, and the small sentence encoder that comes with
the extra ``text`` (MiniLM in NumPy; no torch is needed).

Run it with: ``python examples/texts.py``
"""

import numpy as np
from matplotlib import pyplot as plt

from unseen import SharedSpacePrototypes
from unseen.features import encode_texts, text_encoder

TICKETS = [
    "I never got my money back for the broken kettle",
    "Please refund the second payment, I was charged twice",
    "When will I be reimbursed?",
    "My parcel has been on its way for two weeks",
    "The courier left the box at the wrong door",
    "Tracking says delivered but nothing is here",
    "I cannot log in any more",
    "The password reset mail does not arrive",
    "My account is locked after three attempts",
    "Do you also have this jacket in blue?",
    "Is the large size still in stock?",
    "What material are the boots made of?",
]
CLASSES = {
    "refund": "the customer wants money back",
    "delivery": "a parcel is late, lost or at the wrong place",
    "account": "problems with login, password or account",
    "product": "a question about a product, its size, colour or stock",
}

# %%
# Texts and descriptions become vectors of one space; the method needs nothing else.
encoder = text_encoder("minilm")
X = encode_texts(TICKETS, encoder).X
descriptions = encode_texts(list(CLASSES.values()), encoder).X
model = SharedSpacePrototypes(dict(zip(CLASSES, descriptions, strict=True))).fit(X)
for text, label, confidence in zip(TICKETS, model.transduction_, model.confidence_, strict=True):
    print(f"{label:>9} {confidence:.2f}  {text}")

# %%
# Why: the cosine of each text with each description.
cosine = (
    X @ descriptions.T / np.linalg.norm(X, axis=1, keepdims=True) / np.linalg.norm(descriptions, axis=1)
)
figure, axis = plt.subplots(figsize=(7.6, 4.4), layout="constrained")
picture = axis.imshow(cosine, cmap="Blues", aspect="auto")
axis.set_yticks(range(len(TICKETS)), [text[:44] for text in TICKETS], fontsize=8)
axis.set_xticks(range(len(CLASSES)), list(CLASSES))
figure.colorbar(picture, label="cosine")
plt.show()
