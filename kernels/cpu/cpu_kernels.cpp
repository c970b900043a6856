// SPDX-License-Identifier: Apache-2.0
//
// All ops on the CPU: oneDNN for convolutions and large products; our own loops for ops that are
// memory-bound or too small for a library call. Results are bitwise reproducible for a fixed number
// of threads. The ops that cross processes (send, receive, all_reduce) are in kernels/comm.
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

// each in the file of this name: activation.cpp, ...
KernelRows activation_kernels(), adam_kernels(), arithmetic_kernels(), attention_kernels(),
    attention_backward_kernels(), average_kernels(), bias_kernels(), clip_kernels(),
    convolution_kernels(), dense_kernels(), embedding_kernels(), fused_bias_kernels(),
    input_kernels(), layer_normalize_kernels(), lookahead_kernels(), loss_kernels(), muon_kernels(),
    normalize_kernels(), normalize_backward_kernels(), normalize_inference_kernels(),
    orthogonalize_kernels(), pool_kernels(), quantization_kernels(), quorum_kernels(),
    read_kernels(), selection_kernels(), sgd_kernels(), softmax_part_kernels(), translate_kernels();

/// Adds all ops, compiled for the instruction set of this copy of the library (kernel_sets.cpp).
void add_kernels(KernelTable& table);

void add_kernels(KernelTable& table) {
  for (const auto rows : {activation_kernels,
                          adam_kernels,
                          arithmetic_kernels,
                          attention_kernels,
                          attention_backward_kernels,
                          average_kernels,
                          bias_kernels,
                          clip_kernels,
                          convolution_kernels,
                          dense_kernels,
                          embedding_kernels,
                          fused_bias_kernels,
                          input_kernels,
                          layer_normalize_kernels,
                          lookahead_kernels,
                          loss_kernels,
                          muon_kernels,
                          normalize_kernels,
                          normalize_backward_kernels,
                          normalize_inference_kernels,
                          orthogonalize_kernels,
                          pool_kernels,
                          quantization_kernels,
                          quorum_kernels,
                          read_kernels,
                          selection_kernels,
                          sgd_kernels,
                          softmax_part_kernels,
                          translate_kernels})
    table.add(rows());
}

}  // namespace regatta::cpu
