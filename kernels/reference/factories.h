// SPDX-License-Identifier: Apache-2.0
//
// The factories in the reference table, grouped by source file. A factory copies the tensors it
// needs out of the request. Formulas and shapes are in kernels/graph/ops.
#pragma once

#include <memory>

#include "kernels/runtime/kernel.h"

namespace regatta::reference {

using KernelPointer = std::unique_ptr<Kernel>;

// dense.cpp
KernelPointer dense(const KernelRequest&);
KernelPointer dense_backward_data(const KernelRequest&);
KernelPointer dense_backward_weights(const KernelRequest&);
KernelPointer bias(const KernelRequest&);
KernelPointer bias_backward(const KernelRequest&);

// activation.cpp
KernelPointer tanh(const KernelRequest&);
KernelPointer relu(const KernelRequest&);
KernelPointer gelu(const KernelRequest&);
KernelPointer tanh_backward(const KernelRequest&);
KernelPointer relu_backward(const KernelRequest&);
KernelPointer gelu_backward(const KernelRequest&);

// convolution.cpp
KernelPointer convolution(const KernelRequest&);
KernelPointer convolution_backward_data(const KernelRequest&);
KernelPointer convolution_backward_weights(const KernelRequest&);

// pool.cpp
KernelPointer max_pool(const KernelRequest&);
KernelPointer average_pool(const KernelRequest&);
KernelPointer max_pool_backward(const KernelRequest&);
KernelPointer average_pool_backward(const KernelRequest&);

// normalize.cpp
KernelPointer normalize(const KernelRequest&);
KernelPointer normalize_inference(const KernelRequest&);
KernelPointer normalize_backward(const KernelRequest&);

// fused.cpp
KernelPointer fused_normalize(const KernelRequest&);
KernelPointer fused_normalize_inference(const KernelRequest&);
KernelPointer fused_normalize_backward(const KernelRequest&);
KernelPointer fused_bias(const KernelRequest&);
KernelPointer fused_bias_backward(const KernelRequest&);

// arithmetic.cpp
KernelPointer add(const KernelRequest&);
KernelPointer scale(const KernelRequest&);
KernelPointer sum(const KernelRequest&);
KernelPointer concatenate(const KernelRequest&);
KernelPointer cast(const KernelRequest&);
KernelPointer translate(const KernelRequest&);
KernelPointer copy(const KernelRequest&);
KernelPointer assign(const KernelRequest&);
KernelPointer orthogonalize(const KernelRequest&);
KernelPointer quotient(const KernelRequest&);
KernelPointer top_k(const KernelRequest&);
KernelPointer scatter_add(const KernelRequest&);
KernelPointer read(const KernelRequest&);

// loss.cpp
KernelPointer softmax_cross_entropy(const KernelRequest&);
KernelPointer softmax_cross_entropy_backward(const KernelRequest&);
KernelPointer mean_squared_error(const KernelRequest&);
KernelPointer mean_squared_error_backward(const KernelRequest&);
KernelPointer count_correct(const KernelRequest&);

// update.cpp
KernelPointer sgd(const KernelRequest&);
KernelPointer average(const KernelRequest&);
KernelPointer average_with(const KernelRequest&);
KernelPointer adam(const KernelRequest&);
KernelPointer lookahead(const KernelRequest&);

}  // namespace regatta::reference
