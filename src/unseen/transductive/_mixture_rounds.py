"""What TransCLIP and StatA share: rounds in which the pool is a mixture of Gaussian classes."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from typing import ClassVar

import numpy as np
from scipy import sparse

from unseen.rows.kernels import scaled
from unseen.statistics.diagonal_mixture import DiagonalGaussians, MixturePool, MixtureWeights
from unseen.transductive._shared_space import SoftLabelClassifier
from unseen.typing import Array, Codes


class MixtureClassifier(SoftLabelClassifier):
    """A classifier whose rounds label the pool by Gaussian classes and fit these to the labels."""

    _whole: ClassVar[tuple[str, ...]] = ("neighbours", "rounds")
    neighbours: int
    rounds: int
    _gaussians: DiagonalGaussians | None

    @abstractmethod
    def _first_gaussians(self, mixture: MixturePool) -> DiagonalGaussians:
        """Return the classes before the first round."""

    @abstractmethod
    def _fitted_gaussians(
        self, mixture: MixturePool, labels: sparse.csr_matrix, before: DiagonalGaussians
    ) -> DiagonalGaussians:
        """Return the classes that soft labels of the pool give."""

    @abstractmethod
    def _gaussians_at(self, means: Array, places: Codes) -> DiagonalGaussians:
        """Return classes with these means; ``places`` is theirs in ``fit``, -1 for another class."""

    def _mixture_weights(self) -> MixtureWeights:
        """Return how the text, the density and the neighbours of a row are weighed."""
        return MixtureWeights()

    def _forget(self) -> None:
        self._gaussians = None

    def _label_rounds(self, pool: Array, vectors: Array) -> Iterator[sparse.csr_matrix]:
        mixture = MixturePool(pool, vectors, self._scale(), int(self.neighbours))
        yield mixture.start
        if not self.rounds:
            return
        weights, labels = self._mixture_weights(), mixture.start
        gaussians = self._first_gaussians(mixture)
        for _ in range(int(self.rounds)):
            labels = mixture.relabelled(gaussians, labels, weights)
            gaussians = self._fitted_gaussians(mixture, labels, gaussians)
            yield labels
        self._gaussians = gaussians
        yield mixture.relabelled(gaussians, labels, weights)

    def _scores(self, X: Array, vectors: Array) -> Array:
        S = self._first_scores(X, vectors)
        if self._gaussians is None:
            return S
        places, means = self._fitted_places(vectors), scaled(np.asarray(vectors, dtype=float), "unit")
        means[places >= 0] = self._gaussians.means[places[places >= 0]]
        weights, number = self._mixture_weights(), X.dtype.type
        density = self._gaussians_at(means, places).scores(scaled(X, "unit"))
        return np.asarray(S * number(weights.text) + density * number(1 / weights.density_scale))
