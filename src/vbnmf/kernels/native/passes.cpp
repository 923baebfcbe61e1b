// The O(nnz K) passes over documents and terms. Compiled once for each instruction set; see simd.h.
//
// No function template of the standard library is used here or in the headers below. The linker keeps one copy of
// such a function, which might be compiled for an instruction set that this machine does not have.
#include "passes.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "gather.h"
#include "simd.h"
#include "special.h"

namespace vbnmf::VBNMF_ISA {
namespace {

// Entries of exp(psi) are at least e^-DEPTH times the largest entry of their row. Smaller entries are negligible, and
// products of two of them would be zero or denormal.
template <class T> constexpr T DEPTH = sizeof(T) == 4 ? T(38) : T(320);

// Treat denormal numbers as zero: they are negligible here, and computing with them is a hundred times slower.
class FlushDenormals {
#if defined(__x86_64__)
  unsigned saved_ = _mm_getcsr();

public:
  FlushDenormals() { _mm_setcsr(saved_ | 0x8040); }
  ~FlushDenormals() { _mm_setcsr(saved_); }
#else
public:
  FlushDenormals() {}
#endif
};

// Compute L = exp(psi(shape)) scale / exp(m). Return m, which is chosen such that the row does not overflow.
template <class T>
inline double exp_psi_row(const T* shape, const T* scale, int64_t stride, const Near<T>& near, Scratch<T>& s, T* L) {
  constexpr int W = WIDTH<T>;
  Vec<T> least_drop = fill<T>(LARGE<T>), least = {}; // least: minimum of -factor, for the maximum
  for (int64_t k = 0; k < stride; k += W) {
    const Vec<T> x = load<T>(shape + k);
    Vec<T> factor;
    if (near.holds(x)) {
      s.drop[k] = -1; // drops are positive: this says that all are that of the prior
      least_drop = min<T>(least_drop, fill<T>(near.drop));
      factor = near.factors(x) * load<T>(scale + k);
    } else {
      const ExpPsi<T> e = exp_psi_parts<T>(x);
      store<T>(&s.drop[k], e.drop);
      least_drop = min<T>(least_drop, e.drop);
      factor = e.factor * load<T>(scale + k);
    }
    store<T>(L + k, factor);
    least = min<T>(least, -factor);
  }
  const T drop = smallest<T>(least_drop);
  const int power_of_two = exponent<T>(-smallest<T>(least));
  const T unit = ldexp1<T>(-power_of_two);
  const Vec<T> of_prior = unit * exp<T>(max<T>(fill<T>(drop - near.drop), fill<T>(-DEPTH<T>)));
  for (int64_t k = 0; k < stride; k += W) {
    if (s.drop[k] < 0) {
      store<T>(L + k, load<T>(L + k) * of_prior);
      continue;
    }
    const Vec<T> power = max<T>(drop - load<T>(&s.drop[k]), fill<T>(-DEPTH<T>));
    store<T>(L + k, load<T>(L + k) * unit * exp<T>(power));
  }
  return power_of_two * 0.69314718055994530942 - drop;
}

// Compute L = shape scale, divided by the largest.
template <class T> inline void mean_row(const T* shape, const T* scale, int64_t stride, T* L) {
  T largest = 0;
  for (int64_t k = 0; k < stride; ++k) {
    L[k] = shape[k] * scale[k];
    largest = L[k] > largest ? L[k] : largest;
  }
  for (int64_t k = 0; k < stride; ++k) L[k] /= largest;
}

// Add psi and entropy of a row to the tally. Entries with scale zero are padding or outside the scope, and are ignored.
template <class T>
inline void tally_row(const T* shape, const T* scale, int64_t size, double weight, const Near<T>& near, Tally& tally) {
  constexpr int W = WIDTH<T>;
  Vec<T> psi = {}, entropy = {};
  for (int64_t k = 0; k < size; k += W) {
    const Vec<T> x = load<T>(shape + k);
    PsiEntropy<T> p;
    if (near.holds(x)) {
      const Vec<T> s = x - near.prior;
      p.psi = horner<T>(s, near.psi[0], near.psi[1], near.psi[2], near.psi[3]);
      p.entropy = horner<T>(s, near.entropy[0], near.entropy[1], near.entropy[2], near.entropy[3]);
    } else {
      p = psi_entropy<T>(x);
    }
    const IVec<T> counts = load<T>(scale + k) > Vec<T>{};
    psi += from_bits<T>(bits<T>(p.psi) & counts);
    entropy += from_bits<T>(bits<T>(p.entropy) & counts);
  }
  tally.psi += weight * sum<T>(psi);
  tally.entropy += weight * sum<T>(entropy);
}

// The documents of a pass, one after another: their groups, and the numbers that the scope of a group selects.
template <class T> struct Visit {
  static constexpr int64_t LINE = PER_LINE<T>;
  const DocumentPass<T>& p;
  Part<T> part = {};
  int32_t group = -1;

  bool enters_group(int64_t d) {
    if (p.group[d] == group) return false;
    group = p.group[d];
    part = part_of<T>(p.lines, group, p.stride, p.bound);
    return true;
  }
  void prefetch(const T* row) const {
    for (int64_t l = 0; l < part.n_lines; ++l) __builtin_prefetch(row + part.place(l));
  }
  void pack(const T* row, T* packed) const {
    for (int64_t l = 0; l < part.n_lines; ++l)
      for (int64_t k = 0, at = part.place(l); k < LINE; ++k, ++at) packed[l * LINE + k] = row[at];
  }
  void unpack(const T* packed, T* row) const {
    for (int64_t l = 0; l < part.n_lines; ++l)
      for (int64_t k = 0, at = part.place(l); k < LINE; ++k, ++at) row[at] = packed[l * LINE + k];
  }
  double gather(int64_t d, const T* L, Scratch<T>& s, T* out) const {
    return gather_row<T>(part, p.X, p.X.indptr[d], p.X.indptr[d + 1], L, p.L_t, p.stride, s, out);
  }
  double mass(int64_t d) const {
    double mass = 0;
    for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j) mass += p.X.data[j];
    return mass;
  }
};

template <class T>
void complete(const DocumentPass<T>& p, int64_t begin, int64_t end, double* shape_sums, Tally& tally) {
  const FlushDenormals guard;
  constexpr int64_t LINE = PER_LINE<T>;
  Scratch<T> s(p.stride);
  Row<T> shape(p.stride), L(p.stride), scale(p.stride);
  Visit<T> visit{p};
  const Near<T> near(p.near);
  const Part<T>& part = visit.part;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t d = p.order[i];
    if (visit.enters_group(d)) {
      visit.pack(p.scale + visit.group * p.stride, scale);
      if (i > begin) shape_sums += p.stride;
    }
    if (i + AHEAD < end) { // most likely of this group
      visit.prefetch(p.Sigma_v + p.order[i + AHEAD] * p.stride);
      if (p.next != p.Sigma_v) visit.prefetch(p.next + p.order[i + AHEAD] * p.stride);
    }
    const T* Sigma = p.Sigma_v + d * p.stride;
    T* next = p.next + d * p.stride;
    const double weight = p.weight[d];
    for (int64_t l = 0; l < part.n_lines; ++l) {
      const int64_t at = part.place(l);
      T* line = shape + l * LINE;
      for (int64_t k = 0; k < LINE; ++k) line[k] = p.a_v + Sigma[at + k];
      if (p.beta > 0)
        for (int64_t k = 0; k < LINE; k += WIDTH<T>)
          store<T>(line + k, extrapolate<T>(load<T>(line + k), p.a_v + load<T>(next + at + k), p.beta, p.a_v, near));
      for (int64_t k = 0; k < LINE; ++k) shape_sums[at + k] += weight * line[k];
    }
    if (!p.update && !p.bound) continue;
    p.offset[d] = exp_psi_row<T>(shape, scale, part.size(), near, s, L);
    if (p.bound) tally_row<T>(shape, scale, part.size(), weight, near, tally);
    if (p.update) {
      visit.unpack(L, next);
    } else {
      tally.log_mean += weight * p.offset[d] * visit.mass(d);
      tally.log_mean += weight * visit.gather(d, L, s, shape);
    }
  }
}

