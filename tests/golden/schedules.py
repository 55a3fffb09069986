"""Frequencies of published models, computed without the library, as JSON.

Run with mpmath installed: python tests/golden/schedules.py > tests/golden/schedules.json

An entry names a model, the function of `ropewalk.frequencies` with its width and its options, and
what it must give: angles per position (radians) with 20 digits, one list an axis, and the
attention factor.

The settings are those of the models' published configurations, as tests/golden/model_configs.json
has them, with the lists of LongRoPE's factors.
"""

import json
import sys
from pathlib import Path
from typing import Any

from mpmath import mp, mpf

CONFIGS = {
    model["model"]: model["config"]
    for model in json.loads((Path(__file__).parent / "model_configs.json").read_text())
}


def powers(pairs: int, base: Any) -> list[Any]:
    """Return base ** -x for the evenly spaced x = 0, 1 / pairs, 2 / pairs, .. below 1."""
    return [mp.exp(-mp.log(mpf(base)) * i / pairs) for i in range(pairs)]


def ntk_base(dim: int, factor: Any, base: float) -> Any:
    return mpf(base) * mp.exp(mp.log(mpf(factor)) * dim / (dim - 2))


def blended(kept: list[Any], factor: float, kept_share: list[Any]) -> list[Any]:
    """Return w * share + w / factor * (1 - share), shares held between 0 and 1."""
    shares = [min(mpf(1), max(mpf(0), share)) for share in kept_share]
    return [w * (u + (1 - u) / mpf(factor)) for w, u in zip(kept, shares, strict=True)]


