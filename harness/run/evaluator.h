// SPDX-License-Identifier: Apache-2.0
//
// Evaluates the parameters of a training run on the test set, on an executor of its own that uses
// all cores. Each variable of the training step declares whether the first copy or the mean of the
// copies is evaluated (Judged in variable.h); on a GPU, variables are copied without the host if
// each has one copy. A mean over replicas is weighted by their shares of the batch. If each replica
// trains its own model, every model is evaluated with its own parameters and statistics, and the
// result is the mean over models.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "harness/run/trainer.h"
#include "kernels/data/data_set.h"
#include "kernels/graph/graph.h"
#include "workloads/workload.h"

namespace regatta::run {

struct Backend;

struct EvaluationResult {
  double loss = 0;            ///< mean over the examples, and over models
  double metric = 0;          ///< accuracy in percent, or the loss; mean over models
  double parameter_norm = 0;  ///< Euclidean norm of all parameters of a model; mean over models
  std::int64_t took_ns = 0;   ///< time to fetch and evaluate the variables, without the norm
};

struct EvaluatorOptions {
  std::vector<int> cores;
  std::int64_t evaluations = 1;            ///< planned number of evaluations
  int models = 1;                          ///< number of models in each evaluation
  std::vector<std::int64_t> groups = {1};  ///< normalisation groups of each replica in a step
  LaunchSteps launch = LaunchSteps::ByKernel;
};

class Evaluator {
 public:
  Evaluator(const workloads::Workload& workload, const Step& evaluation, const DataSet& test,
            const Backend& backend, const EvaluatorOptions& options);

  /// Evaluates the current variables of `training`, which must not be running. Throws:
  /// RunError(Diverged) if the loss is not finite; errors of `training` while fetching variables.
  EvaluationResult judge(Trainer& training);
  std::int64_t planned_bytes() const { return executor_->planned_bytes(); }

 private:
  /// Evaluates one model. `fetched` keeps the variables of all models for the next call; it is
  /// filled when first needed.
  EvaluationResult judge_model(Trainer& training, int model, std::vector<VariableCopy>& fetched);
  void adopt_variables(std::vector<VariableCopy> all, int model);
  /// Copies the model's variables from device to device. Returns false, and copies nothing, if that
  /// is impossible.
  bool copy_on_device(Trainer& training, int model);
  double parameter_norm();

  workloads::Metric metric_;
  std::vector<std::int64_t> groups_;  ///< by replica
  int models_ = 1;
  std::int64_t examples_ = 0;  ///< in the test set
  std::unique_ptr<Executor> executor_;
};

}  // namespace regatta::run
