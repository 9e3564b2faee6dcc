// Runs kernels that cudasim.h has made callable: an OS thread runs a block at a time, each thread of it a fibre.
//
// Which fibre goes on is drawn by a seed wherever one ends, waits, or may be overtaken; seed 0 takes them in order. So
// do blocks start. A fibre that waits for others of its block or warp sleeps until they have come: what never comes is
// an error that says who waits for whom. Blocks may wait for blocks that started earlier: of those on the same OS thread
// all have ended, the others have threads of their own.
//
// The host's interrupt word and the first error stop a launch: fibres are left where they are.
#define CUDASIM_RUNTIME
#include "cudasim.h"
#include "tsan.h"

#ifdef __linux__
#include <link.h>
#endif
#include <sched.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdarg>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <mutex>
#include <thread>
#include <vector>

#if !defined(CUDASIM_UCONTEXT) && !defined(__x86_64__) && !defined(__aarch64__)
#define CUDASIM_UCONTEXT
#endif
#ifdef CUDASIM_UCONTEXT
#include <ucontext.h>
#endif

namespace {

const size_t STACK = 64 << 10;          // of a fibre; address space, until it is used
const size_t APART = STACK + 5 * 64;    // so that the tops of stacks do not share the same few cache lines
const unsigned TURNS = 256;             // rounds of loops between two looks at the scheduler
const unsigned SPINS = 16;              // such looks, and pauses, until the OS may run another of its threads
const unsigned OVERTAKEN = 4;           // one in so many atomics and fences lets another thread go first
const int WARP = 32;
const int GARBAGE = 0x3f;
const char *const SYNCWARP = "__syncwarp";      // orders accesses to memory; shuffles and votes do not

// Contexts ---------------------------------------------------------------------------------------

#ifdef CUDASIM_UCONTEXT

using Context = ucontext_t;

void prepare(Context &context, char *stack, void (*start)()) {
  getcontext(&context);
  context.uc_stack.ss_sp = stack;
  context.uc_stack.ss_size = STACK;
  context.uc_link = nullptr;
  makecontext(&context, start, 0);
}

void change(Context &from, Context &to) { swapcontext(&from, &to); }

#else

using Context = void **;                // the stack pointer: what a callee keeps lies there

extern "C" void cudasim_switch(Context *from, Context to) __asm__("cudasim_switch");

#ifdef __x86_64__
const int KEPT = 6;
__asm__(".text\n.globl cudasim_switch\ncudasim_switch:\n"
        "  pushq %rbp\n  pushq %rbx\n  pushq %r12\n  pushq %r13\n  pushq %r14\n  pushq %r15\n"
        "  movq %rsp, (%rdi)\n  movq %rsi, %rsp\n"
        "  popq %r15\n  popq %r14\n  popq %r13\n  popq %r12\n  popq %rbx\n  popq %rbp\n  ret\n");

void prepare(Context &context, char *stack, void (*start)()) {
  Context top = (Context)(stack + STACK) - 1;               // as after a call: 8 less than a multiple of 16
  *--top = (void *)start;
  for (int kept = 0; kept < KEPT; kept++) *--top = nullptr;
  context = top;
}
#else
__asm__(".text\n.globl cudasim_switch\ncudasim_switch:\n"
        "  stp x29, x30, [sp, #-160]!\n  stp x19, x20, [sp, #16]\n  stp x21, x22, [sp, #32]\n"
        "  stp x23, x24, [sp, #48]\n  stp x25, x26, [sp, #64]\n  stp x27, x28, [sp, #80]\n"
        "  stp d8, d9, [sp, #96]\n  stp d10, d11, [sp, #112]\n  stp d12, d13, [sp, #128]\n  stp d14, d15, [sp, #144]\n"
        "  mov x9, sp\n  str x9, [x0]\n  mov sp, x1\n"
        "  ldp x19, x20, [sp, #16]\n  ldp x21, x22, [sp, #32]\n"
        "  ldp x23, x24, [sp, #48]\n  ldp x25, x26, [sp, #64]\n  ldp x27, x28, [sp, #80]\n"
        "  ldp d8, d9, [sp, #96]\n  ldp d10, d11, [sp, #112]\n  ldp d12, d13, [sp, #128]\n  ldp d14, d15, [sp, #144]\n"
        "  ldp x29, x30, [sp], #160\n  ret\n");

void prepare(Context &context, char *stack, void (*start)()) {
  context = (Context)(stack + STACK) - 20;
  for (int kept = 0; kept < 20; kept++) context[kept] = nullptr;
  context[1] = (void *)start;                               // x30, where `ret` goes
}
#endif

void change(Context &from, Context &to) { cudasim_switch(&from, to); }

#endif

// A launch ---------------------------------------------------------------------------------------

struct Launch {
  void (*run)(const char *);
  const char *arguments, *name;
  dim3 grid, block;                     // blocks, and threads of each
  unsigned blocks, threads;             // in all
  uint64_t seed;
  const volatile long long *interrupt;
  char *message;                        // of the first error
  size_t room;
  tsan::Gate gate;
  std::vector<unsigned> order = {};     // in which blocks start
  std::atomic<unsigned> started{0};     // blocks
  std::atomic<bool> failed{false};

