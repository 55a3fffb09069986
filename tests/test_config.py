"""A published configuration gives the rotation of the published model, or a clear refusal.

The configurations of tests/golden/model_configs.json are typed in from the sources named there, as
far as they bear on the rotation; a key "remembered" says what could not be looked up. Beside each
stands, by hand, which formula of the papers with which numbers its frequencies must follow. What is
refused is tested in test_config_refusals.py.
"""

import copy
import importlib
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from tests import reference

import ropewalk as rw

GOLDEN = Path(__file__).parent / "golden" / "model_configs.json"
MODELS: list[dict[str, Any]] = json.loads(GOLDEN.read_text("utf-8"))
CASES = [(model, case) for model in MODELS for case in model["cases"]]
FAMILIES = json.loads((Path(rw.__file__).parent / "rotary_families.json").read_text("utf-8"))
FORMULAS: dict[str, Callable[..., list[reference.Real]]] = {
    "standard": reference.standard_frequencies,
    "linear": reference.linear_frequencies,
    "dynamic_ntk": reference.dynamic_ntk_frequencies,
    "yarn": reference.yarn_frequencies,
    "longrope": reference.longrope_frequencies,
    "llama3": reference.llama3_frequencies,
    "proportional": reference.proportional_frequencies,
}
LLAMA = {"model_type": "llama", "hidden_size": 64, "num_attention_heads": 4}
LONG = {"short_factor": [1.0] * 8, "long_factor": [2.0] * 8}


def name_of(value: Any) -> str | None:
    if "model" in value:
        return str(value["model"])
    return "-".join(str(value[key]) for key in ("layer_type", "length") if key in value)


def options(case: dict[str, Any]) -> dict[str, Any]:
    return {key: case[key] for key in ("layer_type", "length") if key in case}


def config_of(model: str) -> dict[str, Any]:
    (found,) = [entry["config"] for entry in MODELS if entry["model"] == model]
    return dict(found)


