// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.   gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)).
// swiglu of rows (a, b): y = a σ(a) b; da = dy b σ(a) (1 + a (1 - σ(a))), db = dy a σ(a).
#include "kernels/cuda/ops/activation_function.h"
#include "kernels/cuda/ops/elementwise.h"
#include "kernels/cuda/ops/row.h"
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

__host__ __device__ inline float sigmoid(float a) { return 1 / (1 + expf(-a)); }

/// One row of y for each block.
template <typename T>
struct Swiglu {
  const T* x;
  T* y;
  std::int64_t columns;

  __host__ __device__ void operator()(const Block& block) const {
    const T* from = x + 2 * block.index * columns;
    each_column(block, columns, [&](std::int64_t c) {
      const float a = load(from[c]), b = load(from[columns + c]);
      store(y[block.index * columns + c], a * sigmoid(a) * b);
    });
  }
};

template <typename T>
struct SwigluBackward {
  const T* dy;
  const T* x;
  T* dx;
  std::int64_t columns;

  __host__ __device__ void operator()(const Block& block) const {
    const std::int64_t row = 2 * block.index * columns;
    each_column(block, columns, [&](std::int64_t c) {
      const float a = load(x[row + c]), b = load(x[row + columns + c]), sigma = sigmoid(a);
      const float gradient = load(dy[block.index * columns + c]) * sigma;
      store(dx[row + c], gradient * b * (1 + a * (1 - sigma)));
      store(dx[row + columns + c], gradient * a);
    });
  }
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

KernelPointer swiglu(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return with_element(x.type.element, [&]<typename T>(T) {
    return launch_rows(request, y.type.rows(), Swiglu<T>{x.as<T>(), y.as<T>(), y.type.columns()});
  });
}

KernelPointer swiglu_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dx = request.outputs[0];
  return with_element(x.type.element, [&]<typename T>(T) {
    return launch_rows(request, dy.type.rows(),
                       SwigluBackward<T>{dy.as<T>(), x.as<T>(), dx.as<T>(), dy.type.columns()});
  });
}

}  // namespace

KernelRows activation_kernels() {
  return {{Op::Tanh, tanh},
          {Op::Relu, relu},
          {Op::Gelu, gelu},
          {Op::Swiglu, swiglu},
          {Op::TanhBackward, tanh_backward},
          {Op::ReluBackward, relu_backward},
          {Op::GeluBackward, gelu_backward},
          {Op::SwigluBackward, swiglu_backward}};
}

}  // namespace regatta::cuda
