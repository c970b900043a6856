// SPDX-License-Identifier: Apache-2.0
//
// A file of its own, so that the compiler does not inline only one half of a new and delete pair.
#include "kernels/runtime/count_allocations_for_test.h"

#include <link.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::int64_t> allocations{0};

/// The addresses of a library's code.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

/// Libraries whose allocations do not count. An array, because a vector would call operator new.
struct Libraries {
  std::array<CodeRange, 256> ranges;
  std::size_t count = 0;
};

constexpr std::array kNotOurs = {"libdnnl", "libgrpc", "libgpr", "libabsl"};

int add_if_not_ours(dl_phdr_info* info, std::size_t, void* found) {
  auto& libraries = *static_cast<Libraries*>(found);
  const bool not_ours = std::any_of(kNotOurs.begin(), kNotOurs.end(), [&](const char* name) {
    return std::strstr(info->dlpi_name, name) != nullptr;
  });
  for (int i = 0; not_ours && i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    libraries.ranges.at(libraries.count++) = {.begin = begin, .end = begin + header.p_memsz};
  }
  return 0;
}

void count(const void* caller) {
  static const Libraries libraries = [] {
    Libraries found;
    dl_iterate_phdr(add_if_not_ours, &found);
    return found;
  }();
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  for (std::size_t i = 0; i < libraries.count; ++i) {
    const CodeRange& range = libraries.ranges[i];
    if (address >= range.begin && address < range.end) return;
  }
  allocations.fetch_add(1, std::memory_order_relaxed);
}

}  // namespace

void* operator new(std::size_t size) {
  count(__builtin_return_address(0));
  if (void* memory = std::malloc(size)) return memory;
  throw std::bad_alloc();
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  count(__builtin_return_address(0));
  const auto unit = static_cast<std::size_t>(alignment);
  if (void* memory = std::aligned_alloc(unit, (size + unit - 1) / unit * unit)) return memory;
  throw std::bad_alloc();
}
// Overridden too, though its default calls the one above: sanitizers bring their own.
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  count(__builtin_return_address(0));
  return std::malloc(size);
}
void operator delete(void* memory) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::align_val_t) noexcept { std::free(memory); }
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept { std::free(memory); }

namespace regatta {

std::int64_t allocation_count() { return allocations.load(std::memory_order_relaxed); }

}  // namespace regatta
