// SPDX-License-Identifier: Apache-2.0
//
// The interface to oneDNN. Differences between its versions 2.x and 3.x stay in onednn.cpp. Every
// call is checked: an error becomes RunError(Unsupported) with oneDNN's message and the caller's
// line. A Program is a kernel made of primitives; its scratch memory and arguments are bound when
// it is built. Threads: primitives use the OpenMP setting of the thread that builds and runs them.
#pragma once

#include <cstddef>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <source_location>
#include <vector>

#include "kernels/runtime/kernel.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::onednn {

using Descriptor = dnnl::memory::desc;
using Format = dnnl::memory::format_tag;

/// Whether the processor has these instructions and ONEDNN_MAX_CPU_ISA, if set, allows them; it
/// limits our own kernels, too.
bool uses(dnnl::cpu_isa instructions);

/// Describes a tensor: dimensions in oneDNN's logical order (images NCHW, weights OIHW, matrices
/// rows first), elements laid out by `format`.
Descriptor describe(const dnnl::memory::dims& dims, ElementType element, Format format,
                    std::source_location where = std::source_location::current());

/// Describes a tensor of f32 with these strides, in elements.
Descriptor describe_strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides,
                            std::source_location where = std::source_location::current());

enum class Layout : std::uint8_t {
  Plain,     ///< the layout of the graph's tensor
  Preferred  ///< the layout that the implementation prefers
};
/// Describes images, which the graph stores as [B, H, W, C].
Descriptor describe_images(const TensorType& images);

/// Describes weights of a convolution, which the graph stores as [O, K, K, I / groups]. With
/// several groups, the first dimension of oneDNN's description is the group.
Descriptor describe_weights(const TensorType& weights, std::int64_t groups, Layout layout);

/// A chosen primitive and the layouts that it requires for its tensors.
struct Choice {
  dnnl::primitive primitive;
  Descriptor x;        ///< of a product: the left factor
  Descriptor weights;  ///< the right factor
  Descriptor y;
  Descriptor scratchpad;
};

enum class Pass : std::uint8_t { Forward, BackwardData, BackwardWeights };

struct Convolution {
  Pass pass = Pass::Forward;
  Descriptor x;
  Descriptor weights;
  Descriptor y;
  std::int64_t stride = 1;
  std::int64_t padding = 0;
};
Choice choose(const Convolution& convolution,
              std::source_location where = std::source_location::current());

/// Whether results replace the target or are added to it.
enum class Store : std::uint8_t { Replace, Add };

/// The product y = x weights, or y += x weights; tensors of three dimensions give one product for
/// each index of the first dimension.
struct Product {
  Descriptor x;
  Descriptor weights;
  Descriptor y;
  Store store = Store::Replace;
};
Choice choose(const Product& product, std::source_location where = std::source_location::current());

class Program final : public Kernel {
 public:
  dnnl::memory bind(const Descriptor& layout, void* data);
  /// Returns memory that has the contents of `data` in the layout `wanted`: `data` itself if its
  /// `layout` is the same, otherwise a buffer that each run first fills from `data`.
  dnnl::memory read_as(const Descriptor& wanted, const Descriptor& layout, void* data);
  /// Returns memory in the layout `wanted` for results that belong in `data`: `data` itself if its
  /// `layout` is the same, otherwise a buffer from which copy() must move them.
  dnnl::memory write_as(const Descriptor& wanted, const Descriptor& layout, void* data);

  struct Argument {
    int index;  ///< DNNL_ARG_...
    dnnl::memory memory;
  };
  void add(const dnnl::primitive& primitive, const Descriptor& scratchpad,
           std::vector<Argument> arguments);
  /// Appends a primitive whose arguments include the scratchpad, if it needs one.
  void add(const dnnl::primitive& primitive, std::vector<Argument> arguments);
  /// Appends a copy from `source` to `target` unless they are the same memory.
  void copy(const dnnl::memory& source, const dnnl::memory& target);

  void run(const StepContext&) override;

 private:
  struct Instruction {
    dnnl::primitive primitive;
    std::vector<Argument> memories;  ///< keeps the handles alive
    std::vector<dnnl_exec_arg_t> arguments;
  };

  dnnl::memory allocate(const Descriptor& layout);

  std::vector<Instruction> instructions_;
  std::shared_ptr<Scratch> scratch_ = Scratch::of_the_lane();  ///< each run fills it anew
  std::size_t temporary_bytes_ = 0;
};

}  // namespace regatta::cpu::onednn