def refused(config: Any, message: str, error: type[Exception] = ValueError, **given: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        rw.rotary_from_config(config, **given)


# Published models


@pytest.mark.parametrize(("model", "case"), CASES, ids=name_of)
def test_frequencies_are_those_of_the_published_model(
    model: dict[str, Any], case: dict[str, Any]
) -> None:
    arguments = dict(case["arguments"])
    if "factors" in arguments:
        arguments["factors"] = model["config"]["rope_scaling"][arguments["factors"]]
    expected = FORMULAS[case["schedule"]](case["rotary_dim"], **arguments)
    if "sections" in case:
        owners = reference.mrope_owners(case["sections"], case["interleaved"])
        expected = reference.on_axes(expected, owners, 3)
    found = rw.rotary_from_config(model["config"], **options(case))["frequencies"]
    np.testing.assert_allclose(found.radians, np.array(expected, float), rtol=1e-15, atol=0)


@pytest.mark.parametrize(("model", "case"), CASES, ids=name_of)
def test_attention_factor_is_that_of_the_published_model(
    model: dict[str, Any], case: dict[str, Any]
) -> None:
    expected = 1.0
    for formula, arguments in (case["attention_factor"] or {}).items():
        expected = float(getattr(reference, formula)(*arguments))
    found = rw.rotary_from_config(model["config"], **options(case))["frequencies"]
    assert found.attention_factor == pytest.approx(expected, rel=1e-15)


@pytest.mark.parametrize(("model", "case"), CASES, ids=name_of)
def test_pairing_and_width_are_those_of_the_published_model(
    model: dict[str, Any], case: dict[str, Any]
) -> None:
    found = rw.rotary_from_config(model["config"], **options(case))
    assert list(found) == ["frequencies", "pairing", "rotary_dim"]
    assert (found["pairing"], found["rotary_dim"]) == (case["pairing"], case["rotary_dim"])
    assert found["rotary_dim"] == 2 * len(found["frequencies"])


@pytest.mark.parametrize("model", MODELS, ids=name_of)
def test_every_model_names_its_source(model: dict[str, Any]) -> None:
    assert re.match("https://huggingface.co/|transformers ", model["source"])


@pytest.mark.parametrize(
    ("model", "factor"),
    [
        ("Qwen2.5 7B, lengthened", 1.138629),
        ("gpt-oss 20B", 1.346574),
        ("Phi-3.5-mini", 1.190238),
        ("DeepSeek-V3", 1.0),
        ("Ministral 3", 1.0),
    ],
)
def test_attention_factors_are_the_numbers_that_circulate(model: str, factor: float) -> None:
    found = rw.rotary_from_config(config_of(model))["frequencies"].attention_factor
    assert found == pytest.approx(factor, abs=5e-7)


def test_llama_4_scout_has_no_frequencies_between_the_two_bounds() -> None:
    scaling = {
        "factor": 16.0,
        "high_freq_factor": 1.0,
        "low_freq_factor": 1.0,
        "original_max_position_embeddings": 8192,
        "rope_type": "llama3",
    }
    text = config_of("Llama 4 Maverick")["text_config"] | {"rope_scaling": scaling}
    expected = reference.llama3_frequencies(128, 16.0, 8192, 1.0, 1.0)
    found = rw.rotary_from_config({"model_type": "llama4", "text_config": text})["frequencies"]
    np.testing.assert_allclose(found.radians, np.array(expected, float), rtol=1e-15)


# Spellings


@pytest.mark.parametrize(
    "spelled",
    [
        {"rope_scaling": {"type": "linear", "factor": 2.0}, "rope_theta": 1e6},
        {"rope_scaling": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 1e6},
        {"rope_scaling": {"rope_type": "linear", "type": "linear", "factor": 2}, "rope_theta": 1e6},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0, "rope_theta": 1e6}},
        {"rope_parameters": {"rope_type": "linear", "factor": 2.0}, "rope_theta": 1000000},
        {"rope_parameters": {"type": "linear", "factor": 2.0, "rope_theta": 1e6}, "head_dim": None},
        {"rope_scaling": {"type": "linear", "factor": 2.0, "mscale": None}, "rotary_emb_base": 1e6},
    ],
    ids=str,
)
def test_spellings_of_one_thing_give_one_thing(spelled: dict[str, Any]) -> None:
    found = rw.rotary_from_config(LLAMA | spelled)
    expected = rw.frequencies.linear(16, factor=2.0, base=1e6)
    assert found == {"frequencies": expected, "pairing": "half", "rotary_dim": 16}


@pytest.mark.parametrize("key", ["partial_rotary_factor", "rotary_pct", "rope_pct"])
def test_part_of_a_head_is_spelled_in_three_ways(key: str) -> None:
    assert rw.rotary_from_config(LLAMA | {key: 0.5})["rotary_dim"] == 8
    rope = {"rope_theta": 10000.0, key: 0.5}
    assert rw.rotary_from_config(LLAMA | {"rope_parameters": rope})["rotary_dim"] == 8


def test_text_config_may_leave_its_family_to_the_configuration_around_it() -> None:
    text = {key: value for key, value in LLAMA.items() if key != "model_type"}
    config = {"model_type": "llama4", "text_config": text}
    assert rw.rotary_from_config(config)["pairing"] == "interleaved"


def test_an_unknown_family_may_say_its_pairing() -> None:
    config = LLAMA | {"model_type": "my_model", "rope_theta": 10000.0}
    for interleaved, pairing in ((True, "interleaved"), (False, "half")):
        found = rw.rotary_from_config(config | {"rope_interleave": interleaved})
        assert found["pairing"] == pairing
        assert found["frequencies"] == rw.frequencies.standard(16)


def test_the_configuration_may_contradict_its_family_on_the_pairing_where_that_reads_it() -> None:
    config = config_of("DeepSeek-V3")
    assert rw.rotary_from_config(config | {"rope_interleave": False})["pairing"] == "half"
    assert rw.rotary_from_config(LLAMA | {"rope_interleave": False})["pairing"] == "half"
    message = "rope_interleave must be False for 'llama', whose code does not read it, got True"
    refused(LLAMA | {"rope_interleave": True}, message)


