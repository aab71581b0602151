"""Calls that PyTorch's samples don't make: operators without an OpInfo, called by hand with small arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

from corpus_samples import Unit

aten = torch.ops.aten


def _queries() -> None:
    """Questions about a tensor that Python answers from its own fields, so that only a direct call is recorded."""
    x, y = torch.rand(2, 3), torch.rand(2, 3)
    for name in (
        "is_complex is_conj is_floating_point is_inference is_leaf is_neg is_signed is_distributed is_coalesced"
        " output_nr retains_grad _version _is_zerotensor _debug_has_internal_overlap _shape_as_tensor"
        " _lazy_clone lift conj"
        " _neg_view _to_cpu adjoint sym_numel sym_is_contiguous sym_storage_offset data is_pinned _pin_memory"
    ).split():
        _try(lambda name=name: getattr(aten, name)(x))
    for call in (
        lambda: aten.size.int(x, 1),
        lambda: aten.stride.int(x, 1),
        lambda: aten.sym_size.int(x, 1),
        lambda: aten.sym_stride.int(x, 1),
        lambda: aten.is_set_to(x, y),
        lambda: aten._has_same_storage_numel(x, y),
        lambda: aten.promote_types(torch.float32, torch.int64),
        lambda: aten._is_all_true(x > 0),
        lambda: aten._is_any_true(x > 0),
        lambda: aten._make_dep_token(),
        lambda: aten.is_vulkan_available(),
        lambda: aten._new_zeros_with_same_feature_meta(x, y),
        lambda: aten.set_.source_Tensor(torch.rand(3), torch.rand(4)),
        lambda: aten.requires_grad_(torch.rand(3), True),
    ):
        _try(call)


def _casts() -> None:
    x = torch.rand(2, 3)
    for name in "Byte Char Double Float Half Int Long Short".split():
        _try(lambda name=name: getattr(aten, f"_cast_{name}")(x))
    _try(lambda: aten._autocast_to_reduced_precision(x, False, True, torch.float16, torch.bfloat16))
    _try(lambda: aten._autocast_to_full_precision(x, False, True))
    for name in "lshift rshift or xor and ilshift irshift ior ixor iand".split():
        _try(lambda name=name: getattr(aten, f"__{name}__").Scalar(torch.arange(6), 1))
        _try(lambda name=name: getattr(aten, f"__{name}__").Tensor(torch.arange(6), torch.arange(6) % 2))


def _windows_and_frequencies() -> None:
    for name in "bartlett blackman hamming hann kaiser".split():
        _try(lambda name=name: getattr(aten, f"{name}_window")(6))
        _try(lambda name=name: getattr(aten, f"{name}_window").periodic(6, True))
    for call in (
        lambda: aten.fft_fftfreq(6),
        lambda: aten.fft_rfftfreq(6),
        lambda: aten.hamming_window.periodic_alpha(6, True, 0.5),
        lambda: aten.hamming_window.periodic_alpha_beta(6, True, 0.5, 0.4),
        lambda: aten.kaiser_window.beta(6, True, 8.0),
        lambda: aten.range(0, 5),
        lambda: aten.range.step(0, 5, 2),
    ):
        _try(call)


def _random_and_sobol() -> None:
    x = torch.rand(2, 3) + 1
    for call in (
        lambda: aten._standard_gamma(x),
        lambda: aten._standard_gamma_grad(x, x),
        lambda: aten._sample_dirichlet(x),
        lambda: aten._dirichlet_grad(x, x, x),
        lambda: aten.poisson(x),
        lambda: aten.binomial(x, torch.rand(2, 3)),
        lambda: aten.native_dropout(x, 0.5, True),
        lambda: aten._masked_scale(x, torch.ones(2, 3, dtype=torch.uint8), 2.0),
        lambda: torch.quasirandom.SobolEngine(2, scramble=True, seed=1).draw(4),
        lambda: torch.quasirandom.SobolEngine(2, seed=1).fast_forward(3),
        lambda: aten.normal_functional(x),
        lambda: aten.rrelu_with_noise_functional(x, torch.rand(2, 3), 0.1, 0.3, True),
    ):
        _try(call)


def _fake_quantization() -> None:
    x, scale, zero = torch.rand(2, 3), torch.tensor([0.1]), torch.tensor([0])
    scales, zeros = torch.rand(3) + 0.1, torch.zeros(3, dtype=torch.int32)
    one, mask = torch.tensor([1]), torch.ones(2, 3, dtype=torch.bool)
    for call in (
        lambda: aten.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255),
        lambda: aten.fake_quantize_per_tensor_affine.tensor_qparams(x, scale, zero.int(), 0, 255),
        lambda: aten._fake_quantize_per_tensor_affine_cachemask_tensor_qparams(x, scale, zero.int(), one, 0, 255),
        lambda: aten.fake_quantize_per_tensor_affine_cachemask_backward(x, mask),
        lambda: aten.fake_quantize_per_channel_affine(x, scales, zeros, 1, 0, 255),
        lambda: aten.fake_quantize_per_channel_affine_cachemask_backward(x, mask),
        lambda: aten._fake_quantize_learnable_per_tensor_affine(x, scale, zero.float(), 0, 255, 1.0),
        lambda: aten._fake_quantize_learnable_per_tensor_affine_backward(x, x, scale, zero.float(), 0, 255, 1.0),
        lambda: aten._fake_quantize_learnable_per_channel_affine(x, scales, zeros.float(), 1, 0, 255, 1.0),
        lambda: aten._fake_quantize_learnable_per_channel_affine_backward(
            x, x, scales, zeros.float(), 1, 0, 255, 1.0
        ),
        lambda: aten._choose_qparams_per_tensor(x, False),
        lambda: aten.choose_qparams_optimized(torch.rand(16), 16, 16, 0.16, 8),
        lambda: aten.fused_moving_avg_obs_fake_quant(
            x, one, one, torch.zeros(1), torch.ones(1), scale, zero.int(), 0.01, 0, 255, -1
        ),
    ):
        _try(call)


def _recurrent_and_normalization() -> None:
    x, weight = torch.rand(2, 3, 4, 4), torch.rand(3)
    gates, hidden = torch.rand(2, 12), torch.rand(2, 3)
    wide, narrow = torch.rand(12, 3), torch.rand(12)
    packed = torch.nn.utils.rnn.pack_padded_sequence(torch.rand(4, 2, 3), torch.tensor([4, 2]))
    for call in (
        lambda: aten.lstm_cell(hidden, [hidden, hidden], wide, wide, narrow, narrow),
        lambda: aten.gru_cell(hidden, hidden, wide[:9], wide[:9], narrow[:9], narrow[:9]),
        lambda: aten.rnn_tanh_cell(hidden, hidden, wide[:3], wide[:3], narrow[:3], narrow[:3]),
        lambda: aten.rnn_relu_cell(hidden, hidden, wide[:3], wide[:3], narrow[:3], narrow[:3]),
        lambda: [m(packed) for m in (torch.nn.LSTM(3, 3), torch.nn.GRU(3, 3), torch.nn.RNN(3, 3))],
        lambda: torch.nn.RNN(3, 3, nonlinearity="relu")(packed),
        lambda: torch.nn.utils.rnn.pad_packed_sequence(packed),
        lambda: torch.nn.utils.rnn.pad_sequence([torch.rand(2, 3), torch.rand(4, 3)]),
        lambda: aten._thnn_differentiable_lstm_cell_backward(hidden, hidden, gates, gates, None, None, hidden, hidden),
        lambda: aten._native_batch_norm_legit_functional(x, weight, weight, weight, weight, True, 0.1, 1e-5),
        lambda: aten._native_batch_norm_legit_no_training(x, weight, weight, weight, weight, 0.1, 1e-5),
        lambda: aten._batch_norm_with_update_functional(x, weight, weight, weight, weight, 0.1, 1e-5),
        lambda: aten._batch_norm_no_update(x, weight, weight, weight, weight, 0.1, 1e-5),
        lambda: aten.batch_norm_update_stats(x, weight, weight, 0.1),
        lambda: aten._weight_norm(torch.rand(3, 4), torch.rand(3, 1), 0),
        lambda: aten._weight_norm_interface(torch.rand(3, 4), torch.rand(3, 1), 0),
        lambda: aten._weight_norm_interface_backward(
            torch.rand(3, 4), torch.rand(3, 4), torch.rand(3, 1), torch.rand(3, 1), 0
        ),
        lambda: aten.norm_except_dim(torch.rand(3, 4), 2, 0),
        lambda: aten.embedding_renorm_(torch.rand(4, 3), torch.tensor([0, 2]), 1.0, 2.0),
    ):
        _try(call)


def _matrices() -> None:
    x, square = torch.rand(2, 3), torch.rand(3, 3)
    for call in (
        lambda: aten._addmm_activation(torch.rand(3), x, square),
        lambda: aten._add_relu.Tensor(x, x),
        lambda: aten._add_relu.Scalar(x, 2),
        lambda: aten._add_relu_.Tensor(x.clone(), x),
        lambda: aten._add_relu_.Scalar(x.clone(), 2),
        lambda: aten._aminmax(x),
        lambda: aten._aminmax.dim(x, 1),
        lambda: aten._stack([x, x]),
        lambda: aten._int_mm(torch.ones(32, 32, dtype=torch.int8), torch.ones(32, 32, dtype=torch.int8)),
        lambda: aten._compute_linear_combination(torch.rand(2, 2), torch.rand(3, 2)),
        lambda: aten.linalg_matrix_rank(square, 0.1),
        lambda: aten.linalg_matrix_rank.tol_tensor(square, torch.tensor(0.1)),
        lambda: aten.linalg_norm.ord_str(square, "fro"),
        lambda: aten.linalg_cond.p_str(square, "fro"),
        lambda: aten.nuclear_norm(square),
        lambda: aten.frobenius_norm.dim(square, [0, 1]),
        lambda: aten.chain_matmul([x, square]),
        lambda: aten.native_norm(x),
        lambda: aten._masked_softmax(square, torch.zeros(3, 3, dtype=torch.bool), 1, 2),
        lambda: aten.matmul_backward(x, x, square, [True, True]),
        lambda: aten.glu_jvp(x, torch.rand(2, 6), torch.rand(2, 6), 1),
    ):
        _try(call)


def _images_and_indices() -> None:
    x, square, image = torch.rand(2, 3), torch.rand(3, 3), torch.rand(1, 2, 4, 4)
    for call in (
        lambda: aten._upsample_bicubic2d_aa(image, [3, 3], False),
        lambda: aten._upsample_bicubic2d_aa_backward(torch.rand(1, 2, 3, 3), [3, 3], [1, 2, 4, 4], False),
        lambda: aten.affine_grid_generator(torch.rand(1, 2, 3), [1, 2, 4, 4], False),
        lambda: aten._grid_sampler_2d_cpu_fallback(image, torch.rand(1, 3, 3, 2), 0, 0, False),
        lambda: aten.conv_tbc(torch.rand(4, 2, 3), torch.rand(2, 3, 2), torch.rand(2)),
        lambda: aten._nnpack_spatial_convolution(image, torch.rand(3, 2, 2, 2), None, 0),
        lambda: aten.fill_diagonal_(torch.rand(3, 3), 1.0),
        lambda: aten.channel_shuffle(image, 2),
        lambda: aten.flatten_dense_tensors([x, square]),
        lambda: aten.unflatten_dense_tensors(torch.rand(15), [x, square]),
        lambda: aten._resize_output_(torch.empty(0), [2, 3], "cpu"),
        lambda: aten._copy_from_and_resize(x, torch.rand(2, 3)),
        lambda: aten._convert_indices_from_coo_to_csr(torch.tensor([0, 0, 1, 2]), 3),
        lambda: aten._convert_indices_from_csr_to_coo(torch.tensor([0, 2, 3]), torch.tensor([0, 1, 0])),
        lambda: aten._rowwise_prune(x, torch.tensor([True, False]), torch.int64),
    ):
        _try(call)


def _torchs_own_tests() -> None:
    """Operators that exist for PyTorch's tests: the plainest instances of rare argument types."""
    x = torch.rand(2)
    for call in (
        lambda: aten._test_optional_floatlist(x, [0.5, 1.5]),
        lambda: aten._test_optional_intlist(x.long(), [1, 2]),
        lambda: aten._test_optional_filled_intlist(x.long(), [1, 2]),
        lambda: aten._test_string_default(x),
        lambda: aten._test_ambiguous_defaults.a(x),
        lambda: aten._test_ambiguous_defaults.b(x),
        lambda: aten._test_autograd_multiple_dispatch.fullcoverage(x),
        lambda: aten._test_autograd_multiple_dispatch.ntonly(x, True),
        lambda: aten._test_autograd_multiple_dispatch_view(x),
        lambda: aten._test_functorch_fallback(x, x),
        lambda: aten._test_warn_in_autograd(x),
        lambda: aten._test_check_tensor(x),
        lambda: aten._test_serialization_subcmul(x, x),
        lambda: aten._test_parallel_materialize(x, 2),
    ):
        _try(call)


def _try(call: Callable[[], Any]) -> None:
    """One call that this build of torch lacks must not cost the ones after it."""
    try:
        call()
    except Exception:
        pass


def units() -> list[Unit]:
    calls = (
        _queries,
        _casts,
        _windows_and_frequencies,
        _random_and_sobol,
        _fake_quantization,
        _recurrent_and_normalization,
        _matrices,
        _images_and_indices,
        _torchs_own_tests,
    )
    return [(f"calls {call.__name__.strip('_')}", call) for call in calls]
