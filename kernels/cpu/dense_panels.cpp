// SPDX-License-Identifier: Apache-2.0
//
// Backward weights of dense in f32: dw = dyᵀ x. A block of the batch is packed as panels (panels.h)
// of both operands; tiles of sums in registers then add its terms to dw.
#include "kernels/cpu/dense_paths.h"
#include "kernels/cpu/panels.h"
#include "kernels/cpu/parallel.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu {
namespace {

/// Rows of dy and x in a block: a panel of each stays in the first-level cache.
constexpr std::int64_t kBlock = 128;

class BackwardWeights {
 public:
  explicit BackwardWeights(const KernelRequest& request)
      : dy_(whole(request.inputs[0])),
        x_(whole(request.inputs[1])),
        dw_(request.outputs[0].f32()),
        parts_(parts_for(request.threads, dy_.rows * dy_.columns)),
        elements_((whole_panels(dy_.columns) + kPanel) * kBlock) {
    const auto bytes = static_cast<std::size_t>(parts_ * elements_) * sizeof(float);
    scratch_->reserve(bytes, [begin = begin_](std::byte* memory) { *begin = memory; });
  }

  void operator()(const StepContext&) const {
    parallel_parts(parts_, [this](int part) {
      float* scratch = reinterpret_cast<float*>(*begin_) + part * elements_;
      const Range all_outputs{0, dy_.columns}, all_inputs{0, x_.columns};
      if (dy_.columns >= x_.columns) {
        compute(share_of(dy_.columns, part), all_inputs, scratch);
      } else {
        compute(all_outputs, share_of(x_.columns, part), scratch);
      }
    });
  }

 private:
  enum class Sums : std::uint8_t { Begin, GoOn };

  static RowsOf<const float> whole(const Tensor& t) {
    return {t.f32(), t.type.columns(), t.type.rows(), t.type.columns()};
  }
  static RowsOf<const float> cut(const RowsOf<const float>& from, std::int64_t row,
                                 const Range& columns) {
    return {from.at + row * from.stride + columns.begin, from.stride,
            std::min(kBlock, from.rows - row), columns.size()};
  }

  /// Returns a part of `columns`, cut between panels.
  Range share_of(std::int64_t columns, int part) const {
    const Range panels = share(whole_panels(columns) / kPanel, parts_, part);
    return {std::min(columns, panels.begin * kPanel), std::min(columns, panels.end * kPanel)};
  }

  void compute(const Range& outputs, const Range& inputs, float* scratch) const {
    float* left = scratch + kPanel * kBlock;
    for (std::int64_t row = 0; row < x_.rows; row += kBlock) {
      pack(cut(dy_, row, outputs), kBlock, 1, left);
      for (std::int64_t i = inputs.begin; i < inputs.end; i += kPanel) {
        const RowsOf<const float> x = cut(x_, row, {i, std::min(inputs.end, i + kPanel)});
        pack(x, kBlock, 1, scratch);
        for (std::int64_t o = 0; o < outputs.size(); o += kTileRows) {
          PanelTile tile;
          tile.multiply<Left::Transposed>(left + o / kPanel * kPanel * kBlock + o % kPanel, 0,
                                          scratch, x.rows);
          put(tile, row == 0 ? Sums::Begin : Sums::GoOn,
              {.at = dw_ + (outputs.begin + o) * x_.columns + i,
               .stride = x_.columns,
               .rows = outputs.size() - o,
               .columns = x.columns});
        }
      }
    }
  }

  /// Writes a tile's sums to the target, which may have fewer rows and columns, or adds them.
  static void put(PanelTile& tile, Sums sums, const RowsOf<float>& to) {
    tile.each([&](Lanes terms, auto r, auto c) {
      if (r >= to.rows || c >= to.columns) return;
      float* at = to.at + r * to.stride + c;
      const auto write = [&](auto lanes) {
        store_lanes(at, sums == Sums::GoOn ? terms + load_lanes(at, lanes) : terms, lanes);
      };
      if (c + kLanes <= to.columns) {
        write(AllLanes{});
      } else {
        write(SomeLanes{static_cast<std::size_t>(to.columns - c)});
      }
    });
  }

  RowsOf<const float> dy_, x_;
  float* dw_;
  int parts_;
  std::int64_t elements_;  ///< of a part's scratch memory
  std::shared_ptr<Scratch> scratch_ = Scratch::of_the_lane();
  std::shared_ptr<std::byte*> begin_ = std::make_shared<std::byte*>(nullptr);
};

}  // namespace

KernelPointer dense_panels_backward_weights(const KernelRequest& request) {
  return make_kernel(BackwardWeights(request));
}

}  // namespace regatta::cpu
