"""Rotation gives the same bits however data lie, and wherever they are turned."""

import itertools
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray
from tests.conftest import Call
from tests.data import (
    DTYPES,
    LARGEST,
    PAIRINGS,
    assert_same_bits,
    by_threads,
    dtypes,
    pairings,
    rows,
    unaligned,
)
from tests.test_rotary_data import draw_data

import ropewalk as rw
from ropewalk import _core, _results
from ropewalk._options import Pairing

# Memory

LENGTH, DIM = 70, 22
Lay = Callable[[NDArray[Any]], NDArray[Any]]


def in_a_record(x: NDArray[Any]) -> NDArray[Any]:
    records = np.zeros(x.shape[:2], [("x", x.dtype, x.shape[2:]), ("after", "u1")])
    records["x"] = x
    result: NDArray[Any] = records["x"]
    return result


# The same values, lying differently.
LAYOUTS: dict[str, Lay] = {
    "Fortran order": np.asfortranarray,
    "transposed": lambda x: x.transpose(1, 0, 2).copy().transpose(1, 0, 2),
    "reversed": lambda x: x[:, ::-1].copy()[:, ::-1],
    "reversed features": lambda x: x[..., ::-1].copy()[..., ::-1],
    "every second row": lambda x: np.repeat(x, 2, axis=1)[:, ::2],
    "every second feature": lambda x: np.repeat(x, 2, axis=2)[..., ::2],
    "the middle of a larger array": lambda x: np.pad(x.astype(x.dtype), 3)[3:-3, 3:-3, 3:-3],
    "unaligned": unaligned,
    "in records": in_a_record,
}
layouts = pytest.mark.parametrize("layout", LAYOUTS)


@pairings
@dtypes
@layouts
def test_strides_of_x_change_no_bit(layout: str, dtype: str, pairing: Pairing) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    lying = LAYOUTS[layout](x)
    assert_same_bits(lying, x)
    lying.flags.writeable = False
    turned = rw.rotate(lying, pairing=pairing)
    assert_same_bits(turned, expected)
    assert_same_bits(lying, x)
    assert turned.flags.c_contiguous
    assert turned.flags.owndata
    assert turned.flags.writeable


