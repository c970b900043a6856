// SPDX-License-Identifier: Apache-2.0
//
// The part of cuDNN's graph API that a convolution needs: descriptors, a graph with a single
// operation, the engines that could run the graph, and a plan for one of these engines. Plans are
// made for the GPU of a handle or for a GPU described by its properties, so that tests without a
// GPU can check that cuDNN accepts our graphs and has engines for them.
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

/// Owns a cuDNN backend descriptor.
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
  /// Sets an attribute that is one enumerator of the given kind.
  template <typename Enumerator>
  void set_enumerator(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t kind,
                      Enumerator value) {
    static_assert(sizeof(Enumerator) == sizeof(int));
    set_values(name, kind, 1, &value);
  }

  std::int64_t integer(cudnnBackendAttributeName_t name) const;
  cudnnBackendDescriptor_t get() const { return opaque_; }

  /// Finalizes the descriptor. Throws: RunError(Device).
  void finalize();
  /// Finalizes the descriptor. Returns false if the library does not support its attributes.
  [[nodiscard]] bool try_finalize();

 private:
  void set_values(cudnnBackendAttributeName_t name, cudnnBackendAttributeType_t type,
                  std::int64_t count, const void* values);

  cudnnBackendDescriptor_t opaque_ = nullptr;
};

/// The GPU for which a plan is made: the GPU of `handle`, or the one that `properties` describes.
struct PlanTarget {
  cudnnHandle_t handle = nullptr;
  const Descriptor* properties = nullptr;
};

/// Unique ids of a graph's tensors.
inline constexpr std::int64_t kX = 1;
inline constexpr std::int64_t kW = 2;
inline constexpr std::int64_t kY = 3;

/// Alignment of every tensor of a graph. Units: bytes.
inline constexpr std::int64_t kTensorAlignment = 16;

/// Returns the descriptors of one pass of a convolution: the last one is the graph, the others are
/// its parts. Inputs and results have the type `element`; sums are f32.
std::vector<Descriptor> convolution_graph(ConvolutionPass pass, const ConvolutionShape& shape,
                                          ElementType element, const PlanTarget& target);

struct EngineConfiguration {
  Descriptor configuration;
  std::int64_t engine = 0;
};

/// Returns engines that could run the graph, presumably the fastest first: at most `most`, and only
/// those whose numerical notes takes_notes() accepts.
std::vector<EngineConfiguration> engines_for(const Descriptor& graph, ElementType element,
                                             const PlanTarget& target, std::size_t most);

/// Whether an engine with these numerical notes meets our requirements: products in the type
/// `element`, not in a shorter type; sums in f32; the same bits in every run. Rejected are tensor
/// cores for f32, which they compute as TensorFloat-32, and transformed convolutions (Winograd,
/// FFT), which round differently from the direct sum.
bool takes_notes(std::span<const cudnnBackendNumericalNote_t> notes, ElementType element);

/// Makes a plan with the engine; empty if it turns out that the engine cannot run the graph.
std::optional<Descriptor> plan_of(const EngineConfiguration& engine, const PlanTarget& target);

/// Largest workspace: engines that need more are left out, as a race leaves them little memory.
inline constexpr std::int64_t kMostWorkspaceBytes = std::int64_t{512} << 20;

std::int64_t workspace_bytes_of(const Descriptor& plan);

/// Addresses of a plan's tensors and of its workspace.
struct PlanMemory {
  void* x;
  void* w;
  void* y;
  void* workspace;
};
Descriptor variant_pack(const PlanMemory& memory);

}  // namespace regatta::cuda
