"""Calls of attention beside the loops of tests/reference.py, and how far off results may be."""

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray
from tests import reference
from tests.data import DTYPES, UNIT, assert_same_bits, smallest_subnormal

import ropewalk as rw

INF = math.inf
BLOCK = 128  # keys that are summed in the arithmetic of the data before float64 joins their sums

# Beside the largest weight smaller ones are 0.
SMALLEST_WEIGHT = {"float32": 2.0**-100, "float64": 2.0**-1022}


# By matrices of bfloat16: how much of a product of queries and keys, and of weights and values, is
# in none of theirs, and how much more of the latter for every key.
MATRICES = {
    "bfloat16": (0.0, 2.0**-16, 2.0**-27),
    "bfloat16x3": (2.0**-15, 7 * 2.0**-17, 2.0**-26),
}
# So many queries that share keys make matrices worth while.
LEAST = {"bfloat16": 32, "bfloat16x3": 192}


def allowed_errors(
    expected: reference.Attention, call: "Call", unit: float, in_a_row: int, lost: float = 0.0
) -> reference.Attention:
    """Return how far each stage may be from the exact one where every operation rounds by `unit`.

    A logit is a dot product of d terms, times a scale that is itself rounded (d + 2), a soft cap
    (9), a bias and a slope (1 each), each relative to at most the sum of the sizes of all that is
    added: the bound that docs/accuracy.md states. Then the largest logit is subtracted, and the
    exponential is off by up to 1.1 ulp, which is 2.2 units. If logit j is off by d_j at most, the
    weights are e^(d_j) a_j / sum a e^d, so that the output is off by sum a_j (e^(d_j) - 1)
    (v_j - o) / sum a e^d. Sums of as many terms as are added `in_a_row`, and of a quarter of them
    for the denominator, round so often, relative to sum a |v|. The log-sum-exp of float32 is within
    the error of a logit, or of a sink that is rounded, and 1e-6. Of each product of a query and a
    key `lost` may be missing.
    """
    given = {name for name, option in call.options.items() if option is not None}
    of_scores = call.query.shape[-1] + 2
    of_capped = of_scores + 9 * ("softcap" in given)
    of_biased = of_capped + ("bias" in given) + ("slopes" in given)
    largest = call.magnitudes
    biased = np.where(np.isneginf(expected.biased), 0, largest.biased)
    sinks = np.broadcast_to(call.sinks(expected.lse.shape[:-1])[..., None], expected.lse.shape)
    top = np.maximum(expected.biased.max(axis=-1, initial=-INF), sinks)
    top = np.where(np.isneginf(top), 0, top)
    below = np.where(np.isneginf(expected.biased), 0, top[..., None] - expected.biased)
    scores = lost * largest.scores
    of_logits = unit * of_biased * biased + scores
    of_powers = of_logits + unit * (below + 2.2)
    of_sinks = np.where(np.isneginf(sinks), 0, unit * (np.abs(sinks) + top - sinks + 2.2))
    sinks_seen = np.where(np.isneginf(sinks), 0, sinks)
    of_sums = unit * (in_a_row / 4 + 4)

    weights = expected.weights
    seen = np.isfinite(expected.lse)
    sink_weights = np.exp(sinks - np.where(seen, expected.lse, 0))
    least = (weights * np.exp(-of_powers)).sum(axis=-1) + sink_weights * np.exp(-of_sinks)
    most = (weights * np.exp(of_powers)).sum(axis=-1) + sink_weights * np.exp(of_sinks)
    least, most = np.where(seen, least, 1), np.where(seen, most, 1)

    value = call.values_of_heads(weights.shape[:-2])
    spread = np.abs(value[..., None, :, :] - expected.output[..., :, None, :])
    off = ((weights * np.expm1(of_powers))[..., None] * spread).sum(axis=-2)
    off += (sink_weights * np.expm1(of_sinks))[..., None] * np.abs(expected.output)
    added = (weights * np.exp(of_powers)) @ np.abs(value)
    of_lse = np.maximum(np.log(most), -np.log(least)) + of_sums
    if unit == UNIT["float32"]:  # what is promised in a word
        of_lse = np.maximum(of_logits.max(axis=-1, initial=0), unit * np.abs(sinks_seen)) + 1e-6
    tiny = np.finfo(np.float64 if unit == UNIT["float64"] else np.float32).tiny
    zeros = SMALLEST_WEIGHT["float64" if unit == UNIT["float64"] else "float32"] * weights.shape[-1]
    return reference.Attention(
        scores=unit * of_scores * largest.scores + scores + tiny,
        capped=unit * of_capped * largest.scores + scores + tiny,
        biased=unit * of_biased * biased + scores + tiny,
        weights=weights * (np.exp(of_powers) / least[..., None] * (1 + of_sums) - 1) + zeros,
        lse=of_lse + 2**-52 * np.abs(np.where(seen, expected.lse, 0)),
        output=off / least[..., None]
        + (unit * in_a_row + of_sums) * added / least[..., None]
        + zeros * np.abs(value).max(axis=(-1, -2), initial=1, keepdims=True),
    )


