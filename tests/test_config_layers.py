"""Configurations whose layers rotate in different ways, and keys that few families have.

What must come out is read in the code published with the models and in the modeling_*.py of
transformers 5.24.
"""

from typing import Any

import pytest
from tests.test_config import LLAMA, LONG, refused

import ropewalk as rw
from ropewalk import frequencies
from ropewalk.frequencies import Frequencies

KINDS = ["full_attention", "sliding_attention"]
PLAIN = {"rope_type": "default", "rope_theta": 5e4}


def turns(config: dict[str, Any], layer_type: str | None = None, **given: Any) -> Frequencies:
    found = rw.rotary_from_config(config, layer_type=layer_type, **given)["frequencies"]
    assert isinstance(found, Frequencies)
    return found


@pytest.mark.parametrize(
    "family", ["gemma4_text", "gemma4_unified_text", "laguna", "lfm3", "modernbert"]
)
def test_what_is_given_of_a_layer_type_is_all_of_it(family: str) -> None:
    config = {"model_type": family, "head_dim": 16, "global_head_dim": 16}
    linear = {"rope_type": "linear", "rope_theta": 5e4, "factor": 2.0}
    for rope, expected in (
        (PLAIN, frequencies.standard(16, base=5e4)),
        ({"rope_theta": 5e4}, frequencies.standard(16, base=5e4)),
        (linear, frequencies.linear(16, base=5e4, factor=2.0)),
        (
            PLAIN | {"rope_type": "proportional"},
            frequencies.proportional(16, fraction=1.0, base=5e4),
        ),
    ):
        given = config | {"rope_parameters": dict.fromkeys(KINDS, rope)}
        assert turns(given, "full_attention") == expected


def test_mimo_rotates_a_third_of_a_head_wherever_nothing_else_is_said() -> None:
    config = {"model_type": "mimo_v2_flash", "rope_parameters": dict.fromkeys(KINDS, PLAIN)}
    assert turns(config, "full_attention") == frequencies.standard(64, base=5e4)


@pytest.mark.parametrize(
    ("layer_type", "base"), [("full_attention", 5e6), ("sliding_attention", 2e4)]
)
def test_layers_with_a_window_may_have_a_base_of_their_own(layer_type: str, base: float) -> None:
    config = {"model_type": "mimo_v2_flash", "partial_rotary_factor": 0.334, "head_dim": 192}
    config |= {"rope_theta": 5e6, "swa_rope_theta": 2e4}
    assert turns(config, layer_type) == frequencies.standard(64, base=base)


@pytest.mark.parametrize("family", ["granite_swa", "granitemoe_swa", "muse_spark_text", "llama"])
def test_layers_may_have_a_base_each(family: str) -> None:
    config = LLAMA | {"model_type": family, "head_dim": 16, "rope_theta": 1e4}
    config |= {"layer_types": KINDS * 2, "layer_rope_theta": [5e5, 1e3, 5e5, 1e3]}
    assert turns(config, "full_attention") == frequencies.standard(16, base=5e5)
    assert turns(config, "sliding_attention") == frequencies.standard(16, base=1e3)
    refused(config, "layer_type must be one of 'full_attention', 'sliding_attention', got None")


def test_a_layer_whose_base_is_0_does_not_rotate() -> None:
    config = {"model_type": "muse_glimmer_text", "head_dim": 16, "rope_theta": 1e4}
    config |= {"layer_types": KINDS, "layer_rope_theta": [0, 1e3]}
    assert turns(config) == frequencies.standard(16, base=1e3)
    message = "layer_type 'full_attention' does not rotate in 'muse_glimmer_text'"
    refused(config, message, layer_type="full_attention")
    refused(config | {"layer_rope_theta": None}, message, layer_type="full_attention")


def test_some_layer_must_rotate() -> None:
    config = LLAMA | {"layer_types": KINDS, "layer_rope_theta": [0, 0]}
    refused(config, "layer_rope_theta must let some layer rotate, got [[0, 0]]")


def test_layers_without_heads_are_none_to_choose_from() -> None:
    config = LLAMA | {"layer_types": ["conv", "full_attention"], "layer_rope_theta": [1e3, 1e3]}
    assert turns(config) == frequencies.standard(16, base=1e3)


