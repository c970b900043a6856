// SPDX-License-Identifier: Apache-2.0
//
// Memory that the kernels of one lane use in turn: as they run one after the other, what a kernel
// needs only while it runs need not be set aside for each. Nothing in it lasts to the next kernel.
// An executor opens a Scope while it builds the kernels of a lane, as it sets their OpenMP threads.
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <new>
#include <vector>

namespace regatta {

/// Threads: one builds kernels; one at a time runs them.
class Scratch {
 public:
  /// Kernels that this thread builds while it lives share one.
  class Scope {
   public:
    Scope();
    Scope(const Scope&) = delete;
    Scope& operator=(const Scope&) = delete;
    ~Scope();

   private:
    std::shared_ptr<Scratch> before_;
  };

  /// What a kernel that is being built keeps: the scope's, or one of its own where there is none.
  static std::shared_ptr<Scratch> of_the_lane();

  /// Tells a kernel where its memory begins, aligned to 64: at once, and again whenever a later
  /// kernel needs more than there is. Not while one runs.
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
