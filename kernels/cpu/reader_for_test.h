// SPDX-License-Identifier: Apache-2.0
//
// For tests of variables that threads share: a reader's kernel and the values that it has read.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {

class Reader {
 public:
  explicit Reader(VariableStorage& storage) : copy_(storage.tensor.type), variables_{&storage} {
    node_.outputs = {copy_.type};
    kernel_ = cpu_table().build({.node = node_,
                                 .inputs = {},
                                 .outputs = outputs_,
                                 .variables = variables_,
                                 .versions_seen = versions_});
  }
  Reader(const Reader&) = delete;
  Reader& operator=(const Reader&) = delete;

  void run() { kernel_->run({}); }
  std::uint64_t seen() const { return seen_.number; }
  const Array& copy() const { return copy_; }

 private:
  Array copy_;
  SeenVersion seen_;
  Node node_{.op = Op::Read};
  std::vector<Tensor> outputs_{copy_.tensor()};
  std::vector<VariableStorage*> variables_;
  std::vector<SeenVersion*> versions_{&seen_};
  std::unique_ptr<Kernel> kernel_;
};

}  // namespace regatta::cpu::test
