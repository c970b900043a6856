// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)).
#include "kernels/cuda/ops/activation_function.h"
#include "kernels/cuda/ops/elementwise.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cuda {
namespace {

struct Tanh {
  __host__ __device__ float operator()(float x) const { return tanhf(x); }
};
struct Relu {
  __host__ __device__ float operator()(float x) const { return relu_value(x); }
};
struct Gelu {
  __host__ __device__ float operator()(float x) const { return gelu_value(x); }
};
struct TanhBackward {
  __host__ __device__ float operator()(float dy, float y) const { return dy * (1 - y * y); }
};
struct ReluBackward {
  __host__ __device__ float operator()(float dy, float y) const { return y > 0 ? dy : 0.0F; }
};
struct GeluBackward {
  __host__ __device__ float operator()(float dy, float x) const { return dy * gelu_slope(x); }
};

KernelPointer tanh(const KernelRequest& request) { return map_one(request, Tanh{}); }
KernelPointer relu(const KernelRequest& request) { return map_one(request, Relu{}); }
KernelPointer gelu(const KernelRequest& request) { return map_one(request, Gelu{}); }
KernelPointer tanh_backward(const KernelRequest& request) {
  return map_two(request, TanhBackward{});
}
KernelPointer relu_backward(const KernelRequest& request) {
  return map_two(request, ReluBackward{});
}
KernelPointer gelu_backward(const KernelRequest& request) {
  return map_two(request, GeluBackward{});
}

}  // namespace

KernelRows activation_kernels() {
  return {{Op::Tanh, tanh},
          {Op::Relu, relu},
          {Op::Gelu, gelu},
          {Op::TanhBackward, tanh_backward},
          {Op::ReluBackward, relu_backward},
          {Op::GeluBackward, gelu_backward}};
}

}  // namespace regatta::cuda