@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        ({"layer_types": KINDS}, ValueError, "layer_rope_theta must have as many numbers as layer"),
        (
            {"layer_types": ["full_attention"] * 3},
            ValueError,
            "layer_rope_theta must be the same in all layers of 'full_attention', got [1.0, 2.0, 2",
        ),
        ({}, ValueError, "layer_types is missing, and layer_rope_theta has a number a layer"),
        (
            {"layer_types": KINDS, "num_hidden_layers": "2"},
            TypeError,
            "num_hidden_layers must be an integer, got '2'",
        ),
        ({"layer_types": "full"}, TypeError, "layer_types must be a list, got 'full'"),
        ({"layer_types": [1, 2, 3]}, TypeError, "each of layer_types must be a str, got 1"),
        ({"layer_rope_theta": 5e5}, TypeError, "layer_rope_theta must be a list, got 500000.0"),
        ({"partial_rotary_factors": 0.5}, TypeError, "partial_rotary_factors must be a list"),
        (
            {"rope_theta": [1e4] * 3},
            ValueError,
            "layer_rope_theta and rope_theta must not be given together",
        ),
        (
            {"rope_parameters": {"full_attention": PLAIN}},
            ValueError,
            "layer_rope_theta must not be given beside parameters by layer type",
        ),
        (
            {"rope_scaling_layers": [0]},
            ValueError,
            "rope_scaling_layers and layer_rope_theta must not be given together",
        ),
    ],
    ids=str,
)
def test_a_list_must_tell_the_layer_types_apart(
    given: dict[str, Any], error: type[Exception], message: str
) -> None:
    refused(LLAMA | {"layer_rope_theta": [1.0, 2.0, 2.0]} | given, message, error)


@pytest.mark.parametrize(
    ("family", "still"), [("qwen3_next", "linear_attention"), ("afmoe", "full_attention")]
)
def test_lists_without_a_base_turn_no_layer_that_stands_still(family: str, still: str) -> None:
    config = {"model_type": family, "head_dim": 64, "rope_theta": 1e4}
    config |= {"layer_types": [still, "sliding_attention"], "partial_rotary_factors": [0.5, 0.5]}
    refused(config, f"layer_type {still!r} does not rotate in {family!r}", layer_type=still)
    assert turns(config) == frequencies.standard(32)


def test_lists_leave_the_rest_of_a_rule_as_it_is() -> None:
    config = {"model_type": "laguna", "head_dim": 64, "layer_types": KINDS}
    config |= {"layer_rope_theta": [1e5, 1e3]}
    assert turns(config, "full_attention") == frequencies.standard(32, base=1e5)
    assert turns(config, "sliding_attention") == frequencies.standard(64, base=1e3)


def test_only_layer_types_of_the_model_are_to_choose_from() -> None:
    both = {"full_attention": PLAIN, "sliding_attention": PLAIN | {"rope_theta": 1e3}}
    config = LLAMA | {"layer_types": ["full_attention"] * 2, "rope_parameters": both}
    assert turns(config) == frequencies.standard(16, base=5e4)


def test_single_layers_may_say_the_width_of_their_heads() -> None:
    config = {"model_type": "gemma4_text", "layer_types": KINDS * 2, "head_dim": 32}
    layers = {"0": {"head_dim": 64}, "2": {"head_dim": 64}}
    widths = [
        rw.rotary_from_config(config | {"per_layer_config": layers}, layer_type=name)["rotary_dim"]
        for name in KINDS
    ]
    assert widths == [64, 32]
    none = config | {"per_layer_config": {"0": {}}}  # the family's own are others
    assert rw.rotary_from_config(none, layer_type=KINDS[0])["rotary_dim"] == 32
    bare = {"model_type": "gemma4_text", "layer_types": KINDS, "per_layer_config": {}}
    for name in KINDS:
        assert rw.rotary_from_config(bare, layer_type=name)["rotary_dim"] == 256
    layers["2"]["head_dim"] = 128
    message = "head_dim must be the same in all layers of 'full_attention', got [64, 128]"
    refused(config | {"per_layer_config": layers}, message, layer_type="full_attention")


