"""The work of operators, by hand."""

import json

import pytest

from diagnose.predict.flops import Work, convolution_outputs, work_of

FLOAT, HALF, BF16 = "float", "c10::Half", "c10::BFloat16"


def work(name, *shapes, dtype=FLOAT, dtypes=None, output=None):
    texts = dtypes or [dtype if shape else "Scalar" for shape in shapes]
    return work_of(f"aten::{name}", json.dumps(shapes), json.dumps(texts), output)


def test_a_matrix_product():
    assert work("mm", [1024, 1024], [1024, 1024]) == Work(2 * 1024**3, {"fp32": 3 * 1024**2})
    assert work("mm", [2, 3], [3, 5]) == Work(60, {"fp32": 6 + 15 + 10})


def test_a_product_written_into_a_given_tensor_writes_it_once():
    assert work("mm", [2, 3], [3, 5], [2, 5]) == Work(60, {"fp32": 6 + 15 + 10})


def test_a_product_with_something_added_reads_that_too():
    assert work("addmm", [5], [2, 3], [3, 5], [], [], dtype=HALF) == Work(60, {"fp16": 5 + 6 + 15 + 10})
    assert work("baddbmm", [7, 2, 5], [7, 2, 3], [7, 3, 5], [], []) == Work(
        420, {"fp32": 7 * (10 + 6 + 15 + 10)}
    )


def test_a_batch_of_products():
    assert work("bmm", [7, 2, 3], [7, 3, 5], dtype=BF16) == Work(420, {"bf16": 7 * (6 + 15 + 10)})


def test_matmul_and_linear():
    assert work("matmul", [7, 2, 3], [3, 5]) == Work(420, {"fp32": 7 * 6 + 15 + 7 * 10})
    assert work("matmul", [7, 1, 2, 3], [4, 3, 5]) == Work(2 * 7 * 4 * 30, {"fp32": 7 * 6 + 4 * 15 + 28 * 10})
    assert work("linear", [7, 2, 3], [5, 3], [5]) == Work(420, {"fp32": 42 + 15 + 5 + 70})
    assert work("linear", [7, 2, 3], [5, 3], []) == Work(420, {"fp32": 42 + 15 + 70})


@pytest.mark.parametrize(
    "name, shapes",
    [
        ("mm", [[2, 3], [4, 5]]),
        ("mm", [[2, 3]]),
        ("mm", [[2, 3, 4], [4, 5]]),
        ("bmm", [[7, 2, 3], [6, 3, 5]]),
        ("matmul", [[3], [3]]),
        ("matmul", [[2, 7, 2, 3], [3, 3, 5]]),
        ("linear", [[2, 3], [3, 5]]),
        ("addmm", [[5], [2, 3], [4, 5]]),
    ],
)
def test_shapes_that_do_not_fit_have_no_known_work(name, shapes):
    assert work(name, *shapes) is None


# A 3 × 3 convolution from 4 to 8 channels over 2 images of 10 × 10, without padding: 8 × 8 results.
X, W, Y = [2, 4, 10, 10], [8, 4, 3, 3], [2, 8, 8, 8]
FORWARD = 2 * 2 * 64 * (8 * 4 * 9)
X_SIZE, W_SIZE, Y_SIZE = 800, 288, 1024


@pytest.mark.parametrize("name", ["convolution", "_convolution", "cudnn_convolution", "miopen_convolution"])
def test_a_convolution_whose_output_is_known(name):
    assert work(name, X, W, [], output=tuple(Y)) == Work(FORWARD, {"fp32": X_SIZE + W_SIZE + Y_SIZE})


def test_the_work_of_a_convolution_is_not_known_from_its_inputs_alone():
    assert work("cudnn_convolution", X, W, [], [], []) is None


def test_the_backward_of_a_convolution_computes_two_gradients_of_the_forwards_size():
    assert work("convolution_backward", Y, X, W, [], []) == Work(
        2 * FORWARD, {"fp32": Y_SIZE + 2 * (X_SIZE + W_SIZE)}
    )


def test_groups_divide_the_work():
    assert work("convolution", [2, 8, 10, 10], [8, 1, 3, 3], output=(2, 8, 8, 8)).flop == 2 * 2 * 64 * 8 * 9


def test_a_transposed_convolution_multiplies_at_its_input():
    assert work("convolution", [2, 8, 8, 8], [8, 4, 3, 3], output=(2, 4, 10, 10)).flop == FORWARD


