"""A fitted model as JSON and named arrays, and back.

Values that JSON has are written as they are: None, booleans, integers, finite floats, strings and
lists. Anything else is an object with a ``"#"`` that says what it is: a tuple, a dictionary (as pairs,
so that keys keep their type), an array, a record, an estimator. The last two are named by a key of
:mod:`unseen.persistence.class_keys`; an estimator's state is its ``vars``.
"""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from typing import Any, NoReturn

import numpy as np
from sklearn.base import BaseEstimator

from unseen.exceptions import ModelFileError
from unseen.persistence.class_keys import current_key, is_record, known_classes, left_out
from unseen.semantics import ClassTable
from unseen.typing import Array, JsonObject

NUMBERS = frozenset({"bool", "float16", "float32", "float64"}) | {
    f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)
}
"""The dtypes of arrays that a file may hold; arrays of text are stored as indices into a list."""

DEEPEST = 32
"""Levels of nesting: a model has about six."""

MOST_TEXT = 2**28
"""Bytes that the arrays of text of one file may take in memory. A short file could claim far more."""


class Encoder:
    """Turns objects into JSON nodes; arrays go to ``tensors`` under the path of their attribute."""

    def __init__(self) -> None:
        self.tensors: dict[str, Array] = {}
        self._keys = {cls: key for key, cls in known_classes().items()}
        self._done: dict[int, tuple[object, dict[str, object]]] = {}
        self._tables: dict[int, tuple[object, ClassTable]] = {}
        self._text = 0

    def encode(self, value: object, path: str = "", depth: int = 0) -> Any:
        """Return the node of a value; ``path`` names the attribute in messages."""
        if depth > DEEPEST:
            self._refuse(path, "is nested too deeply, or holds itself")
        if value is None or type(value) in (bool, int, str):
            return value
        if isinstance(value, np.str_):
            return str(value)
        if type(value) is float:
            return value if math.isfinite(value) else {"#": "float", "value": repr(value)}
        if isinstance(value, np.ndarray):
            return self._array(value, path, depth)
        if isinstance(value, np.bool_ | np.number) and value.dtype.name in NUMBERS:
            return {"#": "number", "dtype": value.dtype.name, "value": self.encode(value.item(), path)}
        if isinstance(value, np.random.RandomState | np.random.Generator):
            return None  # what a draw was made with; a fitted model draws no more
        return self._compound(value, path, depth)

    def _compound(self, value: Any, path: str, depth: int) -> Any:
        kind = type(value)
        if kind is list and value and all(type(v) is bytes and len(v) == len(value[0]) for v in value):
            width = len(value[0])
            table = np.frombuffer(b"".join(value), dtype=np.uint8).reshape(len(value), width)
            return {"#": "bytes", "tensor": self._tensor(table, path)}
        if kind is list:
            return [self.encode(v, f"{path}[{i}]", depth + 1) for i, v in enumerate(value)]
        if kind is tuple:
            return {"#": "tuple", "items": self.encode(list(value), path, depth)}
        if kind is dict:
            return {"#": "dict", "items": [self._pair(k, v, path, depth) for k, v in value.items()]}
        if kind in self._keys:
            return self._object(value, path, depth)
        self._refuse(path, f"is of the type {kind.__module__}.{kind.__qualname__}")

    def _pair(self, key: object, value: object, path: str, depth: int) -> list[object]:
        if key is not None and not isinstance(key, str | bool | int | float | np.generic):
            self._refuse(path, f"has a key of the type {type(key).__name__}")
        return [self.encode(key, path), self.encode(value, f"{path}[{key!r}]", depth + 1)]

    def _object(self, value: object, path: str, depth: int) -> JsonObject:
        state = {}
        for name, part in attributes(value).items():
            if hasattr(part, "__dask_graph__"):
                continue  # answers for rows that are on a cluster: predict gives them again
            if name == "semantics" and part is not None:
                part = self._tables.setdefault(id(part), (part, ClassTable.of(part)))[1]
            state[name] = self.encode(part, f"{path}.{name}" if path else name, depth + 1)
        return {"#": "object", "class": self._keys[type(value)], "state": state}

    def _array(self, value: Array, path: str, depth: int) -> JsonObject:
        if id(value) in self._done:  # one array under two names is written once
            return self._done[id(value)][1]
        if value.dtype == object:
            items = [self.encode(v, path, depth + 1) for v in value.ravel().tolist()]
            node: dict[str, object] = {"#": "objects", "shape": list(value.shape), "items": items}
        elif value.dtype.kind == "U":
            node = self._texts(value, path)
        elif value.dtype.name in NUMBERS and not isinstance(value, np.ma.MaskedArray):
            turned = value.flags.f_contiguous and not value.flags.c_contiguous
            node = {"#": "array", "tensor": self._tensor(value.T if turned else value, path)}
            if turned:  # the layout decides in which order products are summed
                node["order"] = "F"
        else:
            self._refuse(path, f"is an array of the dtype {value.dtype}")
        self._done[id(value)] = value, node
        return node

    def _texts(self, value: Array, path: str) -> JsonObject:
        self._text += value.nbytes
        if self._text > MOST_TEXT:
            self._refuse(path, f"holds more than {MOST_TEXT:,} bytes of text")
        texts, codes = np.unique(value, return_inverse=True)
        codes = codes.reshape(value.shape).astype(np.min_scalar_type(max(len(texts) - 1, 0)))
        width = value.dtype.itemsize // 4
        tensor = self._tensor(codes, path)
        return {"#": "texts", "tensor": tensor, "texts": texts.tolist(), "width": width}

    def _tensor(self, value: Array, path: str) -> str:
        name = path or "array"
        while name in self.tensors:
            name += "'"
        self.tensors[name] = np.ascontiguousarray(value, dtype=value.dtype.newbyteorder("<")).reshape(
            value.shape
        )
        return name

    def _refuse(self, path: str, what: str) -> NoReturn:
        raise ModelFileError(
            f"{path or 'The model'}: {what}, which a model file cannot hold. It holds numbers, texts, "
            "arrays of them, lists, tuples, dictionaries, the estimators and records of unseen, and "
            "estimators that a package registers as methods: no other class and no function. Take it "
            "out of the model, or keep the model in memory."
        )


