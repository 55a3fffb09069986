#include "plans/encodings.hpp"

#include <cstring>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

std::unique_ptr<Frequencies> frequencies_of(const py::bytes& words, int axes) {
    const std::string_view bytes = words;
    require(axes > 0 && !bytes.empty() &&
                bytes.size() % (sizeof(Frequency) * static_cast<std::size_t>(axes)) == 0,
            "words of 40 bytes a pair and axis");
    std::vector<Frequency> all(bytes.size() / sizeof(Frequency));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return std::make_unique<Frequencies>(*chosen_kernels, std::move(all), axes);
}

void fill_rows(const Frequencies& frequencies, const Positions& rows, py::array& out,
               bool interleaved, bool sine_first, double factor, Stores stores, int threads) {
    const std::int64_t pairs = frequencies.pairs();
    check_out(out, times(rows.count, 2 * pairs));
    const Type type = type_of(out);
    auto* sines = static_cast<char*>(out.mutable_data());
    char* cosines = interleaved ? nullptr : sines + pairs * out.itemsize();
    if (!interleaved && !sine_first)
        std::swap(sines, cosines);
    const Table table{sines, cosines, 2 * pairs, rows.count, pairs};
    const Layout layout = !interleaved ? Layout::apart
                          : sine_first ? Layout::sine_first
                                       : Layout::cosine_first;
    run_plan(times(out.size(), rows.axes), [&] {
        fill_table(*chosen_kernels, frequencies, rows, factor, type, layout, table, stores,
                   threads);
    });
}

void fill_sinusoidal(const Frequencies& frequencies, const py::object& positions, py::array& out,
                     bool interleaved, bool sine_first, double factor, bool streamed, int threads) {
    fill_rows(frequencies, positions_of(positions, frequencies.axes()), out, interleaved,
              sine_first, factor, stores_of(streamed), threads);
}

// The types of most tables, as a dtype, its type or its name says, or that of out, or float64.
std::optional<py::dtype> plain_dtype(const py::handle& given, const py::handle& out) {
    if (given.is_none())
        return out.is_none() ? py::dtype::of<double>()
                             : py::reinterpret_borrow<py::array>(out).dtype();
    const auto says = [&](const py::dtype& dtype, const char* name) {
        return given.is(dtype) || given.is(dtype.attr("type")) ||
               (PyUnicode_CheckExact(given.ptr()) &&
                PyUnicode_CompareWithASCIIString(given.ptr(), name) == 0);
    };
    if (const auto dtype = py::dtype::of<float>(); says(dtype, "float32"))
        return dtype;
    if (const auto dtype = py::dtype::of<double>(); says(dtype, "float64"))
        return dtype;
    return {};
}

// What most calls are: a table of positions as they are, in new memory or in out as it is. None for
// others, which take the general way.
py::object encode_plainly(const Frequencies& frequencies, const py::handle& positions,
                          const py::handle& dtype_given, const py::handle& out_given,
                          bool interleaved, bool sine_first, int threads) {
    if (frequencies.axes() != 1 || !(out_given.is_none() || is_plain_array(out_given)))
        return py::none();
    const auto dtype = plain_dtype(dtype_given, out_given);
    if (!dtype || !is_native_float(*dtype))
        return py::none();
    const std::int64_t width = 2 * frequencies.pairs();
    auto plain = plain_positions(positions, small_bytes / (8 * width));
    if (!plain || plain->rows.count == 0)
        return py::none();
    std::vector<py::ssize_t> shape(plain->shape.begin(), plain->shape.end());
    shape.push_back(width);
    if (!out_given.is_none() && !takes_output(out_given, *dtype, shape, {positions}))
        return py::none();
    py::array out = out_given.is_none() ? new_array(*dtype, shape)
                                        : py::reinterpret_borrow<py::array>(out_given);
    fill_rows(frequencies, plain->rows, out, interleaved, sine_first, 1.0, Stores::cached, threads);
    return out;
}

void fill_tables(const Frequencies& frequencies, const py::object& positions, py::array& cosines,
                 py::array& sines, double factor, bool streamed, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const std::int64_t pairs = frequencies.pairs();
    check_out(cosines, times(rows.count, pairs));
    check_out(sines, times(rows.count, pairs));
    const Type type = type_of(cosines);
    require(type == type_of(sines), "tables of one type");
    const Table table{sines.mutable_data(), cosines.mutable_data(), pairs, rows.count, pairs};
    run_plan(times(2 * cosines.size(), rows.axes), [&] {
        fill_table(*chosen_kernels, frequencies, rows, factor, type, Layout::apart, table,
                   stores_of(streamed), threads);
    });
}

void fill_kind(const Frequencies& frequencies, const py::object& positions, py::array& out,
               Matrices kind, UpperSine upper, double factor, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const std::int64_t pairs = frequencies.pairs();
    check_out(out, times(rows.count, times(2 * pairs, kind == Matrices::blocks ? 2 : 2 * pairs)));
    require(type_of(out) == Type::float64, "out of float64");
    auto* const matrices = static_cast<double*>(out.mutable_data());
    run_plan(times(out.size(), rows.axes), [&] {
        fill_matrices(*chosen_kernels, frequencies, rows, factor, kind, upper, matrices, threads);
    });
}

// upper_sine: whether the sine above the diagonal is positive.
void fill_pair_matrices(const Frequencies& frequencies, const py::object& positions, py::array& out,
                        bool interleaved, bool upper_sine, double factor, int threads) {
    fill_kind(frequencies, positions, out, interleaved ? Matrices::interleaved : Matrices::half,
              upper_sine ? UpperSine::positive : UpperSine::negative, factor, threads);
}

void fill_blocks(const Frequencies& frequencies, const py::object& positions, py::array& out,
                 double factor, int threads) {
    fill_kind(frequencies, positions, out, Matrices::blocks, UpperSine::negative, factor, threads);
}

} // namespace

void register_encodings(py::module_& m) {
    py::class_<Frequencies>(m, "Turns").def(py::init(&frequencies_of));
    m.def("first_bad_position",
          [](const py::object& positions) { return positions_of(positions, 1).first_bad(); });
    m.def("fill_sinusoidal", &fill_sinusoidal);
    m.def("encode_plainly", &encode_plainly);
    m.def("fill_tables", &fill_tables);
    m.def("fill_matrices", &fill_pair_matrices);
    m.def("fill_blocks", &fill_blocks);
}

} // namespace ropewalk
