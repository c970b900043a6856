// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of f32 by oneDNN's Winograd F(4 x 4, 3 x 3), for nodes that are marked
// (kernels/graph/winograd.h). oneDNN wants images in groups of 16 channels and, for each layer, the
// transformed tiles of all images at once. So a batch goes in blocks of images: each is copied to
// that layout, computed and copied back, in memory that the lane's kernels use in turn and that is
// small enough to stay near the core. Gradients of weights add up over the blocks, in order.
#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/cpu_kernels.h"
#include "kernels/cpu/onednn.h"
#include "kernels/graph/collective.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu {
namespace {

using onednn::Choice;
using onednn::Descriptor;
using onednn::Layout;
using onednn::Pass;

// Of each thread. Of fewer tiles each costs more, as a block transforms the weights anew; more do
// not stay in a cache (64 to 16,384 tried on layers of 24 to 512 channels; AMD Zen 5).
constexpr std::int64_t kTilesOfABlock = 256;
constexpr std::int64_t kTileSide = 4;  // of a result. Units: pixels

std::int64_t quotient_up(std::int64_t count, std::int64_t size) {
  return (count + size - 1) / size;
}

/// The tensors of a convolution, whichever of them a pass computes.
struct Tensors {
  Tensor x;
  Tensor weights;
  Tensor y;
};

std::int64_t blocks_of(const Tensors& t, int threads) {
  const std::int64_t rows = t.x.type.dim(1), columns = t.x.type.dim(2);
  const std::int64_t tiles = quotient_up(rows, kTileSide) * quotient_up(columns, kTileSide);
  const std::int64_t batch = t.x.type.dim(0);
  return std::min(batch, quotient_up(batch * tiles, kTilesOfABlock * threads));
}

Tensor images(const Tensor& all, const Range& range) {
  const std::int64_t of_an_image = all.elements() / all.type.dim(0);
  Tensor some = all;
  some.type.dims[0] = range.end - range.begin;
  some.data = all.f32() + range.begin * of_an_image;
  return some;
}

class WinogradConvolution final : public Kernel {
 public:
  WinogradConvolution(const KernelRequest& request, const Tensors& tensors, Pass pass)
      : tensors_(tensors),
        pass_(pass),
        plain_weights_(onednn::describe_weights(tensors.weights.type, 1, Layout::Plain)) {
    if (const std::string why = why_cpu_lacks_winograd(); !why.empty()) {
      throw RunError(ErrorKind::Unsupported, why + "; run with --winograd off");
    }
    const std::int64_t blocks = blocks_of(tensors, request.threads);
    for (std::int64_t block = 0; block < blocks; ++block) {
      add_block(share(tensors.x.type.dim(0), blocks, block));
    }
  }

  void run(const StepContext& context) override { program_.run(context); }

 private:
  struct Arguments {
    int x, weights, y;
  };
  static Arguments arguments_of(Pass pass) {
    switch (pass) {
      case Pass::Forward: return {DNNL_ARG_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DST};
      case Pass::BackwardData: return {DNNL_ARG_DIFF_SRC, DNNL_ARG_WEIGHTS, DNNL_ARG_DIFF_DST};
      case Pass::BackwardWeights: return {DNNL_ARG_SRC, DNNL_ARG_DIFF_WEIGHTS, DNNL_ARG_DIFF_DST};
    }
    return {};
  }

  /// Memory for each layout, one after the other in the scratch.
  std::vector<dnnl::memory> set_aside(const std::vector<Descriptor>& layouts) {
    std::vector<std::size_t> offsets{0};
    for (const Descriptor& layout : layouts) {
      offsets.push_back(offsets.back() + (layout.get_size() + kBufferAlignment - 1) /
                                             kBufferAlignment * kBufferAlignment);
    }
    std::byte* const begin = scratch_->at_least(offsets.back());
    std::vector<dnnl::memory> memories;
    for (std::size_t i = 0; i < layouts.size(); ++i) {
      memories.push_back(program_.bind(layouts[i], begin + offsets[i]));
    }
    return memories;
  }

  void add_block(const Range& range) {
    const Tensor x = images(tensors_.x, range), y = images(tensors_.y, range);
    const Choice choice = onednn::choose(onednn::Convolution{
        .pass = pass_,
        .algorithm = onednn::Algorithm::Winograd,
        .x = onednn::describe_images(x.type, Layout::Preferred),
        .weights = onednn::describe_weights(tensors_.weights.type, 1, Layout::Preferred),
        .y = onednn::describe_images(y.type, Layout::Preferred),
        .padding = 1});
    const auto memories = set_aside({choice.x, choice.y, choice.scratchpad, choice.weights});
    const dnnl::memory &block_x = memories[0], &block_y = memories[1];
    const dnnl::memory given_x = program_.bind(onednn::describe_images(x.type), x.data);
    const dnnl::memory given_y = program_.bind(onednn::describe_images(y.type), y.data);
    const dnnl::memory weights =
        pass_ == Pass::BackwardWeights ? memories[3] : weights_as(choice.weights);

    if (pass_ != Pass::BackwardData) program_.copy(given_x, block_x);
    if (pass_ != Pass::Forward) program_.copy(given_y, block_y);
    const Arguments index = arguments_of(pass_);
    program_.add(choice.primitive, {{index.x, block_x},
                                    {index.weights, weights},
                                    {index.y, block_y},
                                    {DNNL_ARG_SCRATCHPAD, memories[2]}});
    if (pass_ == Pass::Forward) program_.copy(block_y, given_y);
    if (pass_ == Pass::BackwardData) program_.copy(block_x, given_x);
    if (pass_ == Pass::BackwardWeights) add_up(weights, range);
  }

  /// Blocks of as many images want one layout; those of one image fewer may want another.
  dnnl::memory weights_as(const Descriptor& layout) {
    if (!weights_ || weights_.get_desc() != layout) {
      weights_ = program_.read_as(layout, plain_weights_, tensors_.weights.data);
    }
    return weights_;
  }

  void add_up(const dnnl::memory& of_block, const Range& range) {
    const dnnl::memory sum = program_.bind(plain_weights_, tensors_.weights.data);
    if (range.begin == 0) {
      program_.copy(of_block, sum);
    } else {
      program_.accumulate(of_block, sum);
    }
  }

  Tensors tensors_;
  Pass pass_;
  std::shared_ptr<Scratch> scratch_ = Scratch::of_the_lane();
  Descriptor plain_weights_;
  dnnl::memory weights_;  ///< where they are read: in the layout of the block before
  onednn::Program program_;
};

}  // namespace

KernelPointer convolution_winograd(const KernelRequest& request) {
  return std::make_unique<WinogradConvolution>(
      request, Tensors{request.inputs[0], request.inputs[1], request.outputs[0]}, Pass::Forward);
}

KernelPointer convolution_backward_data_winograd(const KernelRequest& request) {
  return std::make_unique<WinogradConvolution>(
      request, Tensors{request.outputs[0], request.inputs[1], request.inputs[0]},
      Pass::BackwardData);
}

KernelPointer convolution_backward_weights_winograd(const KernelRequest& request) {
  return std::make_unique<WinogradConvolution>(
      request, Tensors{request.inputs[1], request.outputs[0], request.inputs[0]},
      Pass::BackwardWeights);
}

}  // namespace regatta::cpu
