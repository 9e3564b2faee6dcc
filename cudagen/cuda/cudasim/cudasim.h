// CUDA's device dialect on the host: what Nessie's kernels use of it, with CUDA's overloads and no others, so that what
// compiles here does there. A kernel's threads are fibres, which runtime.cpp schedules; this file is what they see.
//
//     #include "cudasim.h"
//     #include "kernels.cu"                    as it is
//     CUDASIM_KERNEL(K1_sweep)                 makes it callable by cudasim_launch
//
// Every `while` looks at the scheduler now and then: a loop that waits lets others go on, and one without an end can be
// interrupted.
#pragma once

struct uint3 { unsigned x, y, z; };
struct dim3 { unsigned x = 1, y = 1, z = 1; };
struct cudasim_place { uint3 thread, block; dim3 threads, blocks; unsigned lane; };

extern "C" {
const cudasim_place *cudasim_here() __attribute__((const));         // of the running fibre, which does not move
void cudasim_turn();                                                // a loop has gone round
void cudasim_pause();                                               // another thread comes first here
void cudasim_perhaps();                                             // another thread may come first here, or not
void cudasim_barrier(int line);
unsigned long long cudasim_shuffle(const char *what, unsigned mask, unsigned long long bits, int source, int line);
unsigned cudasim_ballot(unsigned mask, bool vote, int line);
void cudasim_syncwarp(unsigned mask, int line);
}

#ifndef CUDASIM_RUNTIME                 // the rest is for kernels

extern "C" {
double sqrt(double), exp(double), log(double), sin(double), cos(double), tan(double), asin(double), acos(double);
double atan(double), sinh(double), cosh(double), tanh(double), fabs(double), floor(double), ceil(double);
double round(double), trunc(double), rint(double), exp2(double), log2(double), log10(double), log1p(double);
double expm1(double), cbrt(double), pow(double, double), fmod(double, double), atan2(double, double);
double copysign(double, double), hypot(double, double), fmin(double, double), fmax(double, double), fma(double, double, double);
float sqrtf(float), expf(float), logf(float), sinf(float), cosf(float), tanf(float), asinf(float), acosf(float);
float atanf(float), sinhf(float), coshf(float), tanhf(float), fabsf(float), exp2f(float), log2f(float);
float log10f(float), cbrtf(float), powf(float, float), fmodf(float, float), atan2f(float, float);
float hypotf(float, float), copysignf(float, float);
}

#define __global__
#define __device__
#define __host__
#define __constant__ static const
#ifndef __shared__                      // with one OS thread `static` will do, round which AddressSanitizer looks
#define __shared__ static thread_local
#endif
#define __forceinline__ inline __attribute__((always_inline))
#define __launch_bounds__(...)
#define threadIdx (cudasim_here()->thread)
#define blockIdx (cudasim_here()->block)
#define blockDim (cudasim_here()->threads)
#define gridDim (cudasim_here()->blocks)

static const int warpSize = 32;

// Bits -------------------------------------------------------------------------------------------

template <class To, class From> inline To cudasim_bits(From from) {
  static_assert(sizeof(To) == sizeof(From), "as many bits");
  To to;
  __builtin_memcpy(&to, &from, sizeof to);
  return to;
}

inline double __longlong_as_double(long long a) { return cudasim_bits<double>(a); }
inline long long __double_as_longlong(double a) { return cudasim_bits<long long>(a); }
inline unsigned long long __umul64hi(unsigned long long a, unsigned long long b) {
  return (unsigned long long)((unsigned __int128)a * b >> 64);
}
inline int __popc(unsigned a) { return __builtin_popcount(a); }
inline int __popcll(unsigned long long a) { return __builtin_popcountll(a); }
inline int __ffs(int a) { return __builtin_ffs(a); }
inline int __ffsll(long long a) { return __builtin_ffsll(a); }
inline int __clz(int a) { return a ? __builtin_clz(a) : 32; }
inline int __clzll(long long a) { return a ? __builtin_clzll(a) : 64; }

// Threads of a block and of a warp ---------------------------------------------------------------

inline void __syncthreads(int line = __builtin_LINE()) { cudasim_barrier(line); }
inline void __syncwarp(unsigned mask = 0xffffffffu, int line = __builtin_LINE()) { cudasim_syncwarp(mask, line); }
inline void __nanosleep(unsigned) { cudasim_pause(); }

inline int cudasim_lane() { return (int)cudasim_here()->lane; }

template <class T> inline T cudasim_fetch(const char *what, unsigned mask, T value, int source, int line) {
  static_assert(sizeof(T) == 4 || sizeof(T) == 8, "CUDA shuffles numbers of 4 or 8 bytes");
  unsigned long long bits = 0;
  __builtin_memcpy(&bits, &value, sizeof value);
  bits = cudasim_shuffle(what, mask, bits, source, line);
  __builtin_memcpy(&value, &bits, sizeof value);
  return value;
}

template <class T>
inline T __shfl_sync(unsigned mask, T value, int source, int width = 32, int line = __builtin_LINE()) {
  return cudasim_fetch("__shfl_sync", mask, value, (cudasim_lane() & -width) + (source & (width - 1)), line);
}
template <class T>
inline T __shfl_up_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int lane = cudasim_lane();
  const bool inside = delta <= (unsigned)(lane & (width - 1));
  return cudasim_fetch("__shfl_up_sync", mask, value, inside ? lane - (int)delta : lane, line);
}
template <class T>
inline T __shfl_down_sync(unsigned mask, T value, unsigned delta, int width = 32, int line = __builtin_LINE()) {
  const int lane = cudasim_lane();
  const bool inside = delta < (unsigned)(width - (lane & (width - 1)));
  return cudasim_fetch("__shfl_down_sync", mask, value, inside ? lane + (int)delta : lane, line);
}
template <class T>
inline T __shfl_xor_sync(unsigned mask, T value, int bits, int width = 32, int line = __builtin_LINE()) {
  const int lane = cudasim_lane(), source = lane ^ bits;
  const bool inside = source < (lane & -width) + width;
  return cudasim_fetch("__shfl_xor_sync", mask, value, inside ? source : lane, line);
}