  bool stopped() const { return failed.load(std::memory_order_relaxed) || *interrupt; }
};

struct Random {                         // splitmix64
  uint64_t state;
  uint64_t next() {
    uint64_t z = state += 0x9E3779B97F4A7C15ull;
    z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9ull;
    z = (z ^ (z >> 27)) * 0x94D049BB133111EBull;
    return z ^ (z >> 31);
  }
  unsigned below(unsigned bound) { return (unsigned)((next() >> 32) * bound >> 32); }
};

enum class State { READY, BARRIER, WARP, ENDED };

struct Fibre {
  Context context;
  tsan::Context seen;
  tsan::Meeting warp;                   // with other lanes
  cudasim_place place;
  int number;
  State state;
  const char *what;                     // it waits in, at this line of the kernel's text
  int line;
  unsigned mask;                        // the lanes that it waits for
  int source;                           // the lane whose value it wants
  uint64_t given, result;
};

struct Block {
  Launch &launch;
  char *stacks;
  std::vector<Fibre> fibres;
  std::vector<Fibre *> ready;           // a ring; each fibre is in it once at most
  unsigned first = 0, waiting = 0, ended = 0, at_barrier = 0;
  std::vector<unsigned> met;            // of each warp, the lanes that wait for others of it
  Random random{0};
  unsigned turns = 0, spins = 0;
  Fibre *now = nullptr;
  Context scheduler;
  tsan::Context scheduler_seen;
  tsan::Meeting begin, barrier, end;

  Block(Launch &of, char *memory)
      : launch(of), stacks(memory), fibres(of.threads), ready(of.threads), met((of.threads + WARP - 1) / WARP) {}

  void push(Fibre &fibre) {
    fibre.state = State::READY;
    ready[(first + waiting++) % ready.size()] = &fibre;
  }

  Fibre &pop() {
    unsigned drawn = launch.seed ? random.below(waiting) : 0;
    Fibre *&head = ready[first], *&chosen = ready[(first + drawn) % ready.size()];
    Fibre *fibre = chosen;
    chosen = head;
    first = (first + 1) % ready.size();
    waiting--;
    return *fibre;
  }

