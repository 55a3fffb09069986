"""Schedules refuse what they cannot be made of, naming the argument."""

from collections.abc import Callable
from typing import Any

import pytest
from tests.refusals import exactly

from ropewalk.frequencies import (
    Frequencies,
    axial,
    clipped,
    dynamic_ntk,
    from_radians,
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

NAN, INF = float("nan"), float("inf")
LISTS: dict[str, Any] = {"short_factors": [1.0, 2.0], "long_factors": [1.0, 2.0]}
REFUSALS: dict[str, tuple[Callable[[], object], str]] = {
    "ntk of one pair": (
        lambda: ntk(2, factor=2.0),
        "dim must be an even integer from 4 to 1048576, got 2",
    ),
    "dynamic_ntk of one pair": (
        lambda: dynamic_ntk(2, factor=2.0, trained_length=9, length=9),
        "dim must be an even integer from 4 to 1048576, got 2",
    ),
    "no length": (
        lambda: dynamic_ntk(4, factor=2.0, trained_length=9, length=0),
        "length must be an integer from 1 to 9007199254740992, got 0",
    ),
    "no trained length": (
        lambda: llama3(4, factor=2.0, trained_length=-1),
        "trained_length must be an integer from 1 to 9007199254740992, got -1",
    ),
    "length too long": (
        lambda: longrope(4, **LISTS, trained_length=9, length=2**53 + 1, factor=2.0),
        "length must be an integer from 1 to 9007199254740992, got 9007199254740993",
    ),
    "base 1 in yarn": (
        lambda: yarn(8, factor=2.0, trained_length=99, base=1.0),
        "base must be above 1 in yarn, got 1.0",
    ),
    "betas the wrong way round": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_fast=1.0, beta_slow=1.5),
        "beta_fast must not be below beta_slow, 1.5, got 1.0",
    ),
    "no beta_fast": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_fast=0.0),
        "beta_fast must be positive and finite, got 0.0",
    ),
    "infinite beta_slow": (
        lambda: yarn(8, factor=2.0, trained_length=99, beta_slow=INF),
        "beta_slow must be positive and finite, got inf",
    ),
    "ramp before the first pair": (
        lambda: yarn(8, factor=2.0, trained_length=3, truncate=False),
        "trained_length must leave a ramp within 8 channels, got 3",
    ),
    "ramp beyond the last pair": (
        lambda: yarn(8, factor=2.0, trained_length=10**9, base=1.5),
        "trained_length must leave a ramp within 8 channels, got 1000000000",
    ),
    "mscale alone": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=1.0),
        "mscale and mscale_all_dim must be given together, got 1.0 and None",
    ),
    "mscale_all_dim alone": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale_all_dim=1.0),
        "mscale and mscale_all_dim must be given together, got None and 1.0",
    ),
    "mscale alone beside an attention factor": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=1.0, attention_factor=1.0),
        "mscale and mscale_all_dim must be given together, got 1.0 and None",
    ),
    "mscale 0": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=0.0, mscale_all_dim=1.0),
        "mscale must be positive and finite, got 0.0",
    ),
    "mscale_all_dim NaN": (
        lambda: yarn(8, factor=2.0, trained_length=99, mscale=1.0, mscale_all_dim=NAN),
        "mscale_all_dim must be positive and finite, got nan",
    ),
    "attention factor NaN": (
        lambda: yarn(8, factor=2.0, trained_length=99, attention_factor=NAN),
        "attention_factor must be a number from 0.0625 to 16.0, got nan",
    ),
    "attention factor too large": (
        lambda: longrope(4, **LISTS, trained_length=9, attention_factor=17),
        "attention_factor must be a number from 0.0625 to 16.0, got 17",
    ),
    "attention factor too small": (
        lambda: Frequencies(standard(2)._words, 1, 0.0624, ""),
        "attention_factor must be a number from 0.0625 to 16.0, got 0.0624",
    ),
    "no attention factor": (
        lambda: longrope(4, **LISTS, trained_length=9),
        "one of max_length, factor and attention_factor must be given in longrope, got none",
    ),
    "max_length beside a factor": (
        lambda: longrope(4, **LISTS, trained_length=9, factor=2.0, max_length=0),
        "max_length must be an integer from 1 to 9007199254740992, got 0",
    ),
    "factor beside an attention factor": (
        lambda: longrope(4, **LISTS, trained_length=9, factor=0.0, attention_factor=1.0),
        "factor must be positive and finite, got 0.0",
    ),
    "logarithm of 1": (
        lambda: longrope(4, **LISTS, trained_length=1, factor=2.0),
        "trained_length must be at least 2 where the attention factor follows from it, got 1",
    ),
    "short list": (
        lambda: longrope(
            4, short_factors=[1.0], long_factors=[1.0, 2.0], trained_length=9, factor=2.0
        ),
        "short_factors must have shape (2,), one factor a pair, got (1,)",
    ),
    "lists of lists": (
        lambda: longrope(
            4, short_factors=[1.0, 2.0], long_factors=[[1.0, 2.0]], trained_length=9, factor=2.0
        ),
        "long_factors must have shape (2,), one factor a pair, got (1, 2)",
    ),
    "negative factor in a list": (
        lambda: longrope(
            4, short_factors=[1.0, -2.0], long_factors=[1.0, 2.0], trained_length=9, factor=2.0
        ),
        "short_factors must be positive, got -2.0",
    ),
    "NaN in a list": (
        lambda: longrope(
            4, short_factors=[1.0, 2.0], long_factors=[NAN, 2.0], trained_length=9, factor=2.0
        ),
        "long_factors must be finite, got nan",
    ),
    "factors the wrong way round": (
        lambda: llama3(4, factor=2.0, trained_length=9, low_frequency_factor=5),
        "low_frequency_factor must be at most high_frequency_factor, 4.0, got 5.0",
    ),
    "no high_frequency_factor": (
        lambda: llama3(4, factor=2.0, trained_length=9, high_frequency_factor=0),
        "high_frequency_factor must be positive and finite, got 0.0",
    ),
    "fraction above 1": (
        lambda: partial(8, fraction=1.5),
        "fraction must be a number from 0.0 to 1.0, got 1.5",
    ),
    "fraction NaN": (
        lambda: proportional(8, fraction=NAN),
        "fraction must be a number from 0.0 to 1.0, got nan",
    ),
    "fraction below 0": (
        lambda: proportional(8, fraction=-0.25),
        "fraction must be a number from 0.0 to 1.0, got -0.25",
    ),
    "no prefix": (
        lambda: partial(8, fraction=0.0),
        "fraction must leave an even width of at least 2, got 0.0 of 8, which is 0",
    ),
    "odd prefix": (
        lambda: partial(10, fraction=0.5),
        "fraction must leave an even width of at least 2, got 0.5 of 10, which is 5",
    ),
    "no pairs clipped": (
        lambda: clipped(8, pairs=0),
        "pairs must be an integer from 1 to 4, got 0",
    ),
    "all pairs clipped and more": (
        lambda: clipped(8),
        "pairs must be an integer from 1 to 4, got 20",
    ),
    "one axis": (
        lambda: axial(8, axes=1),
        "axes must be an integer from 2 to 64, got 1",
    ),
    "more axes than dimensions": (
        lambda: axial(130, axes=65),
        "axes must be an integer from 2 to 64, got 65",
    ),
    "pairs that cannot be split": (
        lambda: axial(8, axes=3),
        "dim must be a multiple of 6 for 3 axes, got 8",
    ),
    "axes and sections": (
        lambda: axial(8, axes=3, sections=(2, 2)),
        "axes must be 2, the number of sections, got 3",
    ),
    "dealt sections": (
        lambda: axial(8, sections=(2, 2), layout="dealt"),
        "sections must not be given with the layout 'dealt', got (2, 2)",
    ),
    "unknown layout": (
        lambda: axial(8, layout="xy"),  # type: ignore[arg-type]
        "layout must be one of 'restarted', 'dealt', 'alternating', got 'xy'",
    ),
    "sections of axial": (
        lambda: axial(8, sections=(2, 3)),
        "sections must sum to 4, the number of pairs, got (2, 3)",
    ),
    "sections of mrope": (
        lambda: mrope(128, sections=[24, 20, 21]),
        "sections must sum to 64, the number of pairs, got [24, 20, 21]",
    ),
    "one section": (
        lambda: mrope(8, sections=(4,)),
        "sections must be 2 to 64, one an axis, got 1",
    ),
    "65 sections": (
        lambda: mrope(130, sections=[1] * 65),
        "sections must be 2 to 64, one an axis, got 65",
    ),
    "empty section": (
        lambda: mrope(8, sections=(4, 0)),
        "each of sections must be an integer from 1 to 4, got 0",
    ),
    "sections that cannot be dealt out": (
        lambda: mrope(64, sections=(8, 12, 12), interleaved=True),
        "sections must be such that 32 pairs can be dealt out in turn, got (8, 12, 12), of which "
        "the axes would get (11, 11, 10)",
    ),
    "mrope of several axes": (
        lambda: mrope(sections=(1, 1), frequencies=axial(4)),
        "frequencies must have one axis, got 2",
    ),
    "mrope of two schedules": (
        lambda: mrope(4, sections=(1, 1), base=2.0, frequencies=standard(4)),
        "base must not be given together with frequencies, got 2.0",
    ),
    "half a quarter": (
        lambda: mixed(6, directions=0.0),
        "dim must be a multiple of 4, got 6",
    ),
    "too many directions": (
        lambda: mixed(8, directions=[1, 2, 3]),
        "directions must be a number or have shape (2,), got (3,)",
    ),
    "no direction": (
        lambda: mixed(8, directions=INF),
        "directions must be finite, got inf",
    ),
    "direction too large": (
        lambda: mixed(8, directions=[1.0, -1e30]),
        "directions must be a number from -9007199254740992.0 to 9007199254740992.0, got -1e+30",
    ),
    "frequency too slow": (
        lambda: from_radians([[1.0, 1.0, 1.0], [1.0, 1.0, 1e-40]]),
        "a frequency of from_radians(6 values) must be 0 or from 2**-100 to 2**60 turns per "
        "position in size, got 1.592e-41 for pair 2 of axis 1",
    ),
    "attention factor of yarn": (
        lambda: yarn(8, factor=1e100, trained_length=64),
        "factor must give an attention factor from 0.0625 to 16.0, got 1e+100, which gives 24.0259",
    ),
    "attention factor of yarn, weighted": (
        lambda: yarn(8, factor=2.0, trained_length=64, mscale=1, mscale_all_dim=1e3),
        "factor, mscale, mscale_all_dim must give an attention factor from 0.0625 to 16.0, "
        "got 2.0, 1, 1000.0, which gives 0.0152076",
    ),
    "attention factor of longrope": (
        lambda: longrope(4, **LISTS, trained_length=2, factor=1e100),
        "factor must give an attention factor from 0.0625 to 16.0, got 1e+100, which gives 18.2536",
    ),
    "scale_base below 1": (
        lambda: xpos_scales(0, 8, scale_base=0.5),
        "scale_base must be a number from 1.0 to 9007199254740992.0, got 0.5",
    ),
    "centre too far": (
        lambda: xpos_scales(0, 8, centre=-1e16),
        "centre must be a number from -9007199254740992.0 to 9007199254740992.0, got -1e+16",
    ),
    "scales too large": (
        lambda: xpos_scales([[0, -9000]], 8, scale_base=12.0, centre=1),
        "positions must be near enough to centre for scales from 2**-1022 to 2**1022, "
        "got -9001.0 positions from it; a larger scale_base reaches further",
    ),
    "scales too small": (
        lambda: xpos_scales(2**53, 8),
        "positions must be near enough to centre for scales from 2**-1022 to 2**1022, "
        "got 9007199254740992.0 positions from it; a larger scale_base reaches further",
    ),
    "position NaN": (
        lambda: xpos_scales([0, NAN], 8),
        "positions must be finite and at most 2**53 in size, got nan",
    ),
}


