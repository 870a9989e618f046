/* Algorithm 1 with UCB1 as a careful programmer writes it down: one step per pull.
 *
 * The yardstick of `handful bench`, built with the system's compiler. The logarithm is taken once a
 * pull, the random numbers are xoshiro256+ (Blackman and Vigna, 2018); the index of every arm in
 * memory is worked out from its formula at every pull, and only the statistics are stored
 * between pulls. With M >= K it is UCB1 itself.
 */
#include <math.h>
#include <stdint.h>
#include <stdlib.h>

static uint64_t x[4];

static uint64_t rotated(uint64_t v, int k) { return (v << k) | (v >> (64 - k)); }

static double uniform(void)
{
    uint64_t word = x[0] + x[3];
    uint64_t t = x[1] << 17;
    x[2] ^= x[0];
    x[3] ^= x[1];
    x[1] ^= x[2];
    x[0] ^= x[3];
    x[2] ^= t;
    x[3] = rotated(x[3], 45);
    return (double)(word >> 11) * 0x1.0p-53;
}

static void seeded(uint64_t seed)
{
    for (int i = 0; i < 4; i++) {
        uint64_t z = (seed += 0x9e3779b97f4a7c15u);
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        x[i] = z ^ (z >> 31);
    }
}

double textbook(const double *means, int64_t K, int64_t M, int64_t T, double eta, uint64_t seed)
{
    seeded(seed);
    if (M > K)
        M = K;
    double top = 0.0;
    for (int64_t a = 0; a < K; a++)
        top = means[a] > top ? means[a] : top;
    int64_t *order = malloc(K * sizeof *order);
    int64_t *arms = malloc(M * sizeof *arms);
    double *n = malloc(M * sizeof *n);
    double *s = malloc(M * sizeof *s);
    for (int64_t a = 0; a < K; a++) {
        int64_t k = (int64_t)(uniform() * (double)(a + 1));
        order[a] = order[k];
        order[k] = a;
    }
    double regret = 0.0;
    int64_t incumbent = order[0];
    int64_t clock = 0;
    for (int64_t b = M * (M + 2); clock < T; b *= 2) {
        int64_t start = incumbent;
        int64_t at = 0;
        while (at < K && clock < T) {
            int64_t m = 1;
            arms[0] = incumbent;
            for (; at < K && m < M; at++)
                if (order[at] != start)
                    arms[m++] = order[at];
            if (at == K - 1 && order[at] == start)
                at++;
            for (int64_t i = 0; i < m; i++)
                n[i] = s[i] = 0.0;
            int64_t end = M < K && b < T - clock ? b : T - clock;
            for (int64_t t = 0; t < end; t++) {
                int64_t best = t;
                if (t >= m) {
                    double log_t = log((double)t);
                    double highest = -INFINITY;
                    for (int64_t i = 0; i < m; i++) {
                        double index = s[i] / n[i] + eta * sqrt(2.0 * log_t / n[i]);
                        if (index > highest) {
                            highest = index;
                            best = i;
                        }
                    }
                }
                double mean = means[arms[best]];
                n[best] += 1.0;
                if (uniform() < mean)
                    s[best] += 1.0;
                regret += top - mean;
            }
            clock += end;
            for (int64_t i = 0, most = -1; i < m; i++)
                if ((int64_t)n[i] > most) {
                    most = (int64_t)n[i];
                    incumbent = arms[i];
                }
        }
    }
    free(order);
    free(arms);
    free(n);
    free(s);
    return regret;
}
