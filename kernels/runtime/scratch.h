// SPDX-License-Identifier: Apache-2.0
//
// Temporary memory that the kernels of one lane share: they run one after the other, and nothing in
// it lasts to the next kernel. An executor opens a Scope while it builds a lane's kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace regatta {

/// Threads: one that builds kernels; later one at a time that runs them.
class Scratch {
 public:
  /// While a Scope lives, the kernels that its thread builds share one Scratch.
  class Scope {
   public:
    Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    std::shared_ptr<Scratch> before_;
  };

  /// The Scratch for a kernel under construction: the scope's, or a new one outside of a scope.
  static std::shared_ptr<Scratch> of_the_lane();

  /// Receives the address of a kernel's memory, aligned to 64 bytes: at once, and again when a
  /// later kernel needs a larger block. Not called while a kernel runs.
  using Place = std::function<void(std::byte* begin)>;
  void reserve(std::size_t bytes, Place place);

  std::size_t bytes() const { return bytes_; }

 private:
  static constexpr std::align_val_t kAlignment{64};

  struct Delete {
    void operator()(std::byte* memory) const { ::operator delete(memory, kAlignment); }
  };
  std::unique_ptr<std::byte, Delete> memory_;
  std::size_t bytes_ = 0;
  std::vector<Place> kernels_;
};

}  // namespace regatta
