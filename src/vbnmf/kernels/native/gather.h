// Sums over the non-zeros of a row: sum_j (x_j / row . M_j) M_j. All passes spend most of their time here.
//
// Compiled once for each instruction set, as a part of passes.cpp.
#pragma once

#include <cstdlib>
#include <new>
#include <utility>

#include "passes.h"
#include "simd.h"

namespace vbnmf::VBNMF_ISA {
namespace {

// Longer rows are summed in segments of this many non-zeros, which are added in double precision.
constexpr int64_t FLUSH = 256;
// Lower limit of divisors.
template <class T> constexpr T TINY = sizeof(T) == 4 ? T(1e-36) : T(1e-300);
// A row of up to this many lines of ROW_BYTES stays in registers together with its sums.
constexpr int MAX_LINES = VBNMF_VECTOR_BYTES == 64 ? 14 : VBNMF_VECTOR_BYTES == 32 ? 3 : 1;
// A term reads whole rows of documents, also where they use a part of their lines, if rows have up to this many lines:
// loops over the lines of each document are slower than a few products with zeros.
constexpr int WHOLE_LINES = MAX_LINES < 8 ? MAX_LINES : 8;
// Rows are prefetched this many rows ahead.
constexpr int AHEAD = 8;

template <class T> class Row { // an aligned row, initialised with zeros
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

template <class T> struct Scratch { // memory of a thread for one row
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
  int64_t j = 0;
  for (; j + W <= n; j += W) total += dot_in_double<T>(load<T>(x + j), log<T>(load<T>(means + j)));
  for (int64_t i = n; i % W; ++i) means[i] = 1;
  T logs[W];
  if (j < n) store<T>(logs, log<T>(load<T>(means + j)));
  for (int64_t i = j; i < n; ++i) total += (double)x[i] * logs[i - j];
  return total;
}

// Compute sums = sum_j (x_j / row . M_j) M_j over n <= FLUSH non-zeros. With BOUND, return the sum of
// x_j ln(row . M_j). Row and sums have LINES lines, which fit into registers. They are whole rows of M or, with SCOPED,
// the given lines of it.
template <class T, int LINES, bool BOUND, bool SCOPED>
double gather_held(const int32_t* indices, const T* x, int64_t n, const T* row, const T* M,
                   int64_t stride, const int32_t* lines, int64_t, T* sums) {
  constexpr int W = WIDTH<T>, PER_LINE = ROW_BYTES / VBNMF_VECTOR_BYTES, VECTORS = LINES * PER_LINE;
  int64_t place[VECTORS]; // position of each vector in a row of M
  for (int i = 0; i < VECTORS; ++i)
    place[i] = SCOPED ? (lines[i / PER_LINE] * PER_LINE + i % PER_LINE) * W : i * W;
  Vec<T> held_row[VECTORS], held_sums[VECTORS] = {};
  for (int i = 0; i < VECTORS; ++i) held_row[i] = load<T>(row + i * W);
  T means[FLUSH];
  const auto prefetch = [&](int64_t j) {
    if (j >= n) return;
    const T* next = M + indices[j] * stride;
    for (int i = 0; i < VECTORS; i += PER_LINE) __builtin_prefetch(next + place[i]);
  };
  int64_t j = 0;
  for (; j + W <= n; j += W) { // as many non-zeros at a time as a vector has lanes: sums over lanes take long
    Vec<T> part[W];
    for (int b = 0; b < W; ++b) {
      prefetch(j + b + W);
      const T* other = M + indices[j + b] * stride;
      part[b] = held_row[0] * load<T>(other + place[0]);
      for (int i = 1; i < VECTORS; ++i) part[b] += held_row[i] * load<T>(other + place[i]);
    }
    const Vec<T> mean = max<T>(sums_of<T>(part), fill<T>(TINY<T>));
    if constexpr (BOUND) store<T>(means + j, mean);
    T ratios[W];
    store<T>(ratios, load<T>(x + j) / mean);
    for (int b = 0; b < W; ++b) {
      const T* other = M + indices[j + b] * stride;
      for (int i = 0; i < VECTORS; ++i) held_sums[i] += fill<T>(ratios[b]) * load<T>(other + place[i]);
    }
  }
  for (; j < n; ++j) {
    prefetch(j + AHEAD);
    const T* other = M + indices[j] * stride;
    Vec<T> part[2] = {}; // two independent sums, to hide the latency of additions
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

// The same for rows of any length: compute the ratios of a few non-zeros, then add their rows in panels that fit into
// registers.
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

// The same for any number of given lines of M, each of which is a panel.
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

// The lines of a row of M that a group of documents uses.
template <class T> struct Part {
  Segment<T> segment;
  const int32_t* lines; // null: all lines in order
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

// Return the first of the non-zeros [at, end) whose column is not before `until`. Columns ascend.
inline int64_t first_from(int32_t until, const int32_t* columns, int64_t at, int64_t end) {
  while (end - at > FLUSH && columns[at + FLUSH] < until) at += FLUSH;
  end = smaller(end, at + FLUSH);
  while (at < end) {
    const int64_t middle = (at + end) / 2;
    if (columns[middle] < until)
      at = middle + 1;
    else
      end = middle;
  }
  return at;
}

// Compute out = sum over the non-zeros [at, end) of X of (x / row . M_col) M_col. Sum long rows in double precision.
template <class T>
inline double gather_row(const Part<T>& part, const Sparse<T>& X, int64_t at, int64_t end, const T* row,
                         const T* M, int64_t stride, Scratch<T>& s, T* out) {
  const int64_t size = part.size();
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

// The same if the columns of X are documents, which use the lines of their groups.
template <class T>
inline void gather_row_scoped(const GatherPass<T>& p, int64_t begin, int64_t end, const T* row,
                              Scratch<T>& s, T* out) {
  constexpr int W = WIDTH<T>, PER = ROW_BYTES / VBNMF_VECTOR_BYTES;
  constexpr int64_t LINE = PER_LINE<T>;
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

} // namespace
} // namespace vbnmf::VBNMF_ISA
