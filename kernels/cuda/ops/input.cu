// SPDX-License-Identifier: Apache-2.0
//
// input: the slice of a step's global batch, drawn, augmented and normalised on the GPU from the
// data set in its memory; the same bits as on the CPU (kernels/cpu/augmentation.h). A block makes
// one example: a crop of the original size from the image with its border, mirrored or not, with
// (byte - mean) / deviation for each channel, then a square of zeros.
#include <limits>
#include <type_traits>
#include <utility>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/cuda/device/resident_data.h"
#include "kernels/cuda/device/upload.h"
#include "kernels/cuda/ops/element.h"
#include "kernels/cuda/ops/example_order.h"
#include "kernels/data/data_order.h"
#include "kernels/runtime/capture/queued_counts.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

/// Chooses the example at place i of the slice.
struct Chooser {
  const StepValues* step;
  SlicePosition position;
  const std::int32_t* order;        ///< null: the data set's own order
  std::uint64_t* digest = nullptr;  ///< digest of the consumed examples; null: not counted

  __host__ __device__ std::int64_t operator()(std::int64_t i) const {
    const std::int64_t place = position.first_of(step->step) + i;
    return order == nullptr ? place : order[place];
  }

  __host__ __device__ std::int64_t in_batch(std::int64_t i) const { return position.offset + i; }

  /// Adds an example to the digest. Blocks add in any order; an emulated queue runs them in turn.
  __host__ __device__ void count(std::uint64_t one) const {
    if (digest == nullptr) return;
    const std::uint64_t part = order_weight(step->step) * one;
#ifdef __CUDA_ARCH__
    atomicAdd(reinterpret_cast<unsigned long long*>(digest), part);
#else
    *digest += part;
#endif
  }
};

template <typename T>
struct FillImages {
  Chooser choose;
  AugmentationRanges ranges;
  Augmentation::Border border;
  bool augments;
  std::uint64_t seed;
  const std::uint8_t* images;
  const std::int32_t* labels;
  const float* mean;  ///< [channels]
  const float* deviation;
  std::int32_t channels;
  T* examples;
  std::int32_t* targets;

  struct Choice {
    std::int64_t example;
    AugmentationDraw draw;
  };

  __host__ __device__ void operator()(const Block& block) const {
    auto* choice = reinterpret_cast<Choice*>(block.shared);
    block.each([&](int thread) {
      if (thread != 0) return;
      const std::int64_t example = choose(block.index);
      const std::int64_t epoch = choose.position.epoch_of(choose.step->step);
      *choice = {
          .example = example,
          .draw = augments ? draw_augmentation(seed, epoch, example, ranges) : AugmentationDraw{}};
      targets[block.index] = labels[example];
      choose.count(order_digest(choose.in_batch(block.index), example, choice->draw));
    });
    block.each([&](int thread) {
      const auto side = static_cast<std::int32_t>(ranges.side), row = side * channels;
      const std::uint8_t* image = images + choice->example * side * row;
      T* to = examples + block.index * side * row;
      for (std::int32_t i = thread; i < side * row; i += block.threads) {
        const std::int32_t y = i / row, x = i % row / channels, channel = i % channels;
        store(to[i], pixel(image, choice->draw, y, x, channel));
      }
    });
  }

  __host__ __device__ float pixel(const std::uint8_t* image, const AugmentationDraw& draw,
                                  std::int32_t y, std::int32_t x, std::int32_t channel) const {
    const auto side = static_cast<std::int32_t>(ranges.side);
    const auto cutout = static_cast<std::int32_t>(ranges.cutout);
    if (y >= draw.cutout_y && y < draw.cutout_y + cutout && x >= draw.cutout_x &&
        x < draw.cutout_x + cutout) {
      return 0;
    }
    const std::int32_t row = source_of(y + draw.shift_y);
    const std::int32_t column = source_of((draw.flip ? side - 1 - x : x) + draw.shift_x);
    const bool black = row == kBlack || column == kBlack;
    const std::uint8_t byte = black ? 0 : image[(row * side + column) * channels + channel];
    return (static_cast<float>(byte) - mean[channel]) / deviation[channel];
  }

  static constexpr std::int32_t kBlack = -1;

  /// The row or column of the image at `index` of the image with its border; kBlack: none.
  __host__ __device__ std::int32_t source_of(std::int32_t index) const {
    const auto side = static_cast<std::int32_t>(ranges.side);
    const std::int32_t inside = index - static_cast<std::int32_t>(ranges.pad);
    if (inside >= 0 && inside < side) return inside;
    if (border == Augmentation::Border::Black) return kBlack;
    return inside < 0 ? -inside : 2 * (side - 1) - inside;
  }
};

/// Rows of `width` numbers, by example. `From`: float or std::int32_t; `T` differs for bf16.
template <typename From, typename T>
struct FillRows {
  Chooser choose;
  const From* from;
  std::int64_t width;
  T* to;

  __host__ __device__ void operator()(std::int64_t i) const {
    const std::int64_t row = i / width, example = choose(row);
    const From value = from[example * width + i % width];
    if constexpr (std::is_same_v<From, T>) {
      to[i] = value;
    } else {
      store(to[i], value);
    }
    if (i % width == 0) choose.count(order_digest(choose.in_batch(row), example));
  }
};

