"""What all views share: the page that draws them, arrays on the way to it, saving."""

from __future__ import annotations

import json
import re
from abc import abstractmethod
from base64 import b64encode
from collections.abc import Callable, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import product
from os import PathLike
from pathlib import Path
from typing import Any

import anywidget
import numpy as np
import traitlets
from numpy.typing import ArrayLike

from ropewalk import _files, _options
from ropewalk._options import LANGUAGES, Lang
from ropewalk.explorer._words import JAPANESE, TITLES

HERE = Path(__file__).parent
# One module of two files: a saved page holds it, and has no other to import from.
MODULE = "\n".join((HERE / name).read_text(encoding="utf-8") for name in ("figures.js", "views.js"))
STYLE = (HERE / "explorer.css").read_text(encoding="utf-8")

LARGEST_SIDE = 4096  # of a heat map (cells)

Picture = dict[str, Any]  # what is drawn: numbers, texts, and arrays as `packed` returns them


class Checked(traitlets.TraitType[Any, Any]):
    """A trait that takes what an argument of a function does, and refuses the rest in its words."""

    def __init__(
        self, check: Callable[[str, object], object], default: object, *, allow_none: bool = False
    ) -> None:
        super().__init__(default, allow_none=allow_none)
        self._check = check

    def validate(self, _obj: object, value: object) -> object:
        try:
            return self._check(str(self.name), value)
        except (TypeError, ValueError) as error:
            raise traitlets.TraitError(str(error)) from None


class View(anywidget.AnyWidget):
    """A widget that shows one picture; controls in the page set its traits.

    Attributes
    ----------
    title : str
        What stands above the view, as text.
    lang : {"en", "ja"}
        The language of its words.
    """

    _esm = MODULE
    _css = STYLE

    view = traitlets.Unicode(read_only=True).tag(sync=True)
    title = traitlets.Unicode(read_only=True).tag(sync=True)
    lang = traitlets.Unicode(read_only=True).tag(sync=True)
    words = traitlets.Dict(read_only=True).tag(sync=True)
    picture = traitlets.Dict(read_only=True).tag(sync=True)

    def __init__(self, view: str, title: str | None, lang: Lang, **controls: object) -> None:
        if not isinstance(title, str | None):  # what a type checker would have said
            msg = f"title must be a string, got {title!r}"  # type: ignore[unreachable]
            raise TypeError(msg)
        if title is not None and re.search("[\ud800-\udfff]", title):
            msg = f"title must hold whole characters, got {title!r}"
            raise ValueError(msg)
        _options.choice("lang", lang, LANGUAGES)
        super().__init__(**controls)
        self.set_trait("view", view)
        self.set_trait("title", TITLES[view][lang] if title is None else title)
        self._shown_title = TITLES[view]["en"] if title is None else title
        self.set_trait("lang", lang)
        self.set_trait("words", JAPANESE if lang == "ja" else {})

    def __repr__(self) -> str:
        # The same in every run of a notebook, and in every language.
        return f"{type(self).__name__}({self._shown_title!r})"

    @abstractmethod
    def _picture(self, at: Mapping[str, Any]) -> Picture:
        """Return what is shown where the traits that `_answers` names have these values."""

    def _draw(self, _change: object = None) -> None:
        self.set_trait("picture", self._picture(self.trait_values(sync=True)))

    def _answers(self) -> Mapping[str, Sequence[object]]:
        """Return the traits that a saved page can still set, and the values that have a picture."""
        return {}

    def html(self) -> str:
        """Write the view as one HTML page that needs no other file, no Python and no network.

        Returns
        -------
        str
            The page. What needs Python is disabled in it; heads, stages and schedules can be
            chosen, and rows and columns be looked at.
        """
        state = {
            name: value
            for name, value in self.get_state().items()
            if not name.startswith("_") and name not in {"layout", "tabbable", "tooltip", "picture"}
        }
        answered = self._answers()
        answers = [
            [values, self._picture(dict(zip(answered, values, strict=True)))]
            for values in product(*answered.values())
        ]
        held: dict[bytes, int] = {}  # arrays, each once, and their places

        def place(value: object) -> int:
            if not isinstance(value, bytes):
                msg = f"a page holds no {type(value).__name__}"
                raise TypeError(msg)
            return held.setdefault(value, len(held))

        saved = json.dumps(
            {"state": state, "answered": list(answered), "answers": answers}, default=place
        ).replace("<", "\\u003c")  # it stands in strings alone, and can end no element so
        arrays = json.dumps([b64encode(values).decode() for values in held])
        script = f"{MODULE}\nshowSaved(document);\n"
        allowed = b64encode(sha256(script.encode()).digest()).decode()
        policy = (
            f"default-src 'none'; script-src 'sha256-{allowed}'; "
            "style-src 'unsafe-inline'; img-src data:"
        )
        return f"""<!doctype html>
<html lang="{self.lang}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta http-equiv="Content-Security-Policy" content="{escape(policy)}">
<title>{escape(self.title)}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ margin: 1rem; background: light-dark(#ffffff, #14181d); }}
{STYLE}</style>
</head>
<body>
<main></main>
<script type="application/json">{arrays}</script>
<script type="application/json">{saved}</script>
<script type="module">{script}</script>
</body>
</html>
"""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the view to a self-contained HTML file.

        Pictures of it, SVG and PNG, are saved by the buttons in the view itself.

        Parameters
        ----------
        path : path-like
            Of the file; its name ends in ``.html``, in letters of either case.

        Raises
        ------
        ValueError
            If the name has another ending.
        TypeError
            If `path` is no text and no path.

        Notes
        -----
        The page holds the picture of everything that can be chosen in it.
        """
        try:
            target = Path(path)
        except TypeError:
            msg = f"path must be a string or a path, got {path!r}"
            raise TypeError(msg) from None
        if target.suffix.lower() != ".html":
            msg = f"path must end in .html (SVG and PNG are saved in the view), got {target.name!r}"
            raise ValueError(msg)
        _files.write(target, self.html().encode())


def packed(values: ArrayLike) -> Picture:
    """Return an array as the page takes it: its shape, and numbers in little-endian order.

    They are float32, or float64 where one that is finite is beyond it.
    """
    array = np.asarray(values)
    with np.errstate(all="ignore"):
        sent = np.asarray(array, "<f4")
    if (np.isinf(sent) & np.isfinite(array)).any():
        sent = np.asarray(array, "<f8")
    return {"shape": array.shape, "values": sent.tobytes()}
