// SPDX-License-Identifier: Apache-2.0
//
// Training in this process: one executor with its kernels and transport.
#pragma once

#include <memory>
#include <string>

#include "harness/backend.h"
#include "harness/trainer.h"

namespace regatta {

class LocalTrainer final : public Trainer {
 public:
  /// `part` is the whole placed step. Throws: RunError(Unsupported).
  LocalTrainer(const Step& part, const std::string& device, const ExecutorOptions& options);

  void advance_to(std::int64_t examples) override { executor_.run(examples); }
  std::int64_t examples_seen() const override { return executor_.examples_seen(); }
  std::vector<VariableCopy> variables(Copies which) override;
  TrainingReport report() override;
  void write_trace(std::ostream& out) override { executor_.write_trace(out); }

 private:
  std::unique_ptr<Backend> backend_;
  Executor executor_;
};

/// Which variables `which` asks for, in the order of the graph.
std::vector<VariableId> wanted_variables(const Graph& graph, Copies which);

/// What one process knows; the resident memory is its own.
TrainingReport report_of(const Executor& executor, std::map<Place, MemberTraffic> counted,
                         std::int64_t rank);

}  // namespace regatta
