// SPDX-License-Identifier: Apache-2.0
//
// Convolutions with Winograd's algorithm F(4 x 4, 3 x 3), for marked nodes
// (kernels/rewrite/winograd.h): oneDNN computes 36 matrix products for every 16 results, where a
// direct sum takes 144. Images are cut into tiles of 4 x 4 pixels. Each thread processes its share
// of all tiles in blocks: it transforms a block to its points (winograd_tiles.h), multiplies, and
// transforms the products back. Intermediate values are f32 in memory that the lane's kernels use
// in turn. Threads wait for each other only when weights are transformed and at the end.
//   forward:           M[36, tiles, O] = V[36, tiles, I] U[36, O, I]'
//   backward data:     M[36, tiles, I] = V[36, tiles, O] U[36, O, I], of flipped weights
//   backward weights:  U[36, O, I] = sum over blocks of D[36, tiles, O]' V[36, tiles, I]
// An image's result depends neither on the rest of the batch nor on the number of threads;
// gradients of weights are each thread's sums, added in order.
#include <algorithm>
#include <memory>
#include <vector>

#include "kernels/cpu/convolution_paths.h"
#include "kernels/cpu/element.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/parallel.h"
#include "kernels/cpu/winograd_blocks.h"
#include "kernels/cpu/winograd_products.h"
#include "kernels/cpu/winograd_tiles.h"
#include "kernels/graph/collective.h"

namespace regatta::cpu {
namespace {

using namespace winograd;

/// Transforms a block's data: 6 x 6 pixels for each tile, from one pixel above and left of it.
template <typename T>
void data_to_points(const Tiles& tiles, const Images& images, const Range& range,
                    const Planes& planes) {
  for (std::int64_t i = range.begin; i < range.end; ++i) {
    const Tiles::Tile tile = tiles.at(i);
    to_points<kReach>(images.corner<T>(tile, 1),
                      {.line = images.line(), .pixel = images.channels()}, images.channels(),
                      tiles.inside(tile, 1, kReach), planes, i - range.begin,
                      [](const Line<6>& d) { return points_of_data(d); });
  }
}

enum class Pass : std::uint8_t { Forward, BackwardData };

/// Forward, and backward data, which is the same with flipped weights.
template <typename T>
class ImagesByWinograd final : public Kernel {
 public:
  ImagesByWinograd(const KernelRequest& request, Pass pass)
      : pass_(pass),
        from_{request.inputs[0]},
        weights_(request.inputs[1]),
        to_{request.outputs[0]},
        tiles_(from_.tensor.type),
        blocks_(
            tiles_.count, request.threads,
            tiles_of_a_block(from_.channels() + to_.channels(), from_.channels() * to_.channels())),
        factors_{weights_.type.dim(0), weights_.type.dim(3)},
        given_{blocks_.rows(), from_.channels()},
        products_{blocks_.rows(), to_.channels()},
        factors_part_(room_.add(factors_.bytes())) {
    for (int thread = 0; thread < blocks_.threads; ++thread) {
      threads_.push_back({room_.add(given_.bytes()), room_.add(products_.bytes()),
                          std::make_unique<Products>(
                              onednn::Product{.x = given_.plain(),
                                              .weights = pass == Pass::Forward ? factors_.turned()
                                                                               : factors_.plain(),
                                              .y = products_.plain()},
                              room_)});
    }
    room_.reserve();
  }

  void run(const StepContext&) override {
    parallel_parts(blocks_.threads, [this](int thread) { transform_weights(thread); });
    parallel_parts(blocks_.threads, [this](int thread) {
      blocks_.for_each_of(thread, [&](const Range& range) { run_block(thread, range); });
    });
  }

 private:
  struct OfThread {
    Room::Part given, products;
    std::unique_ptr<Products> multiply;
  };

  void transform_weights(int thread) {
    const Planes planes = factors_.at(room_.at(factors_part_));
    const std::int64_t inputs = factors_.columns, window = kWindow * kWindow * inputs;
    const Range mine = share(factors_.rows, blocks_.threads, thread);
    for (std::int64_t o = mine.begin; o < mine.end; ++o) {
      const T* first = weights_.as<T>() + o * window;
      const Inside whole{0, kWindow, 0, kWindow};
      const auto transform = [](const Line<3>& g) { return points_of_factor(g); };
      if (pass_ == Pass::Forward) {
        to_points<kWindow>(first, {.line = kWindow * inputs, .pixel = inputs}, inputs, whole,
                           planes, o, transform);
      } else {
        to_points<kWindow>(first + window - inputs, {.line = -kWindow * inputs, .pixel = -inputs},
                           inputs, whole, planes, o, transform);
      }
    }
  }

  void run_block(int thread, const Range& range) {
    OfThread& mine = threads_[static_cast<std::size_t>(thread)];
    const Planes given = given_.at(room_.at(mine.given));
    const Planes products = products_.at(room_.at(mine.products));
    data_to_points<T>(tiles_, from_, range, given);
    mine.multiply->run(room_, given, factors_.at(room_.at(factors_part_)), products);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      write_tile(tiles_.at(i), products.row(i - range.begin), products.plane);
    }
  }

  void write_tile(const Tiles::Tile& tile, const float* from, std::int64_t plane) {
    T* corner = to_.corner<T>(tile, 0);
    const Inside inside = tiles_.inside(tile, 0, kTile);
    for_each_run(to_.channels(), [&](std::int64_t c) {
      const auto square = from_points<kTile>(from + c, plane);
      T* to = corner + c;
      for (int i = 0; i < inside.bottom; ++i) {
        for (int j = 0; j < inside.right; ++j) {
          store_lanes(to + i * to_.line() + j * to_.channels(), square[i][j], AllLanes{});
        }
      }
    });
  }

