/* What a C programmer would write by hand for the programs of ikra.py, on the threads that OpenMP finds: each chain of
   maps as one loop. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
#define LOOP _Pragma("omp parallel for schedule(static)")

static inline i64 modulo(i64 a, i64 b) {
    i64 r = a % b;
    return r < 0 ? r + b : r;
}

#define PLACES(body) \
    LOOP for (i64 i = 0; i < a * b; i++) \
        for (i64 k = 0; k < c; k++) \
            for (i64 l = 0; l < d; l++) { i64 at[4] = {i / b, i % b, k, l}, n = (i * c + k) * d + l; body }

void map10_simple(i64 a, i64 b, i64 c, i64 d, i64 *out) {
    PLACES(i64 s = at[0] + at[1] + at[2] + at[3]; i64 x = modulo(s + 7, 1337);
           for (int m = 0; m < 10; m++) x = modulo(x + s, 1337);
           out[n] = x;)
}

void map10(i64 a, i64 b, i64 c, i64 d, i64 *out) {
    PLACES(i64 x = modulo(at[0] + at[1], at[3] + at[at[1] % 4] + 7);
           for (i64 m = 938; m < 948; m++)
               x = modulo(modulo(x, m) + x / 97, 97717) + modulo(at[at[at[x % 4] % 4] % 4] * modulo(x, 7), 99);
           out[n] = x;)
}

void stencil10(i64 a, i64 b, i64 c, i64 d, i64 *out) {
    i64 size = a * b * c * d, row = c * d, plane = b * row, *p = malloc(size * 8), *q = out, *swap;
    PLACES(q[n] = modulo(at[0] + at[1], at[3] + at[at[1] % 4] + 7);)
    for (int m = 0; m < 10; m++) {
        swap = p, p = q, q = swap;
        PLACES(if (at[0] == 0 || at[0] == a - 1 || at[1] == 0) q[n] = 37;
               else q[n] = modulo(modulo(p[n - plane], 938) + p[n] / 97, 97717)
                           + modulo(at[at[at[p[n + plane] % 4] % 4] % 4] * modulo(p[n - plane - row], 7), 99);)
    }
    free(p);
}

void himeno(i64 a, i64 b, i64 c, i64 rounds, const double *given, const double **of, double *out) {
    i64 size = a * b * c, y = c, x = b * c;
    double *p = malloc(size * 8), *q = malloc(size * 8), *swap;
    memcpy(p, given, size * 8);
    for (i64 r = 0; r < rounds; r++) {
        LOOP for (i64 i = 0; i < a; i++)
            for (i64 j = 0; j < b; j++) {
                i64 first = (i * b + j) * c;
                if (i == 0 || j == 0 || i == a - 1 || j == b - 1) { memset(q + first, 0, c * 8); continue; }
                q[first] = q[first + c - 1] = 0;
                for (i64 n = first + 1; n < first + c - 1; n++) {
                    double s = of[0][n] * p[n + x] + of[1][n] * p[n + y] + of[2][n] * p[n + 1]
                        + of[4][n] * (p[n + x + y] - p[n + x - y] - p[n - x + y] + p[n - x - y])
                        + of[5][n] * (p[n + y + 1] - p[n - y + 1] - p[n + y - 1] + p[n - y - 1])
                        + of[6][n] * (p[n + x + 1] - p[n - x + 1] - p[n + x - 1] + p[n - x - 1])
                        + of[7][n] * p[n - x] + of[8][n] * p[n - y] + of[9][n] * p[n - 1] + of[10][n];
                    q[n] = p[n] + 0.8 * (s * of[3][n] - p[n]) * of[11][n];
                }
            }
        swap = p, p = q, q = swap;
    }
    memcpy(out, p, size * 8);
    free(p), free(q);
}

i64 dot(i64 n) {
    i64 s = 0;
#pragma omp parallel for reduction(+ : s)
    for (i64 i = 0; i < n; i++) s += i % 25000 * ((i + 101) % 25000);
    return s;
}

double float_dot(i64 n, const double *a, const double *b) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s)
    for (i64 i = 0; i < n; i++) s += a[i] * b[i];
    return s;
}

void square(i64 n, const i64 *a, i64 *out) { LOOP for (i64 i = 0; i < n; i++) out[i] = a[i] * a[i]; }

void mandelbrot(i64 height, i64 width, i64 most, i64 *out) {
#pragma omp parallel for schedule(dynamic, 8)
    for (i64 i = 0; i < height; i++)
        for (i64 j = 0; j < width; j++) {
            double x = j * 3.0 / width - 2.0, y = i * 2.0 / height - 1.0, u = 0, v = 0;
            i64 n = 0;
            for (; n < most && u * u + v * v <= 4.0; n++) {
                double next = u * u - v * v + x;
                v = 2.0 * u * v + y, u = next;
            }
            out[i * width + j] = n;
        }
}

void iterative_map(i64 n, const i64 *given, i64 rounds, i64 *a) {
    memcpy(a, given, n * 8);
    for (i64 r = 0; r < rounds; r++) LOOP for (i64 i = 0; i < n; i++) a[i] = modulo(a[i] * 3 + r, 13377);
}

void iterative_ten(i64 n, const i64 *given, i64 rounds, i64 *a) {
    memcpy(a, given, n * 8);
    for (i64 r = 0; r < rounds; r++) LOOP for (i64 i = 0; i < n; i++) {
        i64 x = a[i];
        for (i64 k = 0; k < 10; k++) x = (x ^ r) + k;
        a[i] = x;
    }
}

static i64 total(i64 n, const i64 *a) {
    i64 s = 0;
#pragma omp parallel for simd reduction(+ : s)
    for (i64 i = 0; i < n; i++) s += a[i];
    return s;
}

void slide(i64 n, const i64 *given, i64 rounds, i64 *a) {
    memcpy(a, given, n * 8);
    for (i64 r = 0; r < rounds; r++) {
        i64 by = 3 + (total(n, a) % 2 ? 2 : 1);
        LOOP for (i64 i = 0; i < n; i++) a[i] += by;
    }
}

static void smoothed(i64 n, const i64 *p, i64 *q) {
    LOOP for (i64 i = 1; i < n - 1; i++) q[i] = (p[i - 1] + 2 * p[i] + p[i + 1]) >> 2;
    q[0] = q[n - 1] = 1;
}

void iterative_stencil(i64 n, const i64 *given, i64 rounds, i64 *out) {
    i64 *spare = malloc(n * 8), *p = spare, *q = out, *swap;
    memcpy(out, given, n * 8);
    for (i64 r = 0; r < rounds; r++) swap = p, p = q, q = swap, smoothed(n, p, q);
    if (q != out) memcpy(out, q, n * 8);
    free(spare);
}

void stencil_until(i64 n, const i64 *given, i64 least, i64 *out) {
    i64 *spare = malloc(n * 8), *p = spare, *q = out, *swap;
    memcpy(out, given, n * 8);
    while (total(n, q) > least) swap = p, p = q, q = swap, smoothed(n, p, q);
    if (q != out) memcpy(out, q, n * 8);
    free(spare);
}

void matrix_product(i64 n, const double *a, const double *b, double *out) {
    LOOP for (i64 i = 0; i < n; i++) {
        memset(out + i * n, 0, n * 8);
        for (i64 k = 0; k < n; k++)
            for (i64 j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void bfs(i64 n, const i64 *offsets, const i64 *to, i64 *distance) {
    i64 *queue = malloc(n * 8), begin = 0, end = 1;
    for (i64 i = 0; i < n; i++) distance[i] = -1;
    queue[0] = distance[0] = 0;
    for (; begin < end; begin++)
        for (i64 e = offsets[queue[begin]]; e < offsets[queue[begin] + 1]; e++)
            if (distance[to[e]] < 0) {
                distance[to[e]] = distance[queue[begin]] + 1;
                queue[end++] = to[e];
            }
    free(queue);
}

static inline i64 mixed(i64 p, i64 q, int shift) {
    return ((p >> shift & 255) * 179 + (q >> shift & 255) * 77) >> 8;
}

static void blurred(i64 h, i64 w, const i64 *p, i64 *q) {
    LOOP for (i64 y = 0; y < h; y++)
        for (i64 x = 0; x < w; x++) {
            if (y == 0 || x == 0 || y == h - 1 || x == w - 1) { q[y * w + x] = 0; continue; }
            i64 r = 0, g = 0, b = 0;
            for (int k = -1; k < 2; k++)
                for (int l = -1; l < 2; l++) {
                    i64 v = p[(y + k) * w + x + l];
                    r += v >> 16 & 255, g += v >> 8 & 255, b += v & 255;
                }
            q[y * w + x] = r / 9 << 16 | g / 9 << 8 | b / 9;
        }
}

void image(i64 h, i64 w, const i64 *tower, const i64 *sunset, const i64 *forest, i64 *out) {
    i64 *p = malloc(h * w * 8), *q = malloc(h * w * 8), radius = h / 4;
    blurred(h, w, tower, p), blurred(h, w, p, q), blurred(h, w, q, p);
    LOOP for (i64 y = 0; y < h; y++)
        for (i64 x = 0; x < w; x++) {
            i64 n = y * w + x, a = y - h / 2, b = x - w / 2;
            out[n] = a * a + b * b < radius * radius ? 0xFFFFFF - forest[n]
                : mixed(p[n], sunset[n], 16) << 16 | mixed(p[n], sunset[n], 8) << 8 | mixed(p[n], sunset[n], 0);
        }
    free(p), free(q);
}
