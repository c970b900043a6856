// SPDX-License-Identifier: Apache-2.0
//
// Compares batches drawn on the GPU with the CPU's, bit by bit.
#include <array>
#include <cstring>

#include "kernels/cpu/input_for_test.h"
#include "kernels/cuda/device/on_devices_for_test.h"
#include "kernels/runtime/capture/queued_counts.h"

namespace regatta::cuda {
namespace {

using namespace cpu::test;
using testing_support::kDevices;
using testing_support::name_of_device;

class GpuInput : public testing_support::OnDevices {
 protected:
  /// Compares the node's kernel with the CPU's batches, at each of the steps.
  void expect_same_bits(const Graph& graph, const DataSet& data,
                        const std::vector<std::int64_t>& steps) {
    const Node& node = graph.node(0);
    std::vector<Tensor> outputs;
    for (const TensorType& type : node.outputs) {
      outputs.push_back({.type = type, .data = allocate<std::byte>(type.bytes())});
    }
    KernelTable table("cuda");
    add_cuda_kernels(table);
    auto* const counts = allocate<QueuedCounts>(1);
    std::uint64_t order = 0;
    const KernelRequest request{.node = node,
                                .inputs = {},
                                .outputs = outputs,
                                .variables = {},
                                .versions_seen = {},
                                .data = &data,
                                .seed = kSeed,
                                .queue = &queue(),
                                .counts = counts};
    const auto kernel = table.build(request);
    for (const std::int64_t step : steps) {
      queue().begin_step({.step = step});
      kernel->run({.step = step});
      queue().finish();
      const auto [examples, targets] = expected(request, step, order);
      expect_equal(outputs[0], examples, "examples of step " + std::to_string(step));
      expect_equal(outputs[1], targets, "targets of step " + std::to_string(step));
    }
    EXPECT_EQ(read(counts, 1).front().data_order, order);
  }

 private:
  /// Adds the step's digest to `digest`.
  static std::array<Array, 2> expected(const KernelRequest& request, std::int64_t step,
                                       std::uint64_t& digest) {
    const bool half = request.outputs[0].type.element == ElementType::BF16;
    Array examples(half ? TensorType{ElementType::F32, request.outputs[0].type.dims}
                        : request.outputs[0].type);
    Array targets(request.outputs[1].type);
    cpu::EpochOrder order;
    digest += order_weight(step) *
              cpu::fill_batch(cpu::BatchPlan(request), step, order,
                              {.examples = examples.bytes.get(), .targets = targets.bytes.get()});
    return {half ? cpu::test::to_bf16(examples) : examples, targets};
  }

  void expect_equal(const Tensor& actual, const Array& expected, const std::string& what) {
    const std::vector<std::byte> bytes = read(actual.as<std::byte>(), expected.type.bytes());
    EXPECT_EQ(std::memcmp(bytes.data(), expected.bytes.get(), bytes.size()), 0) << what;
  }
};

INSTANTIATE_TEST_SUITE_P(On, GpuInput, kDevices, name_of_device);

// Consecutive steps over several epochs, and jumps.
const std::vector<std::int64_t> kSteps{0, 1, 2, 3, 4, 5, 6, 7, 3, 100, 101, 0};

Graph image_graph(const InputSlice& slice, const Augmentation& augmentation) {
  Graph graph;
  Builder builder(graph);
  builder.input_images(slice, {ElementType::U8, {kSide, kSide, kChannels}}, augmentation);
  return graph;
}

TEST_P(GpuInput, AugmentsLikeTheCpuBitByBit) {
  const DataSet data = images(24);
  Augmentation crop = plain(), cut = plain(), flip = plain();
  crop.pad = 4;
  Augmentation black = everything();
  black.border = Augmentation::Border::Black;
  cut.cutout = 5;
  flip.flip = Augmentation::Flip::Alternating;
  for (const Augmentation& augmentation : {everything(), black, crop, cut, flip, plain()}) {
    for (const ElementType element : {ElementType::F32, ElementType::BF16}) {
      const InputSlice slice{.batch = 4, .offset = 2, .global_batch = 7, .element = element};
      expect_same_bits(image_graph(slice, augmentation), data, kSteps);
    }
  }
}

TEST_P(GpuInput, YieldsTheDataSetInOrderAndUnaugmentedForEvaluation) {
  const DataSet data = images(20);
  const InputSlice slice{
      .batch = 5, .offset = 1, .global_batch = 6, .order = ExampleOrder::Sequential};
  expect_same_bits(image_graph(slice, everything()), data, kSteps);
}

TEST_P(GpuInput, YieldsShuffledFeaturesWithTheirTargets) {
  const DataSet data = features(10);
  Graph graph;
  Builder(graph).input_features({.batch = 3, .offset = 1, .global_batch = 5}, 2, 1);
  expect_same_bits(graph, data, kSteps);
}

TEST_P(GpuInput, YieldsShuffledTokensWithThoseThatFollow) {
  const DataSet data = tokens(10);
  const TensorType text{ElementType::I32, {3}};
  Graph graph;
  Builder(graph).input({.batch = 3, .offset = 1, .global_batch = 5}, text, text);
  expect_same_bits(graph, data, kSteps);
}

TEST_P(GpuInput, KeepsTheOrderOfTheFirstEpochForAFullBatch) {
  const DataSet points = features(10), pictures = images(8);
  Graph graph;
  Builder(graph).input_features({.batch = 4, .offset = 6, .global_batch = 10}, 2, 1);
  expect_same_bits(graph, points, kSteps);
  const InputSlice all{.batch = 8, .offset = 0, .global_batch = 8};
  expect_same_bits(image_graph(all, plain()), pictures, kSteps);
  expect_same_bits(image_graph(all, everything()), pictures, kSteps);
}

TEST_P(GpuInput, DrawsTheOrderOfManyExamples) {
  const DataSet data = features(50000);
  Graph graph;
  Builder(graph).input_features({.batch = 25000, .offset = 0, .global_batch = 25000}, 2, 1);
  expect_same_bits(graph, data, {0, 1, 2, 9});
}

}  // namespace
}  // namespace regatta::cuda
