// SPDX-License-Identifier: Apache-2.0
//
// The factories in a GPU's table, grouped by source file. A factory copies all that it needs out of
// the request, and returns null for element types that it does not support; the table then reports
// the error. Formulas and shapes are in kernels/graph/ops.
#pragma once

#include <memory>

#include "kernels/runtime/kernel.h"

namespace regatta::cuda {

using KernelPointer = std::unique_ptr<Kernel>;

// input.cu
KernelPointer input(const KernelRequest&);

// bias.cu: single and fused
KernelPointer bias(const KernelRequest&);
KernelPointer bias_backward(const KernelRequest&);

// activation.cu
KernelPointer tanh(const KernelRequest&);
KernelPointer relu(const KernelRequest&);
KernelPointer gelu(const KernelRequest&);
KernelPointer tanh_backward(const KernelRequest&);
KernelPointer relu_backward(const KernelRequest&);
KernelPointer gelu_backward(const KernelRequest&);

// pool.cu
KernelPointer max_pool(const KernelRequest&);
KernelPointer average_pool(const KernelRequest&);
KernelPointer max_pool_backward(const KernelRequest&);
KernelPointer average_pool_backward(const KernelRequest&);

// normalize.cu, normalize_backward.cu: single and fused
KernelPointer normalize(const KernelRequest&);
KernelPointer normalize_inference(const KernelRequest&);
KernelPointer normalize_backward(const KernelRequest&);

// arithmetic.cu
KernelPointer add(const KernelRequest&);
KernelPointer scale(const KernelRequest&);
KernelPointer quotient(const KernelRequest&);
KernelPointer sum(const KernelRequest&);
KernelPointer cast(const KernelRequest&);

// copy.cu
KernelPointer copy(const KernelRequest&);
KernelPointer assign(const KernelRequest&);
KernelPointer concatenate(const KernelRequest&);
KernelPointer translate(const KernelRequest&);

// orthogonalize.cu
KernelPointer orthogonalize(const KernelRequest&);

// selection.cu
KernelPointer top_k(const KernelRequest&);
KernelPointer scatter_add(const KernelRequest&);

// collective.cu: an all_reduce, reduce_scatter or all_gather as one kernel for all members. Inputs
// and outputs are the members' buckets, in the order of members; outputs receive the sums or the
// gathered values. An all_gather's inputs are the pieces of member 0's share, then of member 1's, …
KernelPointer collective(const KernelRequest&);

// read.cu
KernelPointer read(const KernelRequest&);

// average.cu
KernelPointer average(const KernelRequest&);

// loss.cu
KernelPointer softmax_cross_entropy(const KernelRequest&);
KernelPointer softmax_cross_entropy_backward(const KernelRequest&);
KernelPointer mean_squared_error(const KernelRequest&);
KernelPointer mean_squared_error_backward(const KernelRequest&);
KernelPointer count_correct(const KernelRequest&);

// sgd.cu, adam.cu, lookahead.cu
KernelPointer sgd(const KernelRequest&);
KernelPointer adam(const KernelRequest&);
KernelPointer lookahead(const KernelRequest&);

}  // namespace regatta::cuda