template <class T> void divide(const DocumentPass<T>& p, int64_t begin, int64_t end, Tally& tally) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  Row<T> L(p.stride), R(p.stride);
  Visit<T> visit{p};
  const Part<T>& part = visit.part;
  for (int64_t d = begin; d < end; ++d) {
    visit.enters_group(d);
    T* row = p.next + d * p.stride;
    visit.pack(row, L);
    if (p.bound) tally.log_mean += p.weight[d] * p.offset[d] * visit.mass(d);
    tally.log_mean += p.weight[d] * visit.gather(d, L, s, R);
    for (int64_t k = 0; k < part.size(); ++k) R[k] *= L[k];
    visit.unpack(R, row);
  }
}

template <class T> void gather(const GatherPass<T>& p, int64_t begin, int64_t end) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  Row<T> more(p.stride);
  const Part<T> whole = whole_row<T>(p.stride, false);
  for (int64_t i = begin; i < end; ++i) {
    const int64_t from = p.at[i];
    const int64_t to = p.at[i] = first_from(p.until, p.X.indices, from, p.X.indptr[i + 1]);
    if (from == to && !p.first) continue;
    const T* row = p.L + i * p.stride;
    T* R = p.R + i * p.stride;
    T* out = p.first ? R : (T*)more;
    if (p.lines.of && p.stride > WHOLE_LINES * PER_LINE<T>)
      gather_row_scoped<T>(p, from, to, row, s, out);
    else
      gather_row<T>(whole, p.X, from, to, row, p.M, p.stride, s, out);
    for (int64_t k = 0; !p.first && k < p.stride; ++k) R[k] += more[k];
  }
}

