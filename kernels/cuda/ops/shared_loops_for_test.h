// SPDX-License-Identifier: Apache-2.0
//
// For tests of variables that several loops share: the variables on a device, and loops that read
// and update them there, each in a queue of its own; on the CPU without queues.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "kernels/cpu/built_op_for_test.h"
#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/capture/step_recorder.h"

namespace regatta::cuda::testing_support {

/// A parameter and its slots.
class SharedVariables {
 public:
  using Array = cpu::test::Array;

  SharedVariables(Device& device, Sharing sharing, const std::vector<Array>& values)
      : device_(device) {
    for (const Array& value : values) {
      auto& storage = *storages_.emplace_back(std::make_unique<VariableStorage>());
      storage.tensor = {.type = value.type, .data = allocate(value.type.bytes())};
      device_.write(storage.tensor.data, value.bytes.get(), value.type.bytes());
      storage.counts = static_cast<VersionCounts*>(allocate(sizeof(VersionCounts)));
      storage.sharing = sharing;
      if (sharing == Sharing::Locked) add_locks(storage);
      pointers_.push_back(&storage);
    }
  }
  SharedVariables(const SharedVariables&) = delete;
  SharedVariables& operator=(const SharedVariables&) = delete;

  const std::vector<VariableStorage*>& all() const { return pointers_; }
  VariableStorage& parameter() const { return *pointers_.front(); }
  VersionCounts counts() const {
    VersionCounts counts;
    device_.read(&counts, parameter().counts, sizeof counts);
    return counts;
  }
  std::vector<Array> values() const {
    std::vector<Array> arrays;
    for (const VariableStorage* storage : pointers_) {
      arrays.emplace_back(storage->tensor.type);
      device_.read(arrays.back().bytes.get(), storage->tensor.data, storage->tensor.type.bytes());
    }
    return arrays;
  }
  void* allocate(std::int64_t bytes) {
    memory_.push_back({device_.allocate(bytes), Release{&device_}});
    return memory_.back().get();
  }
  Device& device() const { return device_; }

 private:
  struct Release {
    Device* device;
    void operator()(void* memory) const { device->release(memory); }
  };

  void add_locks(VariableStorage& storage) {
    const std::int64_t shards = (storage.tensor.elements() - 1) / kShardElements + 1;
    if (device_.has_queues()) {
      storage.shard_words = static_cast<std::uint32_t*>(allocate(shards * 4));
    } else {
      storage.shards = std::vector<std::mutex>(static_cast<std::size_t>(shards));
    }
  }

  Device& device_;
  std::vector<std::unique_ptr<void, Release>> memory_;
  std::vector<std::unique_ptr<VariableStorage>> storages_;
  std::vector<VariableStorage*> pointers_;
};

/// A loop that reads the parameter, and updates all variables by one op from a given gradient.
class Loop {
 public:
  Loop(const KernelTable& table, SharedVariables& shared, const cpu::test::OpCase& update)
      : shared_(shared),
        queue_(shared.device().make_queue()),
        seen_(static_cast<SeenVersion*>(shared.allocate(sizeof(SeenVersion)))),
        counts_(static_cast<QueuedCounts*>(shared.allocate(sizeof(QueuedCounts)))),
        read_node_{.op = Op::Read, .outputs = {shared.parameter().tensor.type}},
        update_node_{.op = update.op, .attributes = update.attributes},
        copy_{on_device(shared.parameter().tensor.type)} {
    for (const cpu::test::Array& gradient : update.inputs) {
      gradients_.push_back(on_device(gradient.type));
      shared.device().write(gradients_.back().data, gradient.bytes.get(), gradient.type.bytes());
    }
    std::vector<TensorType> of_inputs, of_variables;
    for (const Tensor& gradient : gradients_) of_inputs.push_back(gradient.type);
    for (const auto* variable : shared.all()) of_variables.push_back(variable->tensor.type);
    for (const TensorType& type :
         op_info(update.op).infer({of_inputs, of_variables, update.attributes})) {
      outputs_.push_back(on_device(type));
    }
    seen_of_all_.assign(shared.all().size(), nullptr);
    if (!gradients_.empty()) seen_of_all_.front() = seen_;
    read_ = table.build(request(read_node_, {}, copy_, just_parameter_, just_seen_));
    update_ = table.build(request(update_node_, gradients_, outputs_, shared_.all(), seen_of_all_));
  }
  Loop(const Loop&) = delete;
  Loop& operator=(const Loop&) = delete;