@pytest.mark.parametrize("case", REFUSALS)
def test_values_out_of_range_are_refused(case: str) -> None:
    call, message = REFUSALS[case]
    with pytest.raises(ValueError, match=exactly(message)):
        call()


WRONG_KINDS: dict[str, tuple[Callable[[], object], str]] = {
    "length": (
        lambda: dynamic_ntk(4, factor=2.0, trained_length=9, length=9.0),  # type: ignore[arg-type]
        "length must be an integer, got 9.0",
    ),
    "trained_length": (
        lambda: yarn(4, factor=2.0, trained_length="9"),  # type: ignore[arg-type]
        "trained_length must be an integer, got '9'",
    ),
    "beta_fast": (
        lambda: yarn(4, factor=2.0, trained_length=9, beta_fast="9"),  # type: ignore[arg-type]
        "beta_fast must be a real number, got '9'",
    ),
    "attention_factor": (
        lambda: yarn(4, factor=2.0, trained_length=9, attention_factor=1j),  # type: ignore[arg-type]
        "attention_factor must be a real number, got 1j",
    ),
    "mscale": (
        lambda: yarn(4, factor=2.0, trained_length=9, mscale="1", mscale_all_dim=1),  # type: ignore[arg-type]
        "mscale must be a real number, got '1'",
    ),
    "mscale beside an attention factor": (
        lambda: yarn(
            4,
            factor=2.0,
            trained_length=9,
            mscale=1,
            mscale_all_dim="1",  # type: ignore[arg-type]
            attention_factor=1.0,
        ),
        "mscale_all_dim must be a real number, got '1'",
    ),
    "max_length beside a factor": (
        lambda: longrope(
            4,
            **LISTS,
            trained_length=9,
            factor=2.0,
            max_length="9",  # type: ignore[arg-type]
        ),
        "max_length must be an integer, got '9'",
    ),
    "short_factors": (
        lambda: longrope(4, short_factors="12", long_factors=[1, 2], trained_length=9, factor=2.0),
        "short_factors must be integers, float64, float32 or float16, got dtype <U2",
    ),
    "fraction": (
        lambda: partial(8, fraction=None),  # type: ignore[arg-type]
        "fraction must be a real number, got None",
    ),
    "pairs": (
        lambda: clipped(8, pairs=2.0),  # type: ignore[arg-type]
        "pairs must be an integer, got 2.0",
    ),
    "axes": (
        lambda: axial(8, axes=2.0),  # type: ignore[arg-type]
        "axes must be an integer, got 2.0",
    ),
    "sections": (
        lambda: mrope(8, sections=4),  # type: ignore[arg-type]
        "sections must be a sequence of integers, got 4",
    ),
    "sections that are frequencies": (
        lambda: mrope(8, sections=standard(8)),  # type: ignore[arg-type]
        f"sections must be a sequence of integers, got {standard(8)!r}",
    ),
    "a section": (
        lambda: mrope(8, sections=(2, 2.0)),  # type: ignore[arg-type]
        "each of sections must be an integer, got 2.0",
    ),
    "no dim": (
        lambda: mrope(sections=(2, 2)),
        "dim must be given where frequencies is not",
    ),
    "frequencies": (
        lambda: mrope(sections=(2, 2), frequencies=[1.0] * 4),  # type: ignore[arg-type]
        "frequencies must come from ropewalk.frequencies (from_radians takes an array), got list",
    ),
    "directions": (
        lambda: mixed(8, directions=[1j, 2]),
        "directions must be integers, float64, float32 or float16, got dtype complex128",
    ),
    "scale_base": (
        lambda: xpos_scales(0, 8, scale_base="512"),  # type: ignore[arg-type]
        "scale_base must be a real number, got '512'",
    ),
}