def assert_within(actual: NDArray[Any], expected: Any, allowed: Any) -> None:
    """Check errors one by one, and that what is infinite is the same."""
    assert actual.shape == expected.shape
    found = actual.astype(np.float64)
    finite = np.isfinite(expected)
    np.testing.assert_array_equal(found[~finite], expected[~finite])
    excess = (
        np.abs(found[finite] - expected[finite]) - np.broadcast_to(allowed, finite.shape)[finite]
    )
    assert excess.max(initial=0) == 0


@dataclass(frozen=True, eq=False)
class Call:
    """Arguments of attention."""

    query: NDArray[Any]
    key: NDArray[Any]
    value: NDArray[Any]
    options: dict[str, Any]
    precision: str | None = None

    @property
    def dtype(self) -> np.dtype[Any]:
        return np.result_type(self.query, self.key, self.value)

    @cached_property
    def magnitudes(self) -> reference.Attention:
        """Stages of the absolute values: sums of the sizes of everything that is added."""
        options = dict(self.options)
        for name in ("scale", "slopes", "bias"):
            if options.get(name) is not None:
                size = np.abs(options[name]) * (-1.0 if name == "slopes" else 1.0)  # subtracted
                options[name] = np.where(np.isneginf(options[name]), -INF, size)
        options |= {"softcap": None, "sinks": -INF}
        no_values = self.value[..., :0]
        return reference.attention_of_heads(
            np.abs(self.query), np.abs(self.key), no_values, **options
        )

    def sinks(self, leading: tuple[int, ...]) -> NDArray[np.float64]:
        own = np.broadcast_to(self.options.get("sinks", -INF), self.query.shape[:-2])
        return np.broadcast_to(own, leading)

    def values_of_heads(self, leading: tuple[int, ...]) -> NDArray[np.float64]:
        value = self.value.astype(np.float64)
        if value.ndim > 2 and value.shape[-3]:
            value = value.repeat(leading[-1] // value.shape[-3], axis=-3)
        return np.broadcast_to(value, (*leading, *value.shape[-2:]))

    def may_be_matrices(self) -> bool:
        """Tell whether there are as many queries as matrices need, if all heads shared keys."""
        if self.precision not in MATRICES or self.dtype == np.float64:
            return False
        heads = self.query.shape[-3] if self.query.ndim > 3 else 1
        one_product = self.dtype == DTYPES["bfloat16"]
        least = LEAST["bfloat16" if one_product else self.precision or ""]
        return bool(self.query.shape[-2] * heads >= least)

    def expected(self) -> tuple[reference.Attention, reference.Attention]:
        """Return the stages of the reference, and how far the library's may be from them."""
        keys = self.key.shape[-2]
        stages = reference.attention_of_heads(self.query, self.key, self.value, **self.options)
        in_float64 = self.dtype == np.float64 or self.precision == "float64"
        unit = UNIT["float64" if in_float64 else "float32"]
        in_a_row = keys if in_float64 else min(keys, BLOCK)
        lost, lost_values = 0.0, 0.0
        if self.may_be_matrices():
            lost, lost_values, of_a_key = MATRICES[self.precision or ""]
            lost_values += of_a_key * keys
            in_a_row = BLOCK  # of 32 keys at once
        computed = allowed_errors(stages, self, unit, in_a_row, lost)
        # The loops of the reference round as well, and sum in any case exactly.
        own = allowed_errors(stages, self, UNIT["float64"], 1)
        allowed = {name: error + getattr(own, name) for name, error in vars(computed).items()}
        if lost_values:
            value = np.abs(self.values_of_heads(stages.weights.shape[:-2]))
            allowed["output"] += 1.01 * lost_values * (stages.weights @ value)
        for name in ("scores", "capped", "biased", "weights", "output"):
            stage = getattr(stages, name)
            allowed[name] += rounding(np.where(np.isfinite(stage), stage, 0), self.dtype)
        return stages, reference.Attention(**allowed)

    def check(self) -> None:
        """Compare everything that the library computes with the reference."""
        expected, allowed = self.expected()
        data, options = (self.query, self.key, self.value), dict(self.options)
        if self.precision is not None:
            options["precision"] = self.precision
        stages = rw.attention_stages(*data, **options)
        for name in vars(expected):
            stage = getattr(stages, name)
            assert stage.dtype == (np.float64 if name == "lse" else self.dtype), name
            assert_within(stage, getattr(expected, name), getattr(allowed, name))
        output = rw.attention(*data, **options)
        assert output.dtype == self.dtype
        assert_within(output, expected.output, allowed.output)
        both, lse = rw.attention_with_lse(*data, **options)
        assert_same_bits(both, output)
        assert lse.dtype == np.float64
        assert_within(lse, expected.lse, allowed.lse)
        weights = rw.attention_weights(self.query, self.key, **options)
        assert weights.dtype == np.result_type(self.query, self.key)
        # Values may have more heads and another type.
        if weights.shape == expected.weights.shape and weights.dtype == self.dtype:
            assert_within(weights, expected.weights, allowed.weights)


def rounding(x: NDArray[np.float64], dtype: np.dtype[Any]) -> NDArray[np.float64]:
    """Return half a unit in the last place of x in a dtype, or more."""
    return UNIT[dtype.name] * np.abs(x) + smallest_subnormal(dtype)
