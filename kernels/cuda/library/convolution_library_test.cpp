// SPDX-License-Identifier: Apache-2.0
//
// A convolution by cuDNN, whose table of calls is this program's own: a double with some engines
// that take their time, do not run, or want too much. What it computes is not looked at.
#include <gtest/gtest.h>

#include <chrono>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/convolution_paths.h"

namespace regatta::cuda {
namespace {

constexpr std::int64_t kGibibyte = std::int64_t{1} << 30;

struct Engine {
  std::chrono::microseconds takes{0};
  bool has_plan = true;
  bool runs = true;
  std::int64_t workspace_bytes = 0;
  int executions = 0;
};

/// A descriptor of the double's.
struct Opaque {
  cudnnBackendDescriptorType_t type;
  std::size_t engine = 0;    ///< that it is of
  bool is_fallback = false;  ///< heuristics that name none
};

std::vector<Engine>& engines() {
  static std::vector<Engine> all;
  return all;
}

Opaque& opaque(cudnnBackendDescriptor_t descriptor) {
  return *reinterpret_cast<Opaque*>(descriptor);
}

/// Configurations and plans are of the engine of what they are made from.
cudnnStatus_t set_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, std::int64_t, const void* values) {
  if (name == CUDNN_ATTR_EXECUTION_PLAN_ENGINE_CONFIG) {
    opaque(descriptor).engine =
        opaque(*static_cast<const cudnnBackendDescriptor_t*>(values)).engine;
  }
  if (name == CUDNN_ATTR_ENGINEHEUR_MODE) {
    opaque(descriptor).is_fallback =
        *static_cast<const cudnnBackendHeurMode_t*>(values) == CUDNN_HEUR_MODE_FALLBACK;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t get_attribute(cudnnBackendDescriptor_t descriptor, cudnnBackendAttributeName_t name,
                            cudnnBackendAttributeType_t, std::int64_t asked, std::int64_t* count,
                            void* values) {
  const std::size_t engine = opaque(descriptor).engine;
  *count = 0;
  switch (name) {
    case CUDNN_ATTR_ENGINEHEUR_RESULTS:
      *count = opaque(descriptor).is_fallback ? 0 : std::ssize(engines());
      for (std::int64_t i = 0; i < asked; ++i) {
        opaque(static_cast<cudnnBackendDescriptor_t*>(values)[i]).engine =
            static_cast<std::size_t>(i);
      }
      break;
    case CUDNN_ATTR_ENGINECFG_ENGINE:
      opaque(*static_cast<cudnnBackendDescriptor_t*>(values)).engine = engine;
      break;
    case CUDNN_ATTR_ENGINE_GLOBAL_INDEX:
      *static_cast<std::int64_t*>(values) = 40 + static_cast<std::int64_t>(engine);
      break;
    case CUDNN_ATTR_EXECUTION_PLAN_WORKSPACE_SIZE:
      *static_cast<std::int64_t*>(values) = engines()[engine].workspace_bytes;
      break;
    default: break;
  }
  return CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t finalize(cudnnBackendDescriptor_t descriptor) {
  const Opaque& of = opaque(descriptor);
  const bool fails =
      of.type == CUDNN_BACKEND_EXECUTION_PLAN_DESCRIPTOR && !engines()[of.engine].has_plan;
  return fails ? CUDNN_STATUS_NOT_SUPPORTED : CUDNN_STATUS_SUCCESS;
}

cudnnStatus_t execute(cudnnHandle_t, cudnnBackendDescriptor_t plan, cudnnBackendDescriptor_t) {
  Engine& engine = engines()[opaque(plan).engine];
  ++engine.executions;
  if (!engine.runs) return CUDNN_STATUS_EXECUTION_FAILED;
  const auto end = std::chrono::steady_clock::now() + engine.takes;
  while (std::chrono::steady_clock::now() < end) {
  }
  return CUDNN_STATUS_SUCCESS;
}

Cudnn calls() {
  Cudnn table;
  table.get_version = [] { return std::size_t{91900}; };
  table.get_error_string = [](cudnnStatus_t) { return "an error of the double"; };
  table.get_last_error_string = [](char* text, std::size_t) { *text = 0; };
  table.create = [](cudnnHandle_t* handle) {
    *handle = reinterpret_cast<cudnnHandle_t>(new char);
    return CUDNN_STATUS_SUCCESS;
  };
  table.destroy = [](cudnnHandle_t handle) {
    delete reinterpret_cast<char*>(handle);
    return CUDNN_STATUS_SUCCESS;
  };
  table.set_stream = [](cudnnHandle_t, cudaStream_t) { return CUDNN_STATUS_SUCCESS; };
  table.create_descriptor = [](cudnnBackendDescriptorType_t type,
                               cudnnBackendDescriptor_t* descriptor) {
    *descriptor = reinterpret_cast<cudnnBackendDescriptor_t>(new Opaque{.type = type});
    return CUDNN_STATUS_SUCCESS;
  };
  table.destroy_descriptor = [](cudnnBackendDescriptor_t descriptor) {
    delete reinterpret_cast<Opaque*>(descriptor);
    return CUDNN_STATUS_SUCCESS;
  };
  table.finalize = finalize;
  table.set_attribute = set_attribute;
  table.get_attribute = get_attribute;
  table.execute = execute;
  return table;
}

}  // namespace

const Cudnn& cudnn() {
  static const Cudnn table = calls();
  return table;
}

namespace {

class ConvolutionByLibrary : public testing::Test {
 protected:
  struct Kind {
    std::int64_t kernel = 1;
    ElementType element = ElementType::F32;
    ConvolutionPass pass = ConvolutionPass::Forward;
  };

  /// Of other sizes in every test: choices are the process's.
  KernelPointer build(EngineRule rule, std::int64_t batch, const Kind& kind) {
    const TensorType x{kind.element, {batch, 4, 4, 2}};
    const TensorType w{kind.element, {3, kind.kernel, kind.kernel, 2}};
    const TensorType y{kind.element, {batch, 4, 4, 3}};
    const bool forward = kind.pass == ConvolutionPass::Forward;
    memory_.resize(static_cast<std::size_t>(x.bytes() + w.bytes() + y.bytes()));
    inputs_ = {{.type = forward ? x : y, .data = memory_.data()},
               {.type = w, .data = memory_.data()}};
    output_ = {.type = forward ? y : x, .data = memory_.data()};
    node_ = {
        .op = forward ? Op::Convolution : Op::ConvolutionBackwardData,
        .attributes = {
            {"kernel", kind.kernel}, {"stride", std::int64_t{1}}, {"padding", kind.kernel / 2}}};
    node_.outputs = {output_.type};
    return convolution_library(kind.pass,
                               {.node = node_,
                                .inputs = inputs_,
                                .outputs = {&output_, 1},
                                .variables = {},
                                .versions_seen = {},
                                .queue = queue_.get()},
                               rule);
  }
  KernelPointer build(EngineRule rule, std::int64_t batch) { return build(rule, batch, Kind{}); }

  static std::string choice(const KernelPointer& kernel) { return choice_of(*kernel); }

 private:
  const std::unique_ptr<Queue> queue_ = make_emulated_queue();
  std::vector<std::byte> memory_;
  Node node_;
  std::vector<Tensor> inputs_;
  Tensor output_;
};

constexpr std::chrono::microseconds kSlow{800}, kFast{100}, kFastest{20};

TEST_F(ConvolutionByLibrary, HasTheFastestEngineThatRunsWhichIsTriedOnce) {
  engines() = {{.takes = kSlow},
               {.takes = kFastest, .runs = false},
               {.takes = kFastest, .has_plan = false},
               {.takes = kFast, .workspace_bytes = 64},
               {.takes = kFastest, .workspace_bytes = kGibibyte}};
  const KernelPointer kernel = build(EngineRule::Timed, 1);
  ASSERT_NE(kernel, nullptr);
  const std::string text = choice(kernel);
  EXPECT_EQ(text.find("cuDNN 9.19.0: engine 43, configuration 4 of the heuristics (fastest of 2, "),
            0U)
      << text;
  EXPECT_NE(text.find("; the heuristics' first "), std::string::npos) << text;
  EXPECT_NE(text.find("workspace 64 bytes"), std::string::npos) << text;
  EXPECT_EQ(engines()[1].executions, 1);
  EXPECT_EQ(engines()[4].executions, 0) << "it wants more than a race may have";
  const int slow = engines()[0].executions, fast = engines()[3].executions;
  EXPECT_GT(slow, 1);
  const KernelPointer again = build(EngineRule::Timed, 1);
  EXPECT_EQ(choice(again), text);
  EXPECT_EQ(engines()[0].executions, slow) << "equal convolutions are tried once";
  EXPECT_EQ(engines()[3].executions, fast + 1) << "a plan is executed before steps are captured";
  again->run({});
  EXPECT_EQ(engines()[3].executions, fast + 2);
}

TEST_F(ConvolutionByLibrary, OfOtherSizesIsTriedByItself) {
  engines() = {{.takes = kSlow}, {.takes = kFast}};
  EXPECT_NE(choice(build(EngineRule::Timed, 2)).find("engine 41"), std::string::npos);
  engines() = {{.takes = kFast}, {.takes = kSlow}};
  EXPECT_NE(choice(build(EngineRule::Timed, 3)).find("engine 40"), std::string::npos);
  EXPECT_NE(choice(build(EngineRule::Timed, 2)).find("engine 41"), std::string::npos);
}

TEST_F(ConvolutionByLibrary, OfAnotherPassElementOrWindowIsTriedByItself) {
  constexpr std::int64_t kBatch = 6;
  engines() = {{.takes = kSlow}, {.takes = kFast}};
  EXPECT_NE(choice(build(EngineRule::Timed, kBatch)).find("engine 41"), std::string::npos);
  engines() = {{.takes = kFast}, {.takes = kSlow}};
  for (const Kind& other : {Kind{.kernel = 3}, Kind{.element = ElementType::BF16},
                            Kind{.pass = ConvolutionPass::BackwardData}}) {
    EXPECT_NE(choice(build(EngineRule::Timed, kBatch, other)).find("engine 40"), std::string::npos);
  }
}

TEST_F(ConvolutionByLibrary, HasTheFirstThatRunsByHeuristic) {
  engines() = {{.runs = false}, {.takes = kSlow}, {.takes = kFast}};
  const KernelPointer kernel = build(EngineRule::Heuristic, 4);
  ASSERT_NE(kernel, nullptr);
  EXPECT_EQ(choice(kernel),
            "cuDNN 9.19.0: engine 41, configuration 2 of the heuristics (the heuristics' first "
            "that runs), workspace 0 bytes");
  EXPECT_EQ(engines()[2].executions, 0);
}

TEST_F(ConvolutionByLibrary, IsNoneWhereNoEngineRuns) {
  engines() = {{.runs = false}, {.has_plan = false}, {.workspace_bytes = kGibibyte}};
  EXPECT_EQ(build(EngineRule::Timed, 5), nullptr);
  EXPECT_EQ(build(EngineRule::Heuristic, 5), nullptr);
}

}  // namespace
}  // namespace regatta::cuda
