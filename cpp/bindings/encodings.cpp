#include "plans/encodings.hpp"

#include <cstring>
#include <memory>
#include <string_view>
#include <utility>
#include <vector>

#include "bindings/bindings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

void require(bool condition, const char* message) {
    if (!condition)
        throw py::value_error(message);
}

bool is_c_contiguous(const py::array& array) {
    return (array.flags() & py::array::c_style) == py::array::c_style;
}

std::unique_ptr<Frequencies> frequencies_of(const py::bytes& words) {
    const std::string_view bytes = words;
    require(!bytes.empty() && bytes.size() % sizeof(Frequency) == 0, "words of 32 bytes a pair");
    std::vector<Frequency> pairs(bytes.size() / sizeof(Frequency));
    std::memcpy(pairs.data(), bytes.data(), bytes.size());
    return std::make_unique<Frequencies>(*chosen_kernels, std::move(pairs));
}

// A range, or a C-contiguous array of int64 or float64.
Positions positions_of(const py::handle& object) {
    if (PyRange_Check(object.ptr())) {
        const auto range = py::reinterpret_borrow<py::sequence>(object);
        const auto count = static_cast<std::int64_t>(range.size());
        const auto at = [&](std::size_t i) { return range[i].cast<std::int64_t>(); };
        const std::int64_t first = count > 0 ? at(0) : 0;
        return {count, first, count > 1 ? at(1) - first : 1};
    }
    const auto array = py::cast<py::array>(object);
    require(is_c_contiguous(array), "positions in C order");
    const auto count = static_cast<std::int64_t>(array.size());
    const char kind = array.dtype().kind();
    require(array.itemsize() == 8 && (kind == 'i' || kind == 'f'), "positions of 8 bytes");
    if (kind == 'i')
        return {count, 0, 0, static_cast<const std::int64_t*>(array.data())};
    return {count, 0, 0, nullptr, static_cast<const double*>(array.data())};
}

Type type_of(const py::array& out) {
    switch (out.dtype().kind()) {
    case 'f':
        return out.itemsize() == 8   ? Type::float64
               : out.itemsize() == 4 ? Type::float32
                                     : Type::float16;
    case 'u': // bfloat16, of which NumPy knows nothing, comes as its bits
        require(out.itemsize() == 2, "bits of bfloat16");
        return Type::bfloat16;
    default:
        throw py::value_error("out of a floating type");
    }
}

void check_out(const py::array& out, std::int64_t elements) {
    require(out.writeable() && is_c_contiguous(out) && out.size() == elements,
            "a writable out in C order of the right size");
}

void fill_sinusoidal(const Frequencies& frequencies, const py::object& positions, py::array& out,
                     bool interleaved, bool sine_first, bool streamed, int threads) {
    const Positions rows = positions_of(positions);
    const std::int64_t pairs = frequencies.pairs();
    check_out(out, rows.count * 2 * pairs);
    const Type type = type_of(out);
    auto* const first = static_cast<char*>(out.mutable_data());
    char* const second = first + pairs * out.itemsize();
    const Table table = interleaved  ? Table{first, nullptr, 2 * pairs, rows.count, pairs}
                        : sine_first ? Table{first, second, 2 * pairs, rows.count, pairs}
                                     : Table{second, first, 2 * pairs, rows.count, pairs};
    const Layout layout = !interleaved ? Layout::apart
                          : sine_first ? Layout::sine_first
                                       : Layout::cosine_first;
    const py::gil_scoped_release release;
    fill_table(*chosen_kernels, frequencies, rows, type, layout, table,
               streamed ? Stores::streamed : Stores::cached, threads);
}

void fill_shift_matrices(const Frequencies& frequencies, const py::object& offsets, py::array& out,
                         bool interleaved, bool sine_first, int threads) {
    const Positions rows = positions_of(offsets);
    const std::int64_t dim = 2 * frequencies.pairs();
    check_out(out, rows.count * dim * dim);
    require(type_of(out) == Type::float64, "out of float64");
    auto* const matrices = static_cast<double*>(out.mutable_data());
    const py::gil_scoped_release release;
    fill_matrices(frequencies, rows, interleaved ? Pairing::neighbours : Pairing::halves,
                  sine_first ? UpperSine::positive : UpperSine::negative, matrices, threads);
}

} // namespace

void register_encodings(py::module_& m) {
    py::class_<Frequencies>(m, "Turns").def(py::init(&frequencies_of));
    m.def("first_bad_position",
          [](const py::object& positions) { return positions_of(positions).first_bad(); });
    m.def("fill_sinusoidal", &fill_sinusoidal);
    m.def("fill_shift_matrices", &fill_shift_matrices);
}

} // namespace ropewalk