def yarn(
    dim: int,
    factor: float,
    trained_length: int,
    base: float = 10000.0,
    truncate: bool = True,
    mscale: float | None = None,
    mscale_all_dim: float | None = None,
) -> tuple[list[list[Any]], Any]:
    # beta = 32 and 1 turns within the trained length
    low, high = (
        mpf(dim) / 2 * mp.log(trained_length / (2 * mp.pi * beta), mpf(base)) for beta in (32, 1)
    )
    if truncate:
        low, high = mp.floor(low), mp.ceil(high)
    low, high = max(low, mpf(0)), min(high, mpf(dim - 1))
    share = [(high - i) / (high - low) for i in range(dim // 2)]
    logarithm = mp.log(factor) / 10
    attention = 1 + logarithm
    if mscale is not None and mscale_all_dim is not None:
        attention = (1 + mpf(mscale) * logarithm) / (1 + mpf(mscale_all_dim) * logarithm)
    return [blended(powers(dim // 2, base), factor, share)], attention


def llama3(dim: int, factor: float, trained_length: int) -> list[list[Any]]:
    kept = powers(dim // 2, 500000)
    turns = [trained_length * w / (2 * mp.pi) for w in kept]
    return [blended(kept, factor, [(t - 1) / 3 for t in turns])]  # from 1 to 4 turns


def longrope(model: str, name: str, length: int) -> str:
    """Return the entry of a model of the Phi family: 96 features, trained on 4,096 tokens."""
    scaling = CONFIGS[model]["rope_scaling"]
    factors = {"short_factors": scaling["short_factor"], "long_factors": scaling["long_factor"]}
    factor = {"max_length": 131072} if length <= 4096 else {"factor": 32.0}
    options = {**factors, "trained_length": 4096, "length": length, **factor}
    divisors = factors["short_factors" if length <= 4096 else "long_factors"]
    table = [w / mpf(f) for w, f in zip(powers(48, 10000), divisors, strict=True)]
    attention = mp.sqrt(1 + mp.log(32) / mp.log(4096))
    return entry(name, "longrope", 96, options, [table], attention)


def on_axes(axes: int, owned: list[tuple[int, Any]]) -> list[list[Any]]:
    return [[w if owner == axis else mpf(0) for owner, w in owned] for axis in range(axes)]


def restarted(sections: list[int], base: float) -> list[list[Any]]:
    owned = [(axis, w) for axis, size in enumerate(sections) for w in powers(size, base)]
    return on_axes(len(sections), owned)


def entry(
    model: str,
    function: str,
    dim: int,
    options: dict[str, Any],
    table: list[list[Any]],
    attention_factor: Any = 1,
) -> str:
    return json.dumps(
        {
            "model": model,
            "function": function,
            "dim": dim,
            "options": options,
            "attention_factor": mp.nstr(mpf(attention_factor), 20),
            "radians": [[mp.nstr(w, 20) for w in row] for row in table],
        }
    )


def one_axis() -> list[str]:
    live = [*powers(256, 10**6)[:64], *[mpf(0)] * 192]
    fade = [1] * 44 + [(1 + mp.cos(mp.pi * k / 19)) / 2 for k in range(19)] + [0]
    half_a_million = powers(64, 500000)
    internlm3 = {"factor": 6.0, "trained_length": 32768, "length": 65536, "base": 5e7}
    return [
        entry("Llama 2", "standard", 128, {}, [powers(64, 10000)]),
        entry("Llama 3", "standard", 128, {"base": 500000.0}, [half_a_million]),
        entry("Mistral 7B v0.3 and Qwen3", "standard", 128, {"base": 1e6}, [powers(64, 10**6)]),
        entry("SmolLM3", "standard", 128, {"base": 5e6}, [powers(64, 5 * 10**6)]),
        entry("ModernBERT, global", "standard", 64, {"base": 160000.0}, [powers(32, 160000)]),
        entry("GPT-J; ModernBERT, local", "standard", 64, {}, [powers(32, 10000)]),
        entry("Gemma 3 and 4, sliding layers", "standard", 256, {}, [powers(128, 10000)]),
        entry(
            "Llama 3.1",
            "llama3",
            128,
            {"factor": 8.0, "trained_length": 8192},
            llama3(128, 8, 8192),
        ),
        entry(
            "Llama 3.2 1B",
            "llama3",
            64,
            {"factor": 32.0, "trained_length": 8192},
            llama3(64, 32, 8192),
        ),
        entry(
            "Gemma 3, global layers",
            "linear",
            256,
            {"factor": 8.0, "base": 1e6},
            [[w / 8 for w in powers(128, 10**6)]],
        ),
        entry(
            "Hunyuan",
            "ntk",
            128,
            {"factor": 1000.0},
            [powers(64, ntk_base(128, 1000, 10000))],
        ),
        entry(
            "InternLM 3 at twice its length",
            "dynamic_ntk",
            128,
            internlm3,
            [powers(64, ntk_base(128, 7, 5e7))],
        ),
        entry("InternLM 3", "dynamic_ntk", 128, {**internlm3, "length": 32768}, [powers(64, 5e7)]),
        entry(
            "Qwen 2.5 with YaRN",
            "yarn",
            128,
            {"factor": 4.0, "trained_length": 32768, "base": 1e6},
            *yarn(128, 4, 32768, 1e6),
        ),
        entry(
            "gpt-oss",
            "yarn",
            64,
            {"factor": 32.0, "trained_length": 4096, "truncate": False, "base": 150000.0},
            *yarn(64, 32, 4096, 150000, truncate=False),
        ),
        entry(
            "DeepSeek-V2",
            "yarn",
            64,
            {
                "factor": 40.0,
                "trained_length": 4096,
                "mscale": 0.707,
                "mscale_all_dim": 0.707,
            },
            *yarn(64, 40, 4096, mscale=0.707, mscale_all_dim=0.707),
        ),
        entry(
            "DeepSeek-V3",
            "yarn",
            64,
            {"factor": 40.0, "trained_length": 4096, "mscale": 1.0, "mscale_all_dim": 1.0},
            *yarn(64, 40, 4096, mscale=1, mscale_all_dim=1),
        ),
        entry(
            "Ministral 3",
            "yarn",
            128,
            {
                "factor": 16.0,
                "trained_length": 16384,
                "mscale": 1.0,
                "mscale_all_dim": 1.0,
                "base": 1e6,
            },
            *yarn(128, 16, 16384, 1e6, mscale=1, mscale_all_dim=1),
        ),
        longrope("Phi-3-mini 128k", "Phi-3-mini-128k, up to 4096 tokens", 4096),
        longrope("Phi-3-mini 128k", "Phi-3-mini-128k, beyond", 4097),
        longrope("Phi-4-mini", "Phi-4-mini, up to 4096 tokens", 4096),
        longrope("Phi-4-mini", "Phi-4-mini, beyond", 131072),
        entry("GPT-NeoX-20B", "partial", 96, {"fraction": 0.25}, [powers(12, 10000)]),
        entry(
            "Gemma 4, global layers",
            "proportional",
            512,
            {"fraction": 0.25, "base": 1e6},
            [live],
        ),
        entry(
            "Llama 3, clipped",
            "clipped",
            128,
            {"base": 500000.0},
            [[w * f for w, f in zip(half_a_million, fade, strict=True)]],
        ),
        entry(
            "Llama 3, cut off",
            "clipped",
            128,
            {"base": 500000.0, "hard": True},
            [[*half_a_million[:44], *[mpf(0)] * 20]],
        ),
    ]


def several_axes() -> list[str]:
    ten_thousand = powers(64, 10000)
    qwen2 = [0] * 16 + [1] * 24 + [2] * 24
    qwen3 = [0, 1, 2] * 20 + [0] * 4
    quarter = powers(16, 10)
    cosine, sine = mp.cos_sin(mpf(0.75))
    return [
        entry(
            "Qwen2-VL",
            "mrope",
            128,
            {"sections": [16, 24, 24], "base": 1e6},
            on_axes(3, list(zip(qwen2, powers(64, 10**6), strict=True))),
        ),
        entry(
            "Qwen3-VL",
            "mrope",
            128,
            {"sections": [24, 20, 20], "interleaved": True, "base": 5e6},
            on_axes(3, list(zip(qwen3, powers(64, 5 * 10**6), strict=True))),
        ),
        entry("Qwen2-VL, vision", "axial", 80, {}, restarted([20, 20], 10000)),
        entry("FLUX.1", "axial", 128, {"sections": [8, 28, 28]}, restarted([8, 28, 28], 10000)),
        entry(
            "DINOv3",
            "axial",
            64,
            {"turns": True, "base": 100.0},
            [[2 * mp.pi * w for w in row] for row in restarted([16, 16], 100)],
        ),
        entry(
            "Pixtral, vision",
            "axial",
            128,
            {"layout": "dealt"},
            on_axes(2, [(a, ten_thousand[2 * j + a]) for a in range(2) for j in range(32)]),
        ),
        entry(
            "HunyuanImage 3",
            "axial",
            128,
            {"layout": "alternating"},
            on_axes(2, [(i % 2, ten_thousand[i]) for i in range(64)]),
        ),
        entry(
            "RoPE-Mixed, one direction",
            "mixed",
            64,
            {"directions": 0.75},
            [
                [w * cosine for w in quarter] + [-w * sine for w in quarter],
                [w * sine for w in quarter] + [w * cosine for w in quarter],
            ],
        ),
    ]


def main() -> None:
    mp.prec = 300
    sys.stdout.write("[\n" + ",\n".join(one_axis() + several_axes()) + "\n]\n")


if __name__ == "__main__":
    main()