  unsigned lanes(int warp) const {      // that there are
    unsigned rest = launch.threads - warp * WARP;
    return rest >= WARP ? ~0u : (1u << rest) - 1;
  }
};

thread_local Block *block;

// The numbers of blocks and of threads: x changes first.
uint3 place_of(unsigned number, dim3 of) { return {number % of.x, number / of.x % of.y, number / of.x / of.y}; }
unsigned number_of(uint3 place, dim3 of) { return place.x + of.x * (place.y + of.y * place.z); }

// Errors -----------------------------------------------------------------------------------------

std::mutex telling;

__attribute__((format(printf, 2, 3))) void fail(const Fibre &fibre, const char *format, ...) {
  Launch &launch = block->launch;
  std::lock_guard<std::mutex> lock(telling);
  if (launch.failed) return;
  int start = snprintf(launch.message, launch.room, "%s, block %u, thread %d: ", launch.name,
                       number_of(fibre.place.block, launch.grid), fibre.number);
  va_list values;
  va_start(values, format);
  if (start >= 0 && (size_t)start < launch.room)
    vsnprintf(launch.message + start, launch.room - start, format, values);
  va_end(values);
  launch.failed = true;
}

// Nothing can go on, and not all threads have ended.
void explain_deadlock() {
  const Fibre *waits = nullptr, *other = nullptr;
  for (const Fibre &fibre : block->fibres) {
    if (fibre.state == State::WARP) { waits = &fibre; break; }
    if (fibre.state == State::BARRIER && !waits) waits = &fibre;
  }
  if (waits->state == State::WARP) {
    for (const Fibre &fibre : block->fibres)
      if (fibre.number / WARP == waits->number / WARP && waits->mask >> fibre.number % WARP & 1 &&
          fibre.state != State::WARP)
        other = &fibre;
    if (!other) return fail(*waits, "%s (line %d) waits for lanes that do not wait for it", waits->what, waits->line);
    if (other->state == State::ENDED)
      return fail(*waits, "%s (line %d) waits for thread %d, which has ended", waits->what, waits->line, other->number);
    return fail(*waits, "%s (line %d) waits for thread %d, which waits in %s (line %d)", waits->what, waits->line,
                other->number, other->what, other->line);
  }
  for (const Fibre &fibre : block->fibres)
    if (fibre.state == State::ENDED) other = &fibre;
  fail(*waits, "__syncthreads (line %d) is reached by %u of the block's %u threads; thread %d has ended", waits->line,
       block->at_barrier, block->launch.threads, other ? other->number : -1);
}

// Shared memory ----------------------------------------------------------------------------------

// Of the library that has the kernel: all of its storage that each OS thread has for itself. It holds garbage when a
// block starts, rather than what the block before has left, which may well be what this one should have written.
struct Shared {
  const void *kernel;
  char *start = nullptr;
  size_t size = 0;
};

#ifdef __linux__
struct TlsIndex { unsigned long module, offset; };
extern "C" void *__tls_get_addr(TlsIndex *);

int look(struct dl_phdr_info *info, size_t, void *wanted) {
  Shared &shared = *(Shared *)wanted;
  size_t size = 0;
  bool here = false;
  for (int at = 0; at < info->dlpi_phnum; at++) {
    const auto &part = info->dlpi_phdr[at];
    const char *start = (const char *)info->dlpi_addr + part.p_vaddr;
    here |= part.p_type == PT_LOAD && shared.kernel >= start && shared.kernel < start + part.p_memsz;
    if (part.p_type == PT_TLS) size = part.p_memsz;
  }
  if (here && size) {
    TlsIndex index{info->dlpi_tls_modid, 0};
    shared.start = (char *)__tls_get_addr(&index), shared.size = size;
  }
  return here;
}

void find(Shared &shared) { dl_iterate_phdr(look, &shared); }
#else
void find(Shared &) {}                  // elsewhere it stays as it is
#endif

// Fibres -----------------------------------------------------------------------------------------

void leave() {
  block->scheduler_seen.enter();
  change(block->now->context, block->scheduler);
}

[[noreturn]] void abandon() {
  for (;;) leave();                     // the launch has failed: the scheduler does not come back
}

void give_way() {
  block->push(*block->now);
  leave();
}

void start() {
  block->begin.leave();
  block->launch.run(block->launch.arguments);
  block->end.arrive();
  block->now->state = State::ENDED;
  block->ended++;
  for (;;) leave();
}

void run_block(unsigned number) {
  Block &b = *block;
  const Launch &launch = b.launch;
  b.random.state = launch.seed * 0x9E3779B97F4A7C15ull + number;
  b.first = b.waiting = b.ended = b.at_barrier = 0;
  for (unsigned &warp : b.met) warp = 0;
  for (unsigned at = 0; at < launch.threads; at++) {
    Fibre &fibre = b.fibres[at];
    fibre.number = (int)at;
    fibre.place = {place_of(at, launch.block), place_of(number, launch.grid), launch.block, launch.grid, at % WARP};
    prepare(fibre.context, b.stacks + at * APART, start);
    b.push(fibre);
  }
  b.begin.let_go();
  while (b.waiting && !launch.stopped()) {
    b.now = &b.pop();
    b.now->seen.enter();
    change(b.scheduler, b.now->context);
  }
  b.end.gather();
  if (!launch.stopped() && b.ended < launch.threads) explain_deadlock();
}

// All that the mask names have come: each gets the value of the lane that it asks for, and a ballot the votes of all.
void exchange(Fibre &last, int warp, unsigned wanted) {
  Fibre *lanes = &block->fibres[warp * WARP];
  uint64_t votes = 0;
  for (int lane = 0; lane < WARP; lane++) {
    if (!(wanted >> lane & 1)) continue;
    Fibre &other = lanes[lane];
    if (other.mask != last.mask || other.line != last.line || other.what != last.what) {
      fail(last, "%s (line %d, mask %08x) meets %s (line %d, mask %08x) of thread %d of its warp", last.what, last.line,
           last.mask, other.what, other.line, other.mask, other.number);
      abandon();
    }
    votes |= (uint64_t)(other.given & 1) << lane;
    if (last.what == SYNCWARP) other.warp.gather();
  }
  for (int lane = 0; lane < WARP; lane++) {
    if (!(wanted >> lane & 1)) continue;
    Fibre &other = lanes[lane];
    if (other.source >= 0 && !(wanted >> other.source & 1)) {
      fail(other, "%s (line %d) reads lane %d, which takes no part", other.what, other.line, other.source);
      abandon();
    }
    other.result = other.source < 0 ? votes : lanes[other.source].given;
    if (last.what == SYNCWARP) other.warp.let_go();
  }
}

uint64_t meet(const char *what, unsigned mask, uint64_t given, int source, int line) {
  Fibre &me = *block->now;
  int warp = me.number / WARP, lane = me.number % WARP;
  me.what = what, me.line = line, me.mask = mask, me.given = given, me.source = source;
  if (!(mask >> lane & 1)) {
    fail(me, "%s (line %d) is called with the mask %08x, which leaves out its own lane %d", what, line, mask, lane);
    abandon();
  }
  unsigned &met = block->met[warp], wanted = mask & block->lanes(warp);
  met |= 1u << lane;
  if ((met & wanted) != wanted) {
    me.state = State::WARP;
    leave();
    return me.result;
  }
  exchange(me, warp, wanted);
  met &= ~wanted;
  for (int other = 0; other < WARP; other++)
    if (wanted >> other & 1 && other != lane) block->push(block->fibres[warp * WARP + other]);
  return me.result;
}

// OS threads -------------------------------------------------------------------------------------

std::mutex keeping;
std::vector<std::pair<size_t, char *>> kept_stacks;         // fresh pages cost more than what small blocks do

char *take_stacks(size_t size) {
  {
    std::lock_guard<std::mutex> lock(keeping);
    for (auto &kept : kept_stacks)
      if (kept.first == size) {
        char *memory = kept.second;
        kept = kept_stacks.back();
        kept_stacks.pop_back();
        return memory;
      }
  }
  void *memory = mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  return memory == MAP_FAILED ? nullptr : (char *)memory;
}

void work(Launch &launch) {
  size_t size = launch.threads * APART;
  char *stacks = take_stacks(size);
  if (!stacks) {
    std::lock_guard<std::mutex> lock(telling);
    if (!launch.failed) snprintf(launch.message, launch.room, "no memory for the stacks of a block's threads");
    launch.failed = true;
    return;
  }
  Block own(launch, stacks);
  block = &own;
  own.scheduler_seen.is_current();
  for (Fibre &fibre : own.fibres) fibre.seen.begin();
  Shared shared{(const void *)launch.run};
  find(shared);
  unsigned at = launch.started++;
  launch.gate.pass();
  for (; !launch.stopped() && at < launch.blocks; at = launch.started++) {
    if (shared.size) memset(shared.start, GARBAGE, shared.size);
    run_block(launch.order[at]);
  }
  for (Fibre &fibre : own.fibres) fibre.seen.end();
  block = nullptr;
  std::lock_guard<std::mutex> lock(keeping);
  kept_stacks.emplace_back(size, stacks);
}

}  // namespace

