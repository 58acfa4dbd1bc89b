"""The paper's tables from stored rows: every number names its rows."""

from __future__ import annotations

from dataclasses import replace

from unseen.experiments import paper, registry
from unseen.experiments.answer_tables import answers_table
from unseen.experiments.forms import FORM_NAMES, forms, gains
from unseen.experiments.generalised_settings import GENERALISED, protocol
from unseen.experiments.published_comparison import beside_paper
from unseen.experiments.results import Results, measured, p_text, signed
from unseen.experiments.significance import by_class, compare
from unseen.experiments.unlabelled_tables import small_pools, unlabelled
from unseen.methods import fast_form
from unseen.reporting.value_table import Table, Value

TIED = "† not significantly worse than the best (paired bootstrap over classes, p ≥ 0.05)."


def all_tables(results: Results) -> list[Table]:
    """Return every table that the rows support; one with no row of ours is left out."""
    made = [
        table_2(results),
        forms(results, "table_2_forms", "Table II — the forms of a method", results.forms_of("II")),
        beside_paper(results, "II"),
        table_3(results),
        forms(results, "table_3_forms", "Table III — the forms of a method", results.forms_of("III")),
        gains(results, results.forms_of("III")),
        taste_paired(results),
        beside_paper(results, "III"),
        table_4(results),
        forms(
            results, "table_4_forms", "Table IV — the forms of fast training", results.forms_of("IV")
        ),
        beside_paper(results, "IV"),
        table_5(results),
        generalised(results),
        answers_table(results),
        unlabelled(results),
        small_pools(results),
        priors(results),
        bound_terms(results),
        domain_terms(results),
        costs(results),
    ]
    return [table for table in made if any(v.keys for row in table.rows for v in row)]


def table_2(results: Results) -> Table:
    """Table II: inductive methods."""
    names = results.methods(transductive=False, fast=False)
    return _accuracies(results, "table_2", "Table II — inductive methods", names)


def table_3(results: Results) -> Table:
    """Table III: transductive methods."""
    names = results.methods(transductive=True, fast=False)
    return _accuracies(results, "table_3", "Table III — transductive methods", names)


def taste_paired(results: Results) -> Table:
    """Return TASTE beside every other transductive method: differences, paired over classes."""
    columns = ("Data", "Method", "TASTE", "method", "difference", "95% interval", "p")
    rows = []
    for dataset in results.datasets:
        taste_rows = results.select(dataset, "TASTE")
        for name in results.methods(transductive=True, fast=False):
            other_rows = results.select(dataset, name)
            if name == "TASTE" or not taste_rows or not other_rows:
                continue
            comparison = compare(by_class(taste_rows), by_class(other_rows))
            taste, method = measured(taste_rows), measured(other_rows)
            bounds = (comparison.difference, comparison.low, comparison.high)
            gap, low, high = (signed(100 * v) for v in bounds)
            ends = Value(gap), Value(f"{low} to {high}"), Value(p_text(comparison.p_value))
            rows.append([Value(dataset), Value(name), taste, method, *ends])
    notes = [
        "Positive: TASTE is better. Classes are resampled; trials are averaged first.",
        results.trials_note,
    ]
    title = "Table III — TASTE beside each transductive method, paired over classes"
    return Table("table_3_paired", title, columns, rows, notes)


def table_4(results: Results) -> Table:
    """Table IV: with and without fast training, ↑ where it gains."""
    quick = results.methods(fast=True)
    datasets = [d for d in results.datasets if any(results.select(d, name) for name in quick)]
    columns = ["Method", *datasets]
    rows = []
    for name in results.methods(fast=False):
        fast_name = fast_form(name)
        if fast_name is None or fast_name not in quick:
            continue
        plain = [measured(results.select(d, name)) for d in datasets]
        fast = [measured(results.select(d, fast_name)) for d in datasets]
        better = [
            replace(f, note="↑")
            if f.number is not None and p.number is not None and f.number > p.number
            else f
            for p, f in zip(plain, fast, strict=True)
        ]
        rows += [[Value(name), *plain], [Value(fast_name), *better]]
    notes = ["↑ fast training is better than training on all rows.", results.trials_note]
    return Table("table_4", "Table IV — with and without fast training", tuple(columns), rows, notes)


