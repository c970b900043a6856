// SPDX-License-Identifier: Apache-2.0
//
// tanh: dx = dy (1 - y²).   relu: dx = dy where y > 0.
// gelu: y = x Φ(x), dx = dy (Φ(x) + x φ(x)), Φ and φ of the standard normal distribution.
// swiglu of rows (a, b): y = a σ(a) b; da = dy b σ(a) (1 + a (1 - σ(a))), db = dy a σ(a).
#include "kernels/cpu/activation_function.h"
#include "kernels/cpu/elementwise.h"
#include "kernels/graph/collective.h"
#include "kernels/runtime/kernel.h"

namespace regatta::cpu {
namespace {

KernelPointer tanh(const KernelRequest& request) {
  return map_one(request, [](auto, Lanes x) { return fast_tanh(x); });
}

KernelPointer relu(const KernelRequest& request) {
  return map_one(request,
                 []<typename T>(T, Lanes x) { return ReluFunction::template value<T>(x); });
}

KernelPointer gelu(const KernelRequest& request) {
  return map_one(request,
                 []<typename T>(T, Lanes x) { return GeluFunction::template value<T>(x); });
}

KernelPointer tanh_backward(const KernelRequest& request) {
  return map_two(request, [](auto, Lanes dy, Lanes y) { return dy * (1.0F - y * y); });
}

KernelPointer relu_backward(const KernelRequest& request) {
  // y > 0 exactly where x > 0.
  return map_two(request, []<typename T>(T, Lanes dy, Lanes y) {
    return ReluFunction::template backward<T>(dy, y);
  });
}

KernelPointer gelu_backward(const KernelRequest& request) {
  return map_two(request, []<typename T>(T, Lanes dy, Lanes x) {
    return GeluFunction::template backward<T>(dy, x);
  });
}

/// Returns 1 / (1 + exp(-a)).
Lanes sigmoid(Lanes a) {
  const Lanes small = fast_exp_of_negative(select(a > 0.0F, -a, a));
  return select(a > 0.0F, 1.0F, small) / (1.0F + small);
}

/// Returns a kernel that calls body(T{}, at, pair, lanes) for all elements of `single` [..., C]:
/// `at` is an element's position, `pair` that of the first of its pair in a tensor [..., 2 C].
template <typename Body>
KernelPointer each_pair(const KernelRequest& request, const Tensor& single, Body body) {
  const std::int64_t rows = single.type.rows(), columns = single.type.columns();
  const int parts = parts_for(request.threads, single.elements());
  return with_element(single.type.element, [=]<typename T>(T) {
    return make_kernel([=](const StepContext&) {
      parallel_parts(parts, [&](int part) {
        const Range mine = share(rows, parts, part);
        for (std::int64_t row = mine.begin; row < mine.end; ++row) {
          for_each_lanes(columns, [&](auto i, auto lanes) {
            body(T{}, row * columns + i, 2 * row * columns + i, lanes);
          });
        }
      });
    });
  });
}

KernelPointer swiglu(const KernelRequest& request) {
  const Tensor x = request.inputs[0], y = request.outputs[0];
  return each_pair(request, y,
                   [=, columns = y.type.columns()]<typename T>(T, auto at, auto pair, auto lanes) {
                     const Lanes a = load_lanes(x.as<T>() + pair, lanes);
                     const Lanes b = load_lanes(x.as<T>() + pair + columns, lanes);
                     store_lanes(y.as<T>() + at, a * sigmoid(a) * b, lanes);
                   });
}

KernelPointer swiglu_backward(const KernelRequest& request) {
  const Tensor dy = request.inputs[0], x = request.inputs[1], dx = request.outputs[0];
  return each_pair(
      request, dy, [=, columns = dy.type.columns()]<typename T>(T, auto at, auto pair, auto lanes) {
        const Lanes a = load_lanes(x.as<T>() + pair, lanes);
        const Lanes b = load_lanes(x.as<T>() + pair + columns, lanes);
        const Lanes sigma = sigmoid(a), gradient = load_lanes(dy.as<T>() + at, lanes) * sigma;
        store_lanes(dx.as<T>() + pair, gradient * b * (1.0F + a * (1.0F - sigma)), lanes);
        store_lanes(dx.as<T>() + pair + columns, gradient * a, lanes);
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

}  // namespace regatta::cpu
