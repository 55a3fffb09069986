"""Options of attention, as the core takes them or converted, take the short way: the same bits."""

from typing import Any

import numpy as np
import pytest
from tests.data import assert_same_bits, dtypes, rows
from tests.test_plain_calls import general

import ropewalk as rw
from ropewalk import _core

pytestmark = pytest.mark.thread_unsafe(reason="functions of the core are replaced")

SLOPES = np.geomspace(0.5, 0.01, 4)
FLOAT32_SLOPES = SLOPES.astype(np.float32)
SINKS = np.array([[-np.inf, 0.5, -3.0, 2.0], [1.0, 0.0, -0.0, 4.0]])
OPTIONS: dict[str, dict[str, Any]] = {
    "window": {"window": (3, 1)},
    "window of one side": {"window": (None, 2)},
    "causal window": {"window": (4, 4), "causal": True},
    "slope": {"slopes": 0.25},
    "slopes": {"slopes": SLOPES, "causal": True},
    "slopes in a list": {"slopes": SLOPES.tolist()},
    "slopes in float32": {"slopes": FLOAT32_SLOPES},
    "sink": {"sinks": 0.5},
    "no sink": {"sinks": -np.inf},
    "sinks": {"sinks": SINKS},
    "sinks of a batch": {"sinks": SINKS[:, :1].copy()},
    "offset": {"causal": True, "offset": -3},
    "offsets": {"causal": True, "offset": np.array([-40, 2])},
    "length": {"key_lengths": 7},
    "lengths": {"key_lengths": np.array([0, 33]), "window": (9, 9)},
    "length in an array": {"key_lengths": np.array(9)},
    "precision": {"precision": "float64", "slopes": SLOPES},
    "all": {"window": (30, None), "slopes": 0.1, "sinks": SINKS, "offset": 5, "key_lengths": 20},
}


@dtypes
@pytest.mark.parametrize("options", OPTIONS.values(), ids=OPTIONS)
def test_attention_with_options_has_the_bits_of_the_general_way(
    dtype: str, options: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    query, key, value = rows((3, 2, 4, 33, 8), dtype)
    bias, mask = rows((2, 1, 33, 33), "float64"), rows((33, 33), seed=3) > -0.5
    cases = [options, options | {"bias": bias, "mask": mask, "softcap": 4.0, "scale": 0.3}]
    expected = [general(rw.attention, query, key, value, **case) for case in cases]
    monkeypatch.setattr(_core, "attend", None)
    for case, bits in zip(cases, expected, strict=True):
        assert_same_bits(rw.attention(query, key, value, **case), bits)
    out = np.empty_like(query)
    converted = isinstance(slopes := options.get("slopes"), list) or slopes is FLOAT32_SLOPES
    if not converted:
        assert rw.attention(query, key, value, **options, out=out) is out
        assert_same_bits(out, expected[0])


@pytest.mark.parametrize("leading", [(), (3,), (2, 4)], ids=str)
def test_one_query_at_an_offset_has_the_bits_of_the_general_way(
    leading: tuple[int, ...], monkeypatch: pytest.MonkeyPatch
) -> None:
    query, keys = rows((*leading, 1, 8), "float32"), rows((2, *leading, 33, 8), "float32", seed=1)
    batch = leading[:1]
    cases: list[dict[str, Any]] = [
        {"causal": True, "offset": 20},
        {"window": (5, 0), "offset": np.full(batch, 32)},
        {"slopes": 0.5, "offset": np.arange(int(np.prod(batch))).reshape(batch)},
        {"key_lengths": np.ones(tuple(1 for _ in batch), np.int64)},
        {"key_lengths": np.full(batch, 4).tolist()},
        {"key_lengths": np.full(batch, 9, np.int32), "sinks": 1},
    ]
    expected = [general(rw.attention, query, *keys, **case) for case in cases]
    monkeypatch.setattr(_core, "attend", None)
    for case, bits in zip(cases, expected, strict=True):
        assert_same_bits(rw.attention(query, *keys, **case), bits)
