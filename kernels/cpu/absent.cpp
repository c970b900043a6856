// SPDX-License-Identifier: Apache-2.0
//
// Stands in for the files that use AVX-512 and AMX in a build for other processors than x86's.
#include "kernels/cpu/amx.h"
#include "kernels/cpu/candidates.h"
#include "kernels/cpu/convolution_paths.h"
#include "kernels/runtime/devices.h"

namespace regatta::cpu {

bool has_avx512() { return false; }
bool has_amx_bf16() { return false; }

bool can_flip(const KernelRequest&) { return false; }
bool can_go_by_pixels(const KernelRequest&) { return false; }
bool can_use_tiles(const KernelRequest&) { return false; }
KernelPointer convolution_backward_data_flipped(const KernelRequest&) { return {}; }
KernelPointer convolution_pixels(const KernelRequest&) { return {}; }
KernelPointer convolution_backward_data_pixels(const KernelRequest&) { return {}; }
KernelPointer convolution_backward_weights_tiles(const KernelRequest&) { return {}; }

Candidates::Candidates(Bits x, std::int64_t selected) : x_(x), selected_(selected) {}
bool Candidates::find() { return false; }

}  // namespace regatta::cpu

bool regatta::cpu_favours_direct_convolutions(ElementType) { return false; }
