"""Schedules, and the scales of xPos, are those of their papers and of published models.

How exact the angles are that they lead to is tested in test_exact.py.
"""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import reference

import ropewalk as rw
from ropewalk.frequencies import (
    Frequencies,
    axial,
    clipped,
    dynamic_ntk,
    from_radians,
    linear,
    llama3,
    longrope,
    mixed,
    mrope,
    ntk,
    partial,
    proportional,
    standard,
    xpos_scales,
    yarn,
)

GOLDEN = Path(__file__).parent / "golden"
DIMS = [2, 6, 100, 128, 512]
BASES = [10000.0, 500000.0, 1e7, 7.3, 1.0, 0.5]


def assert_is_the_nearest(f: Frequencies, expected: list[list[reference.Real]]) -> None:
    """Compare angles to the last bit kept: fixed point with 256 bits of a turn behind the point."""
    mp = reference.mp
    numbers = iter(f._numbers())
    assert (f.axes, len(f)) == (len(expected), len(expected[0]))
    for row in expected:
        for radians in row:
            exact = mp.ldexp(radians / (2 * mp.pi), 256)
            assert abs(next(numbers) - exact) < 0.5 + 1e-6


# Schedules


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("dim", DIMS)
def test_standard_frequencies_are_those_of_the_paper(dim: int, base: float) -> None:
    expected = reference.standard_frequencies(dim, base)
    radians = np.array(expected, float)
    np.testing.assert_allclose(standard(dim, base=base).radians, radians, rtol=1e-15, atol=0)
    assert_is_the_nearest(standard(dim, base=base), [expected])


def test_powers_of_ten_come_out_as_the_nearest_floats() -> None:
    np.testing.assert_array_equal(standard(8).radians, [1.0, 0.1, 0.01, 0.001])


def test_base_is_10000_unless_it_is_said() -> None:
    assert standard(6) == standard(6, base=10000.0)
    assert linear(6, factor=2.0) == linear(6, factor=2.0, base=10000.0)
    assert axial(8) == axial(8, base=10000.0)
    assert mrope(8, sections=(2, 2)) == mrope(8, sections=(2, 2), base=10000.0)
    assert mrope(8, sections=(2, 2)) == mrope(8, sections=np.array([2, 2]))


def test_other_bases_are_those_of_their_papers() -> None:
    assert llama3(8, factor=8.0, trained_length=64) == llama3(
        8, factor=8.0, trained_length=64, base=500000.0
    )
    assert mixed(8, directions=1.0) == mixed(8, directions=1.0, base=10.0)


@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1e6])
@pytest.mark.parametrize("base", [10000.0, 7.3])
def test_linear_frequencies_are_divided_by_the_factor(base: float, factor: float) -> None:
    expected = reference.linear_frequencies(100, factor, base)
    assert_is_the_nearest(linear(100, factor=factor, base=base), [expected])


@pytest.mark.parametrize("factor", [1.0, 8.0, 0.3, 1000.0])
@pytest.mark.parametrize(("dim", "base"), [(4, 10000.0), (100, 7.3), (128, 5e5)])
def test_ntk_frequencies_have_a_larger_base(dim: int, base: float, factor: float) -> None:
    f = ntk(dim, factor=factor, base=base)
    assert_is_the_nearest(f, [reference.ntk_frequencies(dim, factor, base)])
    slowed = standard(dim, base=base).radians / f.radians
    np.testing.assert_allclose(slowed[[0, -1]], [1.0, factor], rtol=1e-15)


@pytest.mark.parametrize("length", [1, 4095, 4096, 4097, 65536, 2**53])
@pytest.mark.parametrize("factor", [1.0, 6.0, 0.3])
def test_dynamic_ntk_frequencies_follow_the_length(factor: float, length: int) -> None:
    f = dynamic_ntk(100, factor=factor, trained_length=4096, length=length, base=7.3)
    expected = reference.dynamic_ntk_frequencies(100, factor, 4096, length, 7.3)
    assert_is_the_nearest(f, [expected])


