"""
On a Dask cluster
=================

The same fit on an array in memory and on a Dask array with a cluster (extra ``scale``). The cluster
here lives in this process; with a real one only the address changes.

Run it with: ``python examples/dask_cluster.py``
"""

import dask.array as da
import numpy as np
from distributed import Client
from matplotlib import pyplot as plt

from unseen import ASTE
from unseen.datasets import simulate

data = simulate("AwA", scale=0.1, n_features=64, random_state=0)
X, y = data.X[data.train], data.y[data.train]
rows = data.X[data.test_unseen]
memory = ASTE(data.semantics).fit(X, y)

# %%
# On a cluster: ``Client("tcp://10.0.0.1:8786")``.
with Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=2) as client:
    chunks = da.from_array(X, chunks=(500, X.shape[1]))
    cluster = ASTE(data.semantics).fit(chunks, y)
    workers = len(client.scheduler_info()["workers"])
    print(f"{len(X)} rows in {chunks.numblocks[0]} chunks on {workers} worker")
    first, second = memory.decision_function(rows), cluster.decision_function(rows)
difference = np.abs(first - second).max() / np.abs(first).max()
print(f"largest difference of a score: {difference:.0e} of the largest")
print(f"same labels: {np.mean(memory.predict(rows) == cluster.predict(rows)):.1%}")
print(f"simulated AwA, 64 features: {memory.score(rows, data.y[data.test_unseen]):.1%} right per class")

figure, axis = plt.subplots(figsize=(4.4, 4), layout="constrained")
axis.scatter(first.ravel()[::7], second.ravel()[::7], s=4)
axis.set(xlabel="score, rows in memory", ylabel="score, rows in chunks", title="One solver, one answer")
plt.show()