  Pass pass_;
  Images from_;
  Tensor weights_;
  Images to_;
  Tiles tiles_;
  Blocks blocks_;
  Extent factors_, given_, products_;
  Room room_;
  Room::Part factors_part_;
  std::vector<OfThread> threads_;
};

template <typename T>
class WeightsByWinograd final : public Kernel {
 public:
  explicit WeightsByWinograd(const KernelRequest& request)
      : dy_{request.inputs[0]},
        x_{request.inputs[1]},
        dw_(request.outputs[0].f32()),
        tiles_(x_.tensor.type),
        blocks_(
            tiles_.count, request.threads,
            tiles_of_a_block(x_.channels() + dy_.channels(), 2 * x_.channels() * dy_.channels())),
        data_{blocks_.rows(), x_.channels()},
        gradients_{blocks_.rows(), dy_.channels()},
        sums_{dy_.channels(), x_.channels()} {
    for (int thread = 0; thread < blocks_.threads; ++thread) {
      const auto multiply = [&](onednn::Store store) {
        return std::make_unique<Products>(onednn::Product{.x = gradients_.turned(),
                                                          .weights = data_.plain(),
                                                          .y = sums_.plain(),
                                                          .store = store},
                                          room_);
      };
      threads_.push_back({room_.add(data_.bytes()), room_.add(gradients_.bytes()),
                          room_.add(sums_.bytes()), multiply(onednn::Store::Replace),
                          blocks_.each > 1 ? multiply(onednn::Store::Add) : nullptr});
    }
    room_.reserve();
  }

  void run(const StepContext&) override {
    parallel_parts(blocks_.threads, [this](int thread) {
      bool first = true;
      blocks_.for_each_of(thread, [&](const Range& range) {
        run_block(thread, range, first);
        first = false;
      });
    });
    parallel_parts(blocks_.threads, [this](int thread) { write_weights(thread); });
  }

 private:
  struct OfThread {
    Room::Part data, gradients, sums;
    std::unique_ptr<Products> first, others;
  };

  void run_block(int thread, const Range& range, bool first) {
    OfThread& mine = threads_[static_cast<std::size_t>(thread)];
    const Planes data = data_.at(room_.at(mine.data));
    const Planes gradients = gradients_.at(room_.at(mine.gradients));
    data_to_points<T>(tiles_, x_, range, data);
    for (std::int64_t i = range.begin; i < range.end; ++i) {
      const Tiles::Tile tile = tiles_.at(i);
      to_points<kTile>(dy_.corner<T>(tile, 0), {.line = dy_.line(), .pixel = dy_.channels()},
                       dy_.channels(), tiles_.inside(tile, 0, kTile), gradients, i - range.begin,
                       [](const Line<4>& g) { return points_of_factor(g); });
    }
    clear_rows(data, range.size());
    clear_rows(gradients, range.size());
    (first ? mine.first : mine.others)->run(room_, gradients, data, sums_.at(room_.at(mine.sums)));
  }

  /// Clears the rows that the largest block has but this one does not.
  void clear_rows(const Planes& planes, std::int64_t used) const {
    for (std::int64_t row = used; row < data_.rows; ++row) {
      for (std::int64_t k = 0; k < kPoints; ++k) {
        std::fill_n(planes.row(row) + k * planes.plane, planes.width, 0.0F);
      }
    }
  }

  void write_weights(int thread) {
    const std::int64_t inputs = x_.channels();
    const Range mine = share(sums_.rows, blocks_.threads, thread);
    for (std::int64_t o = mine.begin; o < mine.end; ++o) {
      add_up(o);
      const Planes sums = sums_.at(room_.at(threads_[0].sums));
      for_each_run(inputs, [&](std::int64_t c) {
        const auto square = from_points<kWindow>(sums.row(o) + c, sums.plane);
        for (int tap = 0; tap < kWindow * kWindow; ++tap) {
          store_lanes(dw_ + (o * kWindow * kWindow + tap) * inputs + c,
                      square[tap / kWindow][tap % kWindow], AllLanes{});
        }
      });
    }
  }

  /// Adds all threads' sums of an output to the first thread's.
  void add_up(std::int64_t output) {
    const Planes total = sums_.at(room_.at(threads_[0].sums));
    for (std::size_t thread = 1; thread < threads_.size(); ++thread) {
      const Planes part = sums_.at(room_.at(threads_[thread].sums));
      for (std::int64_t k = 0; k < kPoints; ++k) {
        float* to = total.row(output) + k * total.plane;
        const float* from = part.row(output) + k * part.plane;
#pragma omp simd
        for (std::int64_t c = 0; c < total.width; ++c) to[c] += from[c];
      }
    }
  }

  Images dy_, x_;
  float* dw_;
  Tiles tiles_;
  Blocks blocks_;
  Extent data_, gradients_, sums_;
  Room room_;
  std::vector<OfThread> threads_;
};

}  // namespace

KernelPointer convolution_winograd(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) -> KernelPointer {
    return std::make_unique<ImagesByWinograd<T>>(request, Pass::Forward);
  });
}

KernelPointer convolution_backward_data_winograd(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) -> KernelPointer {
    return std::make_unique<ImagesByWinograd<T>>(request, Pass::BackwardData);
  });
}

KernelPointer convolution_backward_weights_winograd(const KernelRequest& request) {
  return with_element(request.inputs[0].type.element, [&]<typename T>(T) -> KernelPointer {
    return std::make_unique<WeightsByWinograd<T>>(request);
  });
}

}  // namespace regatta::cpu
