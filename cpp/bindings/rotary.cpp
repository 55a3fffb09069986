#include "plans/rotary.hpp"

#include <utility>

#include "bindings/bindings.hpp"
#include "plans/encodings.hpp"

namespace py = pybind11;

namespace ropewalk {
namespace {

// Rows of x and out, whose positions have shape `own`: nothing, the last axis but one of the data
// alone, or all axes but the last, with length 1 where rows share a position.
RotaryData data_of(const py::array& x, py::array& out, const std::vector<std::int64_t>& own,
                   std::int64_t pairs, bool interleaved) {
    const std::int64_t rank = x.ndim(), rows_rank = rank - 1;
    require(rank > 0 && out.ndim() == rank && out.writeable(), "out as x, writable");
    const Type type = type_of(x);
    require(type == type_of(out), "x and out of one type");
    const auto missing = rows_rank - static_cast<std::int64_t>(own.size());
    require(missing >= 0, "positions with fewer axes than x");
    RotaryData data{type,
                    x.data(),
                    out.mutable_data(),
                    {},
                    x.shape(rank - 1),
                    pairs,
                    interleaved ? Pairing::neighbours : Pairing::halves};
    require(pairs > 0 && 2 * pairs <= data.dim, "a rotary width within that of x");
    require(out.shape(rank - 1) == data.dim, "out of the shape of x");
    require(data.dim == 1 ||
                (x.strides(rank - 1) == x.itemsize() && out.strides(rank - 1) == x.itemsize()),
            "rows without gaps");
    for (std::int64_t i = 0; i < rows_rank; ++i) {
        const std::int64_t length = x.shape(i);
        require(out.shape(i) == length, "out of the shape of x");
        if (length == 1) // where NumPy lets a stride be anything
            continue;
        require(x.strides(i) % x.itemsize() == 0 && out.strides(i) % x.itemsize() == 0,
                "whole elements between rows");
        const std::int64_t positions = i < missing ? 1 : own[static_cast<std::size_t>(i - missing)];
        require(positions == 1 || positions == length, "positions that fit x");
        data.axes.push_back(
            {length, x.strides(i) / x.itemsize(), out.strides(i) / x.itemsize(), positions != 1});
    }
    return data;
}

// The shape of positions or tables without its last `left_out` axes.
std::vector<std::int64_t> shape_of(const py::handle& object, std::int64_t left_out) {
    if (PyRange_Check(object.ptr())) {
        const auto length = static_cast<std::int64_t>(py::len(object));
        return length == 1 ? std::vector<std::int64_t>{} : std::vector<std::int64_t>{length};
    }
    const auto array = py::cast<py::array>(object);
    require(array.ndim() >= left_out, "positions of all axes");
    return {array.shape(), array.shape() + (array.ndim() - left_out)};
}

void rotate_positions(const Frequencies& frequencies, const py::object& positions,
                      const py::array& x, py::array& out, bool interleaved, bool inverse,
                      double factor, bool streamed, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const RotaryData data = data_of(x, out, shape_of(positions, rows.axes > 1 ? 1 : 0),
                                    frequencies.pairs(), interleaved);
    run_unlocked([&] {
        rotate(*chosen_kernels, frequencies, rows, factor,
               inverse ? Direction::backwards : Direction::forwards, data,
               streamed ? Stores::streamed : Stores::cached, threads);
    });
}

void rotate_tables(const py::array& cosines, const py::array& sines, const py::array& x,
                   py::array& out, bool interleaved, int threads) {
    require(cosines.ndim() > 0 && cosines.ndim() == sines.ndim() && cosines.size() == sines.size(),
            "tables of one shape");
    const std::int64_t pairs = cosines.shape(cosines.ndim() - 1);
    require(sines.shape(sines.ndim() - 1) == pairs, "tables of one shape");
    const RotaryData data = data_of(x, out, shape_of(cosines, 1), pairs, interleaved);
    const Type table = data.type == Type::float64 ? Type::float64 : Type::float32;
    require(type_of(cosines) == table && type_of(sines) == table, "tables of the right type");
    require(is_c_contiguous(cosines) && is_c_contiguous(sines), "tables in C order");
    const void *const c = cosines.data(), *const s = sines.data();
    run_unlocked([&] { rotate_by(*chosen_kernels, c, s, data, threads); });
}

} // namespace

void register_rotary(py::module_& m) {
    m.def("rotate", &rotate_positions);
    m.def("rotate_by", &rotate_tables);
}

} // namespace ropewalk
