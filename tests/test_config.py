"""A published configuration gives the rotation of the published model, or a clear refusal.

The configurations of tests/golden/model_configs.json are typed in from the sources named there, as
far as they bear on the rotation; a key "remembered" says what could not be looked up. Beside each
stands, by hand, which formula of the papers with which numbers its frequencies must follow.
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


def test_the_configuration_may_contradict_its_family_on_the_pairing() -> None:
    config = config_of("DeepSeek-V3")
    assert rw.rotary_from_config(config | {"rope_interleave": False})["pairing"] == "half"


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
    config = LLAMA | {"model_type": family, "rope_theta": 777.0, "rope_local_base_freq": 777.0}
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


# Refusals


def refused(config: Any, message: str, error: type[Exception] = ValueError, **given: Any) -> None:
    with pytest.raises(error, match=f"^{re.escape(message)}"):
        rw.rotary_from_config(config, **given)


@pytest.mark.parametrize("config", [None, "config.json", b"{}", 3, [("model_type", "llama")]])
def test_a_configuration_is_a_mapping(config: Any) -> None:
    refused(config, f"config must be a mapping, got {config!r}", TypeError)


@pytest.mark.parametrize("value", ["yarn", "", 0, False, True, [], np.ones(2)], ids=repr)
@pytest.mark.parametrize("key", ["text_config", "rope_scaling", "rope_parameters"])
def test_parts_of_a_configuration_are_mappings(key: str, value: Any) -> None:
    refused(LLAMA | {key: value}, f"{key} must be a mapping, got {value!r}", TypeError)


@pytest.mark.parametrize("key", ["text_config", "rope_scaling", "rope_parameters"])
@pytest.mark.parametrize("value", [None, {}], ids=repr)
def test_parts_of_a_configuration_may_be_empty(key: str, value: object) -> None:
    assert rw.rotary_from_config(LLAMA | {key: value}) == rw.rotary_from_config(LLAMA)


@pytest.mark.parametrize("model_type", [None, 3, ["llama"], np.array(["llama"] * 2)], ids=str)
def test_a_family_has_a_name(model_type: Any) -> None:
    message = f"model_type must be a str, got {model_type!r}"
    refused(LLAMA | {"model_type": model_type}, message, TypeError)


@pytest.mark.parametrize("model_type", ["bert", "gpt2", "", "Llama"])
def test_an_unknown_family_is_refused(model_type: Any) -> None:
    refused(LLAMA | {"model_type": model_type}, f"model_type {model_type!r} is not known")


@pytest.mark.parametrize("model_type", FAMILIES["refused"])
def test_a_family_that_is_not_sure_is_refused(model_type: str) -> None:
    message = f"model_type {model_type!r} is refused: {FAMILIES['refused'][model_type]}"
    refused(LLAMA | {"model_type": model_type}, message)
    refused(LLAMA | {"model_type": model_type, "rope_interleave": True}, message)


@pytest.mark.parametrize("key", ["hidden_size", "num_attention_heads"])
def test_the_size_of_a_head_must_be_there(key: str) -> None:
    config = {name: value for name, value in LLAMA.items() if name != key}
    refused(config, f"head_dim is missing, and so is {key}")


@pytest.mark.parametrize("value", [0, -1])
def test_the_size_of_a_head_must_be_positive(value: int) -> None:
    for key in ("head_dim", "hidden_size", "num_attention_heads"):
        refused(LLAMA | {key: value}, f"{key} must be an integer from 1 to ")


NEEDED = {
    "linear": ["factor"],
    "dynamic": ["factor", "original_max_position_embeddings"],
    "yarn": ["factor", "original_max_position_embeddings"],
    "longrope": ["short_factor", "long_factor", "original_max_position_embeddings"],
    "llama3": ["factor", "low_freq_factor", "high_freq_factor", "original_max_position_embeddings"],
}
VALUES = LONG | {
    "factor": 2.0,
    "low_freq_factor": 1.0,
    "high_freq_factor": 4.0,
    "original_max_position_embeddings": 64,
}


@pytest.mark.parametrize(("kind", "key"), [(k, key) for k, keys in NEEDED.items() for key in keys])
def test_a_missing_parameter_is_named(kind: str, key: str) -> None:
    rope = {name: VALUES[name] for name in NEEDED[kind] if name != key}
    refused(
        LLAMA | {"rope_scaling": rope | {"rope_type": kind}},
        f"{key} is missing where rope_type is {kind!r}",
    )


@pytest.mark.parametrize("key", ["rope_type", "type"])
@pytest.mark.parametrize("kind", ["ntk", "YaRN", "default ", ""])
def test_an_unknown_schedule_is_refused(key: str, kind: str) -> None:
    rope = {key: kind, "factor": 2.0}
    with pytest.raises(ValueError, match=f"^{key} must be one of 'default', .*, got {kind!r}$"):
        rw.rotary_from_config(LLAMA | {"rope_scaling": rope})


@pytest.mark.parametrize("key", ["rope_type", "type"])
@pytest.mark.parametrize("kind", [3, ["yarn"], {"yarn"}], ids=str)
def test_a_schedule_has_a_name(key: str, kind: Any) -> None:
    refused(LLAMA | {"rope_scaling": {key: kind}}, f"{key} must be a str, got {kind!r}", TypeError)


def test_two_schedules_are_refused() -> None:
    rope = {"rope_type": "yarn", "type": "linear", "factor": 2.0}
    message = "rope_type and type must agree, got 'yarn' and 'linear'"
    refused(LLAMA | {"rope_scaling": rope}, message)


@pytest.mark.parametrize(
    ("kind", "key"),
    [("default", "factor"), ("linear", "beta_fast"), ("linear", "alpha"), ("yarn", "finetuned")],
)
def test_a_parameter_that_is_not_understood_is_named(kind: str, key: str) -> None:
    rope = {name: VALUES[name] for name in NEEDED.get(kind, [])} | {"rope_type": kind, key: 3.0}
    message = f"{key} is not understood where rope_type is {kind!r}, got 3.0"
    refused(LLAMA | {"rope_scaling": rope}, message)


@pytest.mark.parametrize("key", ["short_factor", "long_factor"])
@pytest.mark.parametrize("size", [0, 7, 9])
def test_lists_must_have_a_number_for_every_pair(key: str, size: int) -> None:
    rope = LONG | {"type": "longrope", "original_max_position_embeddings": 64, key: [1.0] * size}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 128}
    refused(config, f"{key} must have shape (8,)")


@pytest.mark.parametrize(
    ("key", "value", "error"),
    [
        ("factor", -1.0, ValueError),
        ("factor", "2", TypeError),
        ("low_freq_factor", 5.0, ValueError),
        ("original_max_position_embeddings", 0, ValueError),
        ("original_max_position_embeddings", 64.5, TypeError),
        ("rope_theta", 0.0, ValueError),
        ("rope_theta", "1e4", TypeError),
    ],
)
def test_a_bad_parameter_is_named_as_it_is_spelled(
    key: str, value: Any, error: type[Exception]
) -> None:
    rope = {name: VALUES[name] for name in NEEDED["llama3"]} | {"rope_type": "llama3", key: value}
    refused(LLAMA | {"rope_scaling": rope}, f"{key} must be ", error)


LONGROPE = LONG | {"rope_type": "longrope", "original_max_position_embeddings": 64}
LLAMA3 = {name: VALUES[name] for name in NEEDED["llama3"]} | {"rope_type": "llama3"}


@pytest.mark.parametrize(
    ("rope", "longest", "message"),
    [
        (LONGROPE, 4096.5, "max_position_embeddings must be an integer, got 4096.5"),
        (
            LONGROPE,
            None,
            "one of max_position_embeddings, factor and attention_factor must be given in longrope",
        ),
        (
            {"rope_type": "yarn", "original_max_position_embeddings": 0},
            128,
            "original_max_position_embeddings must be positive and finite, got 0.0",
        ),
        (
            LLAMA3 | {"low_freq_factor": 5.0},
            None,
            "low_freq_factor must be at most high_freq_factor, 4.0, got 5.0",
        ),
        (
            {"rope_theta": 1e300},
            None,
            "a frequency of standard(16, rope_theta=1e+300) must be 0 or from 2**-100 to 2**60",
        ),
        ({"rope_theta": "base"}, None, "rope_theta must be a real number, got 'base'"),
    ],
    ids=str,
)
def test_messages_speak_of_keys(rope: dict[str, Any], longest: float | None, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=f"^{re.escape(message)}"):
        rw.rotary_from_config(LLAMA | {"rope_parameters": rope, "max_position_embeddings": longest})


@pytest.mark.parametrize(
    ("config", "key"),
    [
        (LLAMA, "rope_theta"),
        (LLAMA | {"rope_parameters": {"rope_theta": 1e4}}, "rope_theta"),
        ({"model_type": "laguna", "head_dim": 64}, "rope_theta"),
        (LLAMA, "hidden_size"),
        (LLAMA, "partial_rotary_factor"),
        (LLAMA | {"partial_rotary_factor": 0.5}, "rotary_dim"),
        (LLAMA | {"model_type": "falcon"}, "alibi"),
    ],
    ids=str,
)
def test_an_array_in_place_of_a_number_is_refused(config: dict[str, Any], key: str) -> None:
    layer_type = "full_attention" if config["model_type"] == "laguna" else None
    with pytest.raises((TypeError, ValueError), match=f"^{key} .*must .*array"):
        rw.rotary_from_config(config | {key: np.array([1, 2])}, layer_type=layer_type)


@pytest.mark.parametrize("sections", [[16, 24, 23], [64], [], [16, 24, 0], "16"])
def test_sections_must_share_out_the_pairs(sections: Any) -> None:
    config = config_of("Qwen2-VL 7B, as first published")
    config["rope_scaling"] = {"type": "mrope", "mrope_section": sections}
    with pytest.raises((ValueError, TypeError), match=r"^mrope_section must "):
        rw.rotary_from_config(config)


def test_a_family_deals_out_its_sections_in_its_own_way_unless_it_is_said() -> None:
    config = config_of("Qwen3-VL 4B")
    scaling = {"mrope_section": [24, 20, 20], "rope_type": "default"}
    text = config["text_config"] | {"rope_scaling": scaling}
    assert rw.rotary_from_config(config | {"text_config": text}) == rw.rotary_from_config(config)


def test_an_unknown_family_may_have_sections() -> None:
    rope = {"rope_theta": 100.0, "mrope_section": [4, 2, 2]}
    config = LLAMA | {"model_type": "my_model", "rope_interleave": False, "rope_parameters": rope}
    for interleaved in (False, True):
        rope["mrope_interleaved"] = interleaved
        expected = rw.frequencies.mrope(16, sections=(4, 2, 2), interleaved=interleaved, base=100.0)
        assert rw.rotary_from_config(config)["frequencies"] == expected


def test_sections_must_be_there_for_three_positions_a_token() -> None:
    config = config_of("Qwen2-VL 7B, as first published") | {"rope_scaling": {"type": "mrope"}}
    refused(config, "mrope_section is missing")


def test_sections_must_not_contradict_the_family() -> None:
    config = config_of("Qwen2-VL 7B, as first published")
    config["rope_scaling"] = config["rope_scaling"] | {"mrope_interleaved": True}
    refused(config, "mrope_interleaved must not be True in 'qwen2_vl_text'")
    refused(LLAMA | {"rope_scaling": {"mrope_section": [4, 2, 2]}}, "mrope_section must not be")


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (
            {"rope_theta": 1.0, "rope_parameters": {"rope_theta": 2.0}},
            "rope_theta of rope_parameters and rope_theta",
        ),
        (
            {"rope_theta": 1.0, "rope_scaling": {"type": "linear", "factor": 2, "rope_theta": 2.0}},
            "rope_theta of rope_scaling and rope_theta",
        ),
        ({"rope_theta": 1.0, "rotary_emb_base": 2.0}, "rope_theta and rotary_emb_base"),
        (
            {"rotary_pct": 0.5, "partial_rotary_factor": 0.25},
            "partial_rotary_factor and rotary_pct",
        ),
        ({"rotary_dim": 4, "partial_rotary_factor": 0.5}, "rotary_dim and partial_rotary_factor"),
        (
            {"rope_scaling": {"type": "linear"}, "rope_parameters": {"type": "yarn"}},
            "rope_parameters and rope_scaling",
        ),
    ],
    ids=str,
)
def test_contradictions_are_refused(given: dict[str, Any], message: str) -> None:
    refused(LLAMA | given, f"{message} must agree, got ")


@pytest.mark.parametrize("fraction", [0.0, -0.5, 1.5])
def test_part_of_a_head_must_be_above_0_and_at_most_1(fraction: float) -> None:
    refused(LLAMA | {"partial_rotary_factor": fraction}, "partial_rotary_factor must be ")


@pytest.mark.parametrize("fraction", [0.2, 0.01])
def test_part_of_a_head_must_be_even(fraction: float) -> None:
    with pytest.raises(ValueError, match="must be an even integer"):
        rw.rotary_from_config(LLAMA | {"partial_rotary_factor": fraction})


@pytest.mark.parametrize("width", [0, -2, 17, 18])
def test_the_rotated_width_must_fit_the_head(width: int) -> None:
    refused(LLAMA | {"rotary_dim": width}, "rotary_dim must be an integer from 1 to 16")


@pytest.mark.parametrize("layer_type", [None, "global", "chunked_attention"])
def test_one_of_several_layer_types_must_be_named(layer_type: str | None) -> None:
    message = "layer_type must be one of 'sliding_attention', 'full_attention', got "
    refused(config_of("Gemma 3 12B"), message + repr(layer_type), layer_type=layer_type)


@pytest.mark.parametrize("name", [["x"], {}, 1, None], ids=repr)
def test_layer_types_are_texts(name: object) -> None:
    message = f"layer_types must be a str, got {name!r}"
    refused(LLAMA | {"layer_types": [name]}, message, TypeError, layer_type="x")


@pytest.mark.parametrize("value", ["x", "", 0, False, {}], ids=repr)
def test_layer_types_are_a_list(value: object) -> None:
    message = f"layer_types must be a list, got {value!r}"
    refused(LLAMA | {"layer_types": value}, message, TypeError, layer_type="x")


def test_lengths_of_yarn_are_numbers() -> None:
    rope = {"rope_type": "yarn", "original_max_position_embeddings": "4096"}
    config = LLAMA | {"rope_scaling": rope, "max_position_embeddings": 8192}
    message = "original_max_position_embeddings must be a real number, got '4096'"
    refused(config, message, TypeError)


def test_a_layer_type_must_be_there() -> None:
    message = "layer_type must be left out where layer_types is, got 'full_attention'"
    refused(LLAMA, message, layer_type="full_attention")


def test_a_layer_type_that_does_not_rotate_says_so() -> None:
    message = "layer_type 'full_attention' does not rotate in 'cohere2'"
    refused(config_of("Command R7B"), message, layer_type="full_attention")
    rope = {"full_attention": None, "sliding_attention": {"rope_theta": 5e4}}
    message = "layer_type 'full_attention' does not rotate in 'llama'"
    refused(LLAMA | {"rope_parameters": rope}, message, layer_type="full_attention")


@pytest.mark.parametrize("given", [{"rope_theta": 7.0}, {"rope_scaling": {"type": "linear"}}])
def test_families_without_an_old_spelling_refuse_it(given: dict[str, Any]) -> None:
    config = {"model_type": "laguna", "head_dim": 128} | given
    key = "rope_theta" if "rope_theta" in given else "rope_parameters"
    with pytest.raises(ValueError, match=f"^{key} .*must be (in rope_parameters|given)"):
        rw.rotary_from_config(config, layer_type="full_attention")


@pytest.mark.parametrize(
    ("model_type", "key", "value", "needed"),
    [
        ("falcon", "alibi", True, False),
        ("esm", "position_embedding_type", "absolute", "rotary"),
        ("esm", "position_embedding_type", None, "rotary"),
        ("granitemoehybrid", "position_embedding_type", "nope", "rope"),
    ],
)
def test_a_model_that_does_not_rotate_says_so(
    model_type: str, key: str, value: Any, needed: Any
) -> None:
    config = LLAMA | {"model_type": model_type, key: value}
    refused(config, f"{key} must be {needed!r} for {model_type!r} to rotate, got {value!r}")
    assert rw.rotary_from_config(config | {key: needed})["rotary_dim"] == 16


def test_a_family_of_many_schedules_needs_one() -> None:
    config = config_of("gpt-oss 20B") | {"rope_scaling": None}
    refused(config, "rope_parameters is missing, and models of 'gpt_oss' differ in it")


@pytest.mark.parametrize("length", [0, -1, 2**53 + 1])
def test_length_must_be_positive(length: int) -> None:
    refused(LLAMA, "length must be an integer from 1 to ", length=length)


@pytest.mark.parametrize("length", [1.0, "8192"])
def test_length_must_be_an_integer(length: Any) -> None:
    refused(LLAMA, "length must be an integer, got ", TypeError, length=length)


@pytest.mark.parametrize("value", ["true", 1, [True]])
def test_rope_interleave_must_be_a_truth_value(value: Any) -> None:
    refused(LLAMA | {"rope_interleave": value}, "rope_interleave must be a bool, got ", TypeError)


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


KINDS: dict[str, Any] = {
    "pairing": {"half", "interleaved"},
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


def test_transformers_no_longer_reads_the_old_name_of_longrope() -> None:
    with pytest.raises(KeyError, match="original_max_position_embeddings"):
        inv_freq(config_of("Phi-3-vision 128k"), {})


def test_transformers_does_not_look_at_the_trained_length_of_dynamic_ntk() -> None:
    config = config_of("InternLM3 8B")
    rope = config["rope_scaling"] | {"original_max_position_embeddings": 16384}
    theirs, _ = inv_freq(config | {"rope_scaling": rope}, {"length": 30000})
    np.testing.assert_allclose(theirs, inv_freq(config, {})[0])
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


def test_a_config_without_a_family_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^config must have model_type"):
        rw.rotary_from_config({"hidden_size": 64, "num_attention_heads": 4})


@pytest.mark.parametrize("base", [[1e4], {}, "1e4"], ids=str)
@pytest.mark.parametrize("family", ["laguna", "neomme"])
def test_a_base_that_is_no_number_is_named(family: str, base: object) -> None:
    with pytest.raises((TypeError, ValueError), match="rope_theta"):
        rw.rotary_from_config(
            {"model_type": family, "head_dim": 64, "rope_theta": base}, layer_type="full_attention"
        )
