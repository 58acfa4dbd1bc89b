"""unseen: recognise classes that nobody has labelled.

Names are imported when they are first asked for (PEP 562): ``import unseen`` alone loads neither
scikit-learn nor SciPy.
"""

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING

from unseen.version import __version__ as __version__

if TYPE_CHECKING:
    from unseen.base import ZeroShotClassifier as ZeroShotClassifier
    from unseen.citation import Citation as Citation
    from unseen.exceptions import AdaptationWarning as AdaptationWarning
    from unseen.exceptions import DataError as DataError
    from unseen.exceptions import ModelFileError as ModelFileError
    from unseen.fast import FastTraining as FastTraining
    from unseen.inductive import *  # noqa: F403 - what the packages of methods export is public here too
    from unseen.persistence import add_classes_to_onnx as add_classes_to_onnx
    from unseen.persistence import export_onnx as export_onnx
    from unseen.persistence import load as load
    from unseen.scale import open_rows as open_rows
    from unseen.semantics import ClassTable as ClassTable
    from unseen.transductive import *  # noqa: F403
else:
    _MODULE_OF = {
        "AdaptationWarning": "unseen.exceptions",
        "Citation": "unseen.citation",
        "ClassTable": "unseen.semantics",
        "DataError": "unseen.exceptions",
        "FastTraining": "unseen.fast",
        "ModelFileError": "unseen.exceptions",
        "ZeroShotClassifier": "unseen.base",
        "add_classes_to_onnx": "unseen.persistence",
        "export_onnx": "unseen.persistence",
        "load": "unseen.persistence",
        "open_rows": "unseen.scale",
    }
    """Where the names above live; those of methods live in two packages."""

    _METHODS = ("unseen.inductive", "unseen.transductive")

    def __getattr__(name):
        """Import a public name, or a module of this package, and keep it."""
        if name == "__all__":
            value = [*_MODULE_OF, *(name for m in _METHODS for name in import_module(m).__all__)]
        elif name in _MODULE_OF:
            value = getattr(import_module(_MODULE_OF[name]), name)
        elif name.startswith("_"):
            raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
        elif find_spec(f"{__name__}.{name}") is not None:
            return import_module(f"{__name__}.{name}")
        else:
            home = next((m for m in map(import_module, _METHODS) if name in m.__all__), None)
            if home is None:
                raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
            value = getattr(home, name)
        globals()[name] = value
        return value

    def __dir__():
        """List what can be asked for, imported or not."""
        return sorted({*globals(), *__getattr__("__all__")})
