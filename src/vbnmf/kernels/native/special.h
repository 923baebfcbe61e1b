// exp(psi(x)) and the entropy of a gamma distribution, a vector at a time.
//
// The argument is shifted by m, psi(x) = psi(x + m) - sum_{i<m} 1/(x + i), and an asymptotic series is used. With
// y = x - 1/2, exp(psi(x)) = y (1 + 1/(24 y^2) - 37/(5760 y^4) + ...). This needs neither a logarithm nor a branch.
#pragma once

#include "passes.h"
#include "simd.h"

namespace vbnmf::VBNMF_ISA {

template <class T> struct ExpPsi {
  Vec<T> factor; // exp(psi(x + m)): between about m and the largest x
  Vec<T> drop;   // sum_{i<m} 1/(x + i): exp(psi(x)) = factor * exp(-drop)
};

// Shift of the argument, large enough for the series to be accurate to the last digits.
template <class T> inline constexpr int SHIFT = sizeof(T) == 4 ? 4 : 8;
// Above this value 1/x is negligible, and the products below would overflow.
template <class T> inline constexpr T LARGE = sizeof(T) == 4 ? T(1e8) : T(1e30);

// p = x (x+1) ... (x+m-1) and its derivative p'; p'/p is the sum of 1/(x+i).
template <class T, int m> inline void rising(Vec<T> x, Vec<T>& p, Vec<T>& dp) {
  p = x;
  dp = fill<T>(1);
  for (int i = 1; i < m; ++i) {
    const Vec<T> factor = x + T(i);
    dp = dp * factor + p;
    p = p * factor;
  }
}

template <class T> inline ExpPsi<T> exp_psi_parts(Vec<T> x) {
  constexpr int m = SHIFT<T>;
  Vec<T> p, dp;
  rising<T, m>(min<T>(x, fill<T>(LARGE<T>)), p, dp);
  const Vec<T> y = x + T(m - 0.5), u = T(1) / y, u2 = u * u;
  Vec<T> series;
  if constexpr (sizeof(T) == 4)
    series = horner<T>(u2, T(1. / 24), T(-37. / 5760), T(10313. / 2903040), T(-5509121. / 1393459200));
  else
    series = horner<T>(u2, T(1. / 24), T(-37. / 5760), T(10313. / 2903040), T(-5509121. / 1393459200),
                       T(2709398569. / 367873228800), T(-0.020734675824368137),
                       T(0.08238185223878776), T(-0.43960443686008127));
  return {y + u * series, dp / p};
}

// Series in s of functions of a + s, where a is the shape of the prior. Most shapes are nearly those of the prior, and a
// vector of such shapes needs neither a division nor an exponential.
template <class T> struct Near {
  T prior, limit;         // |s| < limit
  T factor, drop;         // of the prior, as in ExpPsi
  T exp_psi[3];           // exp(psi(a + s) - psi(a)) = 1 + s (...)
  T psi[4], entropy[4];   // of Gamma(a + s, 1)
  explicit Near(const NearPrior& p)
      : prior(T(p.prior)), limit(T(p.limit)), factor(0), drop(0), exp_psi{}, psi{}, entropy{} {
    const ExpPsi<T> e = exp_psi_parts<T>(fill<T>(prior));
    factor = e.factor[0], drop = e.drop[0];
    for (int i = 0; i < 3; ++i) exp_psi[i] = T(p.exp_psi[i]);
    for (int i = 0; i < 4; ++i) psi[i] = T(p.psi[i]), entropy[i] = T(p.entropy[i]);
  }
  Vec<T> distance(Vec<T> x) const { return max<T>(x - prior, prior - x); }
  bool holds(Vec<T> x) const { return all_below<T>(distance(x), limit); }
  bool holds(Vec<T> x, Vec<T> y) const { return all_below<T>(max<T>(distance(x), distance(y)), limit); }
  Vec<T> factors(Vec<T> x) const {
    const Vec<T> s = x - prior;
    return factor + factor * s * horner<T>(s, exp_psi[0], exp_psi[1], exp_psi[2]);
  }
};

// Extrapolate the logarithm of x from that of the value before: ln x + beta (ln x - ln before), but not by more than
// EXTRAPOLATED. The result is at least `least`.
inline constexpr double EXTRAPOLATED = 5;
template <class T> inline Vec<T> extrapolate(Vec<T> x, Vec<T> before, T beta, T least, const Near<T>& near) {
  if (near.holds(x, before)) {
    const Vec<T> change = (x - before) / before; // small: (1 + change)^beta is a short series
    const T second = beta * (beta - 1) / 2, third = second * (beta - 2) / 3;
    return max<T>(x + x * change * horner<T>(change, beta, second, third), fill<T>(least));
  }
  const Vec<T> far = fill<T>(T(EXTRAPOLATED)), power = beta * log<T>(x / before);
  return max<T>(x * exp<T>(min<T>(max<T>(power, -far), far)), fill<T>(least));
}

// psi(x), and the entropy x + lnGamma(x) + (1 - x) psi(x) of Gamma(x, 1).
template <class T> struct PsiEntropy {
  Vec<T> psi, entropy;
};

// With y = x + m and Stirling's series for lnGamma(y) and psi(y), the entropy is
//   (m + 1/2) ln y - ln p + ln(2 pi)/2 - m + ... + (x - 1) (1/(2y) + ... + p'/p).
// The large terms y ln y cancel, so single precision is sufficient.
template <class T> inline PsiEntropy<T> psi_entropy(Vec<T> x) {
  constexpr int m = SHIFT<T>;
  const Vec<T> clipped = min<T>(x, fill<T>(LARGE<T>));
  Vec<T> p, dp;
  rising<T, m>(clipped, p, dp);
  const Vec<T> y = x + T(m), u = T(1) / y, u2 = u * u, inverse = T(1) / p, drop = dp * inverse;
  Vec<T> power = clipped + T(m); // y^m
  for (int i = 1; i < m; i *= 2) power *= power;
  const Vec<T> log_y = log<T>(y), log_rest = log<T>(power * inverse);
  Vec<T> psi_series, gamma_series;
  if constexpr (sizeof(T) == 4) {
    psi_series = horner<T>(u2, T(1. / 12), T(-1. / 120), T(1. / 252), T(-1. / 240));
    gamma_series = horner<T>(u2, T(1. / 12), T(-1. / 360), T(1. / 1260), T(-1. / 1680));
  } else {
    psi_series = horner<T>(u2, T(1. / 12), T(-1. / 120), T(1. / 252), T(-1. / 240), T(1. / 132),
                           T(-691. / 32760), T(1. / 12), T(-3617. / 8160));
    gamma_series = horner<T>(u2, T(1. / 12), T(-1. / 360), T(1. / 1260), T(-1. / 1680),
                             T(1. / 1188), T(-691. / 360360), T(1. / 156), T(-3617. / 122400));
  }
  const Vec<T> below_log = T(0.5) * u + u2 * psi_series; // ln y - psi(y)
  const T constant = T(0.91893853320467274178) - T(m);
  return {log_y - below_log - drop, constant + T(0.5) * log_y + log_rest + u * gamma_series +
                                        (x - T(1)) * below_log + (clipped - T(1)) * drop};
}

} // namespace vbnmf::VBNMF_ISA