  void read(const StepContext& context) { run(*read_, context); }
  void update(const StepContext& context) { run(*update_, context); }

  /// Records update() or read() as a step, for launches at chosen moments.
  std::unique_ptr<RecordedStep> recorded_read() { return recorded(*read_); }
  std::unique_ptr<RecordedStep> recorded_update() { return recorded(*update_); }
  void launch(RecordedStep& step) {
    queue_->begin_step({});
    step.launch();
    queue_->finish();
  }

  /// The counts of host and device, added up.
  std::vector<std::uint64_t> staleness() const {
    std::vector<std::uint64_t> all = counters_.staleness;
    SpanHistogram age;
    add(counts(), all, age);
    return all;
  }
  SpanHistogram age() const {
    std::vector<std::uint64_t> all(kStalenessCounts);
    SpanHistogram age = counters_.age;
    add(counts(), all, age);
    return age;
  }
  std::uint64_t seen() const {
    SeenVersion seen;
    shared_.device().read(&seen, seen_, sizeof seen);
    return seen.number;
  }
  std::vector<float> copy() const {
    const Tensor& copy = copy_.front();
    std::vector<float> elements(static_cast<std::size_t>(copy.elements()));
    shared_.device().read(elements.data(), copy.data, copy.type.bytes());
    return elements;
  }

 private:
  QueuedCounts counts() const {
    QueuedCounts counts;
    shared_.device().read(&counts, counts_, sizeof counts);
    return counts;
  }
  Tensor on_device(const TensorType& type) {
    return {.type = type, .data = shared_.allocate(type.bytes())};
  }
  KernelRequest request(const Node& node, std::span<const Tensor> inputs,
                        std::span<const Tensor> outputs,
                        std::span<VariableStorage* const> variables,
                        std::span<SeenVersion* const> seen) {
    return {.node = node,
            .inputs = inputs,
            .outputs = outputs,
            .variables = variables,
            .versions_seen = seen,
            .queue = queue_.get(),
            .counts = counts_};
  }
  void run(Kernel& kernel, StepContext context) {
    context.counters = &counters_;
    if (queue_ != nullptr) queue_->begin_step(context);
    kernel.run(context);
    if (queue_ != nullptr) queue_->finish();
  }
  std::unique_ptr<RecordedStep> recorded(Kernel& kernel) {
    const std::unique_ptr<StepRecorder> recorder = shared_.device().make_recorder();
    LaneQueue* const queues[] = {queue_.get()};
    recorder->begin(queues);
    kernel.run({});
    return recorder->end();
  }

  SharedVariables& shared_;
  std::unique_ptr<LaneQueue> queue_;
  SeenVersion* seen_;     ///< on the device
  QueuedCounts* counts_;  ///< the same
  LaneCounters counters_;
  Node read_node_;
  Node update_node_;
  std::vector<Tensor> copy_;
  std::vector<Tensor> gradients_;
  std::vector<Tensor> outputs_;  ///< of the update
  std::vector<VariableStorage*> just_parameter_{&shared_.parameter()};
  std::vector<SeenVersion*> just_seen_{seen_};
  std::vector<SeenVersion*> seen_of_all_;
  std::unique_ptr<Kernel> read_;
  std::unique_ptr<Kernel> update_;
};

}  // namespace regatta::cuda::testing_support
