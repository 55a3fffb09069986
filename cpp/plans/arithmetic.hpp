// The arithmetic in which results are defined: rounded to nearest, subnormal numbers kept, no
// traps.
#pragma once

#include <cstdint>

namespace ropewalk {

// A thread may come with another arithmetic, which a library that it calls has left behind: as long
// as this lives it has ours.
class StandardArithmetic {
  public:
    StandardArithmetic() : before_(control()) { change(before_, standard | (before_ & flags)); }
    ~StandardArithmetic() { change(standard | (before_ & flags), before_); }
    StandardArithmetic(const StandardArithmetic&) = delete;
    StandardArithmetic& operator=(const StandardArithmetic&) = delete;

  private:
    using Word = std::uint64_t;
#if defined(__x86_64__)
    static constexpr Word flags = 0x3f, standard = 0x1f80; // what happened; every trap is masked
    static Word control() { return __builtin_ia32_stmxcsr(); }
    static void set_control(Word word) { __builtin_ia32_ldmxcsr(static_cast<unsigned>(word)); }
#elif defined(__aarch64__)
    static constexpr Word flags = 0, standard = 0;
    static Word control() {
        Word word = 0;
        asm volatile("mrs %0, fpcr" : "=r"(word));
        return word;
    }
    static void set_control(Word word) { asm volatile("msr fpcr, %0" : : "r"(word)); }
#else
    static constexpr Word flags = 0, standard = 0;
    static Word control() { return 0; }
    static void set_control(Word) {}
#endif
    static void change(Word from, Word to) {
        if (from != to) // as hardly ever
            set_control(to);
    }
    const Word before_;
};

} // namespace ropewalk