def test_yarn_without_a_factor_takes_the_quotient_of_the_lengths() -> None:
    rope = {"rope_type": "yarn", "factor": None, "original_max_position_embeddings": 512}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 4096}
    expected = rw.frequencies.yarn(16, factor=8.0, trained_length=512)
    assert rw.rotary_from_config(config)["frequencies"] == expected


def test_dynamic_ntk_grows_from_the_trained_length_where_that_is_given() -> None:
    rope = {"rope_type": "dynamic", "factor": 2.0, "original_max_position_embeddings": 512}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 4096}
    expected = rw.frequencies.dynamic_ntk(16, factor=2.0, trained_length=512, length=1000)
    assert rw.rotary_from_config(config, length=1000)["frequencies"] == expected


TRAINED: dict[str, dict[str, Any]] = {
    "yarn": {"factor": 4.0},
    "llama3": {"factor": 4.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0},
    "longrope": LONG,
    "dynamic": {"factor": 2.0},
}


@pytest.mark.parametrize("kind", TRAINED)
def test_a_trained_length_that_is_left_out_is_the_longest(kind: str) -> None:
    rope: dict[str, Any] = TRAINED[kind] | {"rope_type": kind}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 4096}
    said = config | {"rope_scaling": rope | {"original_max_position_embeddings": 4096}}
    for length in (None, 5000):
        found = rw.rotary_from_config(config, length=length)
        assert found == rw.rotary_from_config(said, length=length)


@pytest.mark.parametrize("model", ["Qwen3 8B", "gpt-oss 20B", "Llama 3.1 8B"])
def test_length_changes_nothing_where_nothing_depends_on_it(model: str) -> None:
    config = config_of(model)
    assert rw.rotary_from_config(config, length=10**6) == rw.rotary_from_config(config)


def test_a_configuration_is_not_changed() -> None:
    before = json.dumps(MODELS)
    for model, case in CASES:
        rw.rotary_from_config(model["config"], **options(case))
    assert json.dumps(MODELS) == before


# Layer types


def test_the_one_layer_type_that_rotates_need_not_be_named() -> None:
    rope = {
        "full_attention": None,
        "sliding_attention": {"rope_theta": 5e4, "rope_type": "default"},
    }
    config = LLAMA | {"rope_parameters": rope}
    assert rw.rotary_from_config(config)["frequencies"] == rw.frequencies.standard(16, base=5e4)


@pytest.mark.parametrize(
    ("model", "layer_type", "key"),
    [
        ("Gemma 3 1B", "full_attention", "rope_theta"),
        ("Gemma 3 1B", "sliding_attention", "rope_local_base_freq"),
        ("ModernBERT base", "full_attention", "global_rope_theta"),
        ("ModernBERT base", "sliding_attention", "local_rope_theta"),
        ("OLMo 2 7B", None, "rope_theta"),
        ("GPT-NeoX 20B", None, "rotary_emb_base"),
    ],
)
def test_the_base_is_the_one_given(model: str, layer_type: str | None, key: str) -> None:
    found = rw.rotary_from_config(config_of(model) | {key: 777.0}, layer_type=layer_type)
    expected = rw.frequencies.standard(found["rotary_dim"], base=777.0)
    assert found["frequencies"] == expected


PLAIN = {"rope_type": "default"}


@pytest.mark.parametrize(
    "given",
    [
        {"full_attention": PLAIN, "sliding_attention": PLAIN},
        {"full_attention": {}, "sliding_attention": {}},
        {"full_attention": PLAIN},
        {"full_attention": PLAIN, "sliding_attention": None},
    ],
    ids=str,
)
@pytest.mark.parametrize(
    ("model", "keys"),
    [
        ("Gemma 3 1B", ("rope_theta", "rope_local_base_freq")),
        ("ModernBERT base", ("global_rope_theta", "local_rope_theta")),
        ("OLMo 3 7B", ()),
    ],
)
def test_bases_outside_are_those_of_layer_types_that_name_none(
    model: str, keys: tuple[str, ...], given: dict[str, Any]
) -> None:
    config = config_of(model)
    config = {key: config[key] for key in config if key not in ("rope_scaling", *keys)}
    for bases in ({}, dict.fromkeys(keys[:1], 5e6), dict(zip(keys, (5e6, 777.0), strict=False))):
        for layer_type in ("full_attention", "sliding_attention"):
            flat = rw.rotary_from_config(config | bases, layer_type=layer_type)
            found = rw.rotary_from_config(
                config | bases | {"rope_parameters": given}, layer_type=layer_type
            )
            assert found == flat


