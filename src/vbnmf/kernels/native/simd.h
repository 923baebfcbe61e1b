// Vectors of the width of the instruction set, with the functions that the kernels need.
//
// They use the vector extensions of GCC and Clang, so the same source is compiled for every instruction set. VBNMF_ISA
// is the name of the namespace.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

#if defined(__AVX2__)
#include <immintrin.h>
#endif

#if defined(__AVX512F__)
#define VBNMF_VECTOR_BYTES 64
#elif defined(__AVX2__)
#define VBNMF_VECTOR_BYTES 32
#else
#define VBNMF_VECTOR_BYTES 16
#endif

namespace vbnmf::VBNMF_ISA {

template <class T> struct Lane;

template <> struct Lane<float> {
  typedef float vec __attribute__((vector_size(VBNMF_VECTOR_BYTES)));
  typedef int32_t ivec __attribute__((vector_size(VBNMF_VECTOR_BYTES)));
  static constexpr int mantissa_bits = 23;
  static constexpr int32_t one_bits = 0x3f800000;
  static constexpr int32_t mantissa_mask = 0x007fffff;
  static constexpr float magic = 12582912.0f; // 1.5 * 2^23: adding it rounds to an integer
  static constexpr float ln2_high = 0.693145751953125f, ln2_low = 1.428606765330187e-06f;
};

template <> struct Lane<double> {
  typedef double vec __attribute__((vector_size(VBNMF_VECTOR_BYTES)));
  typedef int64_t ivec __attribute__((vector_size(VBNMF_VECTOR_BYTES)));
  static constexpr int mantissa_bits = 52;
  static constexpr int64_t one_bits = 0x3ff0000000000000;
  static constexpr int64_t mantissa_mask = 0x000fffffffffffff;
  static constexpr double magic = 6755399441055744.0; // 1.5 * 2^52
  static constexpr double ln2_high = 0x1.62e42fefa3800p-1, ln2_low = 0x1.ef35793c76730p-45;
};

template <class T, int BYTES> struct Sized {
  typedef T vec __attribute__((vector_size(BYTES)));
};

template <class T> using Vec = typename Lane<T>::vec;
template <class T> using IVec = typename Lane<T>::ivec;
template <class T> inline constexpr int WIDTH = VBNMF_VECTOR_BYTES / sizeof(T);

template <class T> inline Vec<T> load(const T* p) {
  Vec<T> v;
  std::memcpy(&v, p, sizeof v);
  return v;
}
template <class T> inline void store(T* p, Vec<T> v) { std::memcpy(p, &v, sizeof v); }
template <class T> inline Vec<T> fill(T x) { return x - Vec<T>{}; }
template <class T> inline IVec<T> bits(Vec<T> v) { return (IVec<T>)v; }
template <class T> inline Vec<T> from_bits(IVec<T> v) { return (Vec<T>)v; }
template <class T> inline Vec<T> max(Vec<T> a, Vec<T> b) { return a > b ? a : b; }
template <class T> inline Vec<T> min(Vec<T> a, Vec<T> b) { return a < b ? a : b; }

template <class T> constexpr int smaller_width() { return WIDTH<T> < 4 ? WIDTH<T> : 4; }

template <class T, int BYTES> inline T sum_halves(
    typename Sized<T, BYTES>::vec v) {
  if constexpr (BYTES == 16) {
    if constexpr (sizeof(T) == 4) return (v[0] + v[2]) + (v[1] + v[3]);
    else return v[0] + v[1];
  } else {
    typename Sized<T, BYTES / 2>::vec half[2];
    std::memcpy(half, &v, sizeof v);
    return sum_halves<T, BYTES / 2>(half[0] + half[1]);
  }
}

// Sum the lanes by halves.
template <class T> inline T sum(Vec<T> v) {
  return sum_halves<T, VBNMF_VECTOR_BYTES>(v);
}

template <class T> inline T smallest(Vec<T> v) {
  T lanes[WIDTH<T>];
  store<T>(lanes, v);
  T best = lanes[0];
  for (int i = 1; i < WIDTH<T>; ++i) best = lanes[i] < best ? lanes[i] : best;
  return best;
}

// Whether all lanes are less than a limit.
template <class T> inline bool all_below(Vec<T> v, T limit) {
#if VBNMF_VECTOR_BYTES == 64
  if constexpr (sizeof(T) == 4) return _mm512_cmp_ps_mask((__m512)v, _mm512_set1_ps(limit), _CMP_LT_OQ) == 0xffff;
  else return _mm512_cmp_pd_mask((__m512d)v, _mm512_set1_pd(limit), _CMP_LT_OQ) == 0xff;
#elif VBNMF_VECTOR_BYTES == 32
  if constexpr (sizeof(T) == 4)
    return _mm256_movemask_ps(_mm256_cmp_ps((__m256)v, _mm256_set1_ps(limit), _CMP_LT_OQ)) == 0xff;
  else return _mm256_movemask_pd(_mm256_cmp_pd((__m256d)v, _mm256_set1_pd(limit), _CMP_LT_OQ)) == 0xf;
#else
  bool below = true;
  for (int i = 0; i < WIDTH<T>; ++i) below &= v[i] < limit;
  return below;
#endif
}

// Sum the lanes of each of WIDTH vectors. Half of the vectors are added to the other half at each step, so that this
// takes a third of the instructions of single sums.
template <class T, int STEP, std::size_t... LANE>
inline Vec<T> paired(Vec<T> a, Vec<T> b, std::index_sequence<LANE...>) {
  constexpr int W = WIDTH<T>, TWICE = 2 * STEP;
#define VBNMF_LANE (LANE / TWICE * TWICE + LANE % STEP + (LANE % TWICE < STEP ? 0 : W))
  return __builtin_shufflevector(a, b, (int)VBNMF_LANE...) + __builtin_shufflevector(a, b, (int)(VBNMF_LANE + STEP)...);
#undef VBNMF_LANE
}
template <class T, int STEP = 1> inline Vec<T> sums_of(Vec<T>* v) {
  constexpr int W = WIDTH<T>;
  for (int i = 0; i < W / (2 * STEP); ++i)
    v[i] = paired<T, STEP>(v[2 * i], v[2 * i + 1], std::make_index_sequence<W>());
  if constexpr (2 * STEP < W) return sums_of<T, 2 * STEP>(v);
  return v[0];
}

// Sum the products of the lanes in double precision.
template <class T> inline double dot_in_double(Vec<T> a, Vec<T> b) {
  constexpr int W = WIDTH<T>;
  T x[W], y[W];
  store<T>(x, a), store<T>(y, b);
  double total[4] = {};
  for (int i = 0; i < W; i += smaller_width<T>())
    for (int j = 0; j < smaller_width<T>(); ++j) total[j] += (double)x[i + j] * (double)y[i + j];
  return (total[0] + total[1]) + (total[2] + total[3]);
}

// The exponent of x > 0, and a power of two; both in the range of normal numbers.
template <class T> inline int exponent(T x) {
  return (int)((bits<T>(fill<T>(x))[0] >> Lane<T>::mantissa_bits) -
               (Lane<T>::one_bits >> Lane<T>::mantissa_bits));
}
template <class T> inline T ldexp1(int power) {
  using L = Lane<T>;
  const int bias = (int)(L::one_bits >> L::mantissa_bits), most = bias - 1;
  const decltype(L::one_bits) kept = power < -most ? -most : power > most ? most : power;
  return from_bits<T>(IVec<T>{} + ((bias + kept) << L::mantissa_bits))[0];
}

template <class T> inline Vec<T> horner(Vec<T>, T c) { return fill<T>(c); }
template <class T, class... C> inline Vec<T> horner(Vec<T> x, T c, C... higher) {
  return c + x * horner<T>(x, higher...);
}

// e^x, if the result is a normal number; the caller clamps x.
template <class T> inline Vec<T> exp(Vec<T> x) {
  using L = Lane<T>;
  const Vec<T> t = x * T(1.4426950408889634) + L::magic;
  const Vec<T> n = t - L::magic;
  const Vec<T> r = (x - n * L::ln2_high) - n * L::ln2_low;
  Vec<T> e;
  if constexpr (sizeof(T) == 4)
    e = horner<T>(r, T(1), T(1), T(1. / 2), T(1. / 6), T(1. / 24), T(1. / 120), T(1. / 720));
  else
    e = horner<T>(r, T(1), T(1), T(1. / 2), T(1. / 6), T(1. / 24), T(1. / 120), T(1. / 720),
                  T(1. / 5040), T(1. / 40320), T(1. / 362880), T(1. / 3628800), T(1. / 39916800),
                  T(1. / 479001600), T(1. / 6227020800));
  return from_bits<T>(bits<T>(e) + (bits<T>(t) << L::mantissa_bits));
}

// ln x for normal x > 0.
template <class T> inline Vec<T> log(Vec<T> x) {
  using L = Lane<T>;
  // Split x = m 2^n with m in [sqrt(1/2), sqrt(2)), so that ln m is small if x is near one.
  const T root_half = T(0.70710678118654752);
  const IVec<T> offset = bits<T>(x) - bits<T>(fill<T>(root_half));
  const IVec<T> n = offset >> L::mantissa_bits;
  const Vec<T> m = from_bits<T>((offset & L::mantissa_mask) + bits<T>(fill<T>(root_half)));
  const Vec<T> exponent = from_bits<T>(n + bits<T>(fill<T>(L::magic))) - L::magic;
  const Vec<T> s = (m - T(1)) / (m + T(1)), s2 = s * s;
  Vec<T> series; // ln m = 2 artanh(s)
  if constexpr (sizeof(T) == 4)
    series = horner<T>(s2, T(1. / 3), T(1. / 5), T(1. / 7), T(1. / 9));
  else
    series = horner<T>(s2, T(1. / 3), T(1. / 5), T(1. / 7), T(1. / 9), T(1. / 11), T(1. / 13),
                       T(1. / 15), T(1. / 17), T(1. / 19), T(1. / 21), T(1. / 23));
  return exponent * L::ln2_high + (exponent * L::ln2_low + T(2) * s + T(2) * s * s2 * series);
}

} // namespace vbnmf::VBNMF_ISA
