// Dual coordinate descent for the squared hinge loss, one document and all lanes at a time.
//
// Each lane is a separate machine. Lanes share the order of the documents, but no numbers. The weights of a feature for
// all lanes are one cache line, so a document is read once for LANES machines.
//
// C.-J. Hsieh, K.-W. Chang, C.-J. Lin, S. S. Keerthi, S. Sundararajan (2008). A dual coordinate descent method for
// large-scale linear SVM. ICML.
#include "machines.h"

#include <algorithm>
#include <cstring>
#include <limits>
#include <vector>

namespace vbnmf::VBNMF_ISA {
namespace {

typedef float Line __attribute__((vector_size(ROW_BYTES)));
typedef int32_t Ints __attribute__((vector_size(ROW_BYTES)));
typedef double Wide __attribute__((vector_size(2 * ROW_BYTES), aligned(sizeof(double)))); // a Line in double precision

constexpr float INF = std::numeric_limits<float>::infinity();

Line fill(float x) { return x - Line{}; }

bool any(const Ints& v) {
  int32_t found = 0;
  for (int i = 0; i < LANES; ++i) found |= v[i];
  return found != 0;
}

float largest(const Line& v) {
  float found = v[0];
  for (int i = 1; i < LANES; ++i) found = std::max(found, v[i]);
  return found;
}

template <class T> struct Lines { // zeros, aligned to cache lines
  explicit Lines(int64_t n) : memory((n + 1) * LANES) {
    const auto address = reinterpret_cast<uintptr_t>(memory.data());
    data = reinterpret_cast<T*>((address + ROW_BYTES - 1) / ROW_BYTES * ROW_BYTES);
  }
  T& operator[](int64_t i) { return data[i]; }
  const T& operator[](int64_t i) const { return data[i]; }
  std::vector<float> memory;
  T* data;
};

struct Tile {
  const MachineData& of;
  Lines<Line> W; // by feature
  int64_t intercept;

  explicit Tile(const MachineData& data)
      : of(data), W(data.n_terms + data.n_dense + 1), intercept(data.n_terms + data.n_dense) {}

  Line scores(int64_t d) const { // four independent sums, to hide the latency of additions
    Line s[4] = {W[intercept], Line{}, Line{}, Line{}};
    int64_t j = of.X.indptr[d];
    const int64_t end = of.X.indptr[d + 1];
    for (; j + 4 <= end; j += 4)
      for (int i = 0; i < 4; ++i) s[i] += of.X.data[j + i] * W[of.X.indices[j + i]];
    for (; j < end; ++j) s[0] += of.X.data[j] * W[of.X.indices[j]];
    const float* dense = of.dense + d * of.n_dense;
    int64_t k = 0;
    for (; k + 4 <= of.n_dense; k += 4)
      for (int i = 0; i < 4; ++i) s[i] += dense[k + i] * W[of.n_terms + k + i];
    for (; k < of.n_dense; ++k) s[0] += dense[k] * W[of.n_terms + k];
    return (s[0] + s[1]) + (s[2] + s[3]);
  }

  Line scores_left_out(int64_t d, float stretch) const { // as scores, with longer terms
    Line by_terms{}, s = W[intercept];
    for (int64_t j = of.X.indptr[d]; j < of.X.indptr[d + 1]; ++j) by_terms += of.X.data[j] * W[of.X.indices[j]];
    const float* dense = of.dense + d * of.n_dense;
    for (int64_t k = 0; k < of.n_dense; ++k) s += dense[k] * W[of.n_terms + k];
    return s + stretch * by_terms;
  }

  void add(int64_t d, const Line& step) {
    for (int64_t j = of.X.indptr[d]; j < of.X.indptr[d + 1]; ++j) W[of.X.indices[j]] += of.X.data[j] * step;
    const float* dense = of.dense + d * of.n_dense;
    for (int64_t k = 0; k < of.n_dense; ++k) W[of.n_terms + k] += dense[k] * step;
    W[intercept] += step;
  }

  void prefetch(int64_t d) const { // the features of a document
    for (int64_t j = of.X.indptr[d]; j < of.X.indptr[d + 1]; j += LANES) {
      __builtin_prefetch(of.X.indices + j);
      __builtin_prefetch(of.X.data + j);
    }
    for (int64_t k = 0; k < of.n_dense; k += LANES) __builtin_prefetch(of.dense + d * of.n_dense + k);
  }

  void prefetch_weights(int64_t d) const { // the weights of its terms
    for (int64_t j = of.X.indptr[d]; j < of.X.indptr[d + 1]; ++j) __builtin_prefetch(&W[of.X.indices[j]]);
  }