def test_a_base_outside_is_that_of_all_layer_types_that_name_none() -> None:
    config = LLAMA | {"rope_theta": 5e4, "rope_parameters": {"full_attention": PLAIN}}
    assert rw.rotary_from_config(config)["frequencies"] == rw.frequencies.standard(16, base=5e4)


@pytest.mark.parametrize("family", ["gemma3_text", "gemma4_text", "laguna", "llama", "olmo3"])
def test_a_base_inside_of_a_layer_type_comes_before_one_outside(family: str) -> None:
    bases = {"full_attention": 2e6, "sliding_attention": 3e4}
    layers = {name: PLAIN | {"rope_theta": base} for name, base in bases.items()}
    config = LLAMA | {"model_type": family, "rope_theta": 777.0}
    config |= {"rope_local_base_freq": 777.0} if family == "gemma3_text" else {}
    config |= {"partial_rotary_factor": None, "rope_parameters": layers}
    for name, base in bases.items():
        found = rw.rotary_from_config(config, layer_type=name)
        width = found["rotary_dim"]
        assert found["frequencies"] == rw.frequencies.standard(width, base=base), family


@pytest.mark.parametrize("family", ["laguna", "mimo_v2_flash"])
def test_what_is_outside_must_agree_with_the_rule_of_a_family(family: str) -> None:
    message = "partial_rotary_factor of the rule of its family and partial_rotary_factor must agree"
    config = {"model_type": family, "head_dim": 64, "partial_rotary_factor": 0.75}
    refused(config, message, layer_type="full_attention")


def test_the_older_name_of_a_schedule_is_read_in_layer_types_too() -> None:
    linear = {"type": "linear", "factor": 8.0}
    config = LLAMA | {"model_type": "gemma3_text", "rope_parameters": {"full_attention": linear}}
    found = rw.rotary_from_config(config, layer_type="full_attention")
    assert found["frequencies"] == rw.frequencies.linear(256, base=1e6, factor=8.0)


@pytest.mark.parametrize(
    ("family", "layer_type", "rope"),
    [
        ("gemma4_text", "full_attention", {"rope_type": "proportional", "rope_theta": 1e6}),
        ("mimo_v2_flash", "sliding_attention", {"rope_type": "default", "rope_theta": 1e4}),
    ],
)
def test_the_one_layer_type_has_its_own_width_where_it_is_not_named(
    family: str, layer_type: str, rope: dict[str, Any]
) -> None:
    widths = {"head_dim": 64, "global_head_dim": 128, "swa_head_dim": 128}
    parameters = {layer_type: rope | {"partial_rotary_factor": 0.25}}
    config = {"model_type": family, **widths, "rope_parameters": parameters}
    named = rw.rotary_from_config(config, layer_type=layer_type)
    assert rw.rotary_from_config(config) == named
    assert named["rotary_dim"] == (128 if family == "gemma4_text" else 32)
    flat = LLAMA | {"head_dim": 64, "swa_head_dim": 32, "layer_types": ["sliding_attention"] * 2}
    assert rw.rotary_from_config(flat)["rotary_dim"] == 32


def test_layers_of_one_rotation_may_be_named() -> None:
    config = config_of("Qwen3 8B") | {"layer_types": ["full_attention"] * 36}
    named = rw.rotary_from_config(config, layer_type="full_attention")
    assert named == rw.rotary_from_config(config)