@pairings
@dtypes
@layouts
def test_out_of_any_strides_is_filled_and_returned(
    layout: str, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    out = LAYOUTS[layout](np.zeros_like(x))
    assert rw.rotate(x, pairing=pairing, out=out) is out
    assert_same_bits(out, expected)
    cosines, sines = rw.rotary_tables(range(LENGTH), DIM)
    out[...] = 0
    assert rw.rotate_by(x, cosines, sines, pairing=pairing, out=out) is out
    assert_same_bits(out, expected)


@pairings
@dtypes
@layouts
def test_rows_of_any_strides_are_turned_in_place(layout: str, dtype: str, pairing: Pairing) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    expected = rw.rotate(x, pairing=pairing)
    lying = LAYOUTS[layout](x.copy())
    assert rw.rotate(lying, pairing=pairing, out=lying) is lying
    assert_same_bits(lying, expected)
    lying[...] = x
    view = lying[...]
    assert rw.rerotate(lying, range(LENGTH), pairing=pairing, out=view) is view
    assert_same_bits(lying, expected)


@pairings
@pytest.mark.parametrize("order", list(itertools.permutations(range(4))), ids=str)
def test_axes_may_lie_in_any_order(order: tuple[int, ...], pairing: Pairing) -> None:
    positions = np.array([[[[4], [5], [6], [0], [9]]], [[[7], [2], [3], [8], [1]]]])
    x = rows((2, 3, 5, 4, DIM), "float32")  # the first and the third axis have positions
    expected = np.empty_like(x)
    for batch, head, group in np.ndindex(2, 3, 4):
        own = positions[batch, 0, :, 0]
        expected[batch, head, :, group] = rw.rotate(x[batch, head, :, group], own, pairing=pairing)
    lying = x.transpose(*order, 4).copy().transpose(*np.argsort(order), 4)
    assert_same_bits(rw.rotate(lying, positions, pairing=pairing), expected)
    assert_same_bits(rw.rotate(x, positions, pairing=pairing, out=lying), expected)


@pairings
@pytest.mark.parametrize("dtype", ["float32", "float16", "bfloat16"])
def test_data_from_far_have_the_bits_of_near_ones(dtype: str, pairing: Pairing) -> None:
    x = rows((8, 4096, 128), dtype)  # 16 and 8 MiB
    expected = np.stack([rw.rotate(head, pairing=pairing) for head in x])
    assert_same_bits(rw.rotate(x, pairing=pairing, out=np.empty_like(x)), expected)
    assert_same_bits(rw.rotate(x, pairing=pairing, out=x), expected)


@pairings
@dtypes
@pytest.mark.parametrize("width", [16, 34, 48, 64, 70, 80, 128, 160])
def test_rows_have_the_same_bits_however_many_share_their_position(
    width: int, dtype: str, pairing: Pairing
) -> None:
    x = rows((9, 14, width), dtype)
    alone = np.stack([rw.rotate(head, pairing=pairing) for head in x])
    for heads in (2, 4, 5, 9):
        some = x[:heads].copy()
        assert_same_bits(rw.rotate(some, pairing=pairing), alone[:heads])
        assert_same_bits(rw.rotate(some, pairing=pairing, out=some), alone[:heads])
        inside, positions = x[:heads].swapaxes(0, 1).copy(), np.arange(14)[:, None]
        expected = alone[:heads].swapaxes(0, 1)
        assert_same_bits(rw.rotate(inside, positions, pairing=pairing), expected)
        assert_same_bits(rw.rotate(inside, positions, pairing=pairing, out=inside), expected)


@dtypes
def test_nothing_is_written_beside_out(dtype: str) -> None:
    x = rows((LENGTH, DIM), dtype)
    for part in (np.s_[1:-1, 2:-2], np.s_[1:-1, 2 : 2 + 2 * DIM : 2]):
        whole = np.zeros((LENGTH + 2, 3 * DIM), x.dtype)
        out = whole[part][:, :DIM]
        rw.rotate(x, range(1, LENGTH + 1), out=out)
        written = np.count_nonzero(out)
        assert written > 0
        assert np.count_nonzero(whole) == written


@pytest.mark.parametrize("dtype", ["f2", "f4", "f8"])
def test_other_byte_orders_become_the_native_one(dtype: str) -> None:
    x = rows((9, 6)).astype(dtype)
    swapped = x.astype(x.dtype.newbyteorder())
    assert_same_bits(rw.rotate(swapped), rw.rotate(x))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_one_row_may_have_any_stride(dtype: str) -> None:
    x = rows((1, 1, 8), dtype)
    record = in_a_record(x)
    assert_same_bits(rw.rotate(record[:, 0], 3), rw.rotate(x[:, 0], 3))
    out = in_a_record(np.zeros_like(x))[:, 0]
    rw.rotate(x[:, 0], 3, out=out)
    assert_same_bits(out, rw.rotate(x[:, 0], 3))


def test_rows_may_be_one_row_again_and_again() -> None:
    row = rows(22)
    x = np.broadcast_to(row, (3, 100, 22))
    assert_same_bits(rw.rotate(x), rw.rotate(x.copy()))
    constant = np.broadcast_to(1.5, (100, 22))
    assert_same_bits(rw.rotate(constant), rw.rotate(constant.copy()))


def test_out_may_lie_beside_the_positions_and_x() -> None:
    memory = np.zeros((30, 20))
    memory[:, 0] = np.arange(30)
    memory[:, 1:9] = rows((30, 8))
    expected = rw.rotate(memory[:, 1:9].copy(), range(30))
    rw.rotate(memory[:, 1:9], memory[:, 0], out=memory[:, 9:17])
    assert_same_bits(memory[:, 9:17], expected)


@pytest.mark.parametrize("positions", [np.arange(6), np.arange(6.0)[::-1]], ids=["int", "strided"])
def test_arguments_are_left_as_they_are(positions: NDArray[Any]) -> None:
    x, cosines, sines = rows((6, 8), "float16"), rows((6, 4)), rows((6, 4))
    arguments = [positions, x, cosines, sines]
    before = [argument.copy() for argument in arguments]
    for argument in arguments:
        argument.flags.writeable = False
    rw.rotate(x, positions, inverse=True)
    rw.rerotate(x, positions)
    rw.rotate_by(x, cosines, sines)
    rw.rotary_tables(positions, 8, angles="float32")
    rw.quarter_turn(x)
    rw.convert_pairing(x, source="half", target="interleaved")
    for argument, copied in zip(arguments, before, strict=True):
        np.testing.assert_array_equal(argument, copied)


def turned_in_place(x: NDArray[Any], *where: Any, **options: Any) -> NDArray[Any]:
    """Return what rotation through the cache gives: in place nothing passes it by."""
    turned = x.copy()
    return rw.rotate(turned, *where, **options, out=turned)


@pytest.fixture
def streaming(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let stores into `out` or new memory pass the cache by, whatever the size."""
    monkeypatch.setattr(_results, "STREAMED_BYTES", 0)
    monkeypatch.setattr(_core, "rotate_plainly", lambda *_: None)  # what takes small calls


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("elements", [0, 1, 2, 4, 7], ids="{} off a line".format)
@dtypes
@pairings
def test_stores_that_pass_the_cache_by_write_the_same_bits(
    pairing: Pairing, dtype: str, elements: int
) -> None:
    widths = [(dim, dim) for dim in (2, 12, 16, 20, 22, 24, 40, 64, 72, 96, 128)]
    for dim, rotary_dim in (*widths, (6, 4), (64, 32), (129, 128), (9000, 8)):
        # 96 rows are whole lines, so that copies begin alike; 4 of 5 copies are turned together.
        x = rows((5, 96, dim) if dim < 200 else (2, 3, dim), dtype)
        options: dict[str, Any] = {"pairing": pairing, "rotary_dim": rotary_dim}
        for positions in (None, 7, 5 + 4 * np.arange(len(x))[:, None]):
            expected = turned_in_place(x, positions, **options)
            memory = np.full(x.nbytes + 256, 7, np.uint8)
            skipped = -memory.ctypes.data % 64 + elements * x.itemsize
            out = memory[skipped : skipped + x.nbytes].view(x.dtype).reshape(x.shape)
            rw.rotate(x, positions, out=out, **options)
            assert_same_bits(out, expected)
            beside = np.concatenate([memory[:skipped], memory[skipped + x.nbytes :]])
            assert (beside == 7).all()


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("rotary_dim", [DIM, 12])
@pairings
@layouts
@dtypes
def test_stores_that_pass_the_cache_by_take_any_strides(
    dtype: str, layout: str, pairing: Pairing, rotary_dim: int
) -> None:
    x = rows((3, LENGTH, DIM), dtype)
    options: dict[str, Any] = {"pairing": pairing, "rotary_dim": rotary_dim}
    expected = turned_in_place(x, **options)
    for lie in (LAYOUTS[layout], np.array):
        lying, out = LAYOUTS[layout](x), lie(np.zeros_like(x))
        rw.rotate(lying, **options, out=out)
        assert_same_bits(out, expected)
    rw.rotate(lying, **options, out=lying)
    assert_same_bits(lying, expected)


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("moving", [0, 1, 16, 19])
@dtypes
@pairings
def test_stores_that_pass_the_cache_by_copy_pairs_that_stand_still(
    pairing: Pairing, dtype: str, moving: int
) -> None:
    radians = np.zeros(40)
    radians[:moving] = 0.3
    x = rows((3, LENGTH, 80), dtype)
    for data in (x, x[:1, :1], x[0, :1]):
        options: dict[str, Any] = {
            "pairing": pairing,
            "frequencies": rw.frequencies.from_radians(radians),
        }
        out = np.full_like(data, 7)
        rw.rotate(data, **options, out=out)
        assert_same_bits(out, turned_in_place(data, **options))


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("gap", [1, 2, 8])
@dtypes
@pairings
def test_stores_that_pass_the_cache_by_take_heads_any_distance_apart(
    pairing: Pairing, dtype: str, gap: int
) -> None:
    x = rows((3, 50, 32), dtype)
    whole = np.zeros((3, 50 * 32 + gap), x.dtype)
    out = whole[:, :-gap].reshape(3, 50, 32)
    rw.rotate(x, pairing=pairing, out=out)
    assert_same_bits(out, turned_in_place(x, pairing=pairing))
    assert not whole[:, -gap:].any()


@pytest.mark.usefixtures("streaming")
@pytest.mark.parametrize("elements", [0, 1, 2, 4], ids="{} off a line".format)
@dtypes
@pairings
def test_heads_inside_of_positions_are_turned_to_stand_outside(
    pairing: Pairing, dtype: str, elements: int
) -> None:
    for dim, rotary_dim in ((128, 128), (128, 40), (80, 80), (72, 72), (32, 32), (6, 6)):
        heads = 17 if dim == 128 else 80  # so many that their rows lie pages apart
        projected = rows((2, 50, heads, dim), dtype)
        between = projected[:, :, 2:-1]  # as queries between others in a joint projection
        for data in (projected, between[:, ::-1], between[:, :, ::-1]):
            x = data.swapaxes(1, 2)  # (2, heads, 50, dim)
            memory = np.full(x.nbytes + 128, 7, np.uint8)
            skipped = -memory.ctypes.data % 64 + elements * x.itemsize
            out = memory[skipped : skipped + x.nbytes].view(x.dtype).reshape(x.shape)
            options: dict[str, Any] = {"pairing": pairing, "rotary_dim": rotary_dim}
            for positions in (None, np.arange(100).reshape(2, 1, 50)):
                turn = partial(rw.rotate, x, positions, **options, out=out)
                expected = turned_in_place(np.ascontiguousarray(x), positions, **options)
                for threads in (1, 3):
                    out[...] = 0
                    by_threads(threads, turn)
                    assert_same_bits(out, expected)
            beside = np.concatenate([memory[:skipped], memory[skipped + x.nbytes :]])
            assert (beside == 7).all()


@pairings
@dtypes
def test_heads_inside_of_positions_go_where_out_has_gaps_between_positions(
    dtype: str, pairing: Pairing
) -> None:
    x, positions = rows((40, 3, 16), dtype), np.arange(40)[:, None]
    whole = np.zeros((40, 5, 16), x.dtype)
    out = whole[:, :3]
    assert rw.rotate(x, positions, pairing=pairing, out=out) is out
    assert_same_bits(out, rw.rotate(x, positions, pairing=pairing))
    assert not whole[:, 3:].any()


@dtypes
def test_an_out_larger_than_the_cache_has_the_same_bits(dtype: str) -> None:
    x = rows((1000, 1, 128), dtype)
    x = x.repeat(-(-_results.STREAMED_BYTES // x.nbytes), axis=1)
    positions = np.arange(1000)[:, None]
    out = np.zeros_like(x)
    rw.rotate(x, positions, out=out)
    assert out.nbytes >= _results.STREAMED_BYTES
    expected = turned_in_place(x, positions).view(np.uint8)
    assert np.array_equal(out.view(np.uint8), expected)
    assert np.array_equal(rw.rotate(x, positions).view(np.uint8), expected)
    tables = rw.rotary_tables(positions, 128, dtype="float64" if dtype == "float64" else "float32")
    assert np.array_equal(rw.rotate_by(x, *tables, out=out).view(np.uint8), expected)


# The same bits wherever they are computed


@pairings
@dtypes
@pytest.mark.parametrize("shape", [(3, 3000, 34), (3000, 3, 34), (2, 50, 129, 22)], ids=str)
def test_bits_do_not_depend_on_the_number_of_threads(
    shape: tuple[int, ...], dtype: str, pairing: Pairing
) -> None:
    x = rows(shape, dtype)
    assert x.nbytes >= 2**19  # smaller data is turned by one thread
    positions: Any = np.arange(3000)[:, None] if shape[0] == 3000 else range(7, 7 + shape[-2])
    found = set()
    for threads in (1, 2, 3):
        for data, out in [(x, None), (inside := x.copy(), inside)]:
            turn = partial(rw.rotate, data, positions, pairing=pairing, out=out)
            found.add(by_threads(threads, turn).tobytes())
    assert len(found) == 1


@pairings
def test_threads_that_share_out_heads_inside_of_positions_turn_the_same_bits(
    pairing: Pairing,
) -> None:
    x, positions = rows((66, 200, 16), "float32"), np.arange(66)[:, None]
    turn = partial(rw.rotate, x, positions, pairing=pairing)
    assert len({by_threads(threads, turn).tobytes() for threads in (1, 2, 3, 4)}) == 1


@dtypes
@pytest.mark.parametrize("shape", [(700, 40), (9, 50, 600), (300, 9, 128)], ids=str)
def test_bits_at_any_positions_do_not_depend_on_the_number_of_threads(
    shape: tuple[int, ...], dtype: str
) -> None:
    x = rows(shape, dtype)  # few rows, whose tables take long
    positions = np.random.default_rng(1).integers(-(2**40), 2**40, shape[-2])
    turn = partial(rw.rotate, x, positions)
    assert len({by_threads(threads, turn).tobytes() for threads in (1, 2, 3)}) == 1


@pytest.mark.parametrize("function", [rw.rotation_matrix, rw.rotation_blocks, rw.phases])
def test_bits_of_matrices_and_phases_do_not_depend_on_the_number_of_threads(
    function: Callable[..., NDArray[Any]],
) -> None:
    fill = partial(function, range(-1500, 1500), 22)
    assert len({by_threads(threads, fill).tobytes() for threads in (1, 2, 3)}) == 1


@given(
    st.integers(0, 500),
    st.integers(1, 200),
    st.sampled_from(list(DTYPES)),
    st.sampled_from(PAIRINGS),
)
def test_a_part_is_turned_as_in_the_whole(
    begin: int, count: int, dtype: str, pairing: Pairing
) -> None:
    x = rows((3, 700, 34), dtype)
    positions = range(-100, 600)
    whole = rw.rotate(x, positions, pairing=pairing)
    part = slice(begin, begin + count)
    turned = rw.rotate(x[1, part], positions[part], pairing=pairing)
    assert_same_bits(turned, whole[1, part])
    assert_same_bits(rw.rotate(x[1:2, part], positions[part], pairing=pairing)[0], whole[1, part])
    row = rw.rotate(x[2, begin], positions[begin], pairing=pairing)
    assert_same_bits(row, whole[2, begin])


@settings(max_examples=100)
@given(draw_data, st.integers(-LARGEST, LARGEST - 100), st.booleans())
def test_bits_do_not_depend_on_the_instruction_set(
    on_each_isa: list[Call], data: dict[str, Any], start: int, floats: bool
) -> None:
    width = 2 * data["pairs"]
    x = rows((*data["batch"], data["length"], width + data["rest"]), data["dtype"], data["seed"])
    positions: Any = range(start, start + data["length"])
    if floats:
        positions = np.random.default_rng(data["seed"]).uniform(-1e6, 1e6, data["length"])
    options = {"pairing": data["pairing"], "rotary_dim": width, "inverse": data["inverse"]}
    found = {call("rotate", (x, positions), options).tobytes() for call in on_each_isa}
    assert len(found) == 1


@dtypes
@pairings
def test_numbers_of_every_size_have_the_same_bits_on_each_instruction_set(
    on_each_isa: list[Call], pairing: Pairing, dtype: str
) -> None:
    rng = np.random.default_rng(9)
    for shape in ((60, 38), (5, 30, 128)):
        exponents = rng.uniform(-1, 1, shape) * {"float64": 1070, "float16": 24}.get(dtype, 140)
        with np.errstate(over="ignore"):
            x = (rng.standard_normal(shape) * 2.0**exponents).astype(DTYPES[dtype])
        x = np.where(np.isfinite(x.astype(float)), x, np.ones((), x.dtype))
        x[rng.random(shape) < 0.1] = 0
        found = {call("rotate", (x,), {"pairing": pairing}).tobytes() for call in on_each_isa}
        assert len(found) == 1


@pairings
def test_every_bfloat16_has_the_same_bits_on_each_instruction_set(
    on_each_isa: list[Call], pairing: Pairing
) -> None:
    every = np.arange(2**16, dtype=np.uint16).view(DTYPES["bfloat16"])
    x = np.stack([every, np.random.default_rng(3).permutation(every)]).reshape(2, -1, 64)
    found = {call("rotate", (x, 3), {"pairing": pairing}).tobytes() for call in on_each_isa}
    assert len(found) == 1
    nan = np.isnan(rw.rotate(x, 3, pairing=pairing).astype(np.float32))
    assert 0.004 < nan.mean() < 0.02


def test_tables_by_hand_have_the_same_bits_on_each_instruction_set(on_each_isa: list[Call]) -> None:
    for dtype in DTYPES:
        x, tables = rows((90, 45), dtype), (rows((90, 22), seed=1), rows((90, 22), seed=2))
        found = {call("rotate_by", (x, *tables), {}).tobytes() for call in on_each_isa}
        assert len(found) == 1


@pytest.mark.parametrize("pairing", ["interleaved", "half"])
def test_pairs_whose_axes_cancel_have_the_same_bits_by_any_positions(pairing: Any) -> None:
    # The second pair stands still where both positions are the same.
    frequencies = rw.frequencies.from_radians([[1.0, 0.5], [0.3, -0.5]])
    x = np.random.default_rng(0).standard_normal((4, 6, 4))
    x[..., -1] = np.inf
    x[0, :, 2] = -0.0
    on_both = np.stack([np.arange(6)] * 2, axis=-1)
    expected = rw.rotate(x, on_both, frequencies=frequencies, pairing=pairing)
    assert_same_bits(rw.rotate(x, frequencies=frequencies, pairing=pairing), expected)
