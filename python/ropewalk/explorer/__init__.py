"""Interactive views of encodings, rotation and attention, for notebooks and saved pages.

Each function returns a widget that Jupyter shows. What it shows is computed by the library, in
Python; the page draws it, without any network. ``save`` writes a page that needs no Python.
"""

try:
    from ropewalk.explorer._attention import AttentionView, attention
    from ropewalk.explorer._encoding import EncodingView, encoding
    from ropewalk.explorer._rotation import RotationView, rotation
except ModuleNotFoundError as error:
    msg = "ropewalk.explorer needs anywidget: pip install 'ropewalk[explorer]'"
    raise ImportError(msg) from error

__all__ = [
    "AttentionView",
    "EncodingView",
    "RotationView",
    "attention",
    "encoding",
    "rotation",
]