@pytest.mark.parametrize(("head", "fraction", "moving"), [(36, 0.25, 4), (8, 0.2, 0)])
def test_a_proportion_of_pairs_may_be_an_odd_part_of_a_head(
    head: int, fraction: float, moving: int
) -> None:
    rope = {"rope_type": "proportional", "partial_rotary_factor": fraction, "rope_theta": 1e4}
    config = {"model_type": "llama", "head_dim": head, "rope_parameters": rope}
    rotary = rw.rotary_from_config(config)
    assert rotary["rotary_dim"] == head
    assert np.count_nonzero(rotary["frequencies"].radians) == moving


def test_the_width_of_a_head_may_be_kv_channels() -> None:
    config = {"model_type": "jetmoe", "hidden_size": 2048, "num_attention_heads": 32}
    assert rw.rotary_from_config(config | {"kv_channels": 128})["rotary_dim"] == 128


@pytest.mark.parametrize("key", ["rope_percent", "rotary_emb_fraction"])
def test_a_fraction_has_many_names(key: str) -> None:
    config = {"model_type": "nemotron", "head_dim": 64, key: 0.25}
    assert rw.rotary_from_config(config)["rotary_dim"] == 16


def test_kimi_k2_rotates_as_deepseek_v3() -> None:
    part = {"model_type": "kimi_k2", "qk_rope_head_dim": 64, "rope_theta": 5e4}
    as_deepseek = rw.rotary_from_config(part | {"model_type": "deepseek_v3"})
    assert rw.rotary_from_config(part) == as_deepseek
    assert rw.rotary_from_config({"model_type": "kimi_k25", "text_config": part}) == as_deepseek


def test_no_part_is_split_off_whose_width_is_0() -> None:
    sizes = {"hidden_size": 1280, "num_attention_heads": 10, "qk_rope_head_dim": 0}
    for family in ("deepseek_ocr2", "deepseek_ocr2_text"):
        rotary = rw.rotary_from_config({"model_type": family, "text_config": sizes})
        assert rotary == rw.rotary_from_config({"model_type": "llama", "head_dim": 128})
    with pytest.raises(ValueError, match=r"^qk_rope_head_dim must .* got 0$"):
        rw.rotary_from_config(sizes | {"model_type": "deepseek_v2"})


def test_a_factor_of_1_scales_nothing() -> None:
    config = {"model_type": "llama", "head_dim": 64}
    unscaled = {"rope_type": "default", "factor": 1.0}
    assert rw.rotary_from_config(config | {"rope_scaling": unscaled}) == rw.rotary_from_config(
        config
    )


def test_an_empty_spelling_says_nothing_beside_the_other() -> None:
    scaling = {"rope_type": "linear", "factor": 4.0}
    config = {"model_type": "llama", "head_dim": 64, "rope_scaling": scaling}
    assert rw.rotary_from_config(config | {"rope_parameters": {}}) == rw.rotary_from_config(config)


def test_the_heads_of_a_decoder_count() -> None:
    config = {"model_type": "moonshine", "hidden_size": 288, "decoder_num_attention_heads": 8}
    assert rw.rotary_from_config(config)["rotary_dim"] == 32  # .9 of 36


def test_gpt_j_may_rotate_all_of_a_head() -> None:
    config = {"model_type": "gptj", "n_embd": 4096, "n_head": 16}
    assert rw.rotary_from_config(config)["rotary_dim"] == 64
    assert rw.rotary_from_config(config | {"rotary_dim": None})["rotary_dim"] == 256


# The data file


def test_there_are_more_than_170_families() -> None:
    assert len(FAMILIES["families"]) > 170
    assert FAMILIES["measured"].keys() == {"transformers", "date"}
    assert FAMILIES["families"].keys().isdisjoint(FAMILIES["refused"])
    assert FAMILIES["inside"].keys().isdisjoint({*FAMILIES["families"], *FAMILIES["refused"]})
    assert {*FAMILIES["inside"].values()} <= {*FAMILIES["families"], *FAMILIES["refused"]}


@pytest.mark.parametrize("part", ["families", "inside", "refused"])
def test_the_data_file_is_sorted(part: str) -> None:
    assert list(FAMILIES[part]) == sorted(FAMILIES[part])