def test_outputs_of_convolutions_come_from_their_backwards():
    backward = json.dumps([Y, X, W, [], []])
    outputs = convolution_outputs(
        [("aten::convolution_backward", backward), ("aten::mm", json.dumps([[2, 3], [3, 5]]))]
    )
    assert outputs == {(tuple(X), tuple(W)): tuple(Y)}


def test_old_backwards_take_the_input_first():
    assert convolution_outputs([("aten::cudnn_convolution_backward", json.dumps([X, Y, W]))]) == {
        (tuple(X), tuple(W)): tuple(Y)
    }


@pytest.mark.parametrize("shapes", ["", "not JSON", "7", "[]", "[[], [], []]", "[[2, 3], null, [[4]]]"])
def test_hostile_shapes_tell_no_outputs(shapes):
    assert convolution_outputs([("aten::convolution_backward", shapes)]) == {}


def test_two_outputs_of_one_input_and_weight_are_not_told_apart():
    ops = [("aten::convolution_backward", json.dumps([y, X, W])) for y in (Y, [2, 8, 4, 4])]
    assert convolution_outputs(ops) == {}


def test_attention():
    heads_first, heads_third = [2, 3, 16, 8], [2, 16, 3, 8]
    expected = Work(2 * (2 * 2 * 3 * 16 * 16 * 8), {"bf16": 4 * 2 * 3 * 16 * 8})
    assert work("_scaled_dot_product_flash_attention", *[heads_first] * 3, [], dtype=BF16) == expected
    assert work("_flash_attention_forward", *[heads_third] * 3, [], [], dtype=BF16) == expected
    assert work("_efficient_attention_forward", *[heads_third] * 3, [], [], dtype=BF16) == expected


def test_attention_with_fewer_heads_of_keys():
    q, kv = [2, 16, 6, 8], [2, 32, 3, 8]
    assert work("_flash_attention_forward", q, kv, kv) == Work(
        4 * 2 * 6 * 16 * 32 * 8, {"fp32": 2 * 2 * 16 * 6 * 8 + 2 * 2 * 32 * 3 * 8}
    )


def test_the_backward_of_attention_is_five_products():
    q = [2, 16, 3, 8]
    flop = 5 * (2 * 2 * 3 * 16 * 16 * 8)
    assert work("_flash_attention_backward", q, q, q, q, q, [2, 3, 16]) == Work(flop, {"fp32": 8 * 768})
    assert work("_efficient_attention_backward", q, q, q, q, [], q, dtype=BF16) == Work(
        flop, {"bf16": 8 * 768}
    )


@pytest.mark.parametrize(
    "shapes",
    [
        [[20, 3, 8]] * 3,
        [[2, 16, 3, 8], [2, 16, 3, 4], [2, 16, 3, 8]],
        [[2, 16, 3, 8]] * 2,
        [[2, 16, 3, 8], [2, 16, 2, 8], [2, 16, 2, 8]],
    ],
)
def test_attention_over_packed_sequences_or_unfit_shapes_is_not_known(shapes):
    assert work("_flash_attention_forward", *shapes) is None


def test_elementwise_operators_only_move_bytes():
    assert work("relu", [10, 20]) == Work(0, {"fp32": 400})
    assert work("add_", [10, 20], [20], []) == Work(0, {"fp32": 420})
    assert work("add", [10, 1], [1, 20], []) == Work(0, {"fp32": 10 + 20 + 200})
    # a number as a tensor
    assert work("mul", [10, 20], [], dtypes=[BF16, "double"]).traffic == {"bf16": 400, "fp64": 1}
    assert work("mul", [10, 20], [], dtypes=[BF16, "Scalar"]).traffic == {"bf16": 400}
    assert work("threshold_backward", [10], [10], []) == Work(0, {"fp32": 30})
    assert work("fill_", [10], []) == Work(0, {"fp32": 10})


def test_an_out_argument_is_written_not_read():
    assert work("clamp_min", [10], [], [10], dtypes=[FLOAT, "Int", FLOAT]) == Work(0, {"fp32": 20})


def test_a_comparison_writes_booleans():
    assert work("eq", [10], [10]) == Work(0, {"fp32": 20, "bool": 10})


def test_a_copy_reads_one_type_and_writes_another():
    assert work("copy_", [10, 20], [20], [], dtypes=[HALF, FLOAT, "Scalar"]) == Work(
        0, {"fp16": 200, "fp32": 20}
    )


