"""Attention of many heads: weights, stages, masks, temperature, and the polygon of 2-D values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import deepcopy
from functools import partial
from typing import Any

import numpy as np
import traitlets
from numpy.typing import ArrayLike, NDArray

from ropewalk import AttentionStages, _arrays, _options, attention_stages
from ropewalk._attention_problem import checked_mask, checked_weights
from ropewalk._options import Lang
from ropewalk.explorer._view import LARGEST_SIDE, Checked, Picture, View, packed
from ropewalk.geometry import convex_hull

SWITCHES = ("causal", "left", "right", "masked", "temperature")
THUMBNAIL = 32  # most cells along the side of a thumbnail
VANISHING = 746.0  # exp(-746) is 0 in float64

_side = partial(_options.integer_between, smallest=0, largest=_options.LARGEST_POSITION)
# Within them, quotients of logits up to 1e302 in size are finite.
_temperature = partial(_options.number_between, smallest=1e-6, largest=1e6)


class AttentionView(View):
    """Weights of attention, as `attention` shows them.

    Attributes
    ----------
    head : int
        Which of the heads is shown large, counted over all leading axes.
    stage : str
        Which stage of it: one of `stages`.
    causal, masked : bool
        Whether keys after the query, and those the given mask hides, are masked; `masked` needs
        a mask.
    left, right : int or None
        The window: how many keys before and after a query it sees, up to 2**53; None is all.
    temperature : float
        What the logits are divided by, from 1e-6 to 1e6.
    tokens, key_tokens : list of str
        The queries and the keys.
    """

    head = Checked(_options.integer, 0).tag(sync=True)
    stage = traitlets.Unicode("weights").tag(sync=True)
    stages = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    causal = traitlets.Bool(False).tag(sync=True)
    left = Checked(_side, None, allow_none=True).tag(sync=True)
    right = Checked(_side, None, allow_none=True).tag(sync=True)
    masked = traitlets.Bool(False).tag(sync=True)
    temperature = Checked(_temperature, 1.0).tag(sync=True)
    tokens = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    key_tokens = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    heads = traitlets.List(traitlets.Unicode(), read_only=True).tag(sync=True)
    thumbnails = traitlets.Dict(read_only=True).tag(sync=True)
    placed = traitlets.Bool(read_only=True).tag(sync=True)
    maskable = traitlets.Bool(read_only=True).tag(sync=True)

    def __init__(
        self,
        given: NDArray[np.float64] | AttentionStages,
        tokens: Sequence[str],
        key_tokens: Sequence[str],
        *,
        value: NDArray[np.float64] | None,
        mask: NDArray[np.bool_] | None,
        offset: int | None,
        title: str | None,
        lang: Lang,
    ) -> None:
        super().__init__("attention", title, lang)
        self._stages = given if isinstance(given, AttentionStages) else None
        self._given = np.asarray(_weights_of(given), dtype=np.float64)
        self._value, self._mask, self._offset = value, mask, offset
        leading, (queries, keys) = self._given.shape[:-2], self._given.shape[-2:]
        names = [", ".join(map(str, index)) for index in np.ndindex(leading)]
        head, alone = (self.words.get(word, word) for word in ("head {}", "weights"))
        self.set_trait("heads", [head.format(name) if name else alone for name in names])
        self.set_trait("tokens", list(tokens))
        self.set_trait("key_tokens", list(key_tokens))
        self.set_trait("placed", offset is not None or queries == keys)
        self.set_trait("maskable", mask is not None)
        self.set_trait("stages", list(self._computed()))
        self._refresh()
        self.observe(self._refresh, SWITCHES)
        self.observe(self._draw, ["head", "stage"])

    @traitlets.validate("head")
    def _valid_head(self, proposal: Any) -> int:
        head: int = proposal["value"]
        if not 0 <= head < len(self.heads):
            msg = f"head must be from 0 to {len(self.heads) - 1}, got {head}"
            raise traitlets.TraitError(msg)
        return head

    @traitlets.validate("stage")
    def _valid_stage(self, proposal: Any) -> str:
        stage: str = proposal["value"]
        if stage not in self.stages:
            msg = f"stage must be one of {', '.join(map(repr, self.stages))}, got {stage!r}"
            raise traitlets.TraitError(msg)
        return stage

    @traitlets.validate("causal", "left", "right")
    def _valid_place(self, proposal: Any) -> Any:
        value = proposal["value"]
        if value is not None and value is not False and not self.placed:
            queries, keys = len(self.tokens), len(self.key_tokens)
            msg = f"{proposal['trait'].name} needs offset {_options.which_offset(queries, keys)}"
            raise traitlets.TraitError(msg)
        return value

    @traitlets.validate("masked")
    def _valid_masked(self, proposal: Any) -> bool:
        masked: bool = proposal["value"]
        if masked and self._mask is None:
            msg = "masked needs a mask, and none was given"
            raise traitlets.TraitError(msg)
        return masked

    def _answers(self) -> Mapping[str, Sequence[object]]:
        return {"head": range(len(self.heads)), "stage": self.stages}

    def _refresh(self, _change: object = None) -> None:
        """Compute all stages of all heads anew, and draw the one that is shown."""
        self._maps = self._computed()
        self._reaches = {
            stage: _reach(values, VANISHING if stage == "biased" else np.inf)
            for stage, values in self._maps.items()
        }
        with self.hold_sync():  # both arrive together
            self.set_trait("thumbnails", packed(_thumbnails(self._maps["weights"])))
            self._draw()

    @np.errstate(all="ignore")  # log(0), and numbers that a temperature makes too large or small
    def _computed(self) -> dict[str, NDArray[np.float64]]:
        """Return the stages, each of shape (heads, query length, key length or value dim)."""
        changed = self.causal or self.masked or self.temperature != 1
        changed = changed or self.left is not None or self.right is not None
        maps = {"weights": self._given}
        if self._stages is not None:
            maps = {"scores": self._stages.scores, "capped": self._stages.capped}
            if self._stages.capped is self._stages.scores:
                del maps["capped"]
            maps |= {"biased": self._stages.biased, "weights": self._given}
        if changed or self._value is not None:
            new = self._again()
            if changed:
                maps |= {name: getattr(new, name) for name in maps if name in {"biased", "weights"}}
            if self._value is not None:
                # Rows that sum to less than 1, by a sink, have an output that is as much smaller.
                sums = 1.0 if changed else self._given.sum(axis=-1, keepdims=True)
                maps["output"] = new.output * sums
        return {
            name: np.asarray(array, np.float64).reshape(len(self.heads), *array.shape[-2:])
            for name, array in maps.items()
        }

    def _again(self) -> AttentionStages:
        """Return attention with these logits, through the switches that are on.

        Queries and keys are zeros, so that the logits are the bias alone.
        """
        if self._stages is not None:
            logits = np.asarray(self._stages.biased, dtype=np.float64)
        else:
            logits = np.log(self._given)
        *leading, queries, keys = logits.shape
        query, key = np.zeros((*leading, queries, 1)), np.zeros((*leading, keys, 1))
        window = (self.left, self.right)
        return attention_stages(
            query,
            key,
            key if self._value is None else self._value,
            causal=self.causal,
            window=None if window == (None, None) else window,
            offset=self._offset,
            mask=self._mask if self.masked else None,
            bias=logits / self.temperature,
        )

    def _picture(self, at: Mapping[str, Any]) -> Picture:
        head, stage = at["head"], at["stage"]
        picture = {
            "head": head,
            "stage": stage,
            **{name: getattr(self, name) for name in SWITCHES},
            "map": packed(self._maps[stage][head]),
            "reach": self._reaches[stage],
        }
        if self._value is not None and self._value.shape[-1] == 2:
            leading = self._given.shape[:-2]
            value = np.broadcast_to(self._value, (*leading, *self._value.shape[-2:]))
            values = value.reshape(len(self.heads), -1, 2)[head]
            output = self._maps["output"][head]
            picture["plane"] = {
                "values": packed(values),
                "outputs": packed(output),
                "value_hull": packed(convex_hull(values)),
                "output_hull": packed(convex_hull(output)),
            }
            if stage != "weights":  # the map holds them
                picture["plane"]["weights"] = packed(self._maps["weights"][head])
        return picture


def attention(
    weights: ArrayLike | AttentionStages,
    /,
    *,
    tokens: Sequence[str] | None = None,
    key_tokens: Sequence[str] | None = None,
    value: ArrayLike | None = None,
    mask: ArrayLike | None = None,
    offset: int | None = None,
    title: str | None = None,
    lang: Lang = "en",
) -> AttentionView:
    """Explore attention weights: all heads small, one large, tokens beside it.

    Move over the large map, or walk it with the arrow keys, to read a query, a key and their
    weight. Keys can be masked, the logits divided by a temperature, and stages stepped through. Of
    values with two features the polygon is shown, that of the outputs within it, and lines as wide
    as the weights of the query, the 256 largest.

    Parameters
    ----------
    weights : array_like of shape (..., query length, key length), or AttentionStages
        Weights from 0 to 1, such as `ropewalk.attention_weights` returns, each index of the leading
        axes a head, both lengths at most 4096; or the result of `ropewalk.attention_stages`, to
        step through its stages.
    tokens : sequence of str, optional
        The queries, and the keys too where they are as many; numbers unless given.
    key_tokens : sequence of str, optional
        The keys.
    value : array_like of shape (..., key length, value dim), optional
        Values, finite in float32; leading axes broadcast to those of `weights`. They add the stage
        "output", and the polygon where they have two features.
    mask : array_like of bool of shape (..., query length, key length), optional
        A mask to switch on and off, True where a query sees a key.
    offset : int, optional
        Position of the first query minus that of the first key, as in `ropewalk.attention`. 0 where
        both lengths are equal; where they differ, causal masks and windows need it.
    title : str, optional
        What stands above the view; "Attention" unless given.
    lang : {"en", "ja"}, default "en"
        Language of the words, and of the title unless one is given.

    Returns
    -------
    AttentionView
        A widget, whose attributes are its controls.

    Raises
    ------
    ValueError
        If a shape does not fit, a weight lies outside of 0 to 1, a value is not finite in float32,
        or tokens are not as many as needed.
    TypeError
        If an argument is of the wrong kind.

    See Also
    --------
    ropewalk.plot.attention_weights : The same as a figure.

    Notes
    -----
    Weights are shown as they are given until something is switched on. What is then shown, and
    outputs, `ropewalk.attention_stages` computes from the logarithms of the weights (or the biased
    scores of the stages): rows sum to 1, also those that a sink had left below. Temperature T, from
    1e-6 to 1e6, makes softmax(logits / T). The page gets float32, or float64 where a number is
    beyond it.

    Colours of a stage reach as far as its largest size. Biased scores that lie more than 746 below
    the largest of all do not count, and have the last colour: beside it their weight would be 0 in
    float64. So a bias that hides as a mask does, of -1e4 or the least number of a type, leaves
    colours to others.

    References
    ----------
    Vig, A Multiscale Visualization of Attention in the Transformer Model, 2019, arXiv:1906.05714.

    Examples
    --------
    >>> import ropewalk as rw
    >>> x = [[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]
    >>> view = rw.explorer.attention(rw.attention_weights(x, x), tokens=["猫", "が", "眠る"])
    >>> view.causal, view.temperature = True, 0.5
    >>> view.stages
    ['weights']
    >>> page = view.html()
    """
    # Copies, for controls compute from them whatever becomes of the caller's arrays.
    given = deepcopy(weights) if isinstance(weights, AttentionStages) else checked_weights(weights)
    shape = _weights_of(given).shape
    if len(shape) < 2 or 0 in shape or max(shape[-2:]) > LARGEST_SIDE:
        msg = (
            "weights must have shape (..., query length, key length), none of it 0, both lengths "
            f"at most {LARGEST_SIDE}, got {shape}"
        )
        raise ValueError(msg)
    rows, columns = shape[-2:]
    if key_tokens is None and rows == columns:
        key_tokens = tokens
    if offset is not None:
        offset = _options.integer("offset", offset)
        _arrays.offsets(offset)
    return AttentionView(
        given,
        _labels("tokens", tokens, rows),
        _labels("key_tokens", key_tokens, columns),
        value=None if value is None else _checked_value(value, _weights_of(given)),
        mask=None if mask is None else _checked_mask(mask, shape),
        offset=offset,
        title=title,
        lang=lang,
    )


def _weights_of(given: NDArray[np.float64] | AttentionStages) -> NDArray[Any]:
    return given.weights if isinstance(given, AttentionStages) else given


def _checked_value(value: ArrayLike, weights: NDArray[Any]) -> NDArray[np.float64]:
    shape = weights.shape
    array = _arrays.data("value", value).astype(np.float64)
    if array.ndim < 2 or array.shape[-2] != shape[-1] or array.shape[-1] == 0:
        msg = f"value must have shape (..., {shape[-1]}, value dim), got {array.shape}"
        raise ValueError(msg)
    _arrays.check_broadcast("value", array.shape[:-2], shape[:-2], "the leading axes of weights")
    wrong = array[~(np.abs(array) <= np.finfo(np.float32).max)]
    if wrong.size:
        msg = f"value must be finite, also in float32, got {wrong[0]}"
        raise ValueError(msg)
    if array.shape[-1] == 2 and not np.isfinite(weights).all():
        msg = "weights must be finite where value has two features, got infinities or NaN"
        raise ValueError(msg)
    return array


def _checked_mask(mask: ArrayLike, shape: tuple[int, ...]) -> NDArray[np.bool_]:
    array = checked_mask(mask, hint="")
    _arrays.check_broadcast("mask", array.shape, shape, "the shape of weights")
    return array.copy()


def _labels(name: str, tokens: Sequence[str] | None, count: int) -> list[str]:
    if tokens is None:
        return [str(i) for i in range(count)]
    return _options.strings(name, tokens, count)


def _reach(values: NDArray[np.float64], below: float) -> float:
    """Return the largest size of finite values at most `below` the largest, or 1 where it is 0."""
    finite = np.isfinite(values)
    least = values.max(initial=-np.inf, where=finite) - below
    return float(np.abs(values).max(initial=0.0, where=finite & (values >= least))) or 1.0


def _thumbnails(weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """Return the largest weight of each block of cells, so that no peak is lost."""
    for axis in (-2, -1):
        length = weights.shape[axis]
        step = -(-length // THUMBNAIL)
        weights = np.maximum.reduceat(weights, range(0, length, step), axis=axis)
    return weights