// What kernels call ------------------------------------------------------------------------------

extern "C" const cudasim_place *cudasim_here() { return &block->now->place; }

extern "C" void cudasim_pause() {
  if (++block->spins % SPINS == 0) sched_yield();
  give_way();
}

extern "C" void cudasim_turn() {
  if (++block->turns % TURNS == 0) cudasim_pause();
}

extern "C" void cudasim_perhaps() {
  if (block->launch.seed && block->random.below(OVERTAKEN) == 0) give_way();
}

extern "C" void cudasim_barrier(int line) {
  Block &b = *block;
  Fibre &me = *b.now;
  me.what = "__syncthreads", me.line = line;
  b.barrier.arrive();
  if (++b.at_barrier < b.launch.threads) {
    me.state = State::BARRIER;
    leave();
    b.barrier.leave();
    return;
  }
  b.barrier.gather();
  b.barrier.let_go();
  for (Fibre &other : b.fibres) {
    if (other.line != line) {
      fail(me, "__syncthreads (line %d) meets that of line %d, where thread %d waits", line, other.line, other.number);
      abandon();
    }
    if (&other != &me) b.push(other);
  }
  b.at_barrier = 0;
}

extern "C" unsigned long long cudasim_shuffle(const char *what, unsigned mask, unsigned long long bits, int source,
                                              int line) {
  return meet(what, mask, bits, source, line);
}

