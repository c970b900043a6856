// SPDX-License-Identifier: Apache-2.0
//
// In a build for any processor: chooses among copies of this library for several instruction sets,
// which CMakeLists.txt compiles.
#include "kernels/cpu/onednn.h"
#include "kernels/runtime/devices.h"

namespace regatta {

namespace cpu {
void add_kernels(KernelTable& table);  // in cpu_kernels.cpp, for x86-64-v2
// The same function of the other copies, by the name that CMakeLists.txt gives it.
void add_kernels_v3(KernelTable& table) __asm__("regatta_kernels_v3");
void add_kernels_v4(KernelTable& table) __asm__("regatta_kernels_v4");
void add_kernels_v4_bf16(KernelTable& table) __asm__("regatta_kernels_v4_bf16");
}  // namespace cpu

namespace {

struct KernelSet {
  const char* name;
  void (*add)(KernelTable&);
};

KernelSet choose() {
  using enum dnnl::cpu_isa;
  if (!cpu::onednn::uses(avx2) || !__builtin_cpu_supports("x86-64-v3"))
    return {.name = "x86-64-v2", .add = cpu::add_kernels};
  if (!cpu::onednn::uses(avx512_core) || !__builtin_cpu_supports("x86-64-v4"))
    return {.name = "x86-64-v3", .add = cpu::add_kernels_v3};
  if (!cpu::onednn::uses(avx512_core_bf16) || !__builtin_cpu_supports("avx512bf16"))
    return {.name = "x86-64-v4", .add = cpu::add_kernels_v4};
  return {.name = "x86-64-v4 with AVX512-BF16", .add = cpu::add_kernels_v4_bf16};
}

}  // namespace

void add_cpu_kernels(KernelTable& table) { choose().add(table); }

std::string chosen_cpu_kernels() { return choose().name; }

}  // namespace regatta
