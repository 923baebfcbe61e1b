// The O(nnz K) loops. Compiled once for each instruction set; see simd.h.
//
// No function template of the standard library is used here: the linker keeps one copy of those, and
// it might be the one compiled for an instruction set that this machine does not have.
#include "passes.h"

#include <cstdlib>
#include <new>

#if defined(__x86_64__)
#include <immintrin.h>
#endif

#include "simd.h"
#include "special.h"

namespace vbnmf::VBNMF_ISA {
namespace {

// Rows whose sums outgrow this many terms are added up in double precision from there on.
constexpr int64_t FLUSH = 256;
// exp(psi) is never less than this power of e below the largest of its row: less would count for
// nothing beside it, and zeros or denormals would follow from products of two.
template <class T> constexpr T DEPTH = sizeof(T) == 4 ? T(38) : T(320);
// A sum of products below this is taken as this: nothing divides by zero.
template <class T> constexpr T TINY = sizeof(T) == 4 ? T(1e-36) : T(1e-300);
// Rows up to this many times ROW_BYTES are held in registers together with their sums.
constexpr int MAX_LINES = VBNMF_VECTOR_BYTES == 64 ? 14 : VBNMF_VECTOR_BYTES == 32 ? 3 : 1;
// How many non-zeros ahead rows are fetched into the cache.
constexpr int AHEAD = 6;

// Denormals count for nothing here and cost a hundred times as much as other numbers.
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

template <class T> class Row { // an aligned row of zeros
  T* data_;

public:
  explicit Row(int64_t stride) {
    data_ = static_cast<T*>(std::aligned_alloc(ROW_BYTES, stride * sizeof(T)));
    if (!data_) throw std::bad_alloc();
    for (int64_t k = 0; k < stride; ++k) data_[k] = 0;
  }
  ~Row() { std::free(data_); }
  Row(const Row&) = delete;
  Row& operator=(const Row&) = delete;
  operator T*() { return data_; }
};

template <class T> struct Scratch { // what a thread needs for one row at a time
  explicit Scratch(int64_t stride) : drop(stride), wide(stride) {}
  Row<T> drop;
  Row<double> wide;
};

inline int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

template <class T> inline void prefetch_row(const T* row, int64_t stride) {
  for (int64_t k = 0; k < stride; k += ROW_BYTES / sizeof(T)) __builtin_prefetch(row + k);
}

template <class T> inline T floored(T mean) { return mean > TINY<T> ? mean : TINY<T>; }

template <class T> inline double sum_of_logs(const T* x, T* means, int64_t n) {
  constexpr int W = WIDTH<T>;
  double total = 0;
  for (int64_t j = n; j % W; ++j) means[j] = 1;
  for (int64_t j = 0; j < n; j += W) {
    T logs[W];
    store<T>(logs, log<T>(load<T>(means + j)));
    for (int i = 0; i < W && j + i < n; ++i) total += (double)x[j + i] * logs[i];
  }
  return total;
}

// sums = sum_j (x_j / row . M_j) M_j over the n <= FLUSH non-zeros at hand; with BOUND, returns the sum
// of x_j ln(row . M_j). Row and sums are LINES lines, few enough for registers. They belong to all of a row
// of M or, SCOPED, to the given lines of it.
template <class T, int LINES, bool BOUND, bool SCOPED>
double gather_held(const int32_t* indices, const T* x, int64_t n, const T* row, const T* M,
                   int64_t stride, const int32_t* lines, int64_t, T* sums) {
  constexpr int W = WIDTH<T>, PER_LINE = ROW_BYTES / VBNMF_VECTOR_BYTES, VECTORS = LINES * PER_LINE;
  int64_t place[VECTORS]; // of each vector in a row of M
  for (int i = 0; i < VECTORS; ++i)
    place[i] = SCOPED ? (lines[i / PER_LINE] * PER_LINE + i % PER_LINE) * W : i * W;
  Vec<T> held_row[VECTORS], held_sums[VECTORS] = {};
  for (int i = 0; i < VECTORS; ++i) held_row[i] = load<T>(row + i * W);
  T means[FLUSH];
  for (int64_t j = 0; j < n; ++j) {
    if (j + AHEAD < n) {
      const T* next = M + indices[j + AHEAD] * stride;
      for (int i = 0; i < VECTORS; i += PER_LINE) __builtin_prefetch(next + place[i]);
    }
    const T* other = M + indices[j] * stride;
    Vec<T> part[2] = {}; // two chains of additions hide each other's latency
    for (int i = 0; i < VECTORS; ++i) part[i % 2] += held_row[i] * load<T>(other + place[i]);
    const T mean = floored(sum<T>(part[0] + part[1]));
    if constexpr (BOUND) means[j] = mean;
    const Vec<T> ratio = fill<T>(x[j] / mean);
    for (int i = 0; i < VECTORS; ++i) held_sums[i] += ratio * load<T>(other + place[i]);
  }
  for (int i = 0; i < VECTORS; ++i) store<T>(sums + i * W, held_sums[i]);
  return BOUND ? sum_of_logs(x, means, n) : 0.0;
}

// sums[k..] += sum_j ratios[j] others[j][k..], over VECTORS vectors
template <class T, int VECTORS>
inline void add_panel(const T* const* others, const T* ratios, int count, int64_t k, T* sums) {
  constexpr int W = WIDTH<T>;
  Vec<T> panel[VECTORS];
  for (int i = 0; i < VECTORS; ++i) panel[i] = load<T>(sums + k + i * W);
  for (int j = 0; j < count; ++j)
    for (int i = 0; i < VECTORS; ++i)
      panel[i] += fill<T>(ratios[j]) * load<T>(others[j] + k + i * W);
  for (int i = 0; i < VECTORS; ++i) store<T>(sums + k + i * W, panel[i]);
}

// The same for strides of any length: the ratios of a few non-zeros first, then their sum by panels
// of the row that fit into registers.
template <class T, bool BOUND>
double gather_by_panels(const int32_t* indices, const T* x, int64_t n, const T* row, const T* M,
                        int64_t stride, const int32_t*, int64_t, T* sums) {
  constexpr int W = WIDTH<T>, CHAINS = 4, AT_ONCE = 8;
  for (int64_t k = 0; k < stride; ++k) sums[k] = 0;
  T means[FLUSH];
  for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
    const int count = (int)smaller(AT_ONCE, n - begin);
    const T* others[AT_ONCE];
    T ratios[AT_ONCE];
    for (int j = 0; j < count; ++j) {
      if (begin + j + AHEAD < n) prefetch_row(M + indices[begin + j + AHEAD] * stride, stride);
      const T* other = others[j] = M + indices[begin + j] * stride;
      Vec<T> part[CHAINS] = {};
      int64_t k = 0;
      for (; k + CHAINS * W <= stride; k += CHAINS * W)
        for (int i = 0; i < CHAINS; ++i)
          part[i] += load<T>(row + k + i * W) * load<T>(other + k + i * W);
      for (; k < stride; k += W) part[0] += load<T>(row + k) * load<T>(other + k);
      const T mean = floored(sum<T>((part[0] + part[1]) + (part[2] + part[3])));
      if constexpr (BOUND) means[begin + j] = mean;
      ratios[j] = x[begin + j] / mean;
    }
    int64_t k = 0;
    for (; k + CHAINS * W <= stride; k += CHAINS * W)
      add_panel<T, CHAINS>(others, ratios, count, k, sums);
    for (; k < stride; k += W) add_panel<T, 1>(others, ratios, count, k, sums);
  }
  return BOUND ? sum_of_logs(x, means, n) : 0.0;
}

// The same for any number of lines of M, each of them a panel.
template <class T, bool BOUND>
double gather_by_lines(const int32_t* indices, const T* x, int64_t n, const T* row, const T* M,
                       int64_t stride, const int32_t* lines, int64_t n_lines, T* sums) {
  constexpr int W = WIDTH<T>, PER_LINE = ROW_BYTES / VBNMF_VECTOR_BYTES, AT_ONCE = 8;
  constexpr int64_t LINE = PER_LINE * W;
  for (int64_t k = 0; k < n_lines * LINE; ++k) sums[k] = 0;
  T means[FLUSH];
  for (int64_t begin = 0; begin < n; begin += AT_ONCE) {
    const int count = (int)smaller(AT_ONCE, n - begin);
    const T* others[AT_ONCE];
    T ratios[AT_ONCE];
    for (int j = 0; j < count; ++j) {
      const T* other = others[j] = M + indices[begin + j] * stride;
      Vec<T> part[PER_LINE] = {};
      for (int64_t l = 0; l < n_lines; ++l)
        for (int i = 0; i < PER_LINE; ++i)
          part[i] += load<T>(row + l * LINE + i * W) * load<T>(other + lines[l] * LINE + i * W);
      for (int i = 1; i < PER_LINE; ++i) part[0] += part[i];
      const T mean = floored(sum<T>(part[0]));
      if constexpr (BOUND) means[begin + j] = mean;
      ratios[j] = x[begin + j] / mean;
    }
    for (int64_t l = 0; l < n_lines; ++l)
      for (int i = 0; i < PER_LINE; ++i) {
        Vec<T> panel = load<T>(sums + l * LINE + i * W);
        for (int j = 0; j < count; ++j)
          panel += fill<T>(ratios[j]) * load<T>(others[j] + lines[l] * LINE + i * W);
        store<T>(sums + l * LINE + i * W, panel);
      }
  }
  return BOUND ? sum_of_logs(x, means, n) : 0.0;
}

template <class T>
using Segment = double (*)(const int32_t*, const T*, int64_t, const T*, const T*, int64_t,
                           const int32_t*, int64_t, T*);

template <class T, bool BOUND, bool SCOPED, std::size_t... I>
Segment<T> choose_segment(int64_t lines, std::index_sequence<I...>) {
  static constexpr Segment<T> held[] = {gather_held<T, (int)I + 1, BOUND, SCOPED>...};
  if (lines <= (int64_t)sizeof...(I)) return held[lines - 1];
  return SCOPED ? gather_by_lines<T, BOUND> : gather_by_panels<T, BOUND>;
}

template <class T> Segment<T> choose_segment(int64_t lines, bool bound, bool scoped) {
  constexpr auto fitting = std::make_index_sequence<MAX_LINES>();
  if (scoped)
    return bound ? choose_segment<T, true, true>(lines, fitting)
                 : choose_segment<T, false, true>(lines, fitting);
  return bound ? choose_segment<T, true, false>(lines, fitting)
               : choose_segment<T, false, false>(lines, fitting);
}

template <class T> constexpr int64_t PER_LINE = ROW_BYTES / sizeof(T);

// The part of a row of M that a group of documents uses, packed line by line.
template <class T> struct Part {
  Segment<T> segment;
  const int32_t* lines; // null: all of them, in order
  int64_t n_lines;
  int64_t size() const { return n_lines * PER_LINE<T>; }
  int64_t place(int64_t line) const { return (lines ? lines[line] : line) * PER_LINE<T>; }
};

template <class T> Part<T> whole_row(int64_t stride, bool bound) {
  const int64_t n = stride / PER_LINE<T>;
  return {choose_segment<T>(n, bound, false), nullptr, n};
}

template <class T> Part<T> part_of(const Lines& lines, int32_t group, int64_t stride, bool bound) {
  if (!lines.of) return whole_row<T>(stride, bound);
  const int64_t n = lines.at[group + 1] - lines.at[group];
  return {choose_segment<T>(n, bound, true), lines.of + lines.at[group], n};
}

// out = sum over the non-zeros of row i of X of (x / row . M_col) M_col, long rows in double precision.
template <class T>
inline double gather_row(const Part<T>& part, const Sparse<T>& X, int64_t i, const T* row, const T* M,
                         int64_t stride, Scratch<T>& s, T* out) {
  int64_t at = X.indptr[i];
  const int64_t end = X.indptr[i + 1], size = part.size();
  const auto segment = [&](int64_t count) {
    return part.segment(X.indices + at, X.data + at, count, row, M, stride, part.lines, part.n_lines,
                        out);
  };
  if (end - at <= FLUSH) return segment(end - at);
  double log_mean = 0;
  for (int64_t k = 0; k < size; ++k) s.wide[k] = 0;
  for (; at < end; at += FLUSH) {
    log_mean += segment(smaller(FLUSH, end - at));
    for (int64_t k = 0; k < size; ++k) s.wide[k] += out[k];
  }
  for (int64_t k = 0; k < size; ++k) out[k] = T(s.wide[k]);
  return log_mean;
}

// The same where each column of X uses lines of its own: those of its group.
template <class T>
inline void gather_row_scoped(const GatherPass<T>& p, int64_t i, const T* row, Scratch<T>& s, T* out) {
  constexpr int W = WIDTH<T>, PER = ROW_BYTES / VBNMF_VECTOR_BYTES;
  constexpr int64_t LINE = PER_LINE<T>;
  const int64_t begin = p.X.indptr[i], end = p.X.indptr[i + 1];
  const bool is_long = end - begin > FLUSH;
  for (int64_t k = 0; k < p.stride; ++k) out[k] = 0;
  for (int64_t k = 0; is_long && k < p.stride; ++k) s.wide[k] = 0;
  for (int64_t j = begin; j < end; ++j) {
    if (j + AHEAD < end) {
      const int32_t next = p.X.indices[j + AHEAD], g = p.group[next];
      for (int64_t l = p.lines.at[g]; l < p.lines.at[g + 1]; ++l)
        __builtin_prefetch(p.M + next * p.stride + p.lines.of[l] * LINE);
    }
    const int32_t column = p.X.indices[j], g = p.group[column];
    const int32_t* line = p.lines.of + p.lines.at[g];
    const int64_t n_lines = p.lines.at[g + 1] - p.lines.at[g];
    const T* other = p.M + column * p.stride;
    Vec<T> part[PER] = {};
    for (int64_t l = 0; l < n_lines; ++l)
      for (int v = 0; v < PER; ++v)
        part[v] += load<T>(row + line[l] * LINE + v * W) * load<T>(other + line[l] * LINE + v * W);
    for (int v = 1; v < PER; ++v) part[0] += part[v];
    const Vec<T> ratio = fill<T>(p.X.data[j] / floored(sum<T>(part[0])));
    for (int64_t l = 0; l < n_lines; ++l)
      for (int v = 0; v < PER; ++v) {
        T* at = out + line[l] * LINE + v * W;
        store<T>(at, load<T>(at) + ratio * load<T>(other + line[l] * LINE + v * W));
      }
    if (is_long && ((j - begin + 1) % FLUSH == 0 || j + 1 == end))
      for (int64_t k = 0; k < p.stride; ++k) s.wide[k] += out[k], out[k] = 0;
  }
  for (int64_t k = 0; is_long && k < p.stride; ++k) out[k] = T(s.wide[k]);
}

// L = exp(psi(shape)) scale / exp(m); returns m, which keeps the row within range.
template <class T>
inline double exp_psi_row(const T* shape, const T* scale, int64_t stride, Scratch<T>& s, T* L) {
  constexpr int W = WIDTH<T>;
  Vec<T> least_drop = fill<T>(LARGE<T>), least = {}; // least: of the negatives, to find the largest
  for (int64_t k = 0; k < stride; k += W) {
    const ExpPsi<T> e = exp_psi_parts<T>(load<T>(shape + k));
    const Vec<T> factor = e.factor * load<T>(scale + k);
    store<T>(L + k, factor);
    store<T>(&s.drop[k], e.drop);
    least_drop = min<T>(least_drop, e.drop);
    least = min<T>(least, -factor);
  }
  const T drop = smallest<T>(least_drop);
  const int power_of_two = exponent<T>(-smallest<T>(least));
  const T unit = ldexp1<T>(-power_of_two);
  for (int64_t k = 0; k < stride; k += W) {
    const Vec<T> power = max<T>(drop - load<T>(&s.drop[k]), fill<T>(-DEPTH<T>));
    store<T>(L + k, load<T>(L + k) * unit * exp<T>(power));
  }
  return power_of_two * 0.69314718055994530942 - drop;
}

// What has no scale is padding, or out of scope, and does not count.
template <class T>
inline void tally_row(const T* shape, const T* scale, int64_t size, double weight, Tally& tally) {
  constexpr int W = WIDTH<T>;
  Vec<T> psi = {}, entropy = {};
  for (int64_t k = 0; k < size; k += W) {
    PsiEntropy<T> p = psi_entropy<T>(load<T>(shape + k));
    for (int64_t j = 0; j < W; ++j)
      if (!(scale[k + j] > 0)) p.psi[j] = p.entropy[j] = 0;
    psi += p.psi;
    entropy += p.entropy;
  }
  tally.psi += weight * sum<T>(psi);
  tally.entropy += weight * sum<T>(entropy);
}

template <class T>
void documents(const DocumentPass<T>& p, int64_t begin, int64_t end, double* shape_sums,
               Tally& tally) {
  const FlushDenormals guard;
  constexpr int64_t LINE = PER_LINE<T>;
  Scratch<T> s(p.stride);
  Row<T> shape(p.stride), packed_L(p.stride), scale(p.stride);
  Part<T> part = {};
  int32_t group = -1;
  for (int64_t i = begin; i < end; ++i) {
    const int64_t d = p.order[i];
    if (p.group[d] != group) { // the documents are sorted by group: its sums are complete
      if (group >= 0) shape_sums += p.stride;
      group = p.group[d];
      part = part_of<T>(p.lines, group, p.stride, p.bound);
      for (int64_t l = 0; l < part.n_lines; ++l)
        for (int64_t k = 0; k < LINE; ++k)
          scale[l * LINE + k] = p.scale[group * p.stride + part.place(l) + k];
    }
    T* Sigma = p.Sigma_v + d * p.stride;
    T* L = p.L_v + d * p.stride;
    const double weight = p.weight[d];
    for (int64_t l = 0; l < part.n_lines; ++l)
      for (int64_t k = 0, at = part.place(l); k < LINE; ++k, ++at) {
        shape[l * LINE + k] = p.a_v + Sigma[at];
        shape_sums[at] += weight * shape[l * LINE + k];
      }
    T* row = part.lines ? (T*)packed_L : L;
    const double m = exp_psi_row<T>(shape, scale, part.size(), s, row);
    if (part.lines)
      for (int64_t l = 0; l < part.n_lines; ++l)
        for (int64_t k = 0, at = part.place(l); k < LINE; ++k, ++at) L[at] = row[l * LINE + k];
    if (p.bound) {
      tally_row<T>(shape, scale, part.size(), weight, tally);
      double mass = 0;
      for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j) mass += p.X.data[j];
      tally.log_mean += weight * m * mass;
    } else if (!p.update) {
      continue;
    }
    tally.log_mean += weight * gather_row<T>(part, p.X, d, row, p.L_t, p.stride, s, shape);
    if (p.update)
      for (int64_t l = 0; l < part.n_lines; ++l)
        for (int64_t k = 0, at = part.place(l); k < LINE; ++k, ++at)
          Sigma[at] = row[l * LINE + k] * shape[l * LINE + k];
  }
}

