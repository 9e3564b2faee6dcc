/* What a C programmer would write by hand for the workloads of regular.nesl, positions.nesl and mappings.nesl, on the
   threads that OpenMP finds. */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

typedef int64_t i64;
#define LOOP _Pragma("omp parallel for schedule(static)")

double dot_product(i64 n, const double *xs, const double *ys) {
    double s = 0;
#pragma omp parallel for simd reduction(+ : s)
    for (i64 i = 0; i < n; i++) s += xs[i] * ys[i];
    return s;
}

void waves(i64 n, const double *xs, double *out) {
#pragma omp parallel for simd
    for (i64 i = 0; i < n; i++) out[i] = exp(xs[i]) * sin(xs[i]);
}

static inline double cumulative(double x) {
    double a = fabs(x), k = 1.0 / (1.0 + 0.2316419 * a);
    double w = k * (0.31938153 + k * (-0.356563782 + k * (1.781477937 + k * (-1.821255978 + k * 1.330274429))));
    double tail = 0.3989422804014327 * exp(-0.5 * a * a) * w;
    return x < 0 ? tail : 1.0 - tail;
}

void black_scholes(i64 n, const double *ss, const double *ks, const double *ys, double *out) {
#pragma omp parallel for simd
    for (i64 i = 0; i < n; i++) {
        double s = ss[i], k = ks[i], y = ys[i], v = 0.3 * sqrt(y);
        double d1 = (log(s / k) + (0.02 + 0.045) * y) / v, d2 = d1 - v;
        out[i] = s * cumulative(d1) - k * exp(-0.02 * y) * cumulative(d2);
    }
}

void mandelbrot(i64 n, const double *xs, const double *ys, i64 *out) {
#pragma omp parallel for schedule(dynamic, 4096)
    for (i64 i = 0; i < n; i++) {
        double x = 0, y = 0;
        i64 k = 0;
        while (k != 100 && x * x + y * y <= 4.0) {
            double next = x * x - y * y + xs[i];
            y = 2.0 * x * y + ys[i];
            x = next;
            k++;
        }
        out[i] = k;
    }
}

void row_sums(i64 rows, const i64 *offsets, const double *xs, double *out) {
    LOOP for (i64 r = 0; r < rows; r++) {
        double s = 0;
        for (i64 i = offsets[r]; i < offsets[r + 1]; i++) s += xs[i];
        out[r] = s;
    }
}

void row_scans(i64 rows, const i64 *offsets, const double *xs, double *out) {
    LOOP for (i64 r = 0; r < rows; r++) {
        double s = 0;
        for (i64 i = offsets[r]; i < offsets[r + 1]; i++) {
            out[i] = s;
            s += xs[i];
        }
    }
}

i64 positive(i64 n, const double *xs, double *out) {
    i64 k = 0;
    for (i64 i = 0; i < n; i++) {
        out[k] = xs[i];
        k += xs[i] > 0.0;
    }
    return k;
}

void running_sum(i64 n, const double *xs, double *out) {
    double s = 0;
    for (i64 i = 0; i < n; i++) {
        out[i] = s;
        s += xs[i];
    }
}

void blurred(i64 n, const double *xs, double *out) {
    LOOP for (i64 i = 1; i < n - 1; i++) out[i] = 0.25 * xs[i - 1] + 0.5 * xs[i] + 0.25 * xs[i + 1];
    out[0] = 0.75 * xs[0] + 0.25 * xs[1];
    out[n - 1] = 0.25 * xs[n - 2] + 0.75 * xs[n - 1];
}

void heat(i64 n, const double *xs, i64 width, double *out) {
    i64 height = n / width;
    memcpy(out, xs, width * sizeof(double));
    memcpy(out + n - width, xs + n - width, width * sizeof(double));
    LOOP for (i64 r = 1; r < height - 1; r++) {
        const double *row = xs + r * width;
        double *to = out + r * width;
        to[0] = row[0];
        to[width - 1] = row[width - 1];
        for (i64 c = 1; c < width - 1; c++)
            to[c] = 0.25 * (row[c - 1] + row[c + 1] + row[c - width] + row[c + width]);
    }
}

void matrix_product(i64 n, const double *a, const double *b, double *out) {
    LOOP for (i64 i = 0; i < n; i++) {
        memset(out + i * n, 0, n * sizeof(double));
        for (i64 k = 0; k < n; k++)
            for (i64 j = 0; j < n; j++) out[i * n + j] += a[i * n + k] * b[k * n + j];
    }
}

