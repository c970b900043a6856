// SPDX-License-Identifier: Apache-2.0
//
// cuDNN's graph API, as much of it as a convolution needs: descriptors, the graph of one operation,
// the engines that could run it, a plan of one of them. Plans are made for the GPU of a handle, or
// for one that is described by its properties: so tests see, where there is no GPU, that the
// library takes our graphs and has engines for them.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "kernels/cuda/library/library.h"
#include "kernels/cuda/ops/convolution_shape.h"

namespace regatta::cuda {

/// A descriptor of the library, destroyed with its owner.
class Descriptor {
 public:
  explicit Descriptor(cudnnBackendDescriptorType_t type);
  ~Descriptor();
  Descriptor(Descriptor&& other) noexcept : opaque_(std::exchange(other.opaque_, nullptr)) {}
  Descriptor& operator=(Descriptor&& other) noexcept {
    std::swap(opaque_, other.opaque_);
    return *this;
  }

  void set(cudnnBackendAttributeName_t name, std::span<const std::int64_t> values);
  void set(cudnnBackendAttributeName_t name, std::int64_t value) { set(name, {&value, 1}); }
  void set(cudnnBackendAttributeName_t name, const Descriptor& value);
  void set(cudnnBackendAttributeName_t name, float value);
  void set(cudnnBackendAttributeName_t name, std::span<void* const> addresses);
  void set(cudnnBackendAttributeName_t name, cudnnHandle_t handle);
  void set_text(cudnnBackendAttributeName_t name, const std::string& text);
  /// An attribute that is one enumerator, of the given kind.
  template <typename Enumerator>
  void set_enumerator(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind,
                      Enumerator value) {
    static_assert(sizeof(Enumerator) == sizeof(int));
    set_values(name, kind, 1, &value);
  }

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  cudnnBackendDescriptor_t get() const { return opaque_; }

  /// Throws: RunError(Device).
  void finalize();
  /// False where the library does not support what was set.
  [[nodiscard]] bool try_finalize();

 private:
  void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::int64_t count, const void* values);

  cudnnBackendDescriptor_t opaque_ = nullptr;
};

/// Where a plan is to run: the GPU of a handle, or one of these properties (a descriptor).
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  const Descriptor* properties = nullptr;
};

/// Numbers of the tensors of a graph.
inline constexpr std::int64_t kX = 1;
inline constexpr std::int64_t kW = 2;
inline constexpr std::int64_t kY = 3;

/// Every tensor of a graph is aligned to so many bytes.
inline constexpr std::int64_t kTensorAlignment = 16;

/// One pass of a convolution of elements of one type, results too; sums are f32. The last is the
/// graph, the others are what it is made of.
std::vector<Descriptor> convolution_graph(ConvolutionPass pass, const ConvolutionShape& shape,
                                          ElementType element, const PlanTarget& target);

/// An engine and its settings.
struct EngineConfiguration {
  Descriptor configuration;
  std::int64_t engine = 0;
};

/// What could run the graph, the presumably fastest first: at most `most`, of those that compute
/// what was asked for (takes_notes).
std::vector<EngineConfiguration> engines_for(const Descriptor& graph, ElementType element,
                                             const PlanTarget& target, std::size_t most);

/// Whether an engine with these notes computes what was asked for: products of the given type, not
/// of a shorter one, sums in f32, the same bits in every run. Tensor cores compute f32 as
/// TensorFloat-32. Transformed convolutions (Winograd, FFT) round otherwise than the sum.
bool takes_notes(std::span<const cudnnBackendNumericalNote_t> notes, ElementType element);

/// Nothing where the engine turns out not to run the graph.
std::optional<Descriptor> plan_of(const EngineConfiguration& engine, const PlanTarget& target);

std::int64_t workspace_bytes_of(const Descriptor& plan);

/// Addresses for a plan.
struct PlanMemory {
  void* x;
  void* w;
  void* y;
  void* workspace;
};
Descriptor variant_pack(const PlanMemory& memory);

}  // namespace regatta::cuda
