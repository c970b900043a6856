// SPDX-License-Identifier: Apache-2.0
//
// The factories in the CPU's table, grouped by source file. A factory copies the data it needs out
// of the request. Formulas and shapes are in kernels/graph/ops. A factory returns null for element
// types that it does not support; the table then reports the error.
#pragma once

#include <memory>

#include "kernels/runtime/kernel.h"

namespace regatta::cpu {

using KernelPointer = std::unique_ptr<Kernel>;

// input.cpp
KernelPointer input(const KernelRequest&);

// read.cpp
KernelPointer read(const KernelRequest&);

// dense.cpp
KernelPointer dense(const KernelRequest&);
KernelPointer dense_backward_data(const KernelRequest&);
KernelPointer dense_backward_weights(const KernelRequest&);

// bias.cpp
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

// fused_bias.cpp
KernelPointer fused_bias(const KernelRequest&);
KernelPointer fused_bias_backward(const KernelRequest&);

// normalize.cpp, normalize_inference.cpp, normalize_backward.cpp: single and fused
KernelPointer normalize(const KernelRequest&);
KernelPointer normalize_inference(const KernelRequest&);
KernelPointer normalize_backward(const KernelRequest&);

// arithmetic.cpp
KernelPointer add(const KernelRequest&);
KernelPointer scale(const KernelRequest&);
KernelPointer sum(const KernelRequest&);
KernelPointer concatenate(const KernelRequest&);
KernelPointer cast(const KernelRequest&);
KernelPointer copy(const KernelRequest&);
KernelPointer orthogonalize(const KernelRequest&);
KernelPointer quotient(const KernelRequest&);
KernelPointer top_k(const KernelRequest&);
KernelPointer scatter_add(const KernelRequest&);

// translate.cpp
KernelPointer translate(const KernelRequest&);

// loss.cpp
KernelPointer softmax_cross_entropy(const KernelRequest&);
KernelPointer softmax_cross_entropy_backward(const KernelRequest&);
KernelPointer mean_squared_error(const KernelRequest&);
KernelPointer mean_squared_error_backward(const KernelRequest&);
KernelPointer count_correct(const KernelRequest&);

// quorum.cpp
KernelPointer arrival(const KernelRequest&);
KernelPointer quorum(const KernelRequest&);

// average.cpp
KernelPointer average(const KernelRequest&);
KernelPointer average_with(const KernelRequest&);
KernelPointer assign(const KernelRequest&);

// sgd.cpp, adam.cpp, lookahead.cpp
KernelPointer sgd(const KernelRequest&);
KernelPointer adam(const KernelRequest&);
KernelPointer lookahead(const KernelRequest&);

}  // namespace regatta::cpu
