// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/batches.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/runtime/element.h"
#include "workloads/data/digest.h"

namespace regatta::contender {
namespace {

const Node& input_of(const Graph& graph) {
  const auto is_input = [](const Node& node) { return node.op == Op::Input; };
  check(std::ranges::count_if(graph.nodes(), is_input) == 1, "a step of one replica has one input");
  return *std::ranges::find_if(graph.nodes(), is_input);
}

}  // namespace

Batches::Batches(const Step& step, const KernelTable& kernels, const DataSet& data,
                 std::uint64_t seed)
    : node_(input_of(step.graph)), plan_(node_.attributes, &data, seed) {
  for (const TensorType& type : node_.outputs) {
    memory_.emplace_back(static_cast<std::size_t>(type.bytes()) / sizeof(Line) + 1);
    outputs_.push_back({.type = type, .data = memory_.back().data()});
  }
  kernel_ = kernels.build({.node = node_, .outputs = outputs_, .data = &data, .seed = seed});
}

std::vector<TensorEntry> Batches::entries(std::int64_t steps) const {
  const bool is_text = node_.outputs[0].element == ElementType::I32;
  std::vector<TensorEntry> entries = {{plan_.images ? "images"
                                       : is_text    ? "tokens"
                                                    : "x",
                                       is_text ? "I32" : "F32",
                                       {}},
                                      {plan_.images ? "labels"
                                       : is_text    ? "targets"
                                                    : "y",
                                       node_.outputs[1].element == ElementType::I32 ? "I32" : "F32",
                                       {}}};
  for (std::size_t i = 0; i < entries.size(); ++i) {
    entries[i].shape = node_.outputs[i].dims;
    entries[i].shape[0] *= steps;
  }
  if (plan_.is_shuffled()) entries.push_back({"example", "I64", {entries[0].shape[0]}});
  return entries;
}

std::string Batches::write(const std::filesystem::path& path, std::int64_t steps) {
  SafetensorsFile file(path, entries(steps));
  workloads::Digest digest = workloads::Digest::sha256();
  for (std::int64_t step = 0; step < steps; ++step) {
    kernel_->run({.step = step});
    for (std::size_t i = 0; i < outputs_.size(); ++i) {
      const auto elements = static_cast<std::size_t>(outputs_[i].elements());
      std::vector<float> values(elements);  // or integers of the same size
      if (outputs_[i].type.element == ElementType::BF16) {
        std::transform(outputs_[i].as<Bf16>(), outputs_[i].as<Bf16>() + elements, values.begin(),
                       [](Bf16 value) { return load(value); });
      } else {
        std::memcpy(values.data(), outputs_[i].data, elements * sizeof(float));
      }
      file.add(i, values);
    }
    if (!plan_.is_shuffled()) continue;
    const std::vector<std::int64_t> examples = examples_of(step);
    file.add(2, examples);
    digest.add(std::as_bytes(std::span(examples)));
  }
  file.close();
  return digest.digits();
}

std::vector<std::int64_t> Batches::examples_of(std::int64_t step) {
  const SlicePosition position = plan_.position();
  if (std::exchange(epoch_, position.epoch_of(step)) != epoch_)
    order_ = example_order(plan_.seed, epoch_, plan_.data->count);
  const auto first = order_.begin() + position.first_of(step);
  return {first, first + plan_.slice.batch};
}

}  // namespace regatta::contender