# Read in the code of transformers, modeling_*.py and modular_*.py of each or of what they inherit:
# it takes x[..., ::2] and x[..., 1::2], or views pairs as complex numbers or as rows of two.
NEIGHBOURS = {
    *("axk1", "axk2", "blt_global_transformer", "blt_local_decoder", "blt_local_encoder"),
    *("blt_patcher", "codegen", "cohere", "cohere2", "cohere2_moe", "deepseek_v2", "deepseek_v3"),
    *("deepseek_v32", "ernie4_5", "ernie4_5_moe", "glm", "glm4", "glm4_moe_lite", "glm4v_text"),
    *("glm_moe_dsa", "glm_ocr_text", "gptj", "helium", "llama4_text", "longcat_flash", "mistral4"),
    *("moonshine", "openai_privacy_filter", "pe_audio_encoder", "roformer", "youtu"),
}


def test_families_pair_neighbours_whose_code_does() -> None:
    families = FAMILIES["families"].items()
    assert {name for name, family in families if family["pairing"] == "interleaved"} == NEIGHBOURS


KINDS: dict[str, Any] = {
    "pairing": {"half", "interleaved"},
    "alpha": bool,
    "reads_rope_interleave": bool,
    "axes": {"chunked", "interleaved"},
    "output": {"halves"},
    "part": {"last"},
    "base_keys": dict,
    "layers": dict,
    "needs": dict,
    "scaled": list,
    "unrotated": list,
    "source": str,
    "rope_type": str,
    "rope_theta": float,
    "partial_rotary_factor": float,
    "head_dim": int,
    "kv_channels": int,
    "global_head_dim": int,
    "qk_rope_head_dim": int,
    "rotary_dim": int,
}


@pytest.mark.parametrize("name", FAMILIES["families"])
def test_a_family_is_described_by_known_keys(name: str) -> None:
    family = FAMILIES["families"][name]
    assert "pairing" in family
    for key, value in family.items():
        kind = KINDS[key]
        assert value in kind if isinstance(kind, set) else isinstance(value, kind)
    for layer in family.get("layers", {}).values():
        assert layer["rope_theta"] > 0


# What another implementation computes, where it can be asked


def transformers_rotary(config: dict[str, Any]) -> Any:
    """Return the module of transformers that makes the cosines and sines of a configuration."""
    transformers = pytest.importorskip("transformers", reason="compares with transformers")
    known = transformers.models.auto.configuration_auto.CONFIG_MAPPING
    whole = known[config["model_type"]].from_dict(copy.deepcopy(config))
    text = whole.get_text_config()
    model = transformers.MODEL_MAPPING.get(type(text), type(text))
    home = model.__module__.replace("configuration", "modeling")
    module = importlib.import_module(home)
    (name,) = [n for n in vars(module) if re.fullmatch(r"(?!.*Vision)\w+RotaryEmbedding", n)]
    return getattr(module, name)(config=text)


def inv_freq(config: dict[str, Any], case: dict[str, Any]) -> tuple[Any, float]:
    """Return the frequencies and the attention factor of that module, as a case asks for them."""
    torch = pytest.importorskip("torch", reason="compares with transformers")
    rotary = transformers_rotary(config)
    layer = {"layer_type": case["layer_type"]} if hasattr(rotary, "layer_types") else {}
    if "length" in case:  # it changes what depends on the length when it is called
        rotary(torch.zeros(1), torch.tensor([[case["length"] - 1]]), **layer)
    prefix = f"{case['layer_type']}_" if layer else ""
    found = getattr(rotary, f"{prefix}inv_freq").double().numpy()
    return found, getattr(rotary, f"{prefix}attention_scaling")


# Neither GPT-J nor CodeGen has such a module; for Phi-3-vision see below.
WITH_MODULE = [
    (model, case)
    for model, case in CASES
    if model["model"] not in {"GPT-J 6B", "CodeGen", "Phi-3-vision 128k"}
]