/// The memory of an order, and the kernel that draws it.
class Order {
 public:
  Order(const Queue& queue, const InputPlan& plan)
      : shuffled_(plan.is_shuffled()),
        drawn_(upload<std::int64_t>(queue, std::vector<std::int64_t>{-1})),
        numbers_(queue, shuffled_ ? (4 * plan.data->count + 2) * kBytes : 0),
        body_{.step = queue.values(),
              .position = plan.position(),
              .seed = plan.seed,
              .count = static_cast<std::int32_t>(plan.data->count),
              .drawn = drawn_.as<std::int64_t>()} {
    if (!shuffled_) return;
    body_.order = numbers_.as<std::int32_t>();
    body_.heads = body_.order + body_.count;
    body_.targets = body_.heads + body_.count;
    body_.links = body_.targets + body_.count + 1;
  }

  void draw(Queue& queue) const {
    if (shuffled_) for_each_block(queue, 1, DrawOrder::kThreads, 0, body_);
  }
  Chooser chooser(std::uint64_t* digest) const {
    return {.step = body_.step, .position = body_.position, .order = body_.order, .digest = digest};
  }

 private:
  static constexpr auto kBytes = static_cast<std::int64_t>(sizeof(std::int32_t));

  bool shuffled_;
  Scratch drawn_;
  Scratch numbers_;
  DrawOrder body_;
};

std::uint64_t* digest_of(const KernelRequest& request) {
  return request.counts == nullptr ? nullptr : &request.counts->data_order;
}

template <typename T>
KernelPointer build_images(const KernelRequest& request, const InputPlan& plan,
                           const std::shared_ptr<Order>& order) {
  Queue* queue = &queue_of(request);
  const auto data = resident(*queue, *plan.data);
  const Augmentation& augmentation = plan.augmentation;
  std::vector<float> line(augmentation.mean.begin(), augmentation.mean.end());
  line.insert(line.end(), augmentation.deviation.begin(), augmentation.deviation.end());
  const auto scales = std::make_shared<Scratch>(upload<float>(*queue, line));
  const FillImages<T> body{.choose = order->chooser(digest_of(request)),
                           .ranges = plan.ranges(),
                           .border = augmentation.border,
                           .augments = plan.augments,
                           .seed = plan.seed,
                           .images = static_cast<const std::uint8_t*>(data->inputs),
                           .labels = static_cast<const std::int32_t*>(data->targets),
                           .mean = scales->template as<float>(),
                           .deviation = scales->template as<float>() + plan.channels(),
                           .channels = static_cast<std::int32_t>(plan.channels()),
                           .examples = request.outputs[0].template as<T>(),
                           .targets = request.outputs[1].template as<std::int32_t>()};
  return make_kernel(
      [=, batch = plan.slice.batch, keep = std::pair(data, scales)](const StepContext&) {
        order->draw(*queue);
        for_each_block(*queue, batch, 256, sizeof(typename FillImages<T>::Choice), body);
      });
}

template <typename From, typename T, typename Target>
KernelPointer build_rows(const KernelRequest& request, const InputPlan& plan,
                         const std::shared_ptr<Order>& order) {
  Queue* queue = &queue_of(request);
  const auto data = resident(*queue, *plan.data);
  const FillRows<From, T> inputs{.choose = order->chooser(digest_of(request)),
                                 .from = static_cast<const From*>(data->inputs),
                                 .width = plan.data->inputs.elements(),
                                 .to = request.outputs[0].template as<T>()};
  const FillRows<Target, Target> targets{.choose = order->chooser(nullptr),
                                         .from = static_cast<const Target*>(data->targets),
                                         .width = plan.data->targets.elements(),
                                         .to = request.outputs[1].template as<Target>()};
  return make_kernel([=, batch = plan.slice.batch, keep = data](const StepContext&) {
    order->draw(*queue);
    for_each(*queue, batch * inputs.width, inputs);
    for_each(*queue, batch * targets.width, targets);
  });
}

template <typename From, typename T>
KernelPointer build_rows(const KernelRequest& request, const InputPlan& plan,
                         const std::shared_ptr<Order>& order) {
  return request.outputs[1].type.element == ElementType::I32
             ? build_rows<From, T, std::int32_t>(request, plan, order)
             : build_rows<From, T, float>(request, plan, order);
}

KernelPointer input(const KernelRequest& request) {
  const InputPlan plan(request.node.attributes, request.data, request.seed);
  if (plan.data->count >= std::numeric_limits<std::int32_t>::max()) {
    throw RunError(ErrorKind::Unsupported, "a data set on a GPU has fewer than 2^31 examples");
  }
  const auto order = std::make_shared<Order>(queue_of(request), plan);
  if (request.outputs[0].type.element == ElementType::I32) {
    return build_rows<std::int32_t, std::int32_t>(request, plan, order);
  }
  return with_element(request.outputs[0].type.element, [&]<typename T>(T) {
    return plan.images ? build_images<T>(request, plan, order)
                       : build_rows<float, T>(request, plan, order);
  });
}

}  // namespace

KernelRows input_kernels() { return {{Op::Input, input}}; }

}  // namespace regatta::cuda