extern "C" unsigned cudasim_ballot(unsigned mask, bool vote, int line) {
  return (unsigned)meet("__ballot_sync", mask, vote, -1, line);
}

extern "C" void cudasim_syncwarp(unsigned mask, int line) {
  Fibre &me = *block->now;
  me.warp.arrive();
  meet(SYNCWARP, mask, 0, -1, line);
  me.warp.leave();
}

// Runs all blocks on so many OS threads; true, unless `message` says what went wrong. `shape`: how many blocks there are
// in the directions x, y, z, and how many threads of each.
extern "C" bool cudasim_launch(void (*run)(const char *), const char *arguments, const char *name,
                               const unsigned *shape, unsigned long long seed, unsigned os_threads,
                               const volatile long long *interrupt, char *message, size_t room) {
  const dim3 grid{shape[0], shape[1], shape[2]}, threads_of{shape[3], shape[4], shape[5]};
  const unsigned blocks = grid.x * grid.y * grid.z, threads = threads_of.x * threads_of.y * threads_of.z;
  os_threads = std::max(1u, std::min(os_threads, blocks));
  Launch launch{run,  arguments, name,    grid, threads_of,            blocks, threads,
                seed, interrupt, message, room, tsan::Gate(os_threads)};
  launch.order.resize(blocks);
  for (unsigned at = 0; at < blocks; at++) launch.order[at] = at;
  Random random{seed};
  for (unsigned at = blocks; seed && at > 1; at--) std::swap(launch.order[at - 1], launch.order[random.below(at)]);
  std::vector<std::thread> others;
  for (unsigned at = 1; at < os_threads; at++) {
    try {
      others.emplace_back(work, std::ref(launch));
    } catch (const std::exception &) {          // fewer will do
      break;
    }
  }
  work(launch);
  for (std::thread &other : others) other.join();
  return !launch.failed;
}