def test_normalisations_and_softmax_read_and_write_what_they_normalise():
    assert work("_softmax", [10, 20], [], []) == Work(0, {"fp32": 400})
    assert work("native_layer_norm", [10, 20], [], [20], [20], []) == Work(0, {"fp32": 440})
    assert work("cudnn_batch_norm", [2, 3, 4, 5], [3], [3], [3], [3], [], [], []) == Work(0, {"fp32": 252})
    assert work("_softmax_backward_data", [10, 20], [10, 20], [], []) == Work(0, {"fp32": 600})


@pytest.mark.parametrize("name", ["aten::sort", "Torch-Compiled Region", "triton_poi_fused_add_0", "", "mm"])
def test_other_operators_have_no_known_work(name):
    assert work_of(name, "[[2, 3], [3, 5]]", '["float", "float"]') is None


@pytest.mark.parametrize(
    "shapes",
    [
        "",
        "not JSON",
        "null",
        "7",
        "{}",
        "[" * 100_000,
        "[[2, 3], [3, -5]]",
        "[[2, 3], [3, 5.0]]",
        "[[2, 3], [3, true]]",
        '[[2, 3], [3, "5"]]',
        "[[2, 3], [3, NaN]]",
        "[[2, 3], [[3, 5]]]",
        f"[[2, 3], [3, {10**30}]]",
        f"[[{2**40}, {2**40}], [{2**40}, {2**40}]]",
        f"[[{2**47}, 1], [1, {2**47}]]",
        f"[[2, 3], [3, {'9' * 10_000}]]",
        "[[2, 3], [3, 5]",
        "[[2, 3]]",
    ],
)
def test_hostile_shapes_have_no_known_work(shapes):
    assert work_of("aten::mm", shapes, '["float", "float"]') is None


@pytest.mark.parametrize(
    "dtypes",
    [
        "",
        "[]",
        "null",
        '["float"]',
        '["float", 7]',
        '["c10::complex<float>", "float"]',
        '["", "float"]',
        "[[], []]",
    ],
)
def test_without_known_types_there_is_no_known_work(dtypes):
    assert work_of("aten::mm", "[[2, 3], [3, 5]]", dtypes) is None


def test_an_empty_tensor_is_no_work():
    assert work("mm", [0, 3], [3, 5]) == Work(0, {"fp32": 15})


def test_bytes_in_another_type():
    mixed = Work(0, {"fp32": 100, "bool": 10, "int64": 1})
    assert mixed.moved_bytes == 418
    assert mixed.stored("fp32", "bf16") == Work(0, {"bf16": 100, "bool": 10, "int64": 1})
    assert mixed.stored("fp32", "bf16").moved_bytes == 218
    assert mixed.stored("fp32", "tf32") == mixed
    assert mixed.stored("tf32", "bf16").moved_bytes == 218
    assert Work(7, {"fp32": 10, "bf16": 5}).stored("fp32", "bf16") == Work(7, {"bf16": 15})


def test_the_formulas_agree_with_those_of_pytorch():
    counter = pytest.importorskip("torch.utils.flop_counter")
    q, kv = [2, 6, 16, 8], [2, 6, 32, 8]  # (batch, heads, length, width)
    assert work("mm", [30, 40], [40, 50]).flop == counter.mm_flop([30, 40], [40, 50])
    assert work("bmm", [7, 30, 40], [7, 40, 50]).flop == counter.bmm_flop([7, 30, 40], [7, 40, 50])
    assert work("convolution", X, W, output=tuple(Y)).flop == counter.conv_flop_count(X, W, Y)
    assert work("convolution", Y, W, output=tuple(X)).flop == counter.conv_flop_count(
        Y, W, X, transposed=True
    )
    assert work("_scaled_dot_product_flash_attention", q, kv, kv).flop == counter.sdpa_flop_count(q, kv, kv)
    backward = work("_scaled_dot_product_flash_attention_backward", q, q, kv, kv).flop
    assert backward == counter.sdpa_backward_flop_count(q, q, kv, kv)


def test_the_backward_of_a_convolution_agrees_with_pytorch():
    counter = pytest.importorskip("torch.utils.flop_counter")
    arguments = (Y, X, W, None, [1, 1], [0, 0], [1, 1], False, [0, 0], 1, [True, True, False])
    assert work("convolution_backward", Y, X, W).flop == counter.conv_backward_flop(
        *arguments, out_val=(X, W)
    )
