// One-versus-rest linear support vector machines; as many are trained together as floats fit into a cache line.
#pragma once

#include <cstdint>

#include "passes.h"

namespace vbnmf {

inline constexpr int LANES = ROW_BYTES / (int)sizeof(float); // machines trained together

struct MachineData {
  int64_t n_docs, n_terms, n_dense;
  Sparse<float> X;       // n_docs x n_terms
  const float* dense;    // n_docs x n_dense, further features
  const double* cost;    // of each document: C times its weight
  const int64_t* at;     // n_docs + 1: where the labels of each document begin
  const int32_t* labels; // of each document
  const int32_t* fold;   // of each document
  double tol;
  int64_t max_epochs;
};

// The label of each lane (-1: unused), and the fold that it leaves out (-1: none).
struct MachineLanes {
  const int32_t* label; // LANES
  const int32_t* fold;  // LANES
  const float* boost;   // LANES: factor of the cost of documents that have the label
  const float* stretch; // n_docs: factor of the terms of each document in the scores of lanes that leave it out
};

struct MachineResults {
  int64_t n_labels;
  float* weights; // n_labels x (n_terms + n_dense + 1), by the lanes of all documents; the intercept is last
  float* alpha;   // n_docs x n_labels, dual variables of the lanes of all documents
  float* scores;  // n_docs x n_labels, of the documents of each fold by the lanes that left them out
  double* squares; // LANES: sum of the squared weights of each lane, without the intercept
};

// Train the machines of the lanes. Lanes that leave out a fold start from the weights and dual variables of their label,
// so lanes of all documents must be trained first. Return the largest violation of optimality in the last epoch.
using TrainMachines = double (*)(const MachineData&, const MachineLanes&, const MachineResults&);

// Sums over documents for the machines of the labels first, first + 1, ... , one a lane.
struct HingeSums {
  int32_t first;
  const float* boost;   // LANES: factor of the cost of documents that have the label
  const float* weights; // (n_terms + n_dense + 1) x LANES; the intercept is last
  double* loss;         // LANES
  double* gradient;     // as the weights
  double* curvature;    // as the weights, or null if it is not asked for
};

// Add the squared hinge loss of all documents, its gradient and the diagonal of its Hessian. The fields of MachineData
// that say how to train have no effect.
using AddHingeSums = void (*)(const MachineData&, const HingeSums&);

} // namespace vbnmf

namespace vbnmf::baseline {
double train_machines(const MachineData&, const MachineLanes&, const MachineResults&);
void add_hinge_sums(const MachineData&, const HingeSums&);
}
namespace vbnmf::avx2 {
double train_machines(const MachineData&, const MachineLanes&, const MachineResults&);
void add_hinge_sums(const MachineData&, const HingeSums&);
}
namespace vbnmf::avx512 {
double train_machines(const MachineData&, const MachineLanes&, const MachineResults&);
void add_hinge_sums(const MachineData&, const HingeSums&);
}
