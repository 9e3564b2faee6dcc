/* A model of a processor, for what hooks tell of code that runs (hooks.py).

   An access is in the line of its site's access before, or it looks for its line in caches, each of which forgets what
   was used least recently, and in memory. It is one of a stream if its line is near that before it, or as far from it
   as that was from the one before: processors fetch such lines ahead. A branch is predicted by votes: how it went at this
   site after the same last few branches, for several numbers of these; votes that were not clear or wrong learn. */
#include <stdint.h>
#include <string.h>

enum { LINE = 6, PAGE = 12, SITES = 1 << 18, NEAR = 2, STRIDE = 32, LEVELS = 4 };
enum { TABLES = 8, VOTES = 14, MOST = 63, SURE = 40 };
enum { STREAM, KINDS = 4 };             /* then what hooks.py says: free, chained, stored */
enum { ALONE = KINDS * LEVELS, PAGES = ALONE + LEVELS, TURNS = PAGES + 2, BYTES, ALL };

typedef struct { int ways; int64_t sets; int64_t *tags; } Cache;

static int64_t first[64 * 12], second[1024 * 16], third[32768 * 16], pages[16 * 6], more_pages[256 * 16];
static Cache caches[] = {{12, 64, first}, {16, 1024, second}, {16, 32768, third}};
static Cache tables[] = {{6, 16, pages}, {16, 256, more_pages}};
static int64_t lines[SITES], strides[SITES], last_page;
static const int histories[TABLES] = {0, 2, 4, 8, 14, 24, 40, 64};
static int8_t weights[TABLES][1 << VOTES];
static uint64_t history;
static int turned;                      /* and nothing has been waited for since */

/* Lines by kind and by the cache that has them, or memory; those that are waited for alone, since a branch before them
   went another way; misses of both tables of pages; branches that went another way; bytes filled or copied. */
int64_t hook_found[ALL];

static int has(Cache *cache, int64_t line) {
    int64_t *set = cache->tags + (line % cache->sets) * cache->ways, tag = line + 1;
    int k = 0;
    while (k < cache->ways - 1 && set[k] != tag) k++;
    int there = set[k] == tag;
    memmove(set + 1, set, k * sizeof *set);
    set[0] = tag;
    return there;
}

void hook_access(int64_t address, int32_t site, int32_t kind) {
    int64_t line = address >> LINE, stride = line - lines[site], page = address >> PAGE;
    if (stride == 0 || address == 0) return;
    int near = -NEAR <= stride && stride <= NEAR;
    int stream = near || (stride == strides[site] && -STRIDE < stride && stride < STRIDE);
    lines[site] = line, strides[site] = stride;
    int level = 0;
    while (level < LEVELS - 1 && !has(&caches[level], line)) level++;
    hook_found[(stream ? STREAM : kind) * LEVELS + level]++;
    if (turned && level && !stream) {
        hook_found[ALONE + level]++;
        turned = 0;
    }
    if (page == last_page) return;
    last_page = page;
    for (int k = 0; k < 2 && !has(&tables[k], page); k++) hook_found[PAGES + k]++;
}

void hook_run(int64_t address, int64_t bytes, int32_t site, int32_t kind) {
    hook_found[BYTES] += bytes;
    for (int64_t at = address; at < address + bytes; at += 1 << LINE) hook_access(at, site, kind);
}

void hook_branch(int8_t taken, int32_t site) {
    int8_t *votes[TABLES];
    int sum = 0;
    for (int k = 0; k < TABLES; k++) {
        uint64_t path = histories[k] < 64 ? history & ((1ULL << histories[k]) - 1) : history;
        uint64_t mixed = (path * 0x9E3779B97F4A7C15u ^ (uint64_t) site * 0xC2B2AE3D27D4EB4Fu) * 0x165667B19E3779F9u;
        votes[k] = &weights[k][mixed >> (64 - VOTES)];
        sum += *votes[k];
    }
    int wrong = (sum >= 0) != taken;
    hook_found[TURNS] += wrong;
    turned |= wrong;
    if (wrong || (-SURE <= sum && sum <= SURE))
        for (int k = 0; k < TABLES; k++) *votes[k] += taken ? *votes[k] < MOST : -(*votes[k] > -MOST);
    history = history << 1 | taken;
}
