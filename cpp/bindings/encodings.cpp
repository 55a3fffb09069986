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

std::unique_ptr<Frequencies> frequencies_of(const py::bytes& words, int axes) {
    const std::string_view bytes = words;
    require(axes > 0 && !bytes.empty() &&
                bytes.size() % (sizeof(Frequency) * static_cast<std::size_t>(axes)) == 0,
            "words of 32 bytes a pair and axis");
    std::vector<Frequency> all(bytes.size() / sizeof(Frequency));
    std::memcpy(all.data(), bytes.data(), bytes.size());
    return std::make_unique<Frequencies>(*chosen_kernels, std::move(all), axes);
}

void fill_sinusoidal(const Frequencies& frequencies, const py::object& positions, py::array& out,
                     bool interleaved, bool sine_first, double factor, bool streamed, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
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
    run_unlocked([&] {
        fill_table(*chosen_kernels, frequencies, rows, factor, type, layout, table,
                   streamed ? Stores::streamed : Stores::cached, threads);
    });
}

void fill_tables(const Frequencies& frequencies, const py::object& positions, py::array& cosines,
                 py::array& sines, double factor, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const std::int64_t pairs = frequencies.pairs();
    check_out(cosines, rows.count * pairs);
    check_out(sines, rows.count * pairs);
    const Type type = type_of(cosines);
    require(type == type_of(sines), "tables of one type");
    const Table table{sines.mutable_data(), cosines.mutable_data(), pairs, rows.count, pairs};
    run_unlocked([&] {
        fill_table(*chosen_kernels, frequencies, rows, factor, type, Layout::apart, table,
                   Stores::cached, threads);
    });
}

void fill_matrices_of(Matrices kind, UpperSine upper, const Frequencies& frequencies,
                      const py::object& positions, py::array& out, double factor, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const std::int64_t pairs = frequencies.pairs();
    check_out(out, rows.count * 4 * pairs * (kind == Matrices::blocks ? 1 : pairs));
    require(type_of(out) == Type::float64, "out of float64");
    auto* const matrices = static_cast<double*>(out.mutable_data());
    run_unlocked([&] { fill_matrices(frequencies, rows, factor, kind, upper, matrices, threads); });
}

// upper_sine: whether the sine above the diagonal is positive.
void fill_pair_matrices(const Frequencies& frequencies, const py::object& positions, py::array& out,
                        bool interleaved, bool upper_sine, double factor, int threads) {
    fill_matrices_of(interleaved ? Matrices::neighbours : Matrices::halves,
                     upper_sine ? UpperSine::positive : UpperSine::negative, frequencies, positions,
                     out, factor, threads);
}

void fill_blocks(const Frequencies& frequencies, const py::object& positions, py::array& out,
                 double factor, int threads) {
    fill_matrices_of(Matrices::blocks, UpperSine::negative, frequencies, positions, out, factor,
                     threads);
}

} // namespace

void register_encodings(py::module_& m) {
    py::class_<Frequencies>(m, "Turns").def(py::init(&frequencies_of));
    m.def("first_bad_position",
          [](const py::object& positions) { return positions_of(positions, 1).first_bad(); });
    m.def("fill_sinusoidal", &fill_sinusoidal);
    m.def("fill_tables", &fill_tables);
    m.def("fill_matrices", &fill_pair_matrices);
    m.def("fill_blocks", &fill_blocks);
}

} // namespace ropewalk
