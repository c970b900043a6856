// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/device/hidden_memory_for_test.h"

#include <sanitizer/asan_interface.h>
#include <sys/mman.h>

#include <algorithm>
#include <cstring>
#include <set>
#include <string>

#include "kernels/base/error.h"

namespace regatta::cuda::testing_support {
namespace {

/// Size of the reserved address range; pages come when they are touched.
constexpr std::int64_t kAddresses = std::int64_t{64} << 30;
constexpr std::int64_t kAlignment = 64;
/// Pages are large, because hiding takes time for each.
constexpr std::int64_t kPage = std::int64_t{2} << 20;
/// Poisoned bytes behind each allocation.
constexpr std::int64_t kGap = 64;

std::mutex& mutex_of_all() {
  static std::mutex mutex;
  return mutex;
}

std::set<HiddenMemory*>& all() {
  static std::set<HiddenMemory*> memories;
  return memories;
}

std::int64_t rounded_up(std::int64_t bytes, std::int64_t to) { return (bytes + to - 1) / to * to; }

}  // namespace

HiddenMemory::HiddenMemory() {
  void* const memory =
      mmap(nullptr, kAddresses, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  check(memory != MAP_FAILED, "there are addresses for emulated memory");
  base_ = static_cast<std::byte*>(memory);
  madvise(base_, kAddresses, MADV_HUGEPAGE);  // if the system has such pages
  const std::lock_guard lock(mutex_of_all());
  all().insert(this);
}

HiddenMemory::~HiddenMemory() {
  {
    const std::lock_guard lock(mutex_of_all());
    all().erase(this);
  }
  ASAN_UNPOISON_MEMORY_REGION(base_, static_cast<std::size_t>(top_));
  munmap(base_, kAddresses);
}

void* HiddenMemory::allocate(std::int64_t bytes) {
  const std::lock_guard lock(mutex_);
  if (allocated_.empty() && openings_ == 0) top_ = 0;
  const std::int64_t size = std::max<std::int64_t>(bytes, 1);
  if (size > kAddresses - top_ - kGap - kAlignment) {
    throw RunError(ErrorKind::Unsupported,
                   "out of memory: could not set " + std::to_string(size) +
                       " bytes aside; fix: use a smaller batch or fewer workers");
  }
  std::byte* const memory = base_ + top_;
  const std::int64_t end = rounded_up(top_ + size, kAlignment) + kGap;
  protect(end, PROT_READ | PROT_WRITE);
  ASAN_UNPOISON_MEMORY_REGION(memory, static_cast<std::size_t>(end - top_));
  std::memset(memory, 0, static_cast<std::size_t>(size));
  ASAN_POISON_MEMORY_REGION(memory + size, static_cast<std::size_t>(end - top_ - size));
  top_ = end;
  if (openings_ == 0) protect(top_, PROT_NONE);
  allocated_[memory] = size;
  return memory;
}

void HiddenMemory::release(void* memory) noexcept {
  const std::lock_guard lock(mutex_);
  const auto found = allocated_.find(static_cast<std::byte*>(memory));
  if (found == allocated_.end()) return;
  ASAN_POISON_MEMORY_REGION(memory, static_cast<std::size_t>(found->second));
  allocated_.erase(found);
}

bool HiddenMemory::owns(const void* address) const {
  const std::lock_guard lock(mutex_);
  const auto* const byte = static_cast<const std::byte*>(address);
  auto behind = allocated_.upper_bound(byte);
  return behind != allocated_.begin() && byte < (--behind)->first + behind->second;
}

HiddenMemory* HiddenMemory::of(const void* address) {
  const std::lock_guard lock(mutex_of_all());
  const auto found = std::find_if(all().begin(), all().end(),
                                  [=](const HiddenMemory* each) { return each->owns(address); });
  return found == all().end() ? nullptr : *found;
}

std::size_t HiddenMemory::allocations() const {
  const std::lock_guard lock(mutex_);
  return allocated_.size();
}

std::int64_t HiddenMemory::bytes() const {
  const std::lock_guard lock(mutex_);
  std::int64_t bytes = 0;
  for (const auto& [memory, size] : allocated_) bytes += size;
  return bytes;
}

void HiddenMemory::open() {
  const std::lock_guard lock(mutex_);
  if (openings_++ == 0) protect(top_, PROT_READ | PROT_WRITE);
}

void HiddenMemory::close() {
  const std::lock_guard lock(mutex_);
  if (--openings_ == 0) protect(top_, PROT_NONE);
}

void HiddenMemory::protect(std::int64_t bytes, int protection) {
  const auto size = static_cast<std::size_t>(rounded_up(bytes, kPage));
  if (size == 0) return;
  check(mprotect(base_, size, protection) == 0, "emulated memory can be hidden");
}

void HiddenDevice::copy(std::span<const MemoryCopy> copies) {
  for (const auto& [to, from, bytes] : copies) {
    const HiddenMemory::Opened source(HiddenMemory::of(from)), target(&memory_);
    std::memcpy(to, from, static_cast<std::size_t>(bytes));
  }
}

}  // namespace regatta::cuda::testing_support