YARNS: list[tuple[int, dict[str, Any]]] = [
    (128, {"factor": 4.0, "trained_length": 32768, "base": 1e6}),
    (64, {"factor": 32.0, "trained_length": 4096, "truncate": False, "base": 150000.0}),
    (64, {"factor": 40.0, "trained_length": 4096}),
    (2, {"factor": 3.0, "trained_length": 500}),
    (8, {"factor": 3.0, "trained_length": 7}),
    (100, {"factor": 0.3, "trained_length": 999, "base": 7.3}),
    (100, {"factor": 5.0, "trained_length": 999, "beta_fast": 9.5, "beta_slow": 0.3}),
    (100, {"factor": 5.0, "trained_length": 999, "beta_fast": 2.0, "beta_slow": 2.0}),
    (
        100,
        {
            "factor": 5.0,
            "trained_length": 999,
            "beta_fast": 2.0,
            "beta_slow": 2.0,
            "truncate": False,
        },
    ),
]


@pytest.mark.parametrize(("dim", "options"), YARNS)
def test_yarn_frequencies_are_blended_along_a_ramp(dim: int, options: dict[str, Any]) -> None:
    f = yarn(dim, **options)
    assert_is_the_nearest(f, [reference.yarn_frequencies(dim, **options)])
    assert f.attention_factor == float(reference.yarn_attention_factor(options["factor"]))


@pytest.mark.parametrize("weights", [(1.0, 1.0), (0.707, 1.0), (2.0, 0.1)], ids=str)
@pytest.mark.parametrize("factor", [0.5, 1.0, 4.0, 40.0])
def test_mscale_is_the_quotient_of_two_factors(factor: float, weights: tuple[float, float]) -> None:
    above, below = weights
    f = yarn(8, factor=factor, trained_length=99, mscale=above, mscale_all_dim=below)
    assert f.attention_factor == float(reference.yarn_attention_factor(factor, above, below))


def test_an_attention_factor_that_is_given_counts() -> None:
    f = yarn(8, factor=4.0, trained_length=99, mscale=2.0, mscale_all_dim=1.0, attention_factor=1.5)
    assert f.attention_factor == 1.5
    lists: dict[str, Any] = {"short_factors": SHORT, "long_factors": LONG, "trained_length": 4096}
    g = longrope(8, **lists, attention_factor=1.25, factor=32.0, max_length=4096)
    assert g.attention_factor == 1.25
    assert longrope(8, **lists, factor=1.0, max_length=131072).attention_factor == 1.0


SHORT, LONG = [1.0, 1.5, 0.1, 2.0], [3.0, 20.7, 64.0, 1e3]


@pytest.mark.parametrize(
    ("length", "factors"), [(None, SHORT), (1, SHORT), (4096, SHORT), (4097, LONG), (2**53, LONG)]
)
def test_longrope_frequencies_change_beyond_the_trained_length(
    length: int | None, factors: list[float]
) -> None:
    f = longrope(
        8,
        short_factors=np.array(SHORT),
        long_factors=LONG,
        trained_length=4096,
        length=length,
        factor=2.0,
        base=7.3,
    )
    assert_is_the_nearest(f, [reference.longrope_frequencies(8, factors, 7.3)])


@pytest.mark.parametrize(
    ("options", "factor"),
    [
        ({"factor": 32.0}, 32),
        ({"max_length": 131072}, 32),
        ({"max_length": 5000}, reference.mp.mpf(5000) / 4096),
        ({"factor": 0.5}, 0.5),
        ({"factor": 0.9}, 0.9),
        ({"factor": 1.0}, 1),
        ({"max_length": 4096}, 1),
        ({"max_length": 100}, reference.mp.mpf(100) / 4096),
    ],
    ids=str,
)
def test_the_attention_factor_of_longrope(options: dict[str, Any], factor: Any) -> None:
    f = longrope(8, short_factors=SHORT, long_factors=LONG, trained_length=4096, **options)
    assert f.attention_factor == float(reference.longrope_attention_factor(4096, factor))


@pytest.mark.parametrize(
    ("dim", "options"),
    [
        (128, {"factor": 8.0, "trained_length": 8192}),
        (64, {"factor": 32.0, "trained_length": 8192}),
        (100, {"factor": 0.3, "trained_length": 100, "base": 7.3}),
        (
            100,
            {
                "factor": 5.0,
                "trained_length": 5000,
                "low_frequency_factor": 0.25,
                "high_frequency_factor": 77.7,
            },
        ),
    ],
)
def test_llama3_frequencies_are_blended_by_turns(dim: int, options: dict[str, Any]) -> None:
    expected = reference.llama3_frequencies(dim, **options)
    assert_is_the_nearest(llama3(dim, **options), [expected])


