// SPDX-License-Identifier: Apache-2.0
//
// A file of its own, so that the compiler does not inline one half of a pair of new and delete.
#include "kernels/runtime/count_allocations.h"

#include <link.h>

#include <atomic>
#include <cstdlib>
#include <cstring>
#include <new>

namespace {

std::atomic<std::int64_t> allocations{0};

/// Where oneDNN's code lies; empty where the program has none.
struct CodeRange {
  std::uintptr_t begin = 0;
  std::uintptr_t end = 0;
};

int find_onednn(dl_phdr_info* info, std::size_t, void* found) {
  if (std::strstr(info->dlpi_name, "libdnnl") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& header = info->dlpi_phdr[i];
    if (header.p_type != PT_LOAD || (header.p_flags & PF_X) == 0) continue;
    const std::uintptr_t begin = info->dlpi_addr + header.p_vaddr;
    *static_cast<CodeRange*>(found) = {.begin = begin, .end = begin + header.p_memsz};
  }
  return 1;
}

void count(const void* caller) {
  static const CodeRange onednn = [] {
    CodeRange found;
    dl_iterate_phdr(find_onednn, &found);
    return found;
  }();
  const auto address = reinterpret_cast<std::uintptr_t>(caller);
  if (address >= onednn.begin && address < onednn.end) return;
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
// Here too, though it would come to the first by itself: sanitizers have their own.
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
