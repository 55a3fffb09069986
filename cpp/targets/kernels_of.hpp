// The table of one target: every kernel for its type of lanes.
#pragma once

#include "kernels/attention.hpp"
#include "kernels/decode.hpp"
#include "kernels/encodings.hpp"
#include "kernels/logarithm.hpp"
#include "kernels/logits.hpp"
#include "kernels/merging.hpp"
#include "kernels/outputs.hpp"
#include "kernels/rotary.hpp"
#include "kernels/short_columns.hpp"
#include "kernels/short_heads.hpp"
#include "kernels/sincos.hpp"
#include "kernels/softmax_columns.hpp"
#include "targets/kernels.hpp"

namespace {

using ropewalk::Type;

template <class S, template <class, Layout> class Writer, bool streamed>
constexpr void set_layouts(ropewalk::Kernels::Filling (&of)[ropewalk::layouts]) {
    constexpr Layout s = Layout::sine_first, c = Layout::cosine_first, a = Layout::apart;
    // Past the cache a group less than a line long would leave lines of both tables half written.
    constexpr bool by_lines =
        streamed && group_pairs * sizeof(typename Writer<S, a>::Element) >= 64;
    of[static_cast<int>(s)] = {fill_row<S, Writer<S, s>, s, streamed>,
                               fill_around<S, Writer<S, s>, s, streamed>};
    of[static_cast<int>(c)] = {fill_row<S, Writer<S, c>, c, streamed>,
                               fill_around<S, Writer<S, c>, c, streamed>};
    of[static_cast<int>(a)] = {fill_row<S, Writer<S, a>, a, by_lines>,
                               fill_around<S, Writer<S, a>, a, by_lines>};
}

template <class S, bool streamed>
constexpr ropewalk::Kernels::Fillings fillings_of() {
    ropewalk::Kernels::Fillings all{};
    set_layouts<S, Float32Writer, streamed>(all.of[static_cast<int>(Type::float32)]);
    set_layouts<S, Float16Writer, streamed>(all.of[static_cast<int>(Type::float16)]);
    set_layouts<S, BFloat16Writer, streamed>(all.of[static_cast<int>(Type::bfloat16)]);
    set_layouts<S, Float64Writer, streamed>(all.of[static_cast<int>(Type::float64)]);
    return all;
}

template <class S>
constexpr auto stream_of() -> void (*)(Lines&) {
    if constexpr (S::streams)
        return stream_rest<S>;
    return nullptr;
}

template <class S, class T, class Data>
constexpr ropewalk::TileKernels<T> few_of() {
    return {score_few<S, T, Data>,
            cap_few<S, T>,
            find_extremes_few<S, T>,
            raise_few<S, T>,
            weigh_few<S, T>,
            add_values_few<S, T, Data>,
            accumulate_few<S, T, Data>,
            accumulate_few_seen<S, T, Data>,
            accumulate_last_few<S, T, Data>,
            divide_few<S, T>,
            all_finite<S, T, Data>};
}

template <class S, class T>
constexpr ropewalk::AttentionKernels<T> attention_of() {
    using Own = FloatData<S, T>;
    using F16 = HalfData<S, Float16>;
    using BF16 = HalfData<S, BFloat16>;
    ropewalk::AttentionKernels<T> all{
        Lanes<S, T>::count,
        {score<S, T>, cap<S, T>, find_extremes<S, T>, raise<S, T>, weigh<S, T>, nullptr,
         accumulate<S, T>, accumulate_seen<S, T>, nullptr, divide<S, T>, all_finite<S, T, Own>},
        {},
        {add_bias<S, T>, add_slopes<S, T>, hide_masked<S, T>, hide_outside<S, T>},
        {add_bias_few<S, T>, add_slopes_few<S, T>, hide_masked_few<S, T>, hide_outside_few<S, T>},
        {rows_to_lanes<S, Own>, logits_to_rows<S, T>},
        {},
        weights_of_row<S, T>};
    if constexpr (sizeof(T) == 4) {
        all.many.accumulate_last = accumulate_last<S>;
        all.few[static_cast<int>(Type::float32)] = few_of<S, T, Own>();
        all.few[static_cast<int>(Type::float16)] = few_of<S, T, F16>();
        all.few[static_cast<int>(Type::bfloat16)] = few_of<S, T, BF16>();
        all.short_heads[static_cast<int>(Type::float32)] = attend_short<S, T, Own>;
        all.short_heads[static_cast<int>(Type::float16)] = attend_short<S, T, F16>;
        all.short_heads[static_cast<int>(Type::bfloat16)] = attend_short<S, T, BF16>;
    } else {
        all.few[static_cast<int>(Type::float64)] = few_of<S, T, Own>();
        all.short_heads[static_cast<int>(Type::float64)] = attend_short<S, T, Own>;
    }
    return all;
}

template <class S, class T>
constexpr ropewalk::SoftmaxKernels<T> softmax_of() {
    using F16 = HalfData<S, Float16>;
    using BF16 = HalfData<S, BFloat16>;
    using F32 = FloatData<S, float>;
    using F64 = FloatData<S, double>;
    ropewalk::SoftmaxKernels<T> all{
        softmax_rows<S, T>,
        nullptr,
        hide_elements<S, T>,
        largest_element<S, T>,
        weigh_part<S, T>,
        nullptr,
        share_elements<S, T>,
        {load_columns<S, T, F32>, load_columns<S, T, F16>, load_columns<S, T, BF16>},
        weigh_columns<S, T>,
        {},
        {share_columns<S, T, F32>, share_columns<S, T, F16>, share_columns<S, T, BF16>},
        softmax_short_rows<S, T>,
        {softmax_short_columns<S, T, F32>, softmax_short_columns<S, T, F16>,
         softmax_short_columns<S, T, BF16>}};
    if constexpr (sizeof(T) == 4) {
        all.weigh_one = weigh_one<S, T>;
        all.weigh_by_guess = weigh_part_by_guess<S>;
        all.weigh_columns_by_guess[static_cast<int>(Type::float32)] =
            weigh_columns_by_guess<S, F32>;
        all.weigh_columns_by_guess[static_cast<int>(Type::float16)] =
            weigh_columns_by_guess<S, F16>;
        all.weigh_columns_by_guess[static_cast<int>(Type::bfloat16)] =
            weigh_columns_by_guess<S, BF16>;
    } else {
        all.load_columns[static_cast<int>(Type::float64)] = load_columns<S, T, F64>;
        all.share_columns[static_cast<int>(Type::float64)] = share_columns<S, T, F64>;
        all.short_columns[static_cast<int>(Type::float64)] = softmax_short_columns<S, T, F64>;
    }
    return all;
}

template <class S, class T>
constexpr ropewalk::KernelsIn<T> kernels_in() {
    using F16 = HalfData<S, Float16>;
    using BF16 = HalfData<S, BFloat16>;
    using F32 = FloatData<S, float>;
    using F64 = FloatData<S, double>;
    ropewalk::KernelsIn<T> all{{read<S, F32>, read<S, F16>, read<S, BF16>},
                               {write<S, F32>, write<S, F16>, write<S, BF16>},
                               attention_of<S, T>(),
                               softmax_of<S, T>()};
    if constexpr (sizeof(T) == 8) {
        all.read[static_cast<int>(Type::float64)] = read<S, F64>;
        all.write[static_cast<int>(Type::float64)] = write<S, F64>;
    }
    return all;
}

template <class S>
constexpr ropewalk::Kernels kernels_of(const char* isa) {
    using F16 = HalfData<S, Float16>;
    using BF16 = HalfData<S, BFloat16>;
    using W16 = HalfData<S, Words>;
    using F32 = FloatData<S, float>;
    using F64 = FloatData<S, double>;
    return {
        isa,
        evaluate_plain_row<S>,
        evaluate_precise_row<S>,
        turn_row<Plain<S>>,
        turn_row<Precise<S>>,
        scale_row<S, Plain<S>>,
        scale_row<S, Precise<S>>,
        {Interleaved<S, F32>::rotate, Interleaved<S, F16>::rotate, Interleaved<S, BF16>::rotate,
         Interleaved<S, F64>::rotate},
        {Half<S, F32>::rotate, Half<S, F16>::rotate, Half<S, BF16>::rotate, Half<S, F64>::rotate},
        {merge_rows<S, F32>, merge_rows<S, F16>, merge_rows<S, BF16>, merge_rows<S, F64>},
        {transpose<S, F32>, transpose<S, W16>, transpose<S, W16>, transpose<S, F64>},
        {},
        {},
        {},
        kernels_in<S, float>(),
        kernels_in<S, double>(),
        total_of<S>,
        total_columns<S>,
        {sum_exponentials<S, F32>, sum_exponentials<S, F16>, sum_exponentials<S, BF16>,
         sum_exponentials<S, F64>},
        {sum_exponentials_of_columns<S, F32>, sum_exponentials_of_columns<S, F16>,
         sum_exponentials_of_columns<S, BF16>, sum_exponentials_of_columns<S, F64>},
        {total_exponentials_of_short_columns<S, F32>, total_exponentials_of_short_columns<S, F16>,
         total_exponentials_of_short_columns<S, BF16>, total_exponentials_of_short_columns<S, F64>},
        logarithms<S>,
        logarithms_of_sums<S>,
        logarithm_of<S>,
        exponential_of<S>,
        stream_of<S>(),
        S::fence,
        fillings_of<S, false>(),
        fillings_of<S, S::streams>()};
}

} // namespace