class Decoder:
    """Turns nodes back into objects. Only classes of the registry are created."""

    def __init__(self, tensors: Mapping[str, Array]) -> None:
        self._tensors = tensors
        self._used: set[str] = set()
        self._done: dict[str, Array] = {}
        self._known = known_classes()
        self._text = 0
        self._kinds: dict[str, Callable[[dict[str, object], int], object]] = {
            "float": self._float,
            "number": self._number,
            "tuple": lambda node, depth: tuple(self._items(node, depth)),
            "dict": self._dict,
            "bytes": self._bytes,
            "array": self._array,
            "objects": self._objects,
            "texts": self._texts,
            "object": self._object,
        }

    def decode(self, node: object, depth: int = 0) -> Any:
        """Return the object that a node describes; a ValueError says what is wrong with it."""
        if depth > DEEPEST:
            raise ValueError("it is nested too deeply")
        if isinstance(node, list):
            return [self.decode(part, depth + 1) for part in node]
        if not isinstance(node, dict):
            return node
        kind = node.get("#")
        if not isinstance(kind, str) or kind not in self._kinds:
            raise ValueError(f"it holds something of the unknown kind {str(kind)[:40]!r}")
        return self._kinds[kind](node, depth)

    def unused(self) -> set[str]:
        """Return the tensors that no node asked for."""
        return set(self._tensors) - self._used

    def _items(self, node: dict[str, object], depth: int) -> list[Any]:
        items = node["items"]
        if not isinstance(items, list):
            raise ValueError("the items of a collection are no list")
        return [self.decode(part, depth + 1) for part in items]

    def _float(self, node: JsonObject, depth: int) -> float:
        return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[node["value"]]

    def _number(self, node: JsonObject, depth: int) -> object:
        if node["dtype"] not in NUMBERS:
            raise ValueError(f"it holds a number of the unknown dtype {str(node['dtype'])[:40]!r}")
        return np.array(self.decode(node["value"], depth + 1), dtype=node["dtype"])[()]

    def _dict(self, node: dict[str, object], depth: int) -> dict[Any, Any]:
        return dict(self._items(node, depth))

    def _tensor(self, node: JsonObject) -> Array:
        name = node["tensor"]
        tensor = self._tensors[name]
        if tensor.dtype.name not in NUMBERS:
            raise ValueError(f"the tensor {name!r} has the unknown dtype {tensor.dtype}")
        self._used.add(name)
        return tensor

    def _bytes(self, node: dict[str, object], depth: int) -> list[bytes]:
        table = self._tensor(node)
        if table.dtype != np.uint8 or table.ndim != 2:
            raise ValueError("a table of bytes has the wrong dtype or shape")
        return [row.tobytes() for row in table]

    def _array(self, node: dict[str, object], depth: int) -> Array:
        tensor = self._tensor(node)
        return tensor.T if node.get("order") == "F" else tensor

    def _objects(self, node: JsonObject, depth: int) -> Array:
        items = self._items(node, depth)
        array = np.empty(len(items), dtype=object)
        for place, item in enumerate(items):
            array[place] = item
        return array.reshape(node["shape"])

    def _texts(self, node: JsonObject, depth: int) -> Array:
        if node["tensor"] in self._done:
            return self._done[node["tensor"]]
        codes, texts, width = self._tensor(node), node["texts"], node["width"]
        if codes.dtype.kind != "u" or not all(type(t) is str for t in texts) or type(width) is not int:
            raise ValueError("an array of texts has the wrong dtype")
        if width < max(map(len, texts), default=0):
            raise ValueError("an array of texts is too narrow for them")
        self._text += 4 * width * (codes.size + len(texts))
        if self._text > 2 * MOST_TEXT:
            raise ValueError(f"its arrays of text would take more than {MOST_TEXT:,} bytes")
        array = np.array(texts, dtype=f"<U{max(width, 1)}")[codes]
        self._done[node["tensor"]] = array
        return array

    def _object(self, node: JsonObject, depth: int) -> Any:
        key = node["class"]
        if not isinstance(key, str) or current_key(key) not in self._known:
            package, colon, method = str(key)[:80].partition(":")
            raise ValueError(
                f"it needs the method {method!r} of the package {package!r}, which is not installed"
                if colon
                else f"it names the class {package!r}, which this version of unseen does not have"
            )
        cls = self._known[current_key(key)]
        state = {name: self.decode(part, depth + 1) for name, part in node["state"].items()}
        if is_record(cls) or cls is ClassTable:
            return cls(**state)
        state = {name: part for name, part in state.items() if name not in left_out(cls)}
        if not all(name.isidentifier() and not name.startswith("__") for name in state):
            raise ValueError(f"an attribute of {cls.__name__} has an impossible name")
        model = cls.__new__(cls)
        vars(model).update(_defaults(cls) | state)  # an older file lacks what came later
        return model


def _defaults(cls: type) -> JsonObject:
    parameters = inspect.signature(cls).parameters.values()
    return {p.name: p.default for p in parameters if p.default is not inspect.Parameter.empty}


def attributes(value: Any) -> JsonObject:
    """Return all that makes up an object of the registry: its fields, or its ``vars``."""
    if isinstance(value, ClassTable):
        return {n: getattr(value, n) for n in ("classes", "vectors", "attributes")}
    if is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in fields(value) if field.init}
    if isinstance(value, BaseEstimator):
        return {n: part for n, part in vars(value).items() if n not in left_out(type(value))}
    return dict(value._asdict())
