// SPDX-License-Identifier: Apache-2.0
//
// Temporary memory that the kernels of one lane share. They run one after the other, and no kernel
// relies on data that an earlier kernel left there. An executor opens a Scope while it builds a
// lane's kernels.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace regatta {

/// One block of temporary memory, as large as its largest user needs. Threads: not synchronised;
/// used by the thread that builds the kernels, later by the thread that runs them.
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

  /// Returns the Scratch for a kernel under construction: the one of the calling thread's Scope, or
  /// a new one if no Scope is open.
  static std::shared_ptr<Scratch> of_the_lane();

  /// A callback that receives the address of a kernel's memory, aligned to 64 bytes.
  using Place = std::function<void(std::byte* begin)>;
  /// Reserves `bytes` for a kernel. Calls `place` at once, and again whenever a later kernel needs
  /// a larger block; never while a kernel runs.
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