template <class T>
void gamma(const GammaPass<T>& p, int64_t begin, int64_t end, double* shape_sums, Tally& tally) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  const Near<T> near(p.near);
  for (int64_t i = begin; i < end; ++i) {
    T* shape = p.R + i * p.stride;
    T* L = p.L + i * p.stride;
    if (p.base) {
      const T* base = p.base + i * p.stride;
      for (int64_t k = 0; p.beta == 0 && k < p.stride; ++k) shape[k] = base[k];
      for (int64_t k = 0; p.beta > 0 && k < p.stride; k += WIDTH<T>)
        store<T>(shape + k, extrapolate<T>(load<T>(base + k), load<T>(shape + k), p.beta, p.prior, near));
    } else {
      for (int64_t k = 0; k < p.stride; ++k) shape[k] = p.prior + L[k] * shape[k];
    }
    for (int64_t k = 0; k < p.stride; ++k) shape_sums[k] += shape[k];
    if (!p.shapes_only) p.offset[i] = exp_psi_row<T>(shape, p.scale, p.stride, near, s, L);
    if (p.bound) tally_row<T>(shape, p.scale, p.stride, 1.0, near, tally);
  }
}

template <class T> void project(const ProjectPass<T>& p, int64_t begin, int64_t end) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  Row<T> shape(p.stride), L(p.stride);
  const Near<T> nowhere({1, -1, {}, {}, {}});
  const Part<T> whole = whole_row<T>(p.stride, false);
  for (int64_t d = begin; d < end; ++d) {
    double mass = 0;
    for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j) mass += p.X.data[j];
    const T* a_v = p.a_v + d * p.next_a;
    for (int64_t k = 0; k < p.stride; ++k) shape[k] = a_v[k] + (k < p.K ? T(mass / p.K) : T(0));
    int64_t n = 0;
    double change = mass > 0 ? 1.0 : 0.0; // an empty document keeps the prior
    for (; n < p.max_iter && change > p.tol; ++n) {
      if (p.mode)
        mean_row<T>(shape, p.scale, p.stride, L);
      else
        exp_psi_row<T>(shape, p.scale, p.stride, nowhere, s, L);
      T* R = p.E_v + d * p.stride;
      gather_row<T>(whole, p.X, p.X.indptr[d], p.X.indptr[d + 1], L, p.L_t, p.stride, s, R);
      double moved = 0;
      for (int64_t k = 0; k < p.stride; ++k) {
        const T next = a_v[k] + L[k] * R[k];
        moved += next > shape[k] ? next - shape[k] : shape[k] - next;
        shape[k] = next;
      }
      change = moved / mass;
    }
    p.n_iter[d] = (int32_t)n;
    for (int64_t k = 0; k < p.stride; ++k) p.E_v[d * p.stride + k] = shape[k] * p.scale[k];
  }
}

template <class T> void exp_psi(const T* x, T* out, int64_t n) {
  constexpr int W = WIDTH<T>;
  constexpr T least = sizeof(T) == 4 ? T(-87) : T(-708); // smaller results are not normal numbers
  for (int64_t i = 0; i < n; i += W) {
    T in[W];
    const int count = (int)smaller(W, n - i);
    for (int j = 0; j < W; ++j) in[j] = j < count ? x[i + j] : T(1);
    const ExpPsi<T> e = exp_psi_parts<T>(load<T>(in));
    const Vec<T> value = e.factor * exp<T>(max<T>(-e.drop, fill<T>(least)));
    store<T>(in, -e.drop < least ? fill<T>(0) : value);
    for (int j = 0; j < count; ++j) out[i + j] = in[j];
  }
}

template <class T> constexpr Passes<T> passes() {
  return {complete<T>, divide<T>, gather<T>, gamma<T>, project<T>, exp_psi<T>};
}

} // namespace

#define VBNMF_STRING(x) #x
#define VBNMF_NAME(x) VBNMF_STRING(x)
const InstructionSet instruction_set = {VBNMF_NAME(VBNMF_ISA), passes<float>(), passes<double>()};

} // namespace vbnmf::VBNMF_ISA
