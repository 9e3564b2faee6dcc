/* A model of a processor, for what hooks tell of code that runs (hooks.py).

   An access is in the line of its site's access before, or it looks for its line in caches, each of which forgets what
   was used least recently, and in memory. It is one of a stream if its line is near that before it, or as far from it
   as that was from the one before: processors fetch such lines ahead. A branch goes as the best of three predictions
   says, of those for this site so far: as it mostly went, as it went after the same branches of late, or as many times
   the same way as the last time. */
#include <stdint.h>
#include <string.h>

enum { LINE = 6, PAGE = 12, SITES = 1 << 18, PATHS = 1 << 14, NEAR = 2, STRIDE = 32, LEVELS = 4, SURE = 2 };
enum { STREAM, KINDS = 4 };             /* then what hooks.py says: free, chained, stored */
enum { ALONE = KINDS * LEVELS, PAGES = ALONE + LEVELS, TURNS = PAGES + 2, BYTES, ALL };

typedef struct { int ways; int64_t sets; int64_t *tags; } Cache;

static int64_t first[64 * 12], second[1024 * 16], third[32768 * 16], pages[16 * 6], more_pages[256 * 16];
static Cache caches[] = {{12, 64, first}, {16, 1024, second}, {16, 32768, third}};
static Cache tables[] = {{6, 16, pages}, {16, 256, more_pages}};
static int64_t lines[SITES], strides[SITES], last_page;
static uint8_t usual[SITES], after[PATHS], sure[SITES], way[SITES];
static int32_t same[SITES], last_same[SITES];
static int16_t right[SITES][3];
static uint32_t path;
static int turned;                      /* and nothing has been waited for since */

/* Lines by kind and by the cache that has them, or memory; those that are waited for alone, since a branch before them
   went another way; misses of both tables of pages;
   branches that went another way; bytes that were filled or copied. */
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
    uint8_t *here = &after[(path ^ (site * 0x9E3779B1u >> 12)) % PATHS];
    int ends = sure[site] >= SURE && same[site] == last_same[site];
    int told[3] = {usual[site] > 1, *here > 1, way[site] ^ ends};
    int best = 0;
    for (int k = 1; k < 3; k++) if (right[site][k] > right[site][best]) best = k;
    if (told[best] != taken) {
        hook_found[TURNS]++;
        turned = 1;
    }
    for (int k = 0; k < 3; k++) right[site][k] += (told[k] == taken) * 8 - right[site][k] / 64;
    usual[site] += taken ? usual[site] < 3 : -(usual[site] > 0);
    *here += taken ? *here < 3 : -(*here > 0);
    path = path << 1 | taken;
    if (taken == way[site]) {
        same[site]++;
        return;
    }
    if (same[site] == 0) way[site] = taken;             /* twice the other way */
    sure[site] = same[site] == last_same[site] ? sure[site] + (sure[site] < 3) : 0;
    last_same[site] = same[site], same[site] = 0;
}
