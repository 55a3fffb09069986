#include "plans/rotary.hpp"

#include <algorithm>
#include <optional>

#include "bindings/bindings.hpp"

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
                    interleaved ? Pairing::interleaved : Pairing::half};
    require(pairs > 0 && 2 * pairs <= data.dim, "a rotary width within that of x");
    require(out.shape(rank - 1) == data.dim, "out of the shape of x");
    require(x.strides(rank - 1) == x.itemsize() && out.strides(rank - 1) == x.itemsize(),
            "rows without gaps");
    for (std::int64_t i = 0; i < rows_rank; ++i) {
        const std::int64_t length = x.shape(i);
        require(out.shape(i) == length, "out of the shape of x");
        const std::int64_t positions = i < missing ? 1 : own[static_cast<std::size_t>(i - missing)];
        require(positions == 1 || positions == length, "positions that fit x");
        if (length != 1)
            data.axes.push_back({length, stride_of(x, i), stride_of(out, i), positions != 1});
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

void run_rotation(const Frequencies& frequencies, const Positions& rows, double factor,
                  bool inverse, const RotaryData& data, std::int64_t size, bool streamed,
                  int threads) {
    const Direction direction = inverse ? Direction::backwards : Direction::forwards;
    run_plan(times(size, rows.axes), [&] {
        rotate(*chosen_kernels, frequencies, rows, factor, direction, data, stores_of(streamed),
               threads);
    });
}

void rotate_positions(const Frequencies& frequencies, const py::object& positions,
                      const py::array& x, py::array& out, bool interleaved, bool inverse,
                      double factor, bool streamed, int threads) {
    const Positions rows = positions_of(positions, frequencies.axes());
    const RotaryData data = data_of(x, out, shape_of(positions, rows.axes > 1 ? 1 : 0),
                                    frequencies.pairs(), interleaved);
    run_rotation(frequencies, rows, factor, inverse, data, x.size(), streamed, threads);
}

// Whether positions or tables of such leading axes say which row of x each belongs to.
bool fits_rows(const std::vector<std::int64_t>& shape, const py::array& x) {
    const auto rows_rank = static_cast<std::size_t>(x.ndim() - 1);
    return shape.empty() || (shape.size() == 1 && shape[0] == x.shape(x.ndim() - 2)) ||
           (shape.size() == rows_rank &&
            std::equal(shape.begin(), shape.end(), x.shape(),
                       [](auto a, auto b) { return a == 1 || a == b; }));
}

// Positions that need no conversion, for the rows of x.
std::optional<PlainPositions> plain_positions_of_rows(const py::object& object,
                                                      const py::array& x) {
    const std::int64_t rows = x.shape(x.ndim() - 2);
    if (object.is_none())
        return PlainPositions{{rows, 0, 1}, {rows}};
    auto plain = plain_positions(object, x.size());
    if (!plain || !fits_rows(plain->shape, x))
        return {};
    return plain;
}

// What most calls are: an array as it is, turned by positions as they are. None for others, which
// take the general way.
py::object rotate_plainly(const Frequencies& frequencies, const py::object& positions,
                          const py::handle& x, const py::handle& out, bool interleaved,
                          bool inverse, double factor, int threads) {
    if (frequencies.axes() != 1)
        return py::none();
    const auto plain = plain_data(x, out, 2, {positions});
    if (!plain)
        return py::none();
    const auto own = plain_positions_of_rows(positions, plain->x);
    if (!own)
        return py::none();
    py::array result = plain->result();
    const RotaryData data = data_of(plain->x, result, own->shape, frequencies.pairs(), interleaved);
    run_rotation(frequencies, own->rows, factor, inverse, data, result.size(), false, threads);
    return result;
}

void rotate_tables(const py::array& cosines, const py::array& sines, const py::array& x,
                   py::array& out, bool interleaved, bool streamed, int threads) {
    require(cosines.ndim() > 0 && cosines.ndim() == sines.ndim() && cosines.size() == sines.size(),
            "tables of one shape");
    const std::int64_t pairs = cosines.shape(cosines.ndim() - 1);
    require(sines.shape(sines.ndim() - 1) == pairs, "tables of one shape");
    const RotaryData data = data_of(x, out, shape_of(cosines, 1), pairs, interleaved);
    require(type_of(cosines) == table_type(data.type) && type_of(sines) == table_type(data.type),
            "tables of the right type");
    require(is_c_contiguous(cosines) && is_c_contiguous(sines), "tables in C order");
    const void *const c = cosines.data(), *const s = sines.data();
    run_plan(x.size(),
             [&] { rotate_by(*chosen_kernels, c, s, data, stores_of(streamed), threads); });
}

// The same for tables as they are; None for others.
py::object rotate_by_plainly(const py::handle& cosines, const py::handle& sines,
                             const py::handle& x, const py::handle& out, bool interleaved,
                             int threads) {
    const auto plain = plain_data(x, out, 2, {cosines, sines});
    if (!plain || !is_plain_array(cosines) || !is_plain_array(sines))
        return py::none();
    const auto c = py::reinterpret_borrow<py::array>(cosines);
    const auto s = py::reinterpret_borrow<py::array>(sines);
    const py::ssize_t rank = c.ndim(), features = plain->x.shape(plain->x.ndim() - 1);
    const bool alike = rank > 0 && s.ndim() == rank &&
                       std::equal(c.shape(), c.shape() + rank, s.shape()) &&
                       is_native_float(c.dtype()) && c.dtype().is(s.dtype()) &&
                       is_c_contiguous(c) && is_c_contiguous(s);
    if (!alike || type_of(c) != table_type(type_of(plain->x)) || c.shape(rank - 1) == 0 ||
        2 * c.shape(rank - 1) > features || !fits_rows({c.shape(), c.shape() + rank - 1}, plain->x))
        return py::none();
    py::array result = plain->result();
    rotate_tables(c, s, plain->x, result, interleaved, false, threads);
    return result;
}

} // namespace

void register_rotary(py::module_& m) {
    m.def("rotate", &rotate_positions);
    m.def("rotate_plainly", &rotate_plainly);
    m.def("rotate_by", &rotate_tables);
    m.def("rotate_by_plainly", &rotate_by_plainly);
}

} // namespace ropewalk
