// Kernels that count what they do to memory: what the printer of cudagen.cuda.cudasim.counted writes round accesses,
// loops and calls, for counters.cpp, which finds out which accesses of a warp's threads are one instruction's.
//
// Each thread has a path: in which rounds of its loops, and in whose calls, it is. The same access on the same path is
// one instruction of the warp, of those threads that come there.
#pragma once

#define __shared__ alignas(128) static thread_local          // as a GPU has it: words and banks begin with it
#include "cudasim.h"

struct cudasim_thread {
  unsigned long long path, caller;
};

extern "C" {
cudasim_thread *cudasim_running();                            // the running thread's
void cudasim_access(int point, unsigned long long place, unsigned size);
void cudasim_met(int point);                                   // a barrier
}

template <class T> inline T *cudasim_seen(int point, T *place, unsigned size = sizeof(T)) {
  cudasim_access(point, (unsigned long long)place, size);
  return place;
}

inline unsigned long long cudasim_mix(unsigned long long path, unsigned long long next) {
  path = (path ^ next) * 0x9E3779B97F4A7C15ull;
  return path ^ path >> 29;
}

struct cudasim_loop {                                         // where it ends, the path is what it was
  cudasim_thread &thread;
  const unsigned long long outside;
  unsigned long long round = 0;
  cudasim_loop() : thread(*cudasim_running()), outside(thread.path) {}
  ~cudasim_loop() { thread.path = outside; }
  void next() { thread.path = cudasim_mix(outside, ++round); }
};

inline void cudasim_calls(int line) { cudasim_running()->caller = line; }

struct cudasim_inside {                                         // of a device function, from the line that said so last
  cudasim_thread &thread;
  const unsigned long long outside;
  cudasim_inside() : thread(*cudasim_running()), outside(thread.path) {
    thread.path = cudasim_mix(outside, thread.caller << 32);
  }
  ~cudasim_inside() { thread.path = outside; }
};