  float squared_length(int64_t d) const { // with the intercept as a feature of value one
    double s = 1;
    for (int64_t j = of.X.indptr[d]; j < of.X.indptr[d + 1]; ++j) s += (double)of.X.data[j] * of.X.data[j];
    for (int64_t k = 0; k < of.n_dense; ++k) {
      const double e = of.dense[d * of.n_dense + k];
      s += e * e;
    }
    return (float)s;
  }
};

Ints positives(const MachineData& p, int64_t d, const Ints& label) { // lanes whose label the document has
  Ints has{};
  for (int64_t j = p.at[d]; j < p.at[d + 1]; ++j) has |= label == p.labels[j];
  return has;
}

Line signs(const Ints& has) { return has ? fill(1.0f) : fill(-1.0f); }

// Initialise lanes that leave out a fold with the machine of all documents, without the documents of that fold.
void begin_without_folds(const MachineData& p, const MachineResults& from, const Ints& label, const Ints& left_out,
                         Tile& tile, Lines<Line>& alpha) {
  const int64_t n_features = tile.intercept + 1;
  const float* rows[LANES] = {};
  for (int lane = 0; lane < LANES; ++lane)
    if (label[lane] >= 0 && left_out[lane] >= 0) rows[lane] = from.weights + label[lane] * n_features;
  for (int64_t f = 0; f < n_features; ++f)
    for (int lane = 0; lane < LANES; ++lane)
      if (rows[lane]) tile.W[f][lane] = rows[lane][f];
  for (int64_t d = 0; d < p.n_docs; ++d) {
    Line a{};
    for (int lane = 0; lane < LANES; ++lane)
      if (label[lane] >= 0 && left_out[lane] >= 0) a[lane] = from.alpha[d * from.n_labels + label[lane]];
    const Ints gone = left_out == p.fold[d];
    const Line zero{};
    alpha[d] = gone ? zero : a;
    const Line step = gone ? -signs(positives(p, d, label)) * a : zero;
    if (any(step != 0.0f)) tile.add(d, step);
  }
}

void shuffle(std::vector<int32_t>& order, int64_t n, uint64_t& state) {
  for (int64_t i = n - 1; i > 0; --i) { // xorshift64: the same order on every machine
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    std::swap(order[i], order[state % (uint64_t)(i + 1)]);
  }
}

} // namespace

double train_machines(const MachineData& p, const MachineLanes& lanes, const MachineResults& out) {
  Tile tile(p);
  Lines<Line> alpha(p.n_docs);
  Ints label, left_out;
  Line relief; // divisor of the diagonal term of positive documents
  std::memcpy(&label, lanes.label, sizeof label);
  std::memcpy(&left_out, lanes.fold, sizeof left_out);
  std::memcpy(&relief, lanes.boost, sizeof relief);
  relief = 1.0f / relief;

  std::vector<int32_t> order; // documents used by any lane
  std::vector<float> squared_length(p.n_docs), diagonal(p.n_docs);
  for (int64_t d = 0; d < p.n_docs; ++d) {
    if (any((label >= 0) & (left_out != p.fold[d]))) order.push_back((int32_t)d);
    diagonal[d] = (float)(0.5 / p.cost[d]);
    squared_length[d] = tile.squared_length(d);
  }

  if (any(left_out >= 0)) begin_without_folds(p, out, label, left_out, tile, alpha);

  const Line zero{};
  Line idle_above = fill(INF);
  uint64_t state = 88172645463325252ull;
  int64_t n = (int64_t)order.size();
  float gap = INF;
  bool all = true; // whether this epoch visits all documents; other epochs skip those that no lane changes
  // Lanes that leave out a fold begin near their solution, so a document that no lane changes is skipped at once. All
  // documents are visited again before the end.
  const bool skip_at_once = any(left_out >= 0);
  for (int64_t epoch = 0; epoch < p.max_epochs; ++epoch) {
    shuffle(order, n, state);
    Line up = fill(-INF), down = fill(INF);
    for (int64_t i = 0; i < n; ++i) {
      const int64_t d = order[i];
      if (i + 3 < n) __builtin_prefetch(p.X.indptr + order[i + 3]);
      if (i + 2 < n) tile.prefetch(order[i + 2]);
      if (i + 1 < n) tile.prefetch_weights(order[i + 1]);
      const Ints has = positives(p, d, label);
      const Line sign = signs(has), flat = fill(diagonal[d]), diagonal_of = has ? flat * relief : flat;
      const Ints takes_part = (label >= 0) & (left_out != p.fold[d]);
      const Line a = alpha[d];
      const Line gradient = sign * tile.scores(d) - 1.0f + diagonal_of * a;
      const Line projected = takes_part & ((a > 0.0f) | (gradient < 0.0f)) ? gradient : zero;
      up = projected > up ? projected : up;
      down = projected < down ? projected : down;
      const Line next = a - gradient / (squared_length[d] + diagonal_of);
      const Line kept = takes_part & (next > 0.0f) ? next : zero;
      const Line step = (kept - a) * sign;
      if (any(step != 0.0f)) {
        alpha[d] = kept;
        tile.add(d, step);
      } else if (skip_at_once || (!all && !any(takes_part & ~((a == 0.0f) & (gradient > idle_above))))) {
        std::swap(order[i--], order[--n]);
      }
    }
    gap = largest(up - down);
    if (gap <= p.tol) {
      if (all) break;
      n = (int64_t)order.size(); // check all documents once more
      all = true;
    } else {
      idle_above = up > 0.0f ? up : fill(INF);
      all = false;
    }
  }

  Wide squares{};
  for (int64_t f = 0; f < tile.intercept; ++f) {
    const Wide weight = __builtin_convertvector(tile.W[f], Wide);
    squares += weight * weight;
  }
  std::memcpy(out.squares, &squares, sizeof squares);
  const int64_t n_features = tile.intercept + 1;
  std::vector<int> of_all; // lanes whose machines learned from all documents
  for (int lane = 0; lane < LANES; ++lane)
    if (label[lane] >= 0 && left_out[lane] < 0) of_all.push_back(lane);
  for (int64_t f = 0; f < n_features; ++f)
    for (const int lane : of_all) out.weights[label[lane] * n_features + f] = tile.W[f][lane];
  for (int64_t d = 0; d < p.n_docs; ++d)
    for (const int lane : of_all) out.alpha[d * out.n_labels + label[lane]] = alpha[d][lane];
  if (any((label >= 0) & (left_out >= 0)))
    for (int64_t d = 0; d < p.n_docs; ++d) {
      const Ints mine = (label >= 0) & (left_out == p.fold[d]);
      if (!any(mine)) continue;
      const Line s = tile.scores_left_out(d, lanes.stretch[d]);
      for (int lane = 0; lane < LANES; ++lane)
        if (mine[lane]) out.scores[d * out.n_labels + label[lane]] = s[lane];
    }
  return gap;
}

void add_hinge_sums(const MachineData& p, const HingeSums& out) {
  Tile tile(p);
  const int64_t n_features = tile.intercept + 1;
  std::memcpy(&tile.W[0], out.weights, n_features * sizeof(Line));
  Line boost;
  std::memcpy(&boost, out.boost, sizeof boost);
  Ints label;
  for (int lane = 0; lane < LANES; ++lane) label[lane] = out.first + lane;
  Wide* gradient = reinterpret_cast<Wide*>(out.gradient);
  Wide* curvature = reinterpret_cast<Wide*>(out.curvature);
  const Line zero{}, one = fill(1.0f);
  Wide loss{};

  for (int64_t d = 0; d < p.n_docs; ++d) {
    if (!(p.cost[d] > 0)) continue;
    const Ints has = positives(p, d, label);
    const Line sign = signs(has), margin = 1.0f - sign * tile.scores(d);
    const Ints active = margin > 0.0f;
    if (!any(active)) continue;
    const Line shortfall = active ? margin : zero, factor = has ? boost : one;
    const Wide cost = p.cost[d] * __builtin_convertvector(factor, Wide);
    const Wide shorts = __builtin_convertvector(shortfall, Wide);
    loss += cost * shorts * shorts;
    const Wide step = -2.0 * cost * shorts * __builtin_convertvector(sign, Wide);
    const float* dense = p.dense + d * p.n_dense;
    for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j) gradient[p.X.indices[j]] += (double)p.X.data[j] * step;
    for (int64_t k = 0; k < p.n_dense; ++k) gradient[p.n_terms + k] += (double)dense[k] * step;
    gradient[tile.intercept] += step;
    if (curvature == nullptr) continue;
    const Line is_active = active ? one : zero;
    const Wide bend = 2.0 * cost * __builtin_convertvector(is_active, Wide);
    for (int64_t j = p.X.indptr[d]; j < p.X.indptr[d + 1]; ++j)
      curvature[p.X.indices[j]] += (double)p.X.data[j] * p.X.data[j] * bend;
    for (int64_t k = 0; k < p.n_dense; ++k) curvature[p.n_terms + k] += (double)dense[k] * dense[k] * bend;
    curvature[tile.intercept] += bend;
  }
  for (int lane = 0; lane < LANES; ++lane) out.loss[lane] += loss[lane];
}

} // namespace vbnmf::VBNMF_ISA
