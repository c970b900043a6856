// SPDX-License-Identifier: Apache-2.0
//
// Writes the bytes of a message into tensors, in order, or adds the message's elements to those of
// the tensors. The bytes come in pieces, which may end in the middle of an element and begin at any
// address.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <vector>

#include "kernels/runtime/kernel.h"

namespace regatta::comm {

enum class Landing : std::uint8_t {
  Replaces,  ///< overwrites the contents
  Adds,      ///< adds element by element; tensors are f32
};

class Scatter {
 public:
  Scatter(std::span<const Tensor> tensors, Landing landing);

  std::int64_t bytes() const { return bytes_; }
  void begin();
  /// Writes or adds the next bytes of the message: at most bytes() in total since begin().
  void land(std::span<const std::uint8_t> piece);

 private:
  struct Part {
    std::uint8_t* data = nullptr;
    std::int64_t bytes = 0;
  };
  // Both work on a piece that lies in one part.
  void replace(const std::uint8_t* from, std::int64_t bytes);
  void add_elements(const std::uint8_t* from, std::int64_t bytes);

  std::vector<Part> parts_;
  std::int64_t bytes_ = 0;
  Landing landing_;
  std::size_t part_ = 0;
  std::int64_t offset_ = 0;                          ///< offset in that part
  std::array<std::uint8_t, sizeof(float)> begun_{};  ///< the bytes of an incomplete element
};

}  // namespace regatta::comm