@pytest.mark.parametrize("case", WRONG_KINDS)
def test_values_of_a_wrong_kind_are_refused(case: str) -> None:
    call, message = WRONG_KINDS[case]
    with pytest.raises(TypeError, match=exactly(message)):
        call()


WITH_WIDTH: dict[str, Callable[..., Any]] = {
    "ntk": lambda dim, **base: ntk(dim, factor=2.0, **base),
    "dynamic_ntk": lambda dim, **base: dynamic_ntk(
        dim, factor=2.0, trained_length=9, length=9, **base
    ),
    "yarn": lambda dim, **base: yarn(dim, factor=2.0, trained_length=99, **base),
    "longrope": lambda dim, **base: longrope(dim, **LISTS, trained_length=9, factor=2.0, **base),
    "llama3": lambda dim, **base: llama3(dim, factor=2.0, trained_length=9, **base),
    "partial": lambda dim, **base: partial(dim, fraction=0.5, **base),
    "proportional": lambda dim, **base: proportional(dim, fraction=0.5, **base),
    "clipped": lambda dim, **base: clipped(dim, pairs=1, **base),
    "axial": axial,
    "mrope": lambda dim, **base: mrope(dim, sections=(1, 1), **base),
    "mixed": lambda dim, **base: mixed(dim, directions=0.0, **base),
    "xpos_scales": lambda dim: xpos_scales(0, dim),
}