def table_5(results: Results) -> Table:
    """Table V: training time and speed-up, beside the paper's."""
    columns = (
        "Method",
        "Data",
        "all rows, s",
        "fast, s",
        "speed-up",
        "paper: all, s",
        "fast, s ",
        "speed-up ",
    )
    published = {line.method: line for line in paper.times()}
    rows = []
    for dataset, name, preset in results.fitted_forms():
        fast_name = fast_form(name)
        if fast_name is None:
            continue
        plain, fast = (
            results.value(dataset, n, "seconds", 2, preset=preset) for n in (name, fast_name)
        )
        if "–" not in (plain.text, fast.text):
            speed_up = Value("–")
            if plain.number is not None and fast.number is not None:
                ratio = plain.number / fast.number
                speed_up = Value(f"{ratio:.1f}", ratio, plain.keys + fast.keys, "ratio seconds")
            line = published.get(registry.method(name).table_name)
            theirs = [Value("–")] * 3
            if line is not None and registry.paper_column(dataset) == "AwA":
                theirs = [Value(f"{v:g}", v) for v in (line.without, line.with_ft, line.ratio)]
            form = "" if preset == "default" else f", {FORM_NAMES[preset]}"
            rows.append([Value(name + form), Value(dataset), plain, fast, speed_up, *theirs])
    notes = [
        "LR of the paper is LinearRegressionZSL most likely: Eq. (26) maps rows to semantics, and "
        "its time "
        "is that of a p × p solve. PrototypeRidge is the other direction, which needs class means "
        "alone.",
        "Defaults include the choice of parameters on class-wise folds, which fast training does not "
        "shorten; the paper's are of one fit with fixed parameters on AwA (VGG-19, Matlab, another "
        "machine): read ratios, not seconds.",
    ]
    return Table("table_5", "Table V — training time", columns, rows, notes)


def generalised(results: Results) -> Table:
    """Return both protocols of the generalised setting: U, S, H, the area under their curve, ECE."""
    columns = ("Data", "Method", "Protocol", "unseen U", "seen S", "harmonic H", "AUSUC", "ECE")
    rows = []
    for dataset in results.datasets:
        block = []
        for name in results.methods():
            for setting in GENERALISED:
                trials = results.select(dataset, name, setting=setting)
                if trials:
                    learned = protocol(setting, registry.method(name).transductive)
                    values = [measured(trials, m) for m in ("unseen", "seen", "accuracy", "ausuc")]
                    values.append(measured(trials, "calibration_error", 3))
                    block.append([Value(dataset), Value(name), Value(learned), *values])
        for column in (5, 6):
            _mark_best([row[column] for row in block], block, column)
        rows += block
    notes = [
        "Answers among all classes. Mixed pool: a transductive method gets held-out seen rows and "
        "unseen rows without labels. Unseen rows known as such: its pool is the unseen rows alone, and "
        "it learns among unseen classes. The field uses both; numbers of one say nothing of the other.",
        "Inductive, calibrated offset: one number is added to the scores of unseen classes, chosen on "
        "held-out seen classes. AUSUC, in %, is over all offsets.",
    ]
    title = "Generalised zero-shot learning, both protocols"
    return Table("generalised", title, columns, rows, notes)


def priors(results: Results) -> Table:
    """Return transductive accuracy by what was assumed of the pool's class shares."""
    kinds = ("default", "uniform", "estimated", "known")
    rows = []
    for dataset in results.datasets:
        for name in results.methods(transductive=True):
            accuracies = [measured(results.select(dataset, name, prior=kind)) for kind in kinds]
            if any(v.keys for v in accuracies[1:]):
                rows.append([Value(dataset), Value(name), *accuracies])
    notes = [
        "“known” is given the pool's true class sizes, which a real pool does not reveal.",
        "– the method does not offer it.",
    ]
    return Table("priors", "Class priors of the pool", ("Data", "Method", *kinds), rows, notes)


