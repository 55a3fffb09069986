#include <atomic>
#include <cstdlib>
#include <string>

#if defined(__unix__) || defined(__APPLE__)
#include <pthread.h>
#include <unistd.h>
#endif

#include "bindings/bindings.hpp"
#include "plans/memory.hpp"
#include "plans/pool.hpp"
#include "targets/dispatch.hpp"

namespace py = pybind11;

namespace ropewalk {

const Kernels* chosen_kernels = nullptr;

namespace {

py::tuple isa_names() {
    py::list names;
    for (const Kernels* table : supported_kernels())
        names.append(table->isa);
    return py::tuple(names);
}

void choose_kernels() {
    const char* const wanted = std::getenv("ROPEWALK_ISA");
    chosen_kernels = find_kernels(wanted);
    if (chosen_kernels == nullptr)
        throw py::import_error("ROPEWALK_ISA must be one of " + std::string(py::repr(isa_names())) +
                               " on this processor, got '" + wanted + "'");
    // Each asks the processor once; a child forked while another thread asks would wait for ever.
    has_large_first_cache();
    waits_for_second_cache();
    has_matrices(*chosen_kernels);
    adds_pairs(*chosen_kernels);
    rounds_lines(*chosen_kernels);
}

// The thread on which Python handles signals.
std::atomic<unsigned long> main_thread;
std::atomic<int> forks{0}; // that this process comes from

void find_main_thread() {
    const auto thread = py::module_::import("_thread");
    const char* const ident = "_get_main_thread_ident";
    main_thread =
        (py::hasattr(thread, ident) // before Python 3.13 the first that imported threading
             ? thread.attr(ident)()
             : py::module_::import("threading").attr("main_thread")().attr("ident"))
            .cast<unsigned long>();
}

// A forked child has the thread that forked, which is the main one there, and no other. That is
// settled here, as another thread may fork during any call.
void follow_forks() {
#if defined(__unix__) || defined(__APPLE__)
    pthread_atfork(nullptr, nullptr, [] {
        main_thread = PyThread_get_thread_ident();
        ++forks;
        leave_pool();
        leave_large();
    });
#endif
}

// Ctrl-C raises KeyboardInterrupt here, for the call to throw when it has stopped. Other threads
// must not take the lock in the middle of a call: where the interpreter ends, that would end them.
// What one piece of work has raised ends those behind it. A child that a handler forks comes back
// without the threads that have the rest of the work, and is told so however many these were.
bool signalled() {
    if (PyThread_get_thread_ident() != main_thread)
        return false;
    const py::gil_scoped_acquire acquire;
    const int before = forks;
    if (PyErr_Occurred() == nullptr && PyErr_CheckSignals() == 0 && forks != before)
        PyErr_SetString(PyExc_RuntimeError, "a signal handler forked in the middle of this call");
    return PyErr_Occurred() != nullptr;
}

} // namespace

void take_lock(PyThreadState* state) {
#if defined(__GLIBCXX__) && defined(__linux__)
    // Before 3.14 Python ends a daemon thread that comes too late by unwinding its stack, whose
    // destructors would give up references without the lock. Its type, abi::__forced_unwind, is
    // not named, as GCC then binds a reference to no object.
    try {
        PyEval_RestoreThread(state);
    } catch (...) {
        for (;;)
            pause();
    }
#else
    PyEval_RestoreThread(state);
#endif
}

} // namespace ropewalk

// No state that calls share but atomics, tables kept in those and the pool's locks.
PYBIND11_MODULE(_main, m, py::mod_gil_not_used()) {
    ropewalk::choose_kernels();
    ropewalk::find_main_thread();
    ropewalk::follow_forks();
    ropewalk::Interruption::signalled = ropewalk::signalled;
    m.attr("version") = ROPEWALK_VERSION;
    m.attr("compiler") = ROPEWALK_COMPILER;
    m.attr("isa") = ropewalk::chosen_kernels->isa;
    m.attr("supported_isas") = ropewalk::isa_names();
    ropewalk::register_runtime(m);
    ropewalk::register_attention(m);
    ropewalk::register_conversions(m);
    ropewalk::register_encodings(m);
    ropewalk::register_merging(m);
    ropewalk::register_rotary(m);
    ropewalk::register_softmax(m);
}

// In a subinterpreter of Python 3.11 pybind11 would wait for ever, before any code above is run.
PYBIND11_PLUGIN_IMPL(_core) {
    if (PyInterpreterState_Get() != PyInterpreterState_Main()) {
        PyErr_SetString(PyExc_ImportError,
                        "ropewalk runs in Python's main interpreter alone, as NumPy does");
        return nullptr;
    }
    return PyInit__main();
}
