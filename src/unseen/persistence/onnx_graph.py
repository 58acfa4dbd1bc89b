"""Drawing a scorer as a graph of ONNX operations."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from unseen.statistics.scorer import Affine, Scorer, SignedRoot, Step, UnitLength
from unseen.statistics.semantic_process import ClassFeatures
from unseen.statistics.visual_space import scaling_steps
from unseen.typing import Array, DType

if TYPE_CHECKING:
    from onnx import ModelProto, NodeProto, TensorProto

OPSET, IR_VERSION = 17, 8
"""The operator set of 2022, which runtimes of several years read."""


class Drawing:
    """The nodes of a graph, one after another."""

    def __init__(self, dtype: DType) -> None:
        import onnx

        self._onnx = onnx
        self.dtype = dtype
        self.nodes: list[NodeProto] = []
        self.held: list[TensorProto] = []

    def constant(self, value: object, name: str | None = None) -> str:
        """Add an array as a constant; return its name."""
        name = f"constant_{len(self.held)}" if name is None else name
        array = np.asarray(value)
        array = array if array.dtype.kind == "i" else array.astype(self.dtype)
        self.held.append(self._onnx.numpy_helper.from_array(np.ascontiguousarray(array), name))
        return name

    def node(self, kind: str, *inputs: str, output: str | None = None, **options: Any) -> str:
        """Add an operation; return the name of its output."""
        output = f"{kind.lower()}_{len(self.nodes)}" if output is None else output
        self.nodes.append(self._onnx.helper.make_node(kind, list(inputs), [output], **options))
        return output

    def squares(self, rows: str, keepdims: int) -> str:
        """Return the squared lengths of rows."""
        axis = self.constant(np.array([1], dtype=np.int64))
        return self.node("ReduceSum", self.node("Mul", rows, rows), axis, keepdims=keepdims)


def graph_of(
    scorer: Scorer, vectors: Array, columns: int, dtype: DType, facts: dict[str, str]
) -> ModelProto:
    """Return the graph of a scorer, checked by onnx; ``facts`` become its metadata."""
    import onnx

    draw = Drawing(dtype)
    rows = "features"
    for step in scorer.steps:
        rows = _draw_step(draw, rows, step)
    classes = _draw_features(draw, draw.constant(vectors, "semantics"), scorer.features)
    points = draw.node("MatMul", classes, draw.constant(scorer.coef.T, "coef"))
    if scorer.intercept is not None:
        points = draw.node("Add", points, draw.constant(scorer.intercept, "intercept"))
    if scorer.corrections is not None:
        points = draw.node("Add", points, draw.constant(scorer.corrections, "corrections"))
    if scorer.unit_points:
        points = _draw_step(draw, points, UnitLength())
    product, of_class, of_row = scorer.weights
    scores = draw.node("MatMul", rows, draw.node("Transpose", points, perm=[1, 0]))
    if product != 1:
        scores = draw.node("Mul", scores, draw.constant(product))
    if of_class:
        lengths = draw.node("Mul", draw.squares(points, 0), draw.constant(of_class))
        scores = draw.node("Sub", scores, lengths)
    if of_row:
        lengths = draw.node("Mul", draw.squares(rows, 1), draw.constant(of_row))
        scores = draw.node("Sub", scores, lengths)
    if scorer.offsets is not None:
        scores = draw.node("Add", scores, draw.constant(scorer.offsets, "offsets"))
    draw.node("Identity", scores, output="scores")
    kind = onnx.helper.np_dtype_to_tensor_dtype(dtype)
    describe = onnx.helper.make_tensor_value_info
    graph = onnx.helper.make_graph(
        draw.nodes,
        "unseen",
        [describe("features", kind, ["rows", columns])],
        [describe("scores", kind, ["rows", "classes"])],
        draw.held,
    )
    opset = [onnx.helper.make_opsetid("", OPSET)]
    model = onnx.helper.make_model(
        graph, opset_imports=opset, ir_version=IR_VERSION, producer_name="unseen"
    )
    onnx.helper.set_model_props(model, facts)
    onnx.checker.check_model(model, full_check=True)
    return model


def _draw_features(draw: Drawing, vectors: str, features: ClassFeatures | None) -> str:
    """Return φ of class vectors: the vectors themselves, or a kernel; then, if shared, their rows."""
    if features is None:
        return vectors
    first = vectors
    if features.anchors is not None:
        center = features.anchors.mean(axis=0)  # distances are exact to more digits near the origin
        centred = draw.node("Sub", vectors, draw.constant(center))
        anchors = features.anchors - center
        squares = np.einsum("ij,ij->i", anchors, anchors)
        cross = draw.node("MatMul", centred, draw.constant(-2 * anchors.T))
        distances = draw.node(
            "Add", draw.node("Add", cross, draw.squares(centred, 1)), draw.constant(squares)
        )
        first = draw.node("Exp", draw.node("Mul", distances, draw.constant(-features.width)))
    if not features.shared:
        return first
    rows = vectors
    for step in scaling_steps(features.scaling):
        rows = _draw_step(draw, rows, step)
    return draw.node("Concat", first, rows, axis=1)


def _draw_step(draw: Drawing, rows: str, step: Step) -> str:
    if isinstance(step, Affine):
        centred = draw.node("Sub", rows, draw.constant(step.center))
        return draw.node(
            "Mul" if step.matrix.ndim == 1 else "MatMul", centred, draw.constant(step.matrix)
        )
    if isinstance(step, SignedRoot):
        return draw.node("Mul", draw.node("Sign", rows), draw.node("Sqrt", draw.node("Abs", rows)))
    length = draw.node("Sqrt", draw.squares(rows, 1))
    positive = draw.node("Greater", length, draw.constant(0.0))
    return draw.node("Div", rows, draw.node("Where", positive, length, draw.constant(1.0)))
