"""Attention as other libraries compute it, where they are installed.

Both results are off from the exact one: ours by its bound, theirs by that of arithmetic that rounds
every operation to the type of the data and sums all keys in a row.
"""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from tests import onnx_reader
from tests.attention_calls import Call, allowed_errors, assert_within
from tests.data import UNIT, rows
from tests.test_onnx import ATTENTION, NODES, attention_call

import ropewalk as rw

dtypes = pytest.mark.parametrize("dtype", ["float64", "float32"])

# The call, and which options it has; lengths are equal where it is causal, because PyTorch aligns
# the first query with the first key, and lower right is another class there.
CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "plain": ((2, 3, 9, 16), (2, 3, 130, 16), {}),
    "causal": ((1, 2, 130, 16), (1, 2, 130, 16), {"causal": True}),
    "upper left": ((2, 3, 9, 16), (2, 3, 130, 16), {"causal": True, "offset": 0}),
    "scaled": ((2, 3, 9, 16), (2, 3, 130, 16), {"scale": 0.7}),
    "a mask": (
        (2, 3, 9, 16), (2, 3, 130, 16), {"mask": np.arange(130) % 7 > np.arange(9)[:, None] % 3},
    ),
    "a bias": ((2, 3, 9, 16), (2, 3, 130, 16), {"bias": rows((3, 9, 130), seed=5)}),
    "grouped heads": ((2, 6, 9, 16), (2, 2, 130, 16), {}),
    "one query": ((2, 3, 1, 64), (2, 3, 300, 64), {}),
    "a row that sees nothing": (
        (2, 3, 5, 16), (2, 3, 9, 16), {"mask": np.arange(5)[:, None] != np.array([3] * 9)},
    ),
}  # fmt: skip


def drawn(case: str, dtype: str, value_dim: int) -> Call:
    of_query, of_key, options = CASES[case]
    value = rows((*of_key[:-1], value_dim), dtype, 3)
    return Call(rows(of_query, dtype, 1), rows(of_key, dtype, 2), value, options)


def assert_agree(call: Call, theirs: NDArray[Any]) -> None:
    exact, allowed = call.expected()
    others = allowed_errors(exact, call, UNIT[call.dtype.name], call.key.shape[-2])
    ours = rw.attention(call.query, call.key, call.value, **call.options)
    assert_within(ours, theirs.astype(np.float64), allowed.output + others.output)


@pytest.mark.parametrize("case", CASES)
@dtypes
def test_pytorch(dtype: str, case: str) -> None:
    torch = pytest.importorskip("torch")
    call = drawn(case, dtype, 24)
    options = dict(call.options)
    given = options.get("mask", options.get("bias"))
    if given is not None and given.dtype != bool:
        given = given.astype(dtype)
    theirs = torch.nn.functional.scaled_dot_product_attention(
        *map(torch.from_numpy, (call.query, call.key, call.value)),
        attn_mask=None if given is None else torch.from_numpy(given),
        is_causal=options.get("causal", False),
        scale=options.get("scale"),
        enable_gqa=call.query.shape[1] != call.key.shape[1],
    )
    assert_agree(call, theirs.numpy())


# Where a row sees nothing, it gives the mean of all values.
@pytest.mark.parametrize("case", [case for case in CASES if case != "a row that sees nothing"])
def test_jax(case: str) -> None:
    jax = pytest.importorskip("jax")
    call = drawn(case, "float32", CASES[case][1][-1])
    options = dict(call.options)
    if "bias" in options:
        options["bias"] = options["bias"][None].astype(np.float32)
    if "mask" in options:
        options["mask"] = options["mask"][None, None]
    options["is_causal"] = options.pop("causal", False)
    options.pop("offset", None)
    # Its arrays are (batch, length, heads, width).
    data = (x.swapaxes(1, 2) for x in (call.query, call.key, call.value))
    theirs = jax.nn.dot_product_attention(*data, **options)
    assert_agree(call, np.asarray(theirs).swapaxes(1, 2))


# ONNX Runtime 1.31 wants a mask as long as the keys.
@pytest.mark.parametrize("case", [name for name in ATTENTION if not name.endswith("padded_kv")])
def test_onnx_runtime(case: str) -> None:
    onnxruntime = pytest.importorskip("onnxruntime")
    session = onnxruntime.InferenceSession(Path(NODES / case / "model.onnx").read_bytes())
    inputs = onnx_reader.named_tensors(NODES / case, "input")
    # Their graph, and numbers of our own.
    rng = np.random.default_rng(len(case))
    for name, x in inputs.items():
        if x.dtype.kind == "f":
            inputs[name] = rng.standard_normal(x.shape).astype(x.dtype)
    attributes = onnx_reader.attributes(NODES / case)
    theirs, *_ = session.run(["Y"], inputs)
    if inputs["Q"].ndim == 3:
        theirs = rw.split_heads(theirs, attributes["q_num_heads"])
    assert_agree(attention_call(inputs, attributes), theirs)


def test_softmax_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    x = 10 * rows((40, 300))
    theirs = torch.softmax(torch.from_numpy(x), dim=0).numpy()
    np.testing.assert_allclose(rw.softmax(x, axis=0), theirs, rtol=1e-14)
    sums = torch.logsumexp(torch.from_numpy(x), dim=1).numpy()
    np.testing.assert_allclose(rw.logsumexp(x), sums, rtol=4e-16 + math.ulp(1.0))
