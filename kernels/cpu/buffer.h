// SPDX-License-Identifier: Apache-2.0
//
// Memory that a kernel owns: allocated when the kernel is built, aligned to 64 bytes.
#pragma once

#include <cstddef>
#include <cstring>
#include <memory>
#include <new>

namespace regatta::cpu {

inline constexpr std::size_t kBufferAlignment = 64;

struct AlignedDelete {
  void operator()(void* memory) const {
    ::operator delete (memory, std::align_val_t{kBufferAlignment});
  }
};

template <typename T>
using Buffer = std::unique_ptr<T[], AlignedDelete>;

/// Returns memory for `count` elements, all bytes zero.
template <typename T>
Buffer<T> make_buffer(std::size_t count) {
  const std::size_t bytes = count * sizeof(T);
  void* memory = ::operator new (bytes, std::align_val_t{kBufferAlignment});
  std::memset(memory, 0, bytes);
  return Buffer<T>(static_cast<T*>(memory));
}

}  // namespace regatta::cpu
