// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/batches.h"

#include <algorithm>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/random.h"
#include "kernels/runtime/element.h"
#include "workloads/data/digest.h"

namespace regatta::contender {
namespace {

const Node& input_of(const Step& step) {
  const std::vector<Node>& nodes = step.graph.nodes();
  const auto is_input = [](const Node& node) { return node.op == Op::Input; };
  check(std::count_if(nodes.begin(), nodes.end(), is_input) == 1,
        "a step of one replica has one input");
  return *std::find_if(nodes.begin(), nodes.end(), is_input);
}

std::span<const std::byte> contents_of(const Tensor& tensor) {
  return {tensor.as<std::byte>(), static_cast<std::size_t>(tensor.type.bytes())};
}

}  // namespace

Batches::Batches(const Step& step, const KernelTable& kernels, const DataSet& data,
                 std::uint64_t seed)
    : node_(input_of(step)), plan_(node_.attributes, &data, seed) {
  for (const TensorType& type : node_.outputs) {
    memory_.emplace_back(static_cast<std::size_t>(type.bytes()) / sizeof(Line) + 1);
    outputs_.push_back({.type = type, .data = memory_.back().data()});
  }
  kernel_ = kernels.build({.node = node_, .outputs = outputs_, .data = &data, .seed = seed});
}

std::vector<TensorEntry> Batches::entries(std::int64_t steps) const {
  const bool is_text = node_.outputs[0].element == ElementType::I32;
  const char* const inputs = plan_.images ? "images" : is_text ? "tokens" : "x";
  const char* const targets = plan_.images ? "labels" : is_text ? "targets" : "y";
  std::vector<TensorEntry> entries;
  for (const auto& [name, type] :
       {std::pair(inputs, node_.outputs[0]), std::pair(targets, node_.outputs[1])}) {
    entries.push_back({name, type.element == ElementType::I32 ? "I32" : "F32", type.dims});
    entries.back().shape[0] *= steps;
  }
  if (plan_.is_shuffled()) entries.push_back({"example", "I64", {entries[0].shape[0]}});
  return entries;
}

std::string Batches::write(const std::filesystem::path& path, std::int64_t steps) {
  SafetensorsFile file(path, entries(steps));
  workloads::Digest digest = workloads::Digest::sha256();
  for (std::int64_t step = 0; step < steps; ++step) {
    kernel_->run({.step = step});
    if (node_.outputs[0].element == ElementType::BF16) {
      file.add(0, widened());
    } else {
      file.add(0, contents_of(outputs_[0]));
    }
    file.add(1, contents_of(outputs_[1]));
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
  if (std::exchange(epoch_, position.epoch_of(step)) != epoch_ || order_.empty()) {
    order_ = example_order(plan_.seed, epoch_, plan_.data->count);
  }
  const auto first = order_.begin() + position.first_of(step);
  return {first, first + plan_.slice.batch};
}

std::vector<float> Batches::widened() const {
  std::vector<float> values(static_cast<std::size_t>(outputs_[0].elements()));
  std::transform(outputs_[0].as<Bf16>(), outputs_[0].as<Bf16>() + values.size(), values.begin(),
                 [](Bf16 value) { return load(value); });
  return values;
}

}  // namespace regatta::contender
