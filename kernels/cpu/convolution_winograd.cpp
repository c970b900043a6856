// SPDX-License-Identifier: Apache-2.0
//
// Convolutions of f32 by oneDNN's Winograd F(4 x 4, 3 x 3), for nodes that are marked
// (kernels/graph/winograd.h). oneDNN wants images in groups of 16 channels and, for each layer, the
// transformed tiles of all images at once. So a batch goes in blocks of images: each is copied to
// that layout, computed and copied back, in memory that the lane's kernels use in turn and that is
// small enough to stay near the core. Gradients of weights add up over the blocks, in order.
#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <utility>
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

  /// What computes blocks of so many images, and where in the scratch they lie.
  struct Block {
    Choice choice;
    dnnl::memory x, weights, y, scratchpad;
  };

  const Block& block_of(std::int64_t count) {
    const auto [found, is_new] = blocks_.try_emplace(count);
    Block& block = found->second;
    if (!is_new) return block;
    const Range range{0, count};
    block.choice = onednn::choose(onednn::Convolution{
        .pass = pass_,
        .algorithm = onednn::Algorithm::Winograd,
        .x = onednn::describe_images(images(tensors_.x, range).type, Layout::Preferred),
        .weights = onednn::describe_weights(tensors_.weights.type, 1, Layout::Preferred),
        .y = onednn::describe_images(images(tensors_.y, range).type, Layout::Preferred),
        .padding = 1});
    const Choice& choice = block.choice;
    std::vector<std::pair<dnnl::memory, std::size_t>> places;
    std::size_t end = 0;
    const auto set_aside = [&](const Descriptor& layout) {
      places.emplace_back(program_.bind(layout, nullptr), end);
      end += (layout.get_size() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
      return places.back().first;
    };
    block.x = set_aside(choice.x);
    block.y = set_aside(choice.y);
    block.scratchpad = set_aside(choice.scratchpad);
    block.weights = pass_ == Pass::BackwardWeights
                        ? set_aside(choice.weights)
                        : program_.read_as(choice.weights, plain_weights_, tensors_.weights.data);
    scratch_->reserve(end, [places](std::byte* begin) mutable {
      for (auto& [memory, offset] : places) memory.set_data_handle(begin + offset);
    });
    return block;
  }

  void add_block(const Range& range) {
    const Block& block = block_of(range.end - range.begin);
    const Tensor x = images(tensors_.x, range), y = images(tensors_.y, range);
    const dnnl::memory given_x = program_.bind(onednn::describe_images(x.type), x.data);
    const dnnl::memory given_y = program_.bind(onednn::describe_images(y.type), y.data);
    if (pass_ != Pass::BackwardData) program_.copy(given_x, block.x);
    if (pass_ != Pass::Forward) program_.copy(given_y, block.y);
    const Arguments index = arguments_of(pass_);
    program_.add(block.choice.primitive, {{index.x, block.x},
                                          {index.weights, block.weights},
                                          {index.y, block.y},
                                          {DNNL_ARG_SCRATCHPAD, block.scratchpad}});
    if (pass_ == Pass::Forward) program_.copy(block.y, given_y);
    if (pass_ == Pass::BackwardData) program_.copy(block.x, given_x);
    if (pass_ == Pass::BackwardWeights) add_up(block.weights, range);
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
  std::map<std::int64_t, Block> blocks_;  ///< by images: some have one more than others
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
