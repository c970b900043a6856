// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/amx.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "kernels/cpu/onednn.h"
#include "kernels/runtime/devices.h"

namespace regatta::cpu {
namespace {

// From asm/prctl.h of Linux 5.16; older headers lack them.
constexpr long kRequestPermission = 0x1023;  // ARCH_REQ_XCOMP_PERM
constexpr long kTileData = 18;               // XFEATURE_XTILEDATA

struct Leaf {
  unsigned a, b, c, d;
};

Leaf cpuid(unsigned leaf, unsigned subleaf) {
  Leaf out{};
  __asm__("cpuid" : "=a"(out.a), "=b"(out.b), "=c"(out.c), "=d"(out.d) : "a"(leaf), "c"(subleaf));
  return out;
}

bool detect() {
  constexpr unsigned kBf16 = 1U << 22U, kTile = 1U << 24U;
  if (!has_avx512() || !__builtin_cpu_supports("avx512bf16") || cpuid(0, 0).a < 7) return false;
  if ((cpuid(7, 0).d & (kBf16 | kTile)) != (kBf16 | kTile)) return false;
  // Fails if the operating system does not save tiles.
  return syscall(SYS_arch_prctl, kRequestPermission, kTileData) == 0;
}

}  // namespace

bool has_avx512() { return onednn::uses(dnnl::cpu_isa::avx512_core); }

bool has_amx_bf16() {
  static const bool available = detect();
  return available;
}

}  // namespace regatta::cpu

bool regatta::cpu_favours_direct_convolutions(ElementType element) {
  return element == ElementType::BF16 && cpu::has_amx_bf16();
}