@pytest.mark.parametrize("dim", [0, 7, -2, 2**20 + 2], ids=str)
@pytest.mark.parametrize("name", WITH_WIDTH)
def test_an_odd_width_is_refused(name: str, dim: int) -> None:
    smallest = 4 if name in {"ntk", "dynamic_ntk", "mixed"} else 2
    message = f"^dim must be an even integer from {smallest} to 1048576, got {dim}$"
    with pytest.raises(ValueError, match=message):
        WITH_WIDTH[name](dim)


@pytest.mark.parametrize("base", [0.0, -1.0, NAN, INF], ids=str)
@pytest.mark.parametrize("name", sorted(set(WITH_WIDTH) - {"xpos_scales"}))
def test_a_base_that_is_not_positive_is_refused(name: str, base: float) -> None:
    with pytest.raises(ValueError, match=f"^base must be positive and finite, got {base}$"):
        WITH_WIDTH[name](4, base=base)


@pytest.mark.parametrize("name", sorted(set(WITH_WIDTH) - {"xpos_scales"}))
def test_frequencies_out_of_range_name_what_they_come_from(name: str) -> None:
    message = rf"^a frequency of .*{name}\(.*base=1e\+300.* must be 0 or from 2\*\*-100 to 2\*\*60 "
    with pytest.raises(ValueError, match=message.replace("mrope", "standard")):  # whose it shares
        WITH_WIDTH[name](4 if name == "longrope" else 8, base=1e300)


FACTORS: dict[str, Callable[[float], Any]] = {
    "ntk": lambda factor: ntk(4, factor=factor),
    "dynamic_ntk": lambda factor: dynamic_ntk(4, factor=factor, trained_length=9, length=9),
    "yarn": lambda factor: yarn(4, factor=factor, trained_length=99),
    "longrope": lambda factor: longrope(4, **LISTS, trained_length=9, factor=factor),
    "llama3": lambda factor: llama3(4, factor=factor, trained_length=9),
    "proportional": lambda factor: proportional(4, fraction=0.5, factor=factor),
}


@pytest.mark.parametrize("factor", [0.0, -2.0, NAN, INF], ids=str)
@pytest.mark.parametrize("name", FACTORS)
def test_a_factor_that_is_not_positive_is_refused(name: str, factor: float) -> None:
    with pytest.raises(ValueError, match=f"^factor must be positive and finite, got {factor}$"):
        FACTORS[name](factor)