@pytest.mark.parametrize(("model", "case"), WITH_MODULE, ids=name_of)
def test_frequencies_are_those_of_transformers_within_float32(
    model: dict[str, Any], case: dict[str, Any]
) -> None:
    theirs, factor = inv_freq(model["config"], case)
    ours = rw.rotary_from_config(model["config"], **options(case))["frequencies"]
    np.testing.assert_allclose(theirs, np.atleast_2d(ours.radians).sum(0), rtol=3e-6)
    assert factor == pytest.approx(ours.attention_factor, rel=1e-12)


@pytest.mark.parametrize(
    "model", [model for model, case in CASES if "sections" in case], ids=name_of
)
def test_axes_own_the_pairs_that_they_own_in_transformers(model: dict[str, Any]) -> None:
    torch = pytest.importorskip("torch", reason="compares with transformers")
    positions = np.array([[0, 0, 0], [1, 20, 300], [40, 5, 6], [7, 80, 9]])  # (tokens, axes)
    theirs = transformers_rotary(model["config"])(
        torch.zeros(1), torch.from_numpy(positions.T[:, None])
    )
    frequencies = rw.rotary_from_config(model["config"])["frequencies"]
    ours = rw.rotary_tables(positions, frequencies=frequencies)
    for table, expected in zip(theirs, ours, strict=True):
        once = table[0, :, : len(frequencies)].numpy()  # and once more for the other half
        np.testing.assert_allclose(once, expected, rtol=0, atol=5e-5)  # 300 radians in float32


@pytest.mark.parametrize("kind", TRAINED)
def test_transformers_takes_the_longest_length_for_a_trained_one(kind: str) -> None:
    rope: dict[str, Any] = TRAINED[kind] | {"rope_type": kind}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 4096}
    theirs, factor = inv_freq(config, {"length": 5000} if kind in ("longrope", "dynamic") else {})
    ours = rw.rotary_from_config(config, length=5000)["frequencies"]
    np.testing.assert_allclose(theirs, ours.radians, rtol=3e-6)
    assert factor == pytest.approx(ours.attention_factor, rel=1e-12)


def test_transformers_no_longer_reads_the_old_name_of_longrope() -> None:
    with pytest.raises(KeyError, match="original_max_position_embeddings"):
        inv_freq(config_of("Phi-3-vision 128k"), {})


def test_transformers_does_not_look_at_the_trained_length_of_dynamic_ntk() -> None:
    config = config_of("InternLM3 8B")
    rope = config["rope_scaling"] | {"original_max_position_embeddings": 16384}
    theirs, _ = inv_freq(config | {"rope_scaling": rope}, {"length": 30000})
    np.testing.assert_allclose(theirs, inv_freq(config, {})[0], rtol=1e-7)
    ours = rw.rotary_from_config(config | {"rope_scaling": rope}, length=30000)["frequencies"]
    assert theirs[-1] > 5 * ours.radians[-1]


def test_transformers_rounds_the_yarn_range_of_a_layer_type_that_says_not_to() -> None:
    config = config_of("OLMo 3 7B")
    yarn = config.pop("rope_scaling") | {"rope_theta": config.pop("rope_theta"), "truncate": False}
    sliding = {"rope_type": "default", "rope_theta": yarn["rope_theta"]}
    config["rope_parameters"] = {"full_attention": yarn, "sliding_attention": sliding}
    theirs, _ = inv_freq(config, {"layer_type": "full_attention"})
    ours = rw.rotary_from_config(config, layer_type="full_attention")["frequencies"]
    assert np.abs(theirs / ours.radians - 1).max() > 1e-3
    yarn["truncate"] = True
    rounded = rw.rotary_from_config(config, layer_type="full_attention")["frequencies"]
    np.testing.assert_allclose(theirs, rounded.radians, rtol=3e-6)


def test_transformers_gives_olmo_3_its_base_in_one_of_two_layer_types() -> None:
    config = config_of("OLMo 3 7B") | {"rope_theta": 10000.0}
    theirs, _ = inv_freq(config, {"layer_type": "sliding_attention"})
    np.testing.assert_allclose(theirs, rw.frequencies.standard(128, base=5e5).radians, rtol=3e-6)
    message = "rope_theta of 'sliding_attention' must be in rope_parameters, got 10000.0"
    refused(config, message, layer_type="sliding_attention")
