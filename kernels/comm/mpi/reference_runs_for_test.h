// SPDX-License-Identifier: Apache-2.0
//
// For tests of strategies over processes: results of a run in a single process. Every rank needs
// them, but each is computed by only one rank.
#pragma once

#include <cstring>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "kernels/comm/mpi/mpi_session.h"
#include "strategies/test_support.h"

namespace regatta::testing_support {

/// Returns the variables of an executor for which `wanted` holds, by place and name.
template <class Wanted>
Parameters variables_of(Executor& executor, Wanted wanted) {
  Parameters all;
  const Graph& graph = executor.step().graph;
  for (VariableId v = 0; v < static_cast<VariableId>(graph.variables().size()); ++v) {
    const Variable& variable = graph.variable(v);
    if (!wanted(variable)) continue;
    const Tensor& tensor = executor.variable(v).tensor;
    all[to_string(variable.place) + ' ' + variable.name] = {tensor.f32(),
                                                            tensor.f32() + tensor.elements()};
  }
  return all;
}

class ReferenceRuns {
 public:
  using Run = std::function<Parameters()>;

  explicit ReferenceRuns(comm::MpiSession& session) : session_(session) {}

  /// Computes the missing results, each at one rank only. All ranks call it with the same keys.
  void compute(const std::vector<std::pair<std::string, Run>>& runs) {
    std::vector<const std::pair<std::string, Run>*> missing;
    for (const auto& run : runs) {
      if (known_.try_emplace(run.first).second) missing.push_back(&run);
    }
    const auto owner = [this](std::size_t k) { return static_cast<int>(k) % session_.size(); };
    for (std::size_t k = 0; k < missing.size(); ++k) {
      if (owner(k) == session_.rank()) known_[missing[k]->first] = missing[k]->second();
    }
    for (std::size_t k = 0; k < missing.size(); ++k) {
      Parameters& values = known_[missing[k]->first];
      values = read(session_.broadcast(written(values), owner(k)));
    }
  }

  const Parameters& of(const std::string& key) const { return known_.at(key); }

 private:
  /// For each variable: name, line end, number of values as text, line end, values.
  static std::string written(const Parameters& all) {
    std::string text;
    for (const auto& [name, values] : all) {
      text += name + '\n' + std::to_string(values.size()) + '\n';
      text.append(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(float));
    }
    return text;
  }

  static Parameters read(const std::string& text) {
    Parameters all;
    for (std::size_t at = 0; at < text.size();) {
      const std::size_t name_end = text.find('\n', at), size_end = text.find('\n', name_end + 1);
      std::vector<float>& values = all[text.substr(at, name_end - at)];
      values.resize(std::stoul(text.substr(name_end + 1)));
      std::memcpy(values.data(), text.data() + size_end + 1, values.size() * sizeof(float));
      at = size_end + 1 + values.size() * sizeof(float);
    }
    return all;
  }

  comm::MpiSession& session_;
  std::map<std::string, Parameters> known_;
};

}  // namespace regatta::testing_support
