// SPDX-License-Identifier: Apache-2.0
//
// All ops on the CPU: oneDNN for convolutions and large products; our own loops for ops that are
// memory-bound or too small for a library call. Results are bitwise reproducible for a fixed number
// of threads. The ops that cross processes (send, receive, all_reduce) are in kernels/comm.
#include "kernels/runtime/devices.h"

#include "kernels/cpu/amx.h"

namespace regatta {

namespace cpu {
// each in the file of this name: activation.cpp, ...
KernelRows activation_kernels(), adam_kernels(), arithmetic_kernels(), attention_kernels(),
    attention_backward_kernels(), average_kernels(), bias_kernels(), clip_kernels(),
    convolution_kernels(), dense_kernels(), embedding_kernels(), fused_bias_kernels(),
    input_kernels(), layer_normalize_kernels(), lookahead_kernels(), loss_kernels(), muon_kernels(),
    normalize_kernels(), normalize_backward_kernels(), normalize_inference_kernels(),
    orthogonalize_kernels(), pool_kernels(), quantization_kernels(), quorum_kernels(),
    read_kernels(), selection_kernels(), sgd_kernels(), softmax_part_kernels(), translate_kernels();
}  // namespace cpu

void add_cpu_kernels(KernelTable& table) {
  for (const auto rows : {cpu::activation_kernels,
                          cpu::adam_kernels,
                          cpu::arithmetic_kernels,
                          cpu::attention_kernels,
                          cpu::attention_backward_kernels,
                          cpu::average_kernels,
                          cpu::bias_kernels,
                          cpu::clip_kernels,
                          cpu::convolution_kernels,
                          cpu::dense_kernels,
                          cpu::embedding_kernels,
                          cpu::fused_bias_kernels,
                          cpu::input_kernels,
                          cpu::layer_normalize_kernels,
                          cpu::lookahead_kernels,
                          cpu::loss_kernels,
                          cpu::muon_kernels,
                          cpu::normalize_kernels,
                          cpu::normalize_backward_kernels,
                          cpu::normalize_inference_kernels,
                          cpu::orthogonalize_kernels,
                          cpu::pool_kernels,
                          cpu::quantization_kernels,
                          cpu::quorum_kernels,
                          cpu::read_kernels,
                          cpu::selection_kernels,
                          cpu::sgd_kernels,
                          cpu::softmax_part_kernels,
                          cpu::translate_kernels})
    table.add(rows());
}

bool cpu_favours_direct_convolutions(ElementType element) {
  return element == ElementType::BF16 && cpu::has_amx_bf16();
}

}  // namespace regatta