def bound_terms(results: Results) -> Table:
    """Return the first term of Eq. (25), the seen error, with and without fast training."""
    columns = ("Data", "Method", "ε on rows", "ε̄ on patterns")
    rows = []
    for dataset in results.datasets:
        names = ("LinearRegressionZSL", *registry.ONE_HOT_METHODS)
        for form in (f for name in names for f in results.both_forms(dataset, name)):
            trials = [r for r in form if "seen_error_rows" in r.metrics]
            if trials:
                kinds = ("seen_error_rows", "seen_error_patterns")
                errors = [measured(trials, kind, 3) for kind in kinds]
                rows.append([Value(dataset), Value(trials[0].method), *errors])
    notes = [
        "LinearRegressionZSL: Eq. (26) and (27) as printed, 1/N over rows and 1/K over patterns, "
        "against "
        "class vectors. The others: squared loss against one-hot labels, averaged within a class "
        "first. "
        "ε̄ ≤ ε then holds for any linear model by Jensen's inequality: it is no sign of a better model."
    ]
    return Table("bound_terms", "Eq. (25), first term — error on seen classes", columns, rows, notes)


def domain_terms(results: Results) -> Table:
    """Return the terms of Eq. (25) that belong to the data set: capacity, λ and the distance."""
    rows = []
    for row in results.done:
        if row.method == registry.DISTANCE:
            kinds = ("capacity", "joint_error", "a_distance")
            values = [measured([row] if k in row.metrics else [], k, 2) for k in kinds]
            rows.append([Value(row.dataset), Value(row.features), *values])
    notes = [
        "Capacity: 4√(2d/m (log(2m/d) + log(4/δ))) with d = p + 1, the VC dimension of linear "
        "classifiers, "
        "m unseen rows and δ = 0.05. An error is at most 1, so a bound with a larger term says "
        "nothing.",
        "λ: an upper bound, both errors of one linear classifier that was taught rows of both "
        "domains with "
        "their labels. No method sees those labels; it is a measurement of the data set.",
        "Distance: 2(1 − 2ε) of a linear classifier that tells rows of seen from rows of unseen "
        "classes: "
        "0 cannot tell, 2 never errs.",
    ]
    columns = ("Data", "Features", "capacity", "joint error, at most", "proxy A-distance")
    title = "Eq. (25), second to fourth term — capacity, joint error, distance of the domains"
    return Table("domain_terms", title, columns, rows, notes)


def costs(results: Results) -> Table:
    """Return fit time, prediction time and memory; the paper reports a prediction time of 1 ms."""
    columns = ("Data", "Method", "fit, s", "predict, ms a row", "peak memory, MB")
    rows = []
    for dataset in results.datasets:
        for name in results.methods():
            trials = results.select(dataset, name)
            if trials:
                fit, predict = measured(trials, "seconds", 2), measured(trials, "predict_ms", 4)
                memory = measured(trials, "peak_mb", 0)
                rows.append([Value(dataset), Value(name), fit, predict, memory])
    time, source = paper.prediction_ms()
    notes = [
        f"The paper's prediction time: {time:g} ms ({source}). Peak memory is of the whole process."
    ]
    return Table("costs", "Cost", columns, rows, notes)


def _accuracies(results: Results, name: str, title: str, methods: list[str]) -> Table:
    """Return methods × the data sets that they ran on, with the best of each column in bold."""
    datasets = [d for d in results.datasets if any(results.select(d, m) for m in methods)]
    columns = ("Method", *datasets)
    rows = [[Value(m), *(results.value(d, m) for d in datasets)] for m in methods]
    for place, dataset in enumerate(datasets, 1):
        values = [row[place] for row in rows]
        best = _mark_best(values, rows, place)
        if best is None:
            continue
        top = by_class(results.select(dataset, methods[best]))
        for i, method in enumerate(methods):
            trials = results.select(dataset, method)
            if trials and not rows[i][place].best and not compare(top, by_class(trials)).significant:
                rows[i][place] = replace(rows[i][place], note="†")
    features = "; ".join(f"{d}: {results.features(d)}" for d in datasets)
    return Table(name, title, columns, rows, [f"Features — {features}.", TIED, results.trials_note])


def _mark_best(values: list[Value], rows: list[list[Value]], place: int) -> int | None:
    numbers = [(v.number, -i) for i, v in enumerate(values) if v.number is not None]
    if not numbers:
        return None
    best = -max(numbers)[1]
    for i, value in enumerate(values):
        if value.number == values[best].number:
            rows[i][place] = replace(value, best=True)
    return best
