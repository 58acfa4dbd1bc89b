"""The summary: what a reader should know before any table, in sentences."""

from __future__ import annotations

import numpy as np

from unseen.experiments import paper, registry
from unseen.experiments.published_comparison import beside_paper
from unseen.experiments.results import Results, measured, p_text, signed
from unseen.experiments.significance import by_class, compare
from unseen.experiments.unlabelled_pools import FULL


def sentences(results: Results) -> list[str]:
    """Return one sentence for each thing that the rows show."""
    lines = [s for d in results.datasets for s in _dataset(results, d)]
    lines += [s for d in results.datasets for s in _without_labels(results, d)]
    lines += _fast_training(results)
    time, _ = paper.prediction_ms()
    fits = [r for r in results.fits if r.setting == "zsl"]
    if fits:
        slowest = max(fits, key=lambda r: r.predict_seconds)
        lines.append(
            f"Prediction takes at most {1000 * slowest.predict_seconds:.3f} ms a row "
            f"({slowest.method}, {slowest.dataset}); the paper says about {time:g} ms."
        )
    verdicts = [row[6].text for t in ("II", "III", "IV") for row in beside_paper(results, t).rows]
    paired = [v for v in verdicts if "comparable" in v]
    if paired:
        lines.append(
            f"Of {len(paired)} pairs of our number and the paper's, {paired.count('comparable')} are "
            "comparable; the tables beside the paper name both features and say why the others are not."
        )
    diverged = [r for r in results.all if r.status == "diverged"]
    if diverged:
        names = ", ".join(sorted({r.method for r in diverged}))
        lines.append(
            f"{len(diverged)} fits diverged with the settings they were given ({names}): the step "
            "sizes as "
            "printed are too long for these features. See Warnings."
        )
    failed = sum(r.status == "failed" for r in results.all)
    if failed:
        lines.append(f"{failed} cells failed; see Warnings. The next run can try them again.")
    return lines


def _dataset(results: Results, dataset: str) -> list[str]:
    groups = {m: results.select(dataset, m) for m in results.methods()}
    groups = {m: rows for m, rows in groups.items() if rows}
    if len(groups) < 2:
        return []
    order = sorted(groups, key=lambda m: -float(np.mean([r.accuracy for r in groups[m]])))
    best, second = order[0], order[1]
    gap = compare(by_class(groups[best]), by_class(groups[second]))
    sure = "significantly" if gap.significant else "not significantly"
    where, top = f"{dataset} ({results.features(dataset)})", measured(groups[best]).text
    if dataset.startswith("simulated"):
        return [f"{where}: the best reach {top}%. It shows time, and says nothing of real accuracy."]
    text = (
        f"{where}: {best} is best with {top}%, {sure} ahead of {second} with "
        f"{measured(groups[second]).text}% (paired bootstrap over {gap.classes} classes, "
        f"p {p_text(gap.p_value, '= ')})."
    )
    inductive = [m for m in order if not registry.method(m).transductive]
    if registry.method(best).transductive and inductive:
        ahead = 100 * compare(by_class(groups[best]), by_class(groups[inductive[0]])).difference
        text += (
            f" Unlabelled rows gain {ahead:.1f} points over the best inductive method, {inductive[0]}."
        )
    return [text]


def _without_labels(results: Results, dataset: str) -> list[str]:
    pools = {m: results.select(dataset, m, setting=FULL) for m in results.methods()}
    gains = {m: measured(rows, "gain") for m, rows in pools.items() if rows}
    if not gains:
        return []
    best = max(gains, key=lambda m: gains[m].number or 0.0)
    start, end = measured(pools[best], "start").text, measured(pools[best]).text
    return [f"{dataset}, without one label: {best} is best with {end}%, where cosine has {start}%."]


def _fast_training(results: Results) -> list[str]:
    ratios, changes = [], []
    for dataset in results.datasets:
        for name in results.methods(fast=False):
            plain, fast = results.both_forms(dataset, name)
            if plain and fast:
                seconds = [float(np.mean([r.seconds for r in rows])) for rows in (plain, fast)]
                ratios.append(seconds[0] / seconds[1])
                means = [float(np.mean([r.accuracy for r in rows])) for rows in (plain, fast)]
                changes.append(100 * (means[1] - means[0]))
    if not ratios:
        return []
    low, middle, high = min(changes), float(np.median(changes)), max(changes)
    return [
        f"Fast training is {np.median(ratios):.1f} times as fast in the median of {len(ratios)} pairs "
        f"(from {min(ratios):.1f} to {max(ratios):.1f}), and changes accuracy by {signed(middle)} "
        f"points in the median (from {signed(low)} to {signed(high)})."
    ]