@pytest.mark.parametrize(
    ("dim", "fraction", "rotary_dim"),
    [(128, 1.0, 128), (96, 0.25, 24), (128, 0.5, 64), (20, 0.7, 14), (100, 0.29, 28), (8, 1, 8)],
)
def test_partial_frequencies_are_the_standard_ones_of_a_prefix(
    dim: int, fraction: float, rotary_dim: int
) -> None:
    expected = reference.standard_frequencies(rotary_dim, 7.3)
    assert_is_the_nearest(partial(dim, fraction=fraction, base=7.3), [expected])


@pytest.mark.parametrize(
    ("dim", "fraction", "live"),
    [(512, 0.25, 64), (128, 1, 64), (128, 0, 0), (10, 0.5, 2), (10, 0.59, 2), (10, 0.6, 3)],
)
@pytest.mark.parametrize("factor", [1.0, 8.0])
def test_proportional_frequencies_stand_still_at_the_end(
    dim: int, fraction: float, live: int, factor: float
) -> None:
    f = proportional(dim, fraction=fraction, factor=factor, base=7.3)
    assert_is_the_nearest(f, [reference.proportional_frequencies(dim, live, factor, 7.3)])


@pytest.mark.parametrize(("dim", "pairs"), [(128, 20), (128, 64), (8, 1), (8, 2), (2, 1)])
@pytest.mark.parametrize("hard", [False, True])
def test_clipped_frequencies_fade_out(dim: int, pairs: int, hard: bool) -> None:
    f = clipped(dim, pairs=pairs, hard=hard, base=7.3)
    assert_is_the_nearest(f, [reference.clipped_frequencies(dim, pairs, hard, 7.3)])


def test_twenty_pairs_are_clipped_softly_unless_it_is_said() -> None:
    assert clipped(128) == clipped(128, pairs=20, hard=False)


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_axial_frequencies_start_again_on_every_axis(axes: int) -> None:
    expected = reference.restarted_frequencies([8] * axes, 7.3)
    assert_is_the_nearest(axial(16 * axes, axes=axes, base=7.3), expected)


def test_axial_sections_need_not_be_equal() -> None:
    f = axial(128, sections=(8, 28, 28))
    assert_is_the_nearest(f, reference.restarted_frequencies([8, 28, 28]))
    assert f == axial(128, axes=3, sections=[8, 28, 28])
    assert axial(8, sections=(2, 2)) == axial(8)


@pytest.mark.parametrize("axes", [2, 3, 4])
def test_axial_frequencies_are_dealt_out(axes: int) -> None:
    dim = 16 * axes
    dealt = axial(dim, axes=axes, layout="dealt", base=7.3)
    assert_is_the_nearest(dealt, reference.dealt_frequencies(dim, axes, 7.3))
    alternating = axial(dim, axes=axes, layout="alternating", base=7.3)
    assert_is_the_nearest(alternating, reference.alternating_frequencies(dim, axes, 7.3))


@pytest.mark.parametrize("layout", ["restarted", "dealt", "alternating"])
def test_axial_frequencies_in_turns_are_two_pi_times_as_fast(layout: Any) -> None:
    two_pi = 2 * reference.mp.pi
    of_layout = {
        "restarted": reference.restarted_frequencies([16, 16], 100.0),
        "dealt": reference.dealt_frequencies(64, 2, 100.0),
        "alternating": reference.alternating_frequencies(64, 2, 100.0),
    }
    expected = [[two_pi * w for w in row] for row in of_layout[layout]]
    assert_is_the_nearest(axial(64, layout=layout, turns=True, base=100.0), expected)


SECTIONS = [((16, 24, 24), False), ((3, 1), False), ((24, 20, 20), True), ((11, 11, 10), True)]


@pytest.mark.parametrize(("sections", "interleaved"), [*SECTIONS, ((4, 2, 2, 2), True)], ids=str)
def test_mrope_frequencies_are_shared_out(sections: tuple[int, ...], interleaved: bool) -> None:
    dim = 2 * sum(sections)
    f = mrope(dim, sections=sections, interleaved=interleaved, base=7.3)
    owners = reference.mrope_owners(sections, interleaved)
    shared = reference.standard_frequencies(dim, 7.3)
    assert_is_the_nearest(f, reference.on_axes(shared, owners, len(sections)))


