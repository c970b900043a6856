// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/factories.h"
#include "kernels/cuda/library/library_factories.h"
#include "kernels/runtime/devices.h"

namespace regatta {
namespace {

void add_forward(KernelTable& table) {
  table.add(Op::Input, cuda::input);
  table.add(Op::Read, cuda::read);
  table.add(Op::Dense, cuda::dense);
  table.add(Op::Bias, cuda::bias);
  table.add(Op::Tanh, cuda::tanh);
  table.add(Op::Relu, cuda::relu);
  table.add(Op::Gelu, cuda::gelu);
  table.add(Op::MaxPool, cuda::max_pool);
  table.add(Op::AveragePool, cuda::average_pool);
  table.add(Op::Normalize, cuda::normalize);
  table.add(Op::NormalizeInference, cuda::normalize_inference);
  table.add(Op::Add, cuda::add);
  table.add(Op::Scale, cuda::scale);
  table.add(Op::Quotient, cuda::quotient);
  table.add(Op::Concatenate, cuda::concatenate);
  table.add(Op::Cast, cuda::cast);
  table.add(Op::Translate, cuda::translate);
  table.add(Op::SoftmaxCrossEntropy, cuda::softmax_cross_entropy);
  table.add(Op::MeanSquaredError, cuda::mean_squared_error);
  table.add(Op::CountCorrect, cuda::count_correct);
}

void add_backward(KernelTable& table) {
  table.add(Op::DenseBackwardData, cuda::dense_backward_data);
  table.add(Op::DenseBackwardWeights, cuda::dense_backward_weights);
  table.add(Op::BiasBackward, cuda::bias_backward);
  table.add(Op::TanhBackward, cuda::tanh_backward);
  table.add(Op::ReluBackward, cuda::relu_backward);
  table.add(Op::GeluBackward, cuda::gelu_backward);
  table.add(Op::MaxPoolBackward, cuda::max_pool_backward);
  table.add(Op::AveragePoolBackward, cuda::average_pool_backward);
  table.add(Op::NormalizeBackward, cuda::normalize_backward);
  table.add(Op::SoftmaxCrossEntropyBackward, cuda::softmax_cross_entropy_backward);
  table.add(Op::MeanSquaredErrorBackward, cuda::mean_squared_error_backward);
}

void add_fused(KernelTable& table) {
  table.add(Op::FusedNormalize, cuda::normalize);
  table.add(Op::FusedNormalizeBackward, cuda::normalize_backward);
  table.add(Op::FusedNormalizeInference, cuda::normalize_inference);
  table.add(Op::FusedBias, cuda::bias);
  table.add(Op::FusedBiasBackward, cuda::bias_backward);
}

void add_convolutions(KernelTable& table, EngineRule engines) {
  const auto add = [&](Op op, cuda::KernelPointer (*factory)(const KernelRequest&, EngineRule)) {
    table.add(op, [=](const KernelRequest& request) { return factory(request, engines); });
  };
  add(Op::Convolution, cuda::convolution);
  add(Op::ConvolutionBackwardData, cuda::convolution_backward_data);
  add(Op::ConvolutionBackwardWeights, cuda::convolution_backward_weights);
}

}  // namespace

void add_cuda_kernels(KernelTable& table, EngineRule engines) {
  add_forward(table);
  add_backward(table);
  add_fused(table);
  add_convolutions(table, engines);
  table.add(Op::Sum, cuda::sum);
  table.add(Op::Copy, cuda::copy);
  for (const Op op : {Op::AllReduce, Op::ReduceScatter, Op::AllGather}) {
    table.add(op, cuda::collective);
  }
  table.add(Op::Orthogonalize, cuda::orthogonalize);
  table.add(Op::TopK, cuda::top_k);
  table.add(Op::ScatterAdd, cuda::scatter_add);
  table.add(Op::Sgd, cuda::sgd);
  table.add(Op::Adam, cuda::adam);
  table.add(Op::Assign, cuda::assign);
  table.add(Op::Average, cuda::average);
  table.add(Op::Lookahead, cuda::lookahead);
}

}  // namespace regatta