inline unsigned __ballot_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return cudasim_ballot(mask, vote != 0, line);
}
inline int __any_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return cudasim_ballot(mask, vote != 0, line) != 0;
}
inline int __all_sync(unsigned mask, int vote, int line = __builtin_LINE()) {
  return cudasim_ballot(mask, vote == 0, line) == 0;
}

// Memory -----------------------------------------------------------------------------------------

inline void __threadfence() {
  __atomic_thread_fence(__ATOMIC_SEQ_CST);
  cudasim_perhaps();
}
inline void __threadfence_block() { __threadfence(); }
template <class T> inline T __ldg(const T *place) { return *place; }

// Orders nothing else, as in CUDA.
template <class T, class Change> inline T cudasim_change(T *place, Change change) {
  cudasim_perhaps();
  T old, changed;
  __atomic_load(place, &old, __ATOMIC_RELAXED);
  do changed = change(old);
  while (!__atomic_compare_exchange(place, &old, &changed, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return old;
}

#define CUDASIM_ATOMIC(name, T, changed) \
  inline T name(T *place, T value) { return cudasim_change(place, [=](T old) -> T { return changed; }); }
#define CUDASIM_INT_ATOMIC(name, changed) \
  CUDASIM_ATOMIC(name, int, changed) \
  CUDASIM_ATOMIC(name, unsigned, changed) \
  CUDASIM_ATOMIC(name, unsigned long long, changed)

CUDASIM_INT_ATOMIC(atomicAdd, old + value)
CUDASIM_ATOMIC(atomicAdd, float, old + value)
CUDASIM_ATOMIC(atomicAdd, double, old + value)
CUDASIM_INT_ATOMIC(atomicExch, value)
CUDASIM_ATOMIC(atomicExch, float, value)
CUDASIM_INT_ATOMIC(atomicMin, old < value ? old : value)
CUDASIM_ATOMIC(atomicMin, long long, old < value ? old : value)
CUDASIM_INT_ATOMIC(atomicMax, old > value ? old : value)
CUDASIM_ATOMIC(atomicMax, long long, old > value ? old : value)
CUDASIM_INT_ATOMIC(atomicAnd, old & value)
CUDASIM_INT_ATOMIC(atomicOr, old | value)
CUDASIM_INT_ATOMIC(atomicXor, old ^ value)

#define CUDASIM_CAS(T) \
  inline T atomicCAS(T *place, T compare, T value) { \
    return cudasim_change(place, [=](T old) -> T { return old == compare ? value : old; }); \
  }
CUDASIM_CAS(int)
CUDASIM_CAS(unsigned)
CUDASIM_CAS(unsigned long long)

// Two words at once, which C++ has only where there is a library for it; ThreadSanitizer sees that both are.
#if defined(__has_feature)
#if __has_feature(thread_sanitizer)
#define __SANITIZE_THREAD__ 1
#endif
#endif

struct alignas(16) cudasim_words { long long first, second; };

inline bool cudasim_busy;

inline void cudasim_load_pair(const long long *place, long long *first, long long *second) {
  const cudasim_words *words = (const cudasim_words *)place;
#ifdef __SANITIZE_THREAD__
  cudasim_words both;
  __atomic_load(words, &both, __ATOMIC_RELAXED);
  *first = both.first, *second = both.second;
#else
  for (; __atomic_test_and_set(&cudasim_busy, __ATOMIC_ACQUIRE);) {}
  *first = words->first, *second = words->second;
  __atomic_clear(&cudasim_busy, __ATOMIC_RELEASE);
#endif
}

inline void cudasim_store_pair(long long *place, long long first, long long second) {
  cudasim_words *words = (cudasim_words *)place, both = {first, second};
#ifdef __SANITIZE_THREAD__
  __atomic_store(words, &both, __ATOMIC_RELAXED);
#else
  for (; __atomic_test_and_set(&cudasim_busy, __ATOMIC_ACQUIRE);) {}
  *words = both;
  __atomic_clear(&cudasim_busy, __ATOMIC_RELEASE);
#endif
}

// Launching --------------------------------------------------------------------------------------

struct cudasim_arguments {
  const char *bytes;
  unsigned long at = 0;
  template <class T> T next() {                 // as a C struct of the parameters has them
    at = (at + alignof(T) - 1) / alignof(T) * alignof(T);
    T value;
    __builtin_memcpy(&value, bytes + at, sizeof value);
    at += sizeof value;
    return value;
  }
};

template <class... T> struct cudasim_call {     // a list in braces is evaluated from left to right
  cudasim_call(void (*kernel)(T...), T... values) { kernel(values...); }
};
template <class... T> inline void cudasim_apply(void (*kernel)(T...), const char *bytes) {
  cudasim_arguments arguments{bytes};
  (void)arguments;
  cudasim_call<T...>{kernel, arguments.next<T>()...};
}

#define CUDASIM_KERNEL(name) \
  extern "C" void cudasim_run_##name(const char *bytes) { cudasim_apply(name, bytes); }

#define while(...) while ((cudasim_turn(), (__VA_ARGS__)))

#endif