@pytest.mark.parametrize(("sections", "interleaved"), SECTIONS, ids=str)
def test_mrope_with_equal_positions_is_its_one_axis_schedule(
    sections: tuple[int, ...], interleaved: bool
) -> None:
    shared = yarn(2 * sum(sections), factor=4.0, trained_length=999)
    f = mrope(sections=list(sections), interleaved=interleaved, frequencies=shared)
    assert f.attention_factor == shared.attention_factor
    np.testing.assert_array_equal(f.radians.sum(axis=0), shared.radians)
    assert ((f.radians != 0).sum(axis=0) == 1).all()
    positions = np.repeat(np.array([[0], [1], [-70], [2**31]]), len(sections), axis=1)
    np.testing.assert_array_equal(
        rw.sinusoidal_encoding(positions, frequencies=f, dtype=np.float32),
        rw.sinusoidal_encoding(positions[:, 0], frequencies=shared, dtype=np.float32),
    )


@pytest.mark.parametrize(
    "directions",
    [[0.0, 1.0, -2.0, 100.5], [np.pi, np.pi / 2, -np.pi / 2, 3e15], [2.0**53, 1, 2, 3]],
    ids=str,
)
def test_mixed_frequencies_point_in_their_directions(directions: list[float]) -> None:
    f = mixed(16, directions=directions, base=7.3)
    assert_is_the_nearest(f, reference.mixed_frequencies(16, directions, 7.3))


def test_one_direction_holds_for_all_pairs() -> None:
    assert mixed(16, directions=1) == mixed(16, directions=[1.0] * 4)


# The same in other words

ONE_AXIS: dict[str, Frequencies] = {
    "linear": linear(64, factor=1.0),
    "ntk": ntk(64, factor=1.0),
    "dynamic_ntk, trained": dynamic_ntk(64, factor=9.0, trained_length=4096, length=4096),
    "dynamic_ntk, shorter": dynamic_ntk(64, factor=9.0, trained_length=4096, length=7),
    "yarn": yarn(64, factor=1.0, trained_length=4096),
    "longrope": longrope(
        64, short_factors=[1] * 32, long_factors=[9] * 32, trained_length=4096, factor=1.0
    ),
    "llama3": llama3(64, factor=1.0, trained_length=4096, base=10000.0),
    "partial": partial(64, fraction=1.0),
    "proportional": proportional(64, fraction=1.0),
    "clipped": clipped(64, pairs=1),
    "from_radians": from_radians([1.0]),
}


@pytest.mark.parametrize("name", ONE_AXIS)
def test_schedules_that_change_nothing_are_the_standard_one(name: str) -> None:
    f = ONE_AXIS[name]
    if name in {"yarn", "llama3"}:  # blends round once more
        np.testing.assert_array_equal(f.radians, standard(64).radians)
        assert f.attention_factor == 1.0
    else:
        assert f == standard(2 * len(f))


def test_dynamic_ntk_is_ntk_with_the_factor_of_its_length() -> None:
    f = dynamic_ntk(64, factor=6.0, trained_length=1024, length=2048)
    assert f == ntk(64, factor=7.0)


def test_hard_clipping_is_proportional() -> None:
    assert clipped(64, pairs=8, hard=True) == proportional(64, fraction=0.75)


def test_yarn_keeps_fast_pairs_and_divides_slow_ones() -> None:
    f = yarn(128, factor=4.0, trained_length=32768, base=1e6)
    slowed = standard(128, base=1e6).radians / f.radians
    assert (np.diff(slowed) > -1e-12).all()
    np.testing.assert_allclose(slowed[[0, -1]], [1.0, 4.0], rtol=1e-15)


def test_the_dinov3_angle_is_a_turn_for_each_unit() -> None:
    f = axial(64, turns=True, base=100.0)
    np.testing.assert_allclose(f.wavelengths[0, :16], 100.0 ** (np.arange(16) / 16), rtol=1e-15)


# Published models


def golden_schedules() -> dict[str, dict[str, Any]]:
    return {case["model"]: case for case in json.loads((GOLDEN / "schedules.json").read_text())}


@pytest.mark.parametrize("model", golden_schedules())
def test_published_models_have_their_frequencies(model: str) -> None:
    case = golden_schedules()[model]
    f = getattr(rw.frequencies, case["function"])(case["dim"], **case["options"])
    radians = np.array(case["radians"], float)
    np.testing.assert_allclose(np.atleast_2d(f.radians), radians, rtol=1e-15, atol=0)
    assert f.attention_factor == float(case["attention_factor"])


