// The Python interface of the passes.
//
// Several Python threads call the same function with the same queue. Each releases the GIL and takes blocks from the
// queue until none is left. kernels/compiled.py is the only caller. Arrays that do not fit together are refused here,
// before anything is read or written; indices inside of them are checked where documents come in.
#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <atomic>
#include <stdexcept>
#include <string>
#include <vector>

#include "machines.h"
#include "passes.h"

namespace nb = nanobind;
using namespace vbnmf;

namespace {

template <class T> using Array = nb::ndarray<T, nb::device::cpu, nb::c_contig>;

std::vector<const InstructionSet*> available() {
  std::vector<const InstructionSet*> sets = {&baseline::instruction_set};
#if defined(VBNMF_X86)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma"))
    sets.push_back(&avx2::instruction_set);
  if (__builtin_cpu_supports("fma") && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
      __builtin_cpu_supports("avx512bw") && __builtin_cpu_supports("avx512vl"))
    sets.push_back(&avx512::instruction_set);
#endif
  return sets;
}

const InstructionSet* in_use = available().back();

template <class T> const Passes<T>& passes() {
  if constexpr (sizeof(T) == 4)
    return in_use->f32;
  else
    return in_use->f64;
}

TrainMachines trainer() {
#if defined(VBNMF_X86)
  if (in_use == &avx512::instruction_set) return avx512::train_machines;
  if (in_use == &avx2::instruction_set) return avx2::train_machines;
#endif
  return baseline::train_machines;
}

AddHingeSums hinge_sums() {
#if defined(VBNMF_X86)
  if (in_use == &avx512::instruction_set) return avx512::add_hinge_sums;
  if (in_use == &avx2::instruction_set) return avx2::add_hinge_sums;
#endif
  return baseline::add_hinge_sums;
}

void must(bool holds, const char* what) {
  if (!holds) throw std::invalid_argument(std::string("the arrays of a kernel do not fit together: ") + what);
}

// Whether an array has two dimensions, of n rows (any number if negative) and this stride.
template <class A> bool has_rows(const A& array, int64_t n, int64_t stride) {
  return array.ndim() == 2 && (n < 0 || (int64_t)array.shape(0) == n) && (int64_t)array.shape(1) == stride;
}

struct Queue {
  std::atomic<int64_t> next{0};
};

template <class Work> void drain(Queue& queue, const Array<const int64_t>& blocks, Work work) {
  const nb::gil_scoped_release free;
  const int64_t n = (int64_t)blocks.size() - 1;
  for (int64_t b; (b = queue.next.fetch_add(1)) < n;) work(b, blocks.data()[b], blocks.data()[b + 1]);
}

void put(const Tally& t, const Array<double>& tallies, int64_t block) {
  double* out = tallies.data() + 3 * block;
  out[0] = t.log_mean, out[1] = t.psi, out[2] = t.entropy;
}

template <class T> struct Matrix { // compressed rows, divided into blocks
  Array<const int64_t> indptr;
  Array<const int32_t> indices;
  Array<const T> data;
  Array<const int64_t> blocks;
  Sparse<T> view() const { return {indptr.data(), indices.data(), data.data()}; }
  int64_t rows() const { return (int64_t)indptr.size() - 1; }
  void check() const {
    must(indptr.size() > 0 && blocks.size() > 0, "no rows");
    must(indices.size() == data.size() && indptr.data()[rows()] == (int64_t)data.size(), "indptr, indices and data");
    must(blocks.data()[blocks.size() - 1] == rows(), "blocks");
  }
};

struct Scopes { // the lines of each group; empty: all lines
  Array<const int64_t> at;
  Array<const int32_t> of;
  Lines view() const { return {at.data(), of.size() ? of.data() : nullptr}; }
};

NearPrior near_prior(const std::vector<double>& c) { // 13 numbers, in the order of NearPrior
  NearPrior near{c.at(0), c.at(1), {}, {}, {}};
  for (int i = 0; i < 3; ++i) near.exp_psi[i] = c.at(2 + i);
  for (int i = 0; i < 4; ++i) near.psi[i] = c.at(5 + i), near.entropy[i] = c.at(9 + i);
  return near;
}

template <class T> struct Documents { // arguments of the passes over documents
  Array<const int64_t> order;
  Array<const int32_t> group;
  Array<const double> weight;
  Array<const T> L_t, scale;
  Scopes scopes;
  T a_v;
  NearPrior near;
  Array<const T> Sigma_v;
  Array<T> next;
  T beta;
  Array<double> offset;
  bool update, bound;
  DocumentPass<T> of(const Matrix<T>& X) const {
    const int64_t n = X.rows();
    for (const size_t size : {order.size(), group.size(), weight.size(), offset.size()})
      must((int64_t)size == n, "numbers of documents");
    must(Sigma_v.ndim() == 2 && has_rows(Sigma_v, n, Sigma_v.shape(1)), "Sigma_v");
    must(has_rows(L_t, -1, Sigma_v.shape(1)) && has_rows(scale, -1, Sigma_v.shape(1)), "L_t, scale and Sigma_v");
    return {X.view(),     order.data(),   group.data(),  weight.data(), L_t.data(),
            scale.data(), scopes.view(),  a_v,           near,           Sigma_v.data(),
            next.data(),  beta,           offset.data(), (int64_t)Sigma_v.shape(1),     update, bound};
  }
};

// Arrays must not be converted, because results would be written to the converted copy.
auto exact(const char* name) { return nb::arg(name).noconvert(); }

template <class T> void bind(nb::module_& m, const char* name, const char* documents) {
  using M = Matrix<T>;
  using D = Documents<T>;
  nb::class_<D>(m, documents)
      .def(
          "__init__",
          [](D* self, Array<const int64_t> order, Array<const int32_t> group, Array<const double> weight,
             Array<const T> L_t, Array<const T> scale, const Scopes& scopes, T a_v,
             const std::vector<double>& near, Array<const T> Sigma_v, Array<T> next, T beta, Array<double> offset, bool update, bool bound) {
            new (self) D{order,   group, weight, L_t,    scale,  scopes, a_v, near_prior(near), Sigma_v,
                         next, beta,  offset, update, bound};
          },
          exact("order"), exact("group"), exact("weight"), exact("L_t"), exact("scale"), nb::arg("scopes"),
          nb::arg("a_v"), nb::arg("near"), exact("Sigma_v"), exact("next"), nb::arg("beta"), exact("offset"), nb::arg("update"),
          nb::arg("bound"));
  nb::class_<M>(m, name)
      .def(
          "__init__",
          [](M* self, Array<const int64_t> indptr, Array<const int32_t> indices, Array<const T> data,
             Array<const int64_t> blocks) {
            M{indptr, indices, data, blocks}.check();
            new (self) M{indptr, indices, data, blocks};
          },
          exact("indptr"), exact("indices"), exact("data"), exact("blocks"))
      .def("complete",
           [](const M& X, Queue& queue, Array<const int64_t> blocks, const Documents<T>& documents,
              Array<const int64_t> sums_at, Array<double> shape_sums, Array<double> tallies) {
             const DocumentPass<T> pass = documents.of(X);
             drain(queue, blocks, [&](int64_t b, int64_t begin, int64_t end) {
               Tally tally;
               passes<T>().complete(pass, begin, end, shape_sums.data() + sums_at.data()[b] * pass.stride, tally);
               put(tally, tallies, b);
             });
           },
           nb::arg("queue"), exact("blocks"), nb::arg("documents"), exact("sums_at"), exact("shape_sums"),
           exact("tallies"))
      .def("divide",
           [](const M& X, Queue& queue, const Documents<T>& documents, Array<double> tallies) {
             const DocumentPass<T> pass = documents.of(X);
             drain(queue, X.blocks, [&](int64_t b, int64_t begin, int64_t end) {
               Tally tally;
               passes<T>().divide(pass, begin, end, tally);
               put(tally, tallies, b);
             });
           },
           nb::arg("queue"), nb::arg("documents"), exact("tallies"))
      .def("gather",
           [](const M& X, Queue& queue, Array<const T> L, Array<const T> other, Array<T> R,
              Array<int64_t> at, int32_t until, bool first, Array<const int32_t> group,
              const Scopes& scopes) {
             must(R.ndim() == 2 && has_rows(R, X.rows(), R.shape(1)) && has_rows(L, X.rows(), R.shape(1)), "R and L");
             must(has_rows(other, (int64_t)group.size(), R.shape(1)), "the other factor");
             must((int64_t)at.size() == X.rows(), "places of rows");
             const GatherPass<T> pass{X.view(), L.data(), other.data(), R.data(), (int64_t)R.shape(1),
                                      at.data(), until, first, group.data(), scopes.view()};
             drain(queue, X.blocks,
                   [&](int64_t, int64_t begin, int64_t end) { passes<T>().gather(pass, begin, end); });
           },
           nb::arg("queue"), exact("L"), exact("other"), exact("R"), exact("at"), nb::arg("until"),
           nb::arg("first"), exact("group"), nb::arg("scopes"))
      .def("project", [](const M& X, Queue& queue, Array<const T> L_t, Array<const T> scale,
                         Array<const T> a_v, bool mode, int64_t K, int64_t max_iter, double tol,
                         Array<T> E_v, Array<int32_t> n_iter) {
        must(E_v.ndim() == 2 && has_rows(E_v, X.rows(), E_v.shape(1)) && K <= (int64_t)E_v.shape(1), "E_v");
        must(has_rows(L_t, -1, E_v.shape(1)) && has_rows(scale, 1, E_v.shape(1)), "L_t and scale");
        must(has_rows(a_v, -1, E_v.shape(1)) && (a_v.shape(0) == 1 || (int64_t)a_v.shape(0) == X.rows()), "a_v");
        must((int64_t)n_iter.size() == X.rows(), "n_iter");
        const int64_t stride = (int64_t)E_v.shape(1), next_a = a_v.shape(0) > 1 ? stride : 0;
        const ProjectPass<T> pass{X.view(), L_t.data(), scale.data(), a_v.data(), next_a, mode,
                                  E_v.data(), n_iter.data(), K, stride, max_iter, tol};
        drain(queue, X.blocks,
              [&](int64_t, int64_t begin, int64_t end) { passes<T>().project(pass, begin, end); });
      },
           nb::arg("queue"), exact("L_t"), exact("scale"), exact("a_v"), nb::arg("mode"), nb::arg("K"),
           nb::arg("max_iter"), nb::arg("tol"), exact("E_v"), exact("n_iter"));
  m.def("gamma_rows", [](Queue& queue, Array<const int64_t> blocks, Array<T> R, Array<const T> base, T beta,
                         Array<T> L, Array<const T> scale, T prior, const std::vector<double>& near,
                         bool shapes_only, bool extrapolates, bool bound,
                         Array<double> offset, Array<double> shape_sums, Array<double> tallies) {
    must(R.ndim() == 2 && has_rows(L, R.shape(0), R.shape(1)) && has_rows(scale, 1, R.shape(1)), "R, L and scale");
    must(offset.size() == R.shape(0) && blocks.size() > 0, "offset");
    must(blocks.data()[blocks.size() - 1] <= (int64_t)R.shape(0), "blocks");
    must(has_rows(shape_sums, (int64_t)blocks.size() - 1, R.shape(1)), "sums");
    must(has_rows(base, R.shape(0), R.shape(1)), "the base of an extrapolation");
    const int64_t stride = (int64_t)R.shape(1);
    const GammaPass<T> pass{R.data(), extrapolates ? base.data() : nullptr, beta,   L.data(),
                            scale.data(), prior, near_prior(near), offset.data(), stride,
                            shapes_only, bound};
    drain(queue, blocks, [&](int64_t b, int64_t begin, int64_t end) {
      Tally tally;
      passes<T>().gamma(pass, begin, end, shape_sums.data() + b * stride, tally);
      put(tally, tallies, b);
    });
  },
        nb::arg("queue"), exact("blocks"), exact("R"), exact("base"), nb::arg("beta"), exact("L"), exact("scale"),
        nb::arg("prior"), nb::arg("near"), nb::arg("shapes_only"), nb::arg("extrapolates"), nb::arg("bound"), exact("offset"), exact("shape_sums"),
        exact("tallies"));
  m.def("exp_psi", [](Array<const T> x, Array<T> out) {
    passes<T>().exp_psi(x.data(), out.data(), (int64_t)x.size());
  },
        exact("x"), exact("out"));
}

void bind_machines(nb::module_& m) {
  m.attr("LANES") = LANES;
  m.def("train_machines",
        [](Array<const int64_t> indptr, Array<const int32_t> indices, Array<const float> data,
           Array<const float> dense, Array<const double> cost, Array<const int64_t> labels_at,
           Array<const int32_t> labels, Array<const int32_t> fold, double tol, int64_t max_epochs,
           Array<const int32_t> lane_label, Array<const int32_t> lane_fold,
           Array<const float> lane_boost, Array<const float> stretch, Array<float> weights,
           Array<float> alpha, Array<float> scores, Array<double> squares) {
          const int64_t n_dense = (int64_t)dense.shape(1);
          const MachineData p{(int64_t)dense.shape(0),
                              (int64_t)weights.shape(1) - n_dense - 1,
                              n_dense,
                              {indptr.data(), indices.data(), data.data()},
                              dense.data(),
                              cost.data(),
                              labels_at.data(),
                              labels.data(),
                              fold.data(),
                              tol,
                              max_epochs};
          const MachineResults out{(int64_t)weights.shape(0), weights.data(), alpha.data(), scores.data(),
                                   squares.data()};
          const TrainMachines train = trainer();
          const nb::gil_scoped_release free;
          return train(p, {lane_label.data(), lane_fold.data(), lane_boost.data(), stretch.data()}, out);
        },
        exact("indptr"), exact("indices"), exact("data"), exact("dense"), exact("cost"), exact("labels_at"),
        exact("labels"), exact("fold"), nb::arg("tol"), nb::arg("max_epochs"), exact("lane_label"),
        exact("lane_fold"), exact("lane_boost"), exact("stretch"), exact("weights"), exact("alpha"), exact("scores"),
        exact("squares"));
  m.def("add_hinge_sums",
        [](Array<const int64_t> indptr, Array<const int32_t> indices, Array<const float> data,
           Array<const float> dense, Array<const double> cost, Array<const int64_t> labels_at,
           Array<const int32_t> labels, int32_t first, Array<const float> boost, Array<const float> weights,
           Array<double> loss, Array<double> gradient, Array<double> curvature) {
          const int64_t n_dense = (int64_t)dense.shape(1);
          const MachineData p{(int64_t)dense.shape(0),
                              (int64_t)weights.shape(0) - n_dense - 1,
                              n_dense,
                              {indptr.data(), indices.data(), data.data()},
                              dense.data(),
                              cost.data(),
                              labels_at.data(),
                              labels.data(),
                              nullptr,
                              0.0,
                              0};
          const AddHingeSums add = hinge_sums();
          const nb::gil_scoped_release free;
          add(p, {first, boost.data(), weights.data(), loss.data(), gradient.data(),
                  curvature.size() ? curvature.data() : nullptr});
        },
        exact("indptr"), exact("indices"), exact("data"), exact("dense"), exact("cost"), exact("labels_at"),
        exact("labels"), nb::arg("first"), exact("boost"), exact("weights"), exact("loss"), exact("gradient"),
        exact("curvature"));
}

} // namespace

NB_MODULE(_native, m) {
  m.doc() = "Compiled kernels of vbnmf; use them through vbnmf.kernels.";
  m.attr("ROW_BYTES") = ROW_BYTES;
  nb::class_<Queue>(m, "Queue").def(nb::init<>());
  nb::class_<Scopes>(m, "Scopes")
      .def("__init__",
           [](Scopes* self, Array<const int64_t> at, Array<const int32_t> of) {
             new (self) Scopes{at, of};
           },
           exact("at"), exact("of"));
  bind<float>(m, "Matrix32", "Documents32");
  bind<double>(m, "Matrix64", "Documents64");
  bind_machines(m);
  m.def("instruction_set", [] { return std::string(in_use->name); });
  m.def("instruction_sets", [] {
    std::vector<std::string> names;
    for (const InstructionSet* set : available()) names.emplace_back(set->name);
    return names;
  });
  m.def("use_instruction_set", [](const std::string& name) {
    for (const InstructionSet* set : available())
      if (name == set->name) {
        in_use = set;
        return;
      }
    throw std::invalid_argument("instruction set '" + name + "' is not available on this machine");
  });
}