template <class T> void gather(const GatherPass<T>& p, int64_t begin, int64_t end) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  const Part<T> whole = whole_row<T>(p.stride, false);
  for (int64_t i = begin; i < end; ++i) {
    const T* row = p.L + i * p.stride;
    T* out = p.R + i * p.stride;
    if (p.lines.of)
      gather_row_scoped<T>(p, i, row, s, out);
    else
      gather_row<T>(whole, p.X, i, row, p.M, p.stride, s, out);
  }
}

template <class T>
void gamma(const GammaPass<T>& p, int64_t begin, int64_t end, double* shape_sums, Tally& tally) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  for (int64_t i = begin; i < end; ++i) {
    T* shape = p.R + i * p.stride;
    T* L = p.L + i * p.stride;
    for (int64_t k = 0; k < p.stride; ++k) {
      shape[k] = p.prior + L[k] * shape[k];
      shape_sums[k] += shape[k];
    }
    p.offset[i] = exp_psi_row<T>(shape, p.scale, p.stride, s, L);
    if (p.bound) tally_row<T>(shape, p.scale, p.stride, 1.0, tally);
  }
}

template <class T> void project(const ProjectPass<T>& p, int64_t begin, int64_t end) {
  const FlushDenormals guard;
  Scratch<T> s(p.stride);
  Row<T> shape(p.stride), L(p.stride);
  const Part<T> whole = whole_row<T>(p.stride, false);
  for (int64_t d = begin; d < end; ++d) {
    double mass = 0;
    for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j) mass += p.X.data[j];
    for (int64_t k = 0; k < p.stride; ++k) shape[k] = p.a_v + (k < p.K ? T(mass / p.K) : T(0));
    int64_t n = 0;
    double change = mass > 0 ? 1.0 : 0.0; // an empty document is the prior, and done
    for (; n < p.max_iter && change > p.tol; ++n) {
      exp_psi_row<T>(shape, p.scale, p.stride, s, L);
      T* R = p.E_v + d * p.stride;
      gather_row<T>(whole, p.X, d, L, p.L_t, p.stride, s, R);
      double moved = 0;
      for (int64_t k = 0; k < p.stride; ++k) {
        const T next = p.a_v + L[k] * R[k];
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
  constexpr T least = sizeof(T) == 4 ? T(-87) : T(-708); // below, the result is not a normal number
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
  return {documents<T>, gather<T>, gamma<T>, project<T>, exp_psi<T>};
}

} // namespace

#define VBNMF_STRING(x) #x
#define VBNMF_NAME(x) VBNMF_STRING(x)
const InstructionSet instruction_set = {VBNMF_NAME(VBNMF_ISA), passes<float>(), passes<double>()};

} // namespace vbnmf::VBNMF_ISA