void nearest(i64 n, const double *xs, const double *ys, i64 *out) {
    LOOP for (i64 i = 0; i < n; i++) {
        double best[5];
        i64 which[5], found = 0;
        for (i64 j = 0; j < n; j++) {
            double dx = xs[j] - xs[i], dy = ys[j] - ys[i], d = dx * dx + dy * dy;
            if (found == 5 && d >= best[4]) continue;
            i64 at = found < 5 ? found++ : 4;
            for (; at > 0 && best[at - 1] > d; at--) {
                best[at] = best[at - 1];
                which[at] = which[at - 1];
            }
            best[at] = d;
            which[at] = j;
        }
        for (i64 k = 1; k < found; k++)
            for (i64 at = k; at > 0 && which[at - 1] > which[at]; at--) {
                i64 w = which[at];
                which[at] = which[at - 1];
                which[at - 1] = w;
            }
        memcpy(out + 5 * i, which, sizeof which);
    }
}

void forces(i64 n, const double *xs, const double *ys, const double *ms, double *ax, double *ay) {
    LOOP for (i64 i = 0; i < n; i++) {
        double a = 0, b = 0;
#pragma omp simd reduction(+ : a, b)
        for (i64 j = 0; j < n; j++) {
            double dx = xs[j] - xs[i], dy = ys[j] - ys[i], d = dx * dx + dy * dy + 0.01;
            double w = ms[j] / (d * sqrt(d));
            a += dx * w;
            b += dy * w;
        }
        ax[i] = a;
        ay[i] = b;
    }
}

void permuted(i64 n, const double *xs, const i64 *is, double *out) {
    LOOP for (i64 i = 0; i < n; i++) out[is[i]] = xs[i];
}

void written(i64 n, const double *xs, i64 m, const i64 *is, const double *ys, double *out) {
    memcpy(out, xs, n * sizeof(double));
    for (i64 i = 0; i < m; i++) out[is[i]] = ys[i];
}

void counts(i64 m, const i64 *is, i64 n, i64 *out) {
    memset(out, 0, n * sizeof(i64));
    for (i64 i = 0; i < m; i++) out[is[i]]++;
}

void group_sums(i64 m, const i64 *ks, const double *xs, i64 n, double *out) {
    memset(out, 0, n * sizeof(double));
    for (i64 i = 0; i < m; i++) out[ks[i]] += xs[i];
}

