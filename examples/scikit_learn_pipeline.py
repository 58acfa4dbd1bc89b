"""
In a scikit-learn pipeline
==========================

Estimators follow scikit-learn's contract, so pipelines, ``clone`` and grid searches work. What
differs: folds must hold out whole *classes*, because that is the question that will be asked.

Run it with: ``python examples/scikit_learn_pipeline.py``
"""

from matplotlib import pyplot as plt
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from unseen import ESZSL
from unseen.datasets import load_letters_to_digits
from unseen.model_selection import ClassWiseKFold, among_held_out

data = load_letters_to_digits()
letters, labels = data.X[data.train], data.y[data.train]
digits, truth = data.X[data.test_unseen], data.y[data.test_unseen]

# %%
# A pipeline is fitted and asked like any other.
model = make_pipeline(StandardScaler(), ESZSL(data.semantics, gamma=10.0, lam=1.0)).fit(letters, labels)
print(f"gamma=10, lam=1: {model.score(digits, truth):.1%} of the digits are right")

# %%
# ``ClassWiseKFold`` holds out whole letters; ``among_held_out`` asks each fold among the letters
# that it holds out.
gammas = [1.0, 10.0, 100.0, 1000.0]
pipeline = make_pipeline(StandardScaler(), among_held_out(ESZSL(data.semantics, lam=1.0), labels))
search = GridSearchCV(pipeline, {"eszsl__gamma": gammas}, cv=ClassWiseKFold(4)).fit(letters, labels)
print("chosen on held-out letters:", search.best_params_)
print(f"accuracy on held-out letters: {search.best_score_:.1%}")

# %%
# What the choice would have been on digits, which nobody may look at before the end:
on_digits = [
    ESZSL(data.semantics, gamma=g, lam=1.0).fit(letters, labels).score(digits, truth) for g in gammas
]
figure, axis = plt.subplots(figsize=(5.6, 3.4), layout="constrained")
axis.semilogx(gammas, 100 * search.cv_results_["mean_test_score"], marker="o", label="held-out letters")
axis.semilogx(gammas, [100 * share for share in on_digits], marker="s", label="digits (for show)")
axis.set(xlabel="gamma", ylabel="right, %")
axis.legend()
plt.show()
print("the search used no digit")
