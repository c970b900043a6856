// SPDX-License-Identifier: Apache-2.0
//
// The matrix products of Winograd's algorithm for one block, by oneDNN, and their memory in the
// lane's scratch (convolution_winograd.cpp).
#pragma once

#include <omp.h>

#include <cstddef>
#include <memory>

#include "kernels/cpu/buffer.h"
#include "kernels/cpu/onednn.h"
#include "kernels/cpu/winograd_tiles.h"
#include "kernels/runtime/scratch.h"

namespace regatta::cpu::winograd {

/// Rows and columns of one point's matrix. The 36 matrices are contiguous: oneDNN is many times
/// slower on separate matrices.
struct Extent {
  std::int64_t rows, columns;
  std::int64_t plane() const { return rows * columns; }
  std::size_t bytes() const { return static_cast<std::size_t>(kPoints * plane()) * sizeof(float); }
  Planes at(std::byte* begin) const { return {reinterpret_cast<float*>(begin), plane(), columns}; }
  onednn::Descriptor plain() const {
    return onednn::describe_strided({kPoints, rows, columns}, {plane(), columns, 1});
  }
  onednn::Descriptor turned() const {
    return onednn::describe_strided({kPoints, columns, rows}, {plane(), 1, columns});
  }
};

/// Limits oneDNN's primitives to one OpenMP thread while this object exists.
class OneThread {
 public:
  OneThread() : before_(omp_get_max_threads()) { omp_set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { omp_set_num_threads(before_); }

 private:
  int before_;
};

/// Lays out memory in the lane's scratch: add() appends parts, reserve() then obtains the memory,
/// and at() returns a part's address in it.
class Room {
 public:
  struct Part {
    std::size_t offset;
  };
  Part add(std::size_t bytes) {
    const Part part{end_};
    end_ += (bytes + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
    return part;
  }
  void reserve() {
    scratch_->reserve(end_, [begin = begin_](std::byte* memory) { *begin = memory; });
  }
  std::byte* at(const Part& part) const { return *begin_ + part.offset; }

 private:
  std::shared_ptr<Scratch> scratch_ = Scratch::of_the_lane();
  std::shared_ptr<std::byte*> begin_ = std::make_shared<std::byte*>(nullptr);
  std::size_t end_ = 0;
};

/// The 36 matrix products of one block, as a batched oneDNN product on one thread.
class Products {
 public:
  Products(const onednn::Product& product, Room& room)
      : choice_([&] {
          const OneThread scope;
          return onednn::choose(product);
        }()),
        scratchpad_part_(room.add(choice_.scratchpad.get_size())) {
    program_.add(choice_.primitive,
                 {{DNNL_ARG_SRC, left_ = program_.bind(choice_.x, nullptr)},
                  {DNNL_ARG_WEIGHTS, right_ = program_.bind(choice_.weights, nullptr)},
                  {DNNL_ARG_DST, result_ = program_.bind(choice_.y, nullptr)},
                  {DNNL_ARG_SCRATCHPAD, scratchpad_ = program_.bind(choice_.scratchpad, nullptr)}});
  }

  void run(const Room& room, const Planes& left, const Planes& right, const Planes& result) {
    left_.set_data_handle(left.data);
    right_.set_data_handle(right.data);
    result_.set_data_handle(result.data);
    scratchpad_.set_data_handle(room.at(scratchpad_part_));
    program_.run({});
  }

 private:
  onednn::Choice choice_;
  Room::Part scratchpad_part_;
  onednn::Program program_;
  dnnl::memory left_, right_, result_, scratchpad_;
};

}  // namespace regatta::cpu::winograd
