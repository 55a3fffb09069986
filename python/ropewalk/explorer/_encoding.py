"""The sinusoidal encoding: its heat map, the wave of a dimension, the hands of a position."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from ropewalk import _arrays, _options, frequencies, sinusoidal_encoding
from ropewalk._options import Lang
from ropewalk.explorer._view import LARGEST_SIDE, Checked, Picture, View, packed
from ropewalk.frequencies import Frequencies

SCHEDULES = ("standard", "linear", "ntk", "yarn")
CONTROLS = ("dim", "base", "schedule", "factor")

_dim = partial(_options.even_dim, smallest=4, largest=LARGEST_SIDE)
_factor = partial(_options.number_between, smallest=1.0, largest=1e9)


class EncodingView(View):
    """A table of the sinusoidal encoding, as `encoding` shows it.

    Attributes
    ----------
    dim : int
        Width of the encoding, even, from 4.
    base : float
        Base of the frequencies.
    schedule : {"standard", "linear", "ntk", "yarn"}
        How a longer context is reached.
    factor : float
        By how much, from 1 to 1e9; the standard schedule has none.
    """

    dim = Checked(lambda _, dim: _dim(dim), 4).tag(sync=True)
    base = Checked(_options.positive_number, 10000.0).tag(sync=True)
    schedule = traitlets.Enum(SCHEDULES, "standard").tag(sync=True)
    factor = Checked(_factor, 8.0).tag(sync=True)
    rows = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    places = traitlets.Dict(allow_none=True, read_only=True).tag(sync=True)

    def __init__(
        self,
        positions: NDArray[np.float64],
        dim: int,
        *,
        base: float,
        schedule: str,
        factor: float,
        trained_length: int,
        title: str | None,
        lang: Lang,
    ) -> None:
        super().__init__(
            "encoding", title, lang, dim=dim, base=base, schedule=schedule, factor=factor
        )
        self._positions, self._trained_length = positions, trained_length
        self.set_trait("rows", [str(at).removesuffix(".0") for at in positions.tolist()])
        ascend = (np.diff(positions) > 0).all()
        length = (positions[-1] - positions[0]) or 1.0  # 0 of one position
        self.set_trait("places", packed((positions - positions[0]) / length) if ascend else None)
        self._draw()
        self._drawn = self._controls()
        self.observe(self._redraw, CONTROLS)

    def _controls(self) -> dict[str, object]:
        return {name: getattr(self, name) for name in CONTROLS}

    def _redraw(self, _change: object) -> None:
        """Draw; where that fails, put all controls back."""
        if self._controls() == self._drawn:  # they were put back, or changed together
            return
        try:
            self._draw()
        except BaseException as error:
            with self.hold_trait_notifications():
                for name, value in self._drawn.items():
                    setattr(self, name, value)
            if isinstance(error, ValueError):
                raise traitlets.TraitError(str(error)) from None
            raise
        self._drawn = self._controls()

    def _answers(self) -> Mapping[str, Sequence[object]]:
        return {"schedule": [schedule for schedule in SCHEDULES if self._suits(schedule)]}

    def _suits(self, schedule: str) -> bool:
        try:
            self._of(schedule)
        except ValueError:  # yarn wants a base above 1
            return False
        return True

    def frequencies(self) -> Frequencies:
        """Return the frequencies that the controls choose."""
        return self._of(self.schedule)

    def _of(self, schedule: str) -> Frequencies:
        if schedule == "linear":
            return frequencies.linear(self.dim, factor=self.factor, base=self.base)
        if schedule == "ntk":
            return frequencies.ntk(self.dim, factor=self.factor, base=self.base)
        if schedule == "yarn":
            return frequencies.yarn(
                self.dim, factor=self.factor, trained_length=self._trained_length, base=self.base
            )
        return frequencies.standard(self.dim, base=self.base)

    def _picture(self, at: Mapping[str, Any]) -> Picture:
        chosen = self._of(at["schedule"])
        return {
            "schedule": at["schedule"],
            "base": self.base,
            "factor": self.factor,
            "table": packed(sinusoidal_encoding(self._positions, frequencies=chosen)),
            "wavelengths": packed(chosen.wavelengths),
        }


def encoding(
    positions: ArrayLike | range,
    dim: int,
    /,
    *,
    base: float = 10000.0,
    schedule: str = "standard",
    factor: float = 8.0,
    trained_length: int = 2048,
    title: str | None = None,
    lang: Lang = "en",
) -> EncodingView:
    """Explore the sinusoidal encoding: heat map, waves and clock hands.

    Move over the heat map, or walk it with the arrow keys: the wave of the dimension and the hands
    of the position follow. Base, width, schedule and factor are controls.

    Parameters
    ----------
    positions : array_like or range of shape (positions,)
        The rows (tokens), 1 to 4096, finite and at most 2**53 in size; fractional and negative
        ones too.
    dim : int
        Width of the encoding, even, from 4 to 4096.
    base : float, default 10000.0
        Base of the frequencies, positive and finite.
    schedule : {"standard", "linear", "ntk", "yarn"}, default "standard"
        The schedule of `ropewalk.frequencies` to begin with.
    factor : float, default 8.0
        Its factor, from 1 to 1e9; the standard schedule has none.
    trained_length : int, default 2048
        Context length (tokens) that "yarn" stretches.
    title : str, optional
        What stands above the view; "Sinusoidal encoding" unless given.
    lang : {"en", "ja"}, default "en"
        Language of the words, and of the title unless one is given.

    Returns
    -------
    EncodingView
        A widget, whose attributes are its controls.

    Raises
    ------
    TypeError
        If an argument is of the wrong kind.
    ValueError
        If an argument is out of range.

    See Also
    --------
    ropewalk.plot.heatmap, ropewalk.plot.waves, ropewalk.plot.clock_hands : The same as figures.

    Notes
    -----
    Positions go down, where those of `ropewalk.plot.heatmap` go across. Every number is that of
    `ropewalk.sinusoidal_encoding`, rounded to float32 for the page.

    References
    ----------
    Vaswani et al., Attention Is All You Need, 2017, arXiv:1706.03762, section 3.5.

    Examples
    --------
    >>> import ropewalk as rw
    >>> view = rw.explorer.encoding(range(50), 64)
    >>> view.schedule, view.factor = "linear", 4.0
    >>> view.frequencies() == rw.frequencies.linear(64, factor=4.0)
    True
    """
    if isinstance(positions, range) and len(positions[: LARGEST_SIDE + 1]) > LARGEST_SIDE:
        msg = f"positions must be at most {LARGEST_SIDE} in number, got {positions}"
        raise ValueError(msg)
    rows, shape = _arrays.positions("positions", positions)
    if len(shape) != 1 or not 1 <= shape[0] <= LARGEST_SIDE:
        msg = f"positions must have shape (positions,), 1 to {LARGEST_SIDE} of them, got {shape}"
        raise ValueError(msg)
    width = _dim(dim)
    _options.choice("schedule", schedule, SCHEDULES)
    return EncodingView(
        _arrays.listed(rows).astype(np.float64),
        width,
        base=_options.positive_number("base", base),
        schedule=schedule,
        factor=_factor("factor", factor),
        trained_length=_options.context_length("trained_length", trained_length),
        title=title,
        lang=lang,
    )
