// SPDX-License-Identifier: Apache-2.0
//
// For tests: memory of an emulated GPU. The host cannot touch it, like a real GPU's: a load or a
// store faults, except while a queue of the GPU works. Under the address sanitizer, the gaps
// between allocations are poisoned.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>

#include "kernels/runtime/device.h"

namespace regatta::cuda::testing_support {

/// Threads: any.
class HiddenMemory {
 public:
  HiddenMemory();
  ~HiddenMemory();
  HiddenMemory(const HiddenMemory&) = delete;
  HiddenMemory& operator=(const HiddenMemory&) = delete;

  /// Zeroed memory, aligned to 64 bytes. Throws: RunError(Unsupported) if too much is requested.
  void* allocate(std::int64_t bytes);
  void release(void* memory) noexcept;
  bool owns(const void* address) const;
  std::size_t allocations() const;
  /// Sum over all allocations that are not released.
  std::int64_t bytes() const;

  /// The memory that owns the address; null if none does.
  static HiddenMemory* of(const void* address);

  /// Makes the memory accessible during this object's lifetime. Null: opens nothing.
  class Opened {
   public:
    explicit Opened(HiddenMemory* memory) : memory_(memory) {
      if (memory_ != nullptr) memory_->open();
    }
    ~Opened() {
      if (memory_ != nullptr) memory_->close();
    }
    Opened(const Opened&) = delete;
    Opened& operator=(const Opened&) = delete;

   private:
    HiddenMemory* memory_;
  };

 private:
  void open();
  void close();
  void protect(std::int64_t bytes, int protection);

  mutable std::mutex mutex_;
  std::byte* base_ = nullptr;
  std::int64_t top_ = 0;                                ///< end of the part that was ever allocated
  std::map<const std::byte*, std::int64_t> allocated_;  ///< and their bytes
  int openings_ = 0;
};

/// A device with hidden memory.
class HiddenDevice : public Device {
 public:
  void* allocate(std::int64_t bytes) override { return memory_.allocate(bytes); }
  void release(void* memory) noexcept override { memory_.release(memory); }
  void read(void* host, const void* memory, std::int64_t bytes) override {
    const HiddenMemory::Opened opened(&memory_);
    Device::read(host, memory, bytes);
  }
  void write(void* memory, const void* host, std::int64_t bytes) override {
    const HiddenMemory::Opened opened(&memory_);
    Device::write(memory, host, bytes);
  }
  /// True for any HiddenDevice, because all emulate one GPU.
  bool copies_from(const Device& other) const override {
    return dynamic_cast<const HiddenDevice*>(&other) != nullptr;
  }
  void copy(std::span<const MemoryCopy> copies) override;
  bool has_queues() const override { return true; }
  HiddenMemory& memory() { return memory_; }

 private:
  HiddenMemory memory_;
};

}  // namespace regatta::cuda::testing_support
