// Adds up what kernels tell by counters.h: how often warps access memory, and what moves for it.
//
// A warp's access is one request, of all its threads that do it together. Global memory moves in sectors of 32 bytes,
// of which a request moves each that it touches. Shared memory has 32 banks of 4 bytes: a request takes as many turns
// (ways) as there are words in its fullest bank. One OS thread runs all blocks, one after another.
#define CUDASIM_RUNTIME
#include "counters.h"

#include <algorithm>
#include <cstdint>
#include <unordered_map>
#include <vector>

namespace {

const unsigned WARP = 32, SECTOR = 32, WORD = 4, BANKS = 32, MOST_THREADS = 1024;
const size_t MOST_OPEN = 1 << 17;       // requests that may still get lanes: then it is assumed that none will come

// What is known of a point, in the order in which cudagen.cuda.cudasim.counting reads it.
struct Sums {
  int64_t requests, lanes, asked, sectors, least_sectors, ways, least_ways, met;
};

struct Key {
  uint64_t path;
  int point, warp;
  bool operator==(const Key &other) const { return path == other.path && point == other.point && warp == other.warp; }
};

struct Hash {
  size_t operator()(const Key &key) const { return cudasim_mix(key.path, (uint64_t)key.point << 8 | key.warp); }
};

struct Request {
  uint32_t lanes = 0;
  unsigned size = 0;
  std::vector<uint64_t> places;         // of its lanes, in any order
};

Sums *sums;                             // of the running launch, by points
unsigned block;
cudasim_thread threads[MOST_THREADS];
std::unordered_map<Key, Request, Hash> open_requests;

unsigned number_of(uint3 at, dim3 of) { return at.x + of.x * (at.y + of.y * at.z); }
unsigned thread_here() { return number_of(cudasim_here()->thread, cudasim_here()->threads); }

int64_t parts(int64_t whole, int64_t part) { return (whole + part - 1) / part; }

// The numbers of the parts of memory, of so many bytes each, that the request touches, each once.
std::vector<uint64_t> touched(const Request &request, unsigned part) {
  std::vector<uint64_t> found;
  for (uint64_t place : request.places)
    for (uint64_t at = place / part; at <= (place + request.size - 1) / part; at++) found.push_back(at);
  std::sort(found.begin(), found.end());
  found.erase(std::unique(found.begin(), found.end()), found.end());
  return found;
}

void add(int point, const Request &request) {
  Sums &to = sums[point];
  int64_t asked = (int64_t)touched(request, 1).size();
  std::vector<uint64_t> words = touched(request, WORD);
  int64_t in_bank[BANKS] = {};
  for (uint64_t word : words) in_bank[word % BANKS]++;
  to.requests++;
  to.lanes += (int64_t)request.places.size();
  to.asked += asked;
  to.sectors += (int64_t)touched(request, SECTOR).size();
  to.least_sectors += parts(asked, SECTOR);
  to.ways += *std::max_element(in_bank, in_bank + BANKS);
  to.least_ways += parts((int64_t)words.size(), BANKS);
}

void close_all() {
  for (const auto &entry : open_requests) add(entry.first.point, entry.second);
  open_requests.clear();
}

}  // namespace

// What kernels call ------------------------------------------------------------------------------

extern "C" cudasim_thread *cudasim_running() {
  const unsigned here = number_of(cudasim_here()->block, cudasim_here()->blocks);
  if (here != block) {
    close_all();
    block = here;
    std::fill(threads, threads + MOST_THREADS, cudasim_thread{0, 0});
  }
  return &threads[thread_here()];
}

extern "C" void cudasim_access(int point, unsigned long long place, unsigned size) {
  const unsigned thread = thread_here();
  const Key key{cudasim_running()->path, point, (int)(thread / WARP)};
  const uint32_t lane = 1u << thread % WARP;
  Request &request = open_requests[key];
  if (request.lanes & lane) {           // the thread is here again, so nobody comes to the request any more
    add(point, request);
    request = Request{};
  }
  request.lanes |= lane;
  request.size = size;
  request.places.push_back(place);
  if (request.lanes == 0xffffffffu) {
    add(point, request);
    open_requests.erase(key);
  }
  if (open_requests.size() > MOST_OPEN) close_all();
}

extern "C" void cudasim_met(int point) {
  if (thread_here() == 0) sums[point].met++;
}

// A launch begins, whose sums go there; null: it has ended.
extern "C" void cudasim_count(int64_t *into) {
  if (sums) close_all();
  sums = (Sums *)into;
  block = ~0u;
}
