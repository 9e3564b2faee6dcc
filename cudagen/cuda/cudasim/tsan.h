// What ThreadSanitizer is told where CUDASIM_TSAN is defined: each fibre is a thread of its own, whose accesses come
// before another's only where CUDA says so. This code and the scheduler's are not instrumented; kernels are.
//
//     Context         a fibre, or the scheduler, as ThreadSanitizer sees it
//     Gate            OS threads wait for each other
//     Meeting         who arrives comes before who gathers after that; who lets go, before who leaves after that
#pragma once

#ifdef CUDASIM_TSAN
#include <sched.h>

#include <atomic>

extern "C" {
void *__tsan_get_current_fiber();
void *__tsan_create_fiber(unsigned);
void __tsan_switch_to_fiber(void *, unsigned);
void __tsan_acquire(void *);
void __tsan_release(void *);
}

namespace tsan {

const unsigned WITHOUT_ORDER = 1;

const unsigned MOST = 8192;             // more than ThreadSanitizer has

// Making one takes long, so launches use again what those before have left.
struct Context {
  void *fibre;
  void is_current() { fibre = __tsan_get_current_fiber(); }
  void enter() const { __tsan_switch_to_fiber(fibre, WITHOUT_ORDER); }
  void begin() {
    while (busy.test_and_set()) {}
    fibre = left ? ended[--left] : __tsan_create_fiber(0);
    busy.clear();
  }
  void end() {
    while (busy.test_and_set()) {}
    ended[left++] = fibre;
    busy.clear();
  }

 private:
  static inline std::atomic_flag busy = ATOMIC_FLAG_INIT;       // a mutex would be seen, and order what it should not
  static inline void *ended[MOST];
  static inline unsigned left = 0;
};

struct Meeting {
  char came, left;                      // only their addresses count
  void arrive() { __tsan_release(&came); }
  void gather() { __tsan_acquire(&came); }
  void let_go() { __tsan_release(&left); }
  void leave() { __tsan_acquire(&left); }
};

// OS threads begin together, each with a block: one might run all of them while the others are made, and to
// ThreadSanitizer the blocks of an OS thread are ordered.
struct Gate {
  std::atomic<unsigned> expected;
  explicit Gate(unsigned os_threads) : expected(os_threads) {}
  void pass() {
    for (expected--; expected;) sched_yield();
  }
};

}  // namespace tsan
#else

namespace tsan {

struct Context {
  void begin() {}
  void is_current() {}
  void end() {}
  void enter() const {}
};

struct Meeting {
  void arrive() {}
  void gather() {}
  void let_go() {}
  void leave() {}
};

struct Gate {
  explicit Gate(unsigned) {}
  void pass() {}
};

}  // namespace tsan
#endif
