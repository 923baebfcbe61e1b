// The passes over rows that every instruction set provides. Arguments are structs of pointers.
//
// The rows of all matrices with K columns are padded with zeros to `stride` elements, a multiple of 64 bytes. A pass
// works on one block of rows and writes only to this block. Results therefore do not depend on the number of threads.
#pragma once

#include <cstdint>

namespace vbnmf {

inline constexpr int ROW_BYTES = 64; // rows are padded to a multiple of this

template <class T> struct Sparse { // rows in compressed form
  const int64_t* indptr;
  const int32_t* indices;
  const T* data;
};

// The lines of a row, of ROW_BYTES each, that hold the components in the scope of a group. If `of` is null, all groups
// use all lines.
struct Lines {
  const int64_t* at; // groups + 1: where the lines of each group begin
  const int32_t* of; // the lines of each group, ascending
};

// Coefficients of series around the shape of a prior; see Near in special.h. The limit is negative if there are none.
struct NearPrior {
  double prior, limit;
  double exp_psi[3], psi[4], entropy[4];
};

struct Tally { // sums over a block for the bound
  double log_mean = 0; // sum of x ln(sum_k L_t L_v)
  double psi = 0;      // sum of psi(shape)
  double entropy = 0;  // sum of the entropies of Gamma(shape, 1)
};

// The first pass completes q(v), and with `update` writes L_v to `next`. It visits documents order[begin..end), by group,
// so that each block needs sums for few groups. The second pass replaces L_v by the next Sigma_v. It visits documents
// [begin..end), as they are in X, because random reads of X are slow. The rows of terms are gathered between the two, so
// that one array is enough for both. `next` may be Sigma_v itself. If it is not, it has the Sigma_v of the sweep before,
// from which the first pass extrapolates.
template <class T> struct DocumentPass {
  Sparse<T> X;
  const int64_t* order;  // documents sorted by group, for the first pass
  const int32_t* group;  // of each document
  const double* weight;  // sample weight of each document
  const T* L_t;          // terms x stride
  const T* scale;        // groups x stride: scale of q(v); zero outside scopes
  Lines lines;           // of each group
  T a_v;
  NearPrior near;        // around a_v
  const T* Sigma_v;      // documents x stride
  T* next;               // documents x stride: the Sigma_v before, L_v, and then the next Sigma_v
  T beta;                // how far to extrapolate; 0: not at all
  double* offset;        // documents: each row of L_v is divided by exp(offset)
  int64_t stride;
  bool update;           // write L_v, for the second pass
  bool bound;            // fill the tally
};

// Rows of R = sum over the row's non-zeros of (x / L_row . M_col) M_col. Columns are gathered a range at a time, such that
// their rows of M stay in the cache.
template <class T> struct GatherPass {
  Sparse<T> X; // columns of a row ascend
  const T* L;  // of the rows
  const T* M;  // of the columns
  T* R;        // out
  int64_t stride;
  int64_t* at;          // of each row: where the range begins, and then where the next one begins
  int32_t until;        // where the range of columns ends
  bool first;           // the range is the first one: R is written instead of added to
  const int32_t* group; // of each column
  Lines lines;          // of each group
};

// q = Gamma(shape, scale) by rows: compute shape = prior + L o R, then the new L. With `base`, R has the shapes of the
// sweep before, and the shapes are extrapolated from these and from `base`.
template <class T> struct GammaPass {
  T* R;           // in: gathered sums, or shapes; out: shapes
  const T* base;  // shapes; null: do not extrapolate
  T beta;         // how far to extrapolate
  T* L;           // in: L of the sums R; out: exp<ln> of the new q, each row divided by exp(offset)
  const T* scale; // stride
  T prior;
  NearPrior near; // around the shape of the prior
  double* offset; // rows
  int64_t stride;
  bool shapes_only; // leave L as it is
  bool bound;
};

// Project single documents with fixed components, without labels.
template <class T> struct ProjectPass {
  Sparse<T> X;
  const T* L_t;
  const T* scale; // stride
  const T* a_v;   // one row of `stride` for all documents, or one for each
  int64_t next_a; // from the row of a document to that of the next: 0 or stride
  bool mode;      // find the posterior mode of ln v instead of q(v)
  T* E_v;            // documents x stride, out
  int32_t* n_iter;   // documents, out
  int64_t K, stride, max_iter;
  double tol;
};

template <class T> struct Passes {
  // shape_sums: one row of `stride` for each group the block touches, in order
  void (*complete)(const DocumentPass<T>&, int64_t begin, int64_t end, double* shape_sums, Tally&);
  void (*divide)(const DocumentPass<T>&, int64_t begin, int64_t end, Tally&);
  void (*gather)(const GatherPass<T>&, int64_t begin, int64_t end);
  void (*gamma)(const GammaPass<T>&, int64_t begin, int64_t end, double* shape_sums, Tally&);
  void (*project)(const ProjectPass<T>&, int64_t begin, int64_t end);
  void (*exp_psi)(const T* x, T* out, int64_t n);
};

struct InstructionSet {
  const char* name;
  Passes<float> f32;
  Passes<double> f64;
};

} // namespace vbnmf

namespace vbnmf::baseline {
extern const InstructionSet instruction_set;
}
namespace vbnmf::avx2 {
extern const InstructionSet instruction_set;
}
namespace vbnmf::avx512 {
extern const InstructionSet instruction_set;
}
