"""Every formula of the library once, in plain loops, from the papers.

Nothing here calls the library. Numbers are mpmath's with 400 bits, so an angle of up to 2**100
radians still has 300 bits behind the point. Pairs are interleaved and the sine comes first.
Attention alone is in Python's floats.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from mpmath import MPContext
from numpy.typing import NDArray

Real = Any  # an mpf of `mp`; mpmath has no types

mp = MPContext()
mp.prec = 400


def standard_frequencies(dim: int, base: float = 10000.0) -> list[Real]:
    """w_i = base ** (-2 i / dim), radians per position, the float `base` taken as it is.

    Vaswani et al., Attention Is All You Need, 2017, section 3.5; Su et al., RoFormer: Enhanced
    Transformer with Rotary Position Embedding, 2021, equation 15.
    """
    return [mp.power(mp.mpf(base), mp.mpf(-2 * pair) / dim) for pair in range(dim // 2)]


def linear_frequencies(dim: int, factor: float, base: float = 10000.0) -> list[Real]:
    """w_i / factor: positions m / s instead of m.

    Chen et al., Extending Context Window of Large Language Models via Positional Interpolation,
    2023, equation 4.
    """
    return [frequency / mp.mpf(factor) for frequency in standard_frequencies(dim, base)]


def ntk_frequencies(dim: int, factor: Real, base: float = 10000.0) -> list[Real]:
    """The standard frequencies of the base b' = b * factor ** (d / (d - 2)).

    Peng et al., YaRN: Efficient Context Window Extension of Large Language Models, 2023, section
    3.1.
    """
    larger = mp.mpf(base) * mp.power(mp.mpf(factor), mp.mpf(dim) / (dim - 2))
    return [mp.power(larger, mp.mpf(-2 * pair) / dim) for pair in range(dim // 2)]


def dynamic_ntk_frequencies(
    dim: int, factor: float, trained_length: int, length: int, base: float = 10000.0
) -> list[Real]:
    """NTK with the factor s L / M - (s - 1) beyond the trained length M.

    emozilla, Dynamically Scaled RoPE, 2023; Peng et al., YaRN, 2023, section 3.3 (s = 1).
    """
    if length <= trained_length:
        return standard_frequencies(dim, base)
    stretch = mp.mpf(factor) * length / trained_length - (mp.mpf(factor) - 1)
    return ntk_frequencies(dim, stretch, base)


def yarn_frequencies(
    dim: int,
    factor: float,
    trained_length: int,
    beta_fast: float = 32.0,
    beta_slow: float = 1.0,
    truncate: bool = True,
    base: float = 10000.0,
) -> list[Real]:
    """w_i / s where pair i is slow, w_i where it is fast, a ramp over i between them.

    A pair c turns beta times in L positions where L b ** (-2 c / d) = 2 pi beta. Peng et al., YaRN,
    2023, section 3.2, with the ramp of the code published with it.
    """
    ends = []
    for beta in (beta_fast, beta_slow):
        base_to_the_pair = mp.mpf(trained_length) / (2 * mp.pi * mp.mpf(beta))
        ends.append(mp.mpf(dim) / 2 * mp.log(base_to_the_pair) / mp.log(mp.mpf(base)))
    low, high = ends
    if truncate:
        low, high = mp.floor(low), mp.ceil(high)
    low, high = max(low, mp.mpf(0)), min(high, mp.mpf(dim - 1))
    if low == high:
        high += mp.mpf(1) / 1000
    frequencies = []
    for pair, kept in enumerate(standard_frequencies(dim, base)):
        slowed = kept / mp.mpf(factor)
        if pair <= low:
            frequencies.append(kept)
        elif pair >= high:
            frequencies.append(slowed)
        else:
            frequencies.append(kept + (slowed - kept) * (pair - low) / (high - low))
    return frequencies


def yarn_attention_factor(
    factor: float, mscale: float | None = None, mscale_all_dim: float | None = None
) -> Real:
    """g(1), or g(m) / g(a), with g(m) = 0.1 m ln s + 1, and 1 for s <= 1.

    Peng et al., YaRN, 2023, section 3.4: sqrt(1 / t) = 0.1 ln s + 1. The quotient is that of
    DeepSeek-V2, 2024, code published with the model.
    """

    def g(weight: float) -> Real:
        return 1 if factor <= 1 else mp.mpf(weight) * mp.log(mp.mpf(factor)) / 10 + 1

    if mscale is None or mscale_all_dim is None:
        return g(1.0)
    return g(mscale) / g(mscale_all_dim)


def longrope_frequencies(dim: int, factors: Sequence[float], base: float = 10000.0) -> list[Real]:
    """w_i / lambda_i. Ding et al., LongRoPE, 2024, section 3."""
    standard = standard_frequencies(dim, base)
    return [standard[pair] / mp.mpf(factors[pair]) for pair in range(dim // 2)]


def longrope_attention_factor(trained_length: int, factor: Real) -> Real:
    """sqrt(1 + ln s / ln L), and 1 for s <= 1.

    Abdin et al., Phi-3 Technical Report, 2024, code published with the models.
    """
    if factor <= 1:
        return mp.mpf(1)
    return mp.sqrt(1 + mp.log(mp.mpf(factor)) / mp.log(trained_length))


def llama3_frequencies(
    dim: int,
    factor: float,
    trained_length: int,
    low_frequency_factor: float = 1.0,
    high_frequency_factor: float = 4.0,
    base: float = 500000.0,
) -> list[Real]:
    """Kept below one wavelength, divided beyond another, blended between them.

    Peng et al., YaRN, 2023, section 3.2, with r = L / wavelength; the constants are those of the
    code published with Llama 3.1, 2024.
    """
    low, high = mp.mpf(low_frequency_factor), mp.mpf(high_frequency_factor)
    frequencies = []
    for kept in standard_frequencies(dim, base):
        length = wavelength(kept)
        slowed = kept / mp.mpf(factor)
        if length < trained_length / high:
            frequencies.append(kept)
        elif length > trained_length / low:
            frequencies.append(slowed)
        else:
            smooth = (trained_length / length - low) / (high - low)
            frequencies.append((1 - smooth) * slowed + smooth * kept)
    return frequencies


def proportional_frequencies(
    dim: int, live: int, factor: float = 1.0, base: float = 10000.0
) -> list[Real]:
    """w_i / s for the first pairs, 0 for the others. Barbero et al., Round and Round We Go!, 2024.

    The paper has no s; it comes with the code of Gemma 4.
    """
    slowed = linear_frequencies(dim, factor, base)
    return [slowed[pair] if pair < live else mp.mpf(0) for pair in range(dim // 2)]


def clipped_frequencies(
    dim: int, pairs: int, hard: bool = False, base: float = 10000.0
) -> list[Real]:
    """The last w_i times (1 + cos t) / 2, t evenly spaced over [0, pi], or times 0.

    Li et al., CoPE: Clipped RoPE as A Scalable Free Lunch for Long Context LLMs, 2026.
    """
    frequencies = standard_frequencies(dim, base)
    first = dim // 2 - pairs
    for k in range(pairs):
        step = mp.mpf(k) / (pairs - 1) if pairs > 1 else mp.mpf(0)
        frequencies[first + k] *= 0 if hard or step == 1 else (1 + mp.cospi(step)) / 2
    return frequencies


def on_axes(frequencies: Sequence[Real], owners: Sequence[int], axes: int) -> list[list[Real]]:
    """A row for every axis, with w_i in the row of the axis that turns pair i and 0 elsewhere."""
    table = [[mp.mpf(0)] * len(frequencies) for _ in range(axes)]
    for pair, owner in enumerate(owners):
        table[owner][pair] = frequencies[pair]
    return table


def restarted_frequencies(sections: Sequence[int], base: float = 10000.0) -> list[list[Real]]:
    """Axis a has the standard frequencies of the width 2 n_a, one axis after the other.

    Heo et al., Rotary Position Embedding for Vision Transformer, 2024, section 3.
    """
    frequencies, owners = [], []
    for axis, size in enumerate(sections):
        frequencies += standard_frequencies(2 * size, base)
        owners += [axis] * size
    return on_axes(frequencies, owners, len(sections))


def alternating_frequencies(dim: int, axes: int, base: float = 10000.0) -> list[list[Real]]:
    """Pair i of the standard frequencies turns with axis i mod axes.

    Su, Transformer upgrade: multimodal position encoding, 2024 (spaces.ac.cn, archive 10352), as
    the code of HunyuanImage 3 has it.
    """
    owners = [pair % axes for pair in range(dim // 2)]
    return on_axes(standard_frequencies(dim, base), owners, axes)


def dealt_frequencies(dim: int, axes: int, base: float = 10000.0) -> list[list[Real]]:
    """The same, the pairs of every axis put together: w_0, w_2, .. for rows, then w_1, w_3, ..

    Agrawal et al., Pixtral 12B, 2024, code published with the model.
    """
    standard = standard_frequencies(dim, base)
    frequencies, owners = [], []
    for axis in range(axes):
        for pair in range(axis, dim // 2, axes):
            frequencies.append(standard[pair])
            owners.append(axis)
    return on_axes(frequencies, owners, axes)


def mrope_owners(sections: Sequence[int], interleaved: bool = False) -> list[int]:
    """Axis of every pair: section after section, or (t h w)(t h w) .. t t where they run out.

    Wang et al., Qwen2-VL, 2024, section 2.1; Qwen3-VL Technical Report, 2025 (interleaved).
    """
    if not interleaved:
        return [axis for axis, size in enumerate(sections) for _ in range(size)]
    left = list(sections)
    owners = []
    for pair in range(sum(sections)):
        axis = pair % len(sections)
        if left[axis] == 0:
            axis = 0
        owners.append(axis)
        left[axis] -= 1
    return owners


def mixed_frequencies(
    dim: int, directions: Sequence[float], base: float = 10.0
) -> list[list[Real]]:
    """Vectors of length b ** (-4 i / d) at an angle to the first axis, and at a right angle to it.

    Heo et al., Rotary Position Embedding for Vision Transformer, 2024, section 3, with the start of
    the code published with it.
    """
    quarter = dim // 4
    table = [[mp.mpf(0)] * (2 * quarter) for _ in range(2)]
    for i in range(quarter):
        length = mp.power(mp.mpf(base), mp.mpf(-4 * i) / dim)
        for pair, angle in ((i, mp.mpf(directions[i])), (i + quarter, directions[i] + mp.pi / 2)):
            cosine, sine = mp.cos_sin(angle)
            table[0][pair], table[1][pair] = length * cosine, length * sine
    return table


def xpos_scale(
    position: float, pair: int, dim: int, scale_base: float = 512.0, centre: float = 0.0
) -> Real:
    """zeta ** (p / s) with zeta = (i / (d / 2) + 0.4) / (1 + 0.4), p counted from the centre.

    Sun et al., A Length-Extrapolatable Transformer, 2022, section 2; s is that of the code
    published with it.
    """
    gamma = mp.mpf(4) / 10
    zeta = (mp.mpf(pair) / (mp.mpf(dim) / 2) + gamma) / (1 + gamma)
    return mp.power(zeta, (mp.mpf(position) - mp.mpf(centre)) / mp.mpf(scale_base))


def exact_frequencies(radians: Iterable[float]) -> list[Real]:
    """The floats as the exact numbers that they are."""
    return [mp.mpf(value) for value in radians]


def wavelength(frequency: Real) -> Real:
    """Positions per full turn, 2 pi / w. Vaswani et al., 2017, section 3.5."""
    return mp.inf if frequency == 0 else 2 * mp.pi / abs(frequency)


def sinusoidal_encoding(
    positions: Iterable[float], frequencies: Sequence[Real]
) -> list[list[Real]]:
    """PE(p, 2 i) = sin(p w_i), PE(p, 2 i + 1) = cos(p w_i).

    Vaswani et al., Attention Is All You Need, 2017, section 3.5.
    """
    table = []
    for position in positions:
        row = []
        for frequency in frequencies:
            cosine, sine = mp.cos_sin(mp.mpf(position) * frequency)
            row += [sine, cosine]
        table.append(row)
    return table


def shift_matrix(offset: float, frequencies: Sequence[Real]) -> list[list[Real]]:
    """A(k) with A(k) PE(p) = PE(p + k), one block [[cos, sin], [-sin, cos]] of k w_i a pair.

    Vaswani et al., 2017, section 3.5, say that it exists; the addition theorem gives
    sin(p w + k w) = cos(k w) sin(p w) + sin(k w) cos(p w) and
    cos(p w + k w) = -sin(k w) sin(p w) + cos(k w) cos(p w).
    """
    dim = 2 * len(frequencies)
    matrix = [[mp.mpf(0)] * dim for _ in range(dim)]
    for pair, frequency in enumerate(frequencies):
        cosine, sine = mp.cos_sin(mp.mpf(offset) * frequency)
        i = 2 * pair
        matrix[i][i], matrix[i][i + 1] = cosine, sine
        matrix[i + 1][i], matrix[i + 1][i + 1] = -sine, cosine
    return matrix


def in_half_pairing(values: Sequence[Any]) -> list[Any]:
    """The same row with pair i at i and i + dim / 2 instead of 2 i and 2 i + 1.

    Vaswani et al., Tensor2Tensor for Neural Machine Translation, 2018: get_timing_signal_1d.
    """
    return [*values[0::2], *values[1::2]]


def rotary_angles(position: float, frequencies: Sequence[Real]) -> list[Real]:
    """m theta_i for the position m. Su et al., RoFormer, 2021, equation 15."""
    return [mp.mpf(position) * frequency for frequency in frequencies]


def rotary_angles_on_axes(
    position: Sequence[float], frequencies: Sequence[Sequence[Real]]
) -> list[Real]:
    """The sum over the axes of position times frequency, for every pair.

    Heo et al., Rotary Position Embedding for Vision Transformer, 2024, section 3.
    """
    angles = [mp.mpf(0)] * len(frequencies[0])
    for coordinate, row in zip(position, frequencies, strict=True):
        for pair, frequency in enumerate(row):
            angles[pair] += mp.mpf(coordinate) * frequency
    return angles


def features_of_pairs(pairs: int, pairing: str) -> list[tuple[int, int]]:
    """Where the two features of every pair stand.

    Neighbours in Su et al., RoFormer, 2021, equation 34 ("interleaved"); the first and the second
    half in Black et al., GPT-NeoX-20B, 2022, section 2.1 ("half").
    """
    if pairing == "half":
        return [(pair, pair + pairs) for pair in range(pairs)]
    return [(2 * pair, 2 * pair + 1) for pair in range(pairs)]


def rotated(
    row: Sequence[float],
    angles: Sequence[Real],
    pairing: str = "interleaved",
    factor: Real = 1,
) -> list[Real]:
    """(x1 cos - x2 sin, x2 cos + x1 sin) for every pair, times an attention factor.

    Su et al., RoFormer, 2021, equation 34. Features behind the pairs stay as they are.
    """
    result = [mp.mpf(value) for value in row]
    for angle, (i, j) in zip(angles, features_of_pairs(len(angles), pairing), strict=True):
        cosine, sine = mp.cos_sin(angle)
        result[i] = mp.mpf(factor) * (mp.mpf(row[i]) * cosine - mp.mpf(row[j]) * sine)
        result[j] = mp.mpf(factor) * (mp.mpf(row[j]) * cosine + mp.mpf(row[i]) * sine)
    return result


def rotation_matrix(
    angles: Sequence[Real], pairing: str = "interleaved", factor: Real = 1
) -> list[list[Real]]:
    """One block [[cos, -sin], [sin, cos]] a pair. Su et al., RoFormer, 2021, equation 15."""
    dim = 2 * len(angles)
    matrix = [[mp.mpf(0)] * dim for _ in range(dim)]
    for angle, (i, j) in zip(angles, features_of_pairs(len(angles), pairing), strict=True):
        cosine, sine = mp.cos_sin(angle)
        matrix[i][i], matrix[i][j] = mp.mpf(factor) * cosine, -mp.mpf(factor) * sine
        matrix[j][i], matrix[j][j] = mp.mpf(factor) * sine, mp.mpf(factor) * cosine
    return matrix


def quarter_turn(row: Sequence[Any], pairing: str = "interleaved") -> list[Any]:
    """(-x2, x1, -x4, x3, ..). Su et al., RoFormer, 2021, equation 34, the second vector."""
    result = list(row)
    for i, j in features_of_pairs(len(row) // 2, pairing):
        result[i], result[j] = -row[j], row[i]
    return result


# Attention. Its numbers are Python's floats, and its sums are correctly rounded (math.fsum): where
# the library computes in float64, both are wrong by a few units, and the tests allow for both.


@dataclass(frozen=True, eq=False)
class Attention:
    """What attention computes on its way, each of it with an axis of queries (and one of keys)."""

    scores: Any
    capped: Any
    biased: Any
    weights: Any
    lse: Any
    output: Any


def log_sum_exp(logits: Sequence[float]) -> float:
    """Logarithm of the sum of e ** x_j, -inf where there is nothing to sum."""
    largest = max(logits, default=-math.inf)
    if largest == -math.inf:
        return largest
    return largest + math.log(math.fsum(math.exp(logit - largest) for logit in logits))


def softmax(logits: Sequence[float]) -> list[float]:
    """e ** x_i / sum of e ** x_j, and 0 where all are -inf, which stands for a mask.

    Bridle, Probabilistic Interpretation of Feedforward Classification Network Outputs, 1990.
    """
    largest = max(logits, default=-math.inf)
    if largest == -math.inf:
        return [0.0] * len(logits)
    powers = [math.exp(logit - largest) for logit in logits]
    total = math.fsum(powers)
    return [power / total for power in powers]


def sees(
    query: int,
    key: int,
    *,
    offset: int = 0,
    causal: bool = False,
    window: tuple[int | None, int | None] | None = None,
    key_length: int | None = None,
) -> bool:
    """Whether query i, which stands at the position i + offset, sees key j.

    Causal: j <= i + offset (Vaswani et al., 2017, section 3.2.3). Window: at most so many keys to
    the left and to the right (Beltagy et al., Longformer, 2020, section 3.1).
    """
    distance = key - (query + offset)
    left, right = window or (None, None)
    return not (
        (causal and distance > 0)
        or (left is not None and distance < -left)
        or (right is not None and distance > right)
        or (key_length is not None and key >= key_length)
    )


def attention(
    query: Sequence[Sequence[float]],
    key: Sequence[Sequence[float]],
    value: Sequence[Sequence[float]],
    *,
    scale: float,
    softcap: float | None = None,
    bias: Sequence[Sequence[float]] | None = None,
    slope: float = 0.0,
    offset: int = 0,
    visible: Sequence[Sequence[bool]] | None = None,
    sink: float = -math.inf,
) -> Attention:
    """One head: softmax(q . k scale) v (Vaswani et al., 2017, equation 1), with what came later.

    In this order: the soft cap c tanh(s / c) (Gemma Team, Gemma 2, 2024, section 2); a bias (Raffel
    et al., T5, 2020, section 2.1) and a slope times the distance (Press et al., Train Short, Test
    Long, 2022, section 3); keys that are not visible, and those whose bias is -inf; and a sink, a
    logit that joins the denominator alone (OpenAI, gpt-oss-120b and gpt-oss-20b, 2025).
    """
    scores, capped, biased, weights, lse, output = [], [], [], [], [], []
    for i, q in enumerate(query):
        row = [math.fsum(a * b for a, b in zip(q, k, strict=True)) * scale for k in key]
        scores.append(row)
        if softcap is not None:
            row = [softcap * math.tanh(score / softcap) for score in row]
        capped.append(row)
        logits = []
        for j, score in enumerate(row):
            added = 0.0 if bias is None else bias[i][j]
            seen = visible is None or visible[i][j]
            logits.append(score + added - slope * abs(i + offset - j) if seen else -math.inf)
        biased.append(logits)
        *row, _ = softmax([*logits, sink])
        weights.append(row)
        lse.append(log_sum_exp([*logits, sink]))
        seen_keys = [j for j, logit in enumerate(logits) if logit > -math.inf]
        columns = range(len(value[0]) if value else 0)
        output.append([math.fsum(row[j] * value[j][c] for j in seen_keys) for c in columns])
    return Attention(scores, capped, biased, weights, lse, output)


def merged(outputs: Sequence[Sequence[float]], lses: Sequence[float]) -> tuple[list[float], float]:
    """Return one query's output and log-sum-exp of all keys, from those of parts of them.

    Rabe and Staats, "Self-attention Does Not Need O(n^2) Memory", 2021, section 3.
    """
    weights = softmax(lses)
    seen = [i for i, lse in enumerate(lses) if lse > -math.inf]
    columns = range(len(outputs[0]))
    return [math.fsum(weights[i] * outputs[i][c] for i in seen) for c in columns], log_sum_exp(lses)


def attention_of_heads(
    query: NDArray[Any],
    key: NDArray[Any],
    value: NDArray[Any],
    *,
    causal: bool = False,
    offset: Any = 0,
    window: tuple[int | None, int | None] | None = None,
    mask: NDArray[Any] | None = None,
    bias: NDArray[Any] | None = None,
    slopes: Any = 0.0,
    key_lengths: Any = None,
    scale: float | None = None,
    softcap: float | None = None,
    sinks: Any = -math.inf,
) -> Attention:
    """Attention head by head: query head h uses key head h // group.

    Ainslie et al., GQA, 2023, section 2.2; Vaswani et al., 2017, section 3.2.1, for the scale.
    """
    (queries, dim), (keys, value_dim) = query.shape[-2:], value.shape[-2:]

    counts = [x.shape[-3] if x.ndim > 2 else 1 for x in (query, key, value)]
    heads = max(counts) if all(counts) else 0
    batch = np.broadcast_shapes(query.shape[:-3], key.shape[:-3], value.shape[:-3])
    has_heads = max(query.ndim, key.ndim, value.ndim) > 2
    leading = (*batch, heads) if has_heads else ()
    rows = leading[:-1] if len(leading) > 1 else leading  # where offsets and lengths differ

    def head_of(x: NDArray[Any], at: tuple[int, ...]) -> Any:
        if x.ndim == 2:
            return x.astype(np.float64).tolist()
        head = at[-1] * x.shape[-3] // heads
        part = np.broadcast_to(x, (*batch, *x.shape[-3:]))[(*at[:-1], head)]
        return part.astype(np.float64).tolist()

    def table(x: NDArray[Any] | None, at: tuple[int, ...]) -> Any:
        if x is None:
            return None
        part = np.broadcast_to(x, (*leading, queries, keys))[at]
        return part.tolist() if part.dtype == bool else part.astype(np.float64).tolist()

    def of_query_heads(x: Any, at: tuple[int, ...]) -> float:
        own = np.broadcast_to(x, query.shape[:-2])
        return float(np.broadcast_to(own, leading)[at])

    result = Attention(
        scores=np.zeros((*leading, queries, keys)),
        capped=np.zeros((*leading, queries, keys)),
        biased=np.zeros((*leading, queries, keys)),
        weights=np.zeros((*leading, queries, keys)),
        lse=np.zeros((*leading, queries)),
        output=np.zeros((*leading, queries, value_dim)),
    )
    for at in np.ndindex(*leading):
        row = at[: len(rows)]
        begin = int(np.broadcast_to(offset, rows)[row])
        length = None if key_lengths is None else int(np.broadcast_to(key_lengths, rows)[row])
        allowed = table(mask, at)
        places: dict[str, Any] = {
            "offset": begin,
            "causal": causal,
            "window": window,
            "key_length": length,
        }
        visible = [
            [sees(i, j, **places) and (allowed is None or allowed[i][j]) for j in range(keys)]
            for i in range(queries)
        ]
        one = attention(
            head_of(query, at),
            head_of(key, at),
            head_of(value, at),
            scale=1 / math.sqrt(dim) if scale is None else scale,
            softcap=softcap,
            bias=table(bias, at),
            slope=of_query_heads(slopes, at),
            offset=begin,
            visible=visible,
            sink=of_query_heads(sinks, at),
        )
        for name, stage in vars(one).items():
            if np.size(stage):
                getattr(result, name)[at] = stage
    return result


# Similarity


def similarity(a: Iterable[Any], b: Iterable[Any], measure: str) -> Real:
    """Inner product, cosine of the angle between two vectors, or their Euclidean distance.

    The cosine: Manning, Raghavan and Schütze, Introduction to Information Retrieval, 2008, section
    6.3.1.
    """
    pairs = [(mp.mpf(float(x)), mp.mpf(float(y))) for x, y in zip(a, b, strict=True)]
    if measure == "euclidean":
        return mp.sqrt(mp.fsum((x - y) ** 2 for x, y in pairs))
    inner = mp.fsum(x * y for x, y in pairs)
    if measure == "inner":
        return inner
    return inner / mp.sqrt(mp.fsum(x * x for x, _ in pairs) * mp.fsum(y * y for _, y in pairs))


# Biases and masks


def alibi_slopes(heads: int) -> list[Real]:
    """2 ** (-8 k / n) for head k of n = 2 ** a; else those of two such numbers.

    Press et al., Train Short, Test Long, 2021, section 3, with what the code published with it does
    for other numbers of heads: first the next lower power of two, then every other slope of twice
    that.
    """
    lower = 1
    while 2 * lower <= heads:
        lower *= 2
    if lower == heads:
        return [mp.power(2, mp.mpf(-8 * k) / heads) for k in range(1, heads + 1)]
    return alibi_slopes(lower) + alibi_slopes(2 * lower)[0::2][: heads - lower]


def alibi(slope: float, query: int, key: int, offset: int = 0) -> Real:
    """Minus the slope times the distance. Press et al., 2021, section 3, figure 3."""
    return -mp.mpf(slope) * abs(query + offset - key)


def t5_bucket(
    relative_position: int,
    buckets: int = 32,
    max_distance: int = 128,
    bidirectional: bool = True,
) -> int:
    """Where T5 puts a key that stands so many tokens after the query.

    Half of the buckets are for keys after the query, where these have buckets. Half of a
    direction's hold one distance each, the others grow logarithmically. Raffel et al., 2020,
    section 2.1, with the code published with it.
    """
    first, distance = 0, max(-relative_position, 0)
    if bidirectional:
        buckets //= 2
        distance = abs(relative_position)
        if relative_position > 0:
            first = buckets
    exact = buckets // 2
    if distance < exact:
        return first + distance
    steps = mp.log(mp.mpf(distance) / exact) / mp.log(mp.mpf(max_distance) / exact)
    steps *= buckets - exact
    whole = int(mp.floor(steps + mp.mpf(2) ** -250))  # logarithms can miss a whole number
    return first + min(exact + whole, buckets - 1)


def clipped(relative_position: int, reach: int) -> int:
    """clip(x, k) = max(-k, min(k, x)). Shaw et al., 2018, section 3.2."""
    return max(-reach, min(reach, relative_position))


# Geometry

Vector = Sequence[Real] | NDArray[Any]
Vectors = Sequence[Sequence[Real]] | NDArray[Any]


def turn(a: Sequence[float], b: Sequence[float], c: Sequence[float]) -> Fraction:
    """(b - a) x (c - a), exactly: positive where c lies to the left of the line from a to b."""
    (ax, ay), (bx, by), (cx, cy) = ([Fraction(x) for x in point] for point in (a, b, c))
    return (bx - ax) * (cy - ay) - (by - ay) * (cx - ax)


def convex_hull(points: Iterable[Sequence[float]]) -> list[tuple[float, ...]]:
    """Corners counterclockwise from the leftmost: no point lies to the right of the next edge.

    Jarvis, On the Identification of the Convex Hull of a Finite Set of Points in the Plane, 1973.
    """
    rest = sorted({tuple(map(float, point)) for point in points})
    corners = [rest[0]]
    while len(rest) > 1:
        here = corners[-1]
        following = next(point for point in rest if point != here)
        for point in rest:
            side = turn(here, following, point)
            away = [abs(Fraction(q[0]) - Fraction(here[0])) for q in (following, point)]
            up = [abs(Fraction(q[1]) - Fraction(here[1])) for q in (following, point)]
            if side < 0 or (side == 0 and (away[1], up[1]) > (away[0], up[0])):
                following = point
        if following == corners[0]:
            break
        corners.append(following)
    return corners


def inner_product(a: Vector, b: Vector) -> Real:
    """a . b = a_1 b_1 + a_2 b_2 + .. (article 004)."""
    return mp.fsum(mp.mpf(x) * y for x, y in zip(a, b, strict=True))


def distance(a: Vector, b: Vector) -> Real:
    """|a - b|."""
    difference = [mp.mpf(x) - y for x, y in zip(a, b, strict=True)]
    return mp.sqrt(inner_product(difference, difference))


def perimeter(polygon: Vectors) -> Real:
    """The distances from each corner to the next, and from the last to the first."""
    return mp.fsum(distance(polygon[i - 1], polygon[i]) for i in range(len(polygon)))


def area(polygon: Vectors) -> Real:
    """1/2 sum of x_i y_(i+1) - x_(i+1) y_i. Braden, The Surveyor's Area Formula, 1986."""
    total = mp.mpf(0)
    for (x, y), (next_x, next_y) in zip(polygon, [*polygon[1:], polygon[0]], strict=True):
        total += mp.mpf(x) * next_y - mp.mpf(next_x) * y
    return total / 2