def test_the_stored_schedules_are_what_their_script_prints() -> None:
    command = [sys.executable, str(GOLDEN / "schedules.py")]
    printed = subprocess.run(command, capture_output=True, text=True, timeout=240, check=True)
    assert printed.stdout == (GOLDEN / "schedules.json").read_text()


# The attention factors that the configurations of these models lead to, as published to 6 decimals.
@pytest.mark.parametrize(
    ("model", "attention_factor"),
    [
        ("Qwen 2.5 with YaRN", 1.138629),
        ("gpt-oss", 1.346574),
        ("DeepSeek-V3", 1.0),
        ("Ministral 3", 1.0),
        ("Phi-3-mini-128k, beyond", 1.190238),
    ],
)
def test_published_attention_factors(model: str, attention_factor: float) -> None:
    assert round(float(golden_schedules()[model]["attention_factor"]), 6) == attention_factor


# xPos


def scales_apart(
    positions: Any, dim: int, scale_base: float = 512.0, centre: float = 0.0
) -> list[float]:
    """Return how far scales are from the exact ones (ulp)."""
    scales = xpos_scales(positions, dim, scale_base=scale_base, centre=centre)
    apart = []
    for position, row in zip(np.atleast_1d(positions), np.atleast_2d(scales), strict=True):
        for pair, scale in enumerate(row):
            exact = reference.xpos_scale(position.item(), pair, dim, scale_base, centre)
            apart.append(float(abs(reference.mp.mpf(float(scale)) - exact) / np.spacing(scale)))
    return apart


@pytest.mark.parametrize("dim", [2, 10, 64])
@pytest.mark.parametrize(
    ("scale_base", "centre"), [(512.0, 0.0), (512.0, 1000.5), (64.0, -0.1), (1.0, 7), (1e6, 0)]
)
def test_xpos_scales_are_those_of_the_paper(
    rng: np.random.Generator, dim: int, scale_base: float, centre: float
) -> None:
    reach = 550 * scale_base
    near = np.array([0, 1, -1, 2.5, 512, -4096])
    near = near[abs(near - centre) < reach]
    positions = np.concatenate([near, rng.uniform(-reach, reach, 20) + centre])
    assert max(scales_apart(positions, dim, scale_base, centre)) < 2.0


def test_xpos_scales_hold_for_the_largest_positions() -> None:
    positions = np.arange(2**53 - 200, 2**53)
    assert max(scales_apart(positions, 6, scale_base=1.0, centre=2.0**53 - 300.5)) < 2.0


def test_xpos_scales_are_1_at_the_centre() -> None:
    np.testing.assert_array_equal(xpos_scales([0, 700], 8, centre=700)[1], np.ones(4))
    np.testing.assert_array_equal(xpos_scales(-3.5, 8, centre=-3.5), np.ones(4))


@pytest.mark.parametrize(
    ("positions", "shape"),
    [(3, ()), (range(5), (5,)), ([], (0,)), (np.ones((2, 3), np.float32), (2, 3))],
    ids=["number", "range", "none", "float32"],
)
def test_xpos_scales_have_the_shape_of_their_positions(positions: Any, shape: Any) -> None:
    scales = xpos_scales(positions, 8)
    assert (scales.shape, scales.dtype) == ((*shape, 4), np.dtype(np.float64))
    assert scales.flags.c_contiguous
    assert scales.flags.writeable


def test_xpos_scales_decay_within_512_positions_unless_it_is_said() -> None:
    np.testing.assert_allclose(xpos_scales(512, 10), (np.arange(5) / 5 + 0.4) / 1.4, rtol=1e-15)


# 565 steps of zeta = 2 / 7 are 2^1021.2, one more is 2^1023.
@pytest.mark.parametrize("sign", [-1, 1])
def test_xpos_scales_and_their_reciprocals_are_floats(sign: int) -> None:
    scale = xpos_scales(565 * sign, 2, scale_base=1.0)[0]
    assert abs(np.log2(scale)) < 1022
    with pytest.raises(ValueError, match=f"got {566.0 * sign} positions from it"):
        xpos_scales(566 * sign, 2, scale_base=1.0)


def test_xpos_scores_depend_on_the_distance_alone() -> None:
    queries, keys = xpos_scales([900, 100], 64), xpos_scales([800, 0], 64)
    near, far = queries / keys
    np.testing.assert_allclose(near, far, rtol=1e-14)
    assert (np.diff(near) > 0).all()  # fast pairs fade faster