static int by_value(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static void radix_sort(i64 n, double *xs, double *spare) {
    uint64_t *from = (uint64_t *)xs, *to = (uint64_t *)spare;
    static i64 count[8][256];
    memset(count, 0, sizeof count);
    for (i64 i = 0; i < n; i++) {
        uint64_t b = from[i];
        b = from[i] = b ^ ((uint64_t)((i64)b >> 63) | 1ULL << 63);
        for (int d = 0; d < 8; d++) count[d][b >> 8 * d & 255]++;
    }
    for (int d = 0; d < 8; d++) {
        i64 at = 0;
        for (int k = 0; k < 256; k++) {
            i64 c = count[d][k];
            count[d][k] = at;
            at += c;
        }
        for (i64 i = 0; i < n; i++) to[count[d][from[i] >> 8 * d & 255]++] = from[i];
        uint64_t *t = from;
        from = to;
        to = t;
    }
    for (i64 i = 0; i < n; i++) from[i] ^= ((from[i] >> 63) - 1) | 1ULL << 63;
}

void sorted(i64 n, const double *xs, double *out) {
    double *spare = malloc(n * sizeof(double));
    memcpy(out, xs, n * sizeof(double));
    radix_sort(n, out, spare);
    free(spare);
}

void sorted_rows(i64 rows, const i64 *offsets, const double *xs, double *out) {
    LOOP for (i64 r = 0; r < rows; r++) {
        i64 n = offsets[r + 1] - offsets[r];
        double *row = out + offsets[r];
        memcpy(row, xs + offsets[r], n * sizeof(double));
        if (n > 64) qsort(row, n, sizeof(double), by_value);
        else
            for (i64 i = 1; i < n; i++) {
                double x = row[i];
                i64 at = i;
                for (; at > 0 && row[at - 1] > x; at--) row[at] = row[at - 1];
                row[at] = x;
            }
    }
}

static void quick(double *v, i64 n) {
    while (n > 16) {
        double pivot = v[n / 2];
        i64 i = 0, j = n - 1;
        while (i <= j) {
            while (v[i] < pivot) i++;
            while (v[j] > pivot) j--;
            if (i <= j) {
                double x = v[i];
                v[i++] = v[j];
                v[j--] = x;
            }
        }
#pragma omp task if (j > 10000)
        quick(v, j + 1);
        v += i;
        n -= i;
    }
    for (i64 i = 1; i < n; i++) {
        double x = v[i];
        i64 at = i;
        for (; at > 0 && v[at - 1] > x; at--) v[at] = v[at - 1];
        v[at] = x;
    }
}

void quicksort(i64 n, const double *xs, double *out) {
    memcpy(out, xs, n * sizeof(double));
#pragma omp parallel
#pragma omp single
    quick(out, n);
}

i64 primes(i64 n, i64 *out) {
    char *composite = calloc(n, 1);
    i64 found = 0;
    for (i64 p = 2; p < n; p++) {
        if (composite[p]) continue;
        out[found++] = p;
        for (i64 m = p * p; m < n; m += p) composite[m] = 1;
    }
    free(composite);
    return found;
}

void bfs(i64 n, const i64 *offsets, const i64 *to, i64 *out) {
    i64 *queue = malloc(n * sizeof(i64)), head = 0, tail = 1;
    for (i64 i = 0; i < n; i++) out[i] = -1;
    out[0] = queue[0] = 0;
    while (head < tail) {
        i64 v = queue[head++];
        for (i64 e = offsets[v]; e < offsets[v + 1]; e++)
            if (out[to[e]] < 0) {
                out[to[e]] = out[v] + 1;
                queue[tail++] = to[e];
            }
    }
    free(queue);
}

i64 occurrences(i64 n, const uint8_t *text, i64 m, const uint8_t *pattern, i64 *out) {
    i64 found = 0;
    for (i64 i = 0; i + m <= n; i++)
        if (text[i] == pattern[0] && memcmp(text + i, pattern, m) == 0) out[found++] = i;
    return found;
}

/* positions.nesl: rows of any length are shared out as threads come; stencils are split at their borders. */

void packed_product(i64 n, const double *a, const double *x, double *out) {
#pragma omp parallel for schedule(dynamic, 64)
    for (i64 i = 0; i < n; i++) {
        const double *row = a + i * (i + 1) / 2;
        double s = 0;
        for (i64 j = 0; j <= i; j++) s += row[j] * x[j];
        out[i] = s;
    }
}

void level_sums(const double *v, i64 depth, double *out) {
    for (i64 level = 0; level < depth; level++) {
        double s = 0;
        i64 first = ((i64)1 << level) - 1;
#pragma omp parallel for simd reduction(+ : s) if (level > 14)
        for (i64 i = first; i < 2 * first + 1; i++) s += v[i];
        out[level] = s;
    }
}

void band_sums(i64 n, const double *v, i64 b, double *out) {
    LOOP for (i64 i = 0; i < n; i++) {
        i64 low = i - b < 0 ? 0 : i - b, high = i + b + 1 > n ? n : i + b + 1;
        double s = 0;
        for (i64 j = low; j < high; j++) s += v[j];
        out[i] = s;
    }
}

void sums_below(i64 n, const double *v, double *out) {
#pragma omp parallel for schedule(dynamic, 16)
    for (i64 i = 0; i < n; i++)
        for (i64 j = 0; j <= i; j++) {
            double s = 0;
            for (i64 k = j; k <= i; k++) s += v[k];
            out[i * (i + 1) / 2 + j] = s;
        }
}

void triangle_product(i64 n, const double *a, const double *b, double *out) {
#pragma omp parallel for schedule(dynamic, 16)
    for (i64 i = 0; i < n; i++) {
        double *row = out + i * (i + 1) / 2;
        for (i64 j = 0; j <= i; j++) row[j] = 0;
        for (i64 k = 0; k <= i; k++)
            for (i64 j = 0; j <= k; j++) row[j] += a[i * n + k] * b[k * n + j];
    }
}

void smooth(i64 n, const double *v, double *out) {
    if (n == 0) return;
    out[0] = v[0] + v[0] + v[n > 1];
    LOOP for (i64 i = 1; i < n - 1; i++) out[i] = v[i - 1] + v[i] + v[i + 1];
    if (n > 1) out[n - 1] = v[n - 2] + v[n - 1] + v[n - 1];
}

void wrapped(i64 n, const double *v, double *out) {
    if (n == 0) return;
    out[0] = v[n - 1] + 2 * v[0] + v[n > 1];
    LOOP for (i64 i = 1; i < n - 1; i++) out[i] = v[i - 1] + 2 * v[i] + v[i + 1];
    if (n > 1) out[n - 1] = v[n - 2] + 2 * v[n - 1] + v[0];
}

static inline i64 clamped(i64 i, i64 n) { return i < 0 ? 0 : i > n - 1 ? n - 1 : i; }

void heat_clamped(i64 h, i64 w, const double *m, i64 r, double *out) {
    LOOP for (i64 i = 0; i < h; i++) {
        const double *up = m + clamped(i - 1, h) * w, *here = m + i * w, *down = m + clamped(i + 1, h) * w;
        out[i * w] = (up[0] + down[0] + here[0] + here[clamped(1, w)]) / 4;
        for (i64 j = 1; j < w - 1; j++) out[i * w + j] = (up[j] + down[j] + here[j - 1] + here[j + 1]) / 4;
        if (w > 1) out[i * w + w - 1] = (up[w - 1] + down[w - 1] + here[w - 2] + here[w - 1]) / 4;
    }
}

static inline double boxed(i64 h, i64 w, const double *m, i64 r, i64 i, i64 j) {
    double s = 0;
    for (i64 a = -r; a <= r; a++)
        for (i64 b = -r; b <= r; b++) s += m[clamped(i + a, h) * w + clamped(j + b, w)];
    return s;
}

/* `r` is a number wherever this is called, so that the compiler unrolls its loops. */
static inline __attribute__((always_inline)) void boxes(i64 h, i64 w, const double *m, i64 r, double *out) {
    i64 left = r < w ? r : w, right = w - r > left ? w - r : left;
    LOOP for (i64 i = 0; i < h; i++) {
        if (i < r || i >= h - r) {
            for (i64 j = 0; j < w; j++) out[i * w + j] = boxed(h, w, m, r, i, j);
            continue;
        }
        for (i64 j = 0; j < left; j++) out[i * w + j] = boxed(h, w, m, r, i, j);
        for (i64 j = left; j < right; j++) {
            double s = 0;
            for (i64 a = -r; a <= r; a++)
                for (i64 b = -r; b <= r; b++) s += m[(i + a) * w + j + b];
            out[i * w + j] = s;
        }
        for (i64 j = right; j < w; j++) out[i * w + j] = boxed(h, w, m, r, i, j);
    }
}

void box(i64 h, i64 w, const double *m, i64 r, double *out) {
    if (r == 1) boxes(h, w, m, 1, out);
    else if (r == 4) boxes(h, w, m, 4, out);
    else boxes(h, w, m, r, out);
}

void column_sums(i64 rows, i64 columns, const double *a, double *out) {
    LOOP for (i64 part = 0; part < columns; part += 64) {
        i64 width = columns - part < 64 ? columns - part : 64;
        double sums[64] = {0};
        for (i64 r = 0; r < rows; r++)
            for (i64 c = 0; c < width; c++) sums[c] += a[r * columns + part + c];
        memcpy(out + part, sums, width * sizeof(double));
    }
}

void equal_row_sums(i64 rows, i64 columns, const double *a, double *out) {
    LOOP for (i64 r = 0; r < rows; r++) {
        double s = 0;
        for (i64 c = 0; c < columns; c++) s += a[r * columns + c];
        out[r] = s;
    }
}

void transposed(i64 rows, i64 columns, const double *a, double *out) {
    LOOP for (i64 cs = 0; cs < columns; cs += 32)
        for (i64 rs = 0; rs < rows; rs += 32)
            for (i64 c = cs; c < columns && c < cs + 32; c++)
                for (i64 r = rs; r < rows && r < rs + 32; r++) out[c * rows + r] = a[r * columns + c];
}

void product(i64 m, i64 n, i64 k, const double *a, const double *b, double *out) {
    LOOP for (i64 i = 0; i < m; i++) {
        memset(out + i * n, 0, n * sizeof(double));
        for (i64 l = 0; l < k; l++)
            for (i64 j = 0; j < n; j++) out[i * n + j] += a[i * k + l] * b[l * n + j];
    }
}