def diameter(points: Vectors) -> Real:
    """The largest distance between two points."""
    return max(distance(a, b) for a in points for b in points)


def width(points: Vectors, direction: Vector) -> Real:
    """The largest minus the smallest of p . u / |u|."""
    length = mp.sqrt(inner_product(direction, direction))
    along = [inner_product(point, direction) / length for point in points]
    return max(along) - min(along)


def dobrushin(weights: Vectors) -> Real:
    """1 - min over i, k of sum over j of min(a_ij, a_kj), for rows that sum to 1.

    Seneta, Non-negative Matrices and Markov Chains, 1981, section 4.3.
    """
    shared = [
        mp.fsum(min(mp.mpf(x), mp.mpf(y)) for x, y in zip(a, b, strict=True))
        for a in weights
        for b in weights
    ]
    return 1 - min(shared)


def self_attention(points: Vectors, scale: Real) -> list[list[Real]]:
    """Means of the points, weighted by e ** (scale x_i . x_j)."""
    outputs = []
    for query in points:
        powers = [mp.exp(scale * inner_product(query, key)) for key in points]
        total = mp.fsum(powers)
        outputs.append(
            [inner_product(powers, column) / total for column in zip(*points, strict=True)]
        )
    return outputs


# The ladder of encodings


def binary_digits(position: int, bits: int) -> list[int]:
    """Remainders of halving, the least significant digit first.

    Knuth, The Art of Computer Programming, volume 2, 1997, section 4.4, method 1a.
    """
    digits = []
    for _ in range(bits):
        digits.append(position % 2)
        position //= 2
    return digits