@pytest.mark.parametrize("keys", [("05", "11"), ("5", "11"), (5, 11)], ids=str)
def test_layers_may_be_numbered_with_zeros_before(keys: tuple[Any, ...]) -> None:
    config: dict[str, Any] = {"model_type": "gemma4_text", "head_dim": 256}
    config |= {"layer_types": (KINDS[1:] * 5 + KINDS[:1]) * 2}
    config |= {"per_layer_config": {key: {"head_dim": 512} for key in keys}}
    widths = [rw.rotary_from_config(config, layer_type=name)["rotary_dim"] for name in KINDS]
    assert widths == [512, 256]
    config["per_layer_config"] |= {"05": {"head_dim": 512}, "5": {"head_dim": 512}}
    assert rw.rotary_from_config(config, layer_type=KINDS[0])["rotary_dim"] == 512
    config["per_layer_config"] |= {"05": {"head_dim": 512}, "5": {"head_dim": 256}}
    message = "per_layer_config must say one thing of layer 5, got two"
    refused(config, message, layer_type=KINDS[0])


@pytest.mark.parametrize(
    ("key", "error", "message"),
    [
        ("2", ValueError, "must be an integer from 0 to 1, got 2"),
        (-1, ValueError, "must be an integer from 0 to 1, got -1"),
        ("-1", TypeError, "must be an integer, got '-1'"),
        ("full_attention", TypeError, "must be an integer, got 'full_attention'"),
        ("9" * 10, TypeError, "must be an integer, got '9999999999'"),
        (True, TypeError, "must be an integer, got True"),
    ],
)
def test_what_is_said_of_no_layer_is_refused(
    key: object, error: type[Exception], message: str
) -> None:
    config = {"model_type": "gemma4_text", "per_layer_config": {key: {"head_dim": 64}}}
    for layers in ({"layer_types": KINDS}, {"num_hidden_layers": 2}):
        wanted = f"each key of per_layer_config {message}"
        refused(config | layers, wanted, error, layer_type="full_attention")


@pytest.mark.parametrize("key", ["rope_theta", "partial_rotary_factor", "rope_type", "rotary_dim"])
def test_single_layers_may_not_say_how_they_rotate(key: str) -> None:
    config = {"model_type": "gemma4_text", "layer_types": KINDS}
    layers = {"0": {"head_dim": 64}, "1": {key: 1}}
    message = f"{key} is not understood in per_layer_config, which may say head_dim, got 1"
    refused(config | {"per_layer_config": layers}, message, layer_type="full_attention")


def test_types_of_layers_are_needed_where_single_ones_say_their_width() -> None:
    config = {"model_type": "gemma4_text", "per_layer_config": {"0": {"head_dim": 64}}}
    message = "layer_types is missing, and per_layer_config has head_dim of single layers"
    refused(config, message, layer_type="full_attention")
    others = config | {"per_layer_config": {"0": {"sliding_window": 64}}}
    assert rw.rotary_from_config(others, layer_type="full_attention")["rotary_dim"] == 512


STEP = {"model_type": "step3p5", "head_dim": 16, "layer_types": KINDS, "rope_theta": 5e6}
LLAMA_3 = {"rope_type": "llama3", "factor": 2.0, "original_max_position_embeddings": 131072}
LLAMA_3 |= {"low_freq_factor": 1.0, "high_freq_factor": 32.0}


def test_layers_of_step_have_bases_and_parts_of_their_own() -> None:
    whole = frequencies.standard(16, base=5e6)
    assert [turns(STEP, name) for name in KINDS] == [whole, whole]
    assert turns(STEP | {"layer_types": KINDS[:1] * 3}) == whole
    parts = STEP | {"partial_rotary_factors": [0.5, 1.0]}
    assert [turns(parts, name) for name in KINDS] == [frequencies.standard(8, base=5e6), whole]
    # A list may be longer, for layers that predict further tokens.
    longer = parts | {"rope_theta": [5e6, 5e6, 7.0], "num_hidden_layers": 2}
    assert turns(longer, "sliding_attention") == whole
    scaled = parts | {"rope_theta": [5e6, 1e4], "rope_scaling": LLAMA_3}
    assert turns(scaled, "sliding_attention") == frequencies.standard(16, base=1e4)
    assert turns(scaled, "full_attention") == frequencies.llama3(
        8,
        base=5e6,
        factor=2.0,
        trained_length=131072,
        low_frequency_factor=1.0,
        high_frequency_factor=32.0,
    )