def position_kernel(offset: float, frequencies: Vector) -> Real:
    """The sum of cos(w_i k): sin a sin b + cos a cos b = cos(a - b), for every pair.

    The inner product of two encodings of Vaswani et al., 2017, section 3.5.
    """
    return mp.fsum(mp.cos(mp.mpf(offset) * frequency) for frequency in frequencies)


# Properties of positions


def chord(lag: float, frequencies: Sequence[Real]) -> Real:
    """Distance of two sinusoidal encodings: |f(s) - f(t)|^2 = sum of 4 sin(w_i (s - t) / 2)^2.

    Every pair is a point of the unit circle, and each chord is 2 sin of half its angle.
    """
    angles = [mp.mpf(lag) * frequency for frequency in frequencies]
    return mp.sqrt(mp.fsum(4 * mp.sin(angle / 2) ** 2 for angle in angles))


def abel_bound(distance: float, frequencies: Sequence[Real]) -> Real:
    """The mean of |S_j| over j = 1 .. d/2, with S_j = sum of e^(i (m - n) w_k) for k < j.

    Su et al., RoFormer: Enhanced Transformer with Rotary Position Embedding, 2021, equation 37.
    """
    partial, total = mp.mpf(0), mp.mpf(0)
    for frequency in frequencies:
        partial += mp.expj(mp.mpf(distance) * frequency)
        total += abs(partial)
    return total / len(frequencies)