def test_only_some_layers_of_molmo_may_be_scaled() -> None:
    yarn = {"rope_type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
    config = {"model_type": "molmo2_text", "head_dim": 16, "rope_theta": 1e6}
    config |= {"rope_scaling": yarn, "num_hidden_layers": 3}
    scaled = frequencies.yarn(16, base=1e6, factor=4.0, trained_length=32768)
    assert turns(config) == turns(config | {"rope_scaling_layers": [2, 1, 0]}) == scaled
    some = config | {"rope_scaling_layers": [0, 2]}
    assert turns(some, "scaled") == scaled
    assert turns(some, "unscaled") == frequencies.standard(16, base=1e6)
    assert turns(config | {"rope_scaling_layers": [2, 1, 0]}, "scaled") == scaled
    assert turns(config | {"rope_scaling_layers": []}) == frequencies.standard(16, base=1e6)
    usual = {key: value for key, value in some.items() if key != "rope_theta"}
    assert turns(usual, "unscaled") == frequencies.standard(16)
    inside = some | {"rope_scaling": yarn | {"rope_theta": 1e4}}
    refused(inside, "rope_theta of rope_scaling and rope_theta must agree", layer_type="scaled")
    refused(some | {"rope_scaling_layers": [3]}, "each of rope_scaling_layers must be an integer")
    refused(some, "layer_type must be one of 'scaled', 'unscaled', got None")
    refused(some | {"num_hidden_layers": None}, "num_hidden_layers is missing, and rope_scaling_")
    refused(some | {"rope_scaling_layers": 2}, "rope_scaling_layers must be a list", TypeError)


def test_alpha_is_hunyuans_name_for_the_factor_of_ntk() -> None:
    rope = {"type": "dynamic", "alpha": 1000, "factor": 1, "beta_fast": 32, "beta_slow": 1}
    config = {"model_type": "hunyuan_v1_dense", "head_dim": 16}
    config |= {"rope_scaling": rope | {"mscale": 1.0, "mscale_all_dim": 0.0}}
    assert turns(config) == frequencies.ntk(16, factor=1000.0)
    refused(LLAMA | {"rope_scaling": rope}, "alpha is not understood where rope_type is 'dynamic'")
    for alpha in (0, -1.0):
        refused(config | {"rope_scaling": rope | {"alpha": alpha}}, "alpha must be positive")


def test_phi_has_an_attention_factor_for_short_contexts_and_one_for_long_ones() -> None:
    rope: dict[str, Any] = {"type": "longrope", "original_max_position_embeddings": 4096, **LONG}
    rope |= {"short_mscale": 1.24, "long_mscale": 1.25}
    config = {"model_type": "phimoe", "head_dim": 16, "rope_scaling": rope}
    found = [turns(config, length=length).attention_factor for length in (None, 4096, 4097)]
    assert found == [1.24, 1.24, 1.25]
    for factor in ("x", 0.01):
        error = TypeError if factor == "x" else ValueError
        wrong = config | {"rope_scaling": rope | {"long_mscale": factor}}
        refused(wrong, "long_mscale must be a ", error)
    message = "short_mscale and long_mscale must be given together, and without attention_factor"
    for given in ({"long_mscale": None}, {"short_mscale": None}, {"attention_factor": 1.2}):
        refused(config | {"rope_scaling": rope | given}, message)


def test_published_keys_of_yarn_that_change_nothing_are_understood() -> None:
    rope = {"type": "yarn", "factor": 8.0, "original_max_position_embeddings": 4096}
    for more in ({"finetuned": True}, {"mscale": 1.0}, {"mscale": 1, "mscale_all_dim": 0}):
        assert turns(LLAMA | {"rope_scaling": rope | more}) == turns(LLAMA | {"rope_scaling": rope})
    refused(LLAMA | {"rope_scaling": rope | {"mscale": 0.7}}, "mscale and mscale_all_dim must be")


def test_both_spellings_may_share_what_they_say() -> None:
    linear = {"rope_type": "linear", "factor": 4.0}
    config = LLAMA | {"rope_scaling": linear, "rope_parameters": linear | {"rope_theta": 5e4}}
    assert turns(config) == frequencies.linear(16, base=5e4, factor=4.0)


def test_a_part_that_does_not_rotate_is_not_asked_for() -> None:
    config = {"model_type": "encoder-decoder", "decoder": {"model_type": "bert"}}
    refused(config, "model_type 'encoder-decoder' is not known")


@pytest.mark.parametrize("part", [{"rope_theta": 1e6}, {"model_type": "dbrx"}, {"model_type": [0]}])
def test_parts_of_a_known_family_are_asked_for_whatever_they_are(part: dict[str, Any]) -> None:
    config = LLAMA | {"model_type": "llava", "llm_config": part}
    refused(config, "config must be the part about text, config['llm_config'], got all parts")
