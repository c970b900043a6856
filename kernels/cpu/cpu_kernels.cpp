// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/cpu_kernels.h"

#include "kernels/cpu/amx.h"
#include "kernels/cpu/factories.h"
#include "kernels/runtime/devices.h"

namespace regatta {

void add_cpu_kernels(KernelTable& table) {
  table.add(Op::Input, cpu::input);
  table.add(Op::Read, cpu::read);

  table.add(Op::Dense, cpu::dense);
  table.add(Op::Bias, cpu::bias);
  table.add(Op::Tanh, cpu::tanh);
  table.add(Op::Relu, cpu::relu);
  table.add(Op::Gelu, cpu::gelu);
  table.add(Op::Convolution, cpu::convolution);
  table.add(Op::MaxPool, cpu::max_pool);
  table.add(Op::AveragePool, cpu::average_pool);
  table.add(Op::Normalize, cpu::normalize);
  table.add(Op::NormalizeInference, cpu::normalize_inference);
  table.add(Op::Add, cpu::add);
  table.add(Op::Scale, cpu::scale);
  table.add(Op::Concatenate, cpu::concatenate);
  table.add(Op::Cast, cpu::cast);
  table.add(Op::Translate, cpu::translate);
  table.add(Op::SoftmaxCrossEntropy, cpu::softmax_cross_entropy);
  table.add(Op::MeanSquaredError, cpu::mean_squared_error);
  table.add(Op::CountCorrect, cpu::count_correct);

  table.add(Op::DenseBackwardData, cpu::dense_backward_data);
  table.add(Op::DenseBackwardWeights, cpu::dense_backward_weights);
  table.add(Op::BiasBackward, cpu::bias_backward);
  table.add(Op::TanhBackward, cpu::tanh_backward);
  table.add(Op::ReluBackward, cpu::relu_backward);
  table.add(Op::GeluBackward, cpu::gelu_backward);
  table.add(Op::ConvolutionBackwardData, cpu::convolution_backward_data);
  table.add(Op::ConvolutionBackwardWeights, cpu::convolution_backward_weights);
  table.add(Op::MaxPoolBackward, cpu::max_pool_backward);
  table.add(Op::AveragePoolBackward, cpu::average_pool_backward);
  table.add(Op::NormalizeBackward, cpu::normalize_backward);
  table.add(Op::SoftmaxCrossEntropyBackward, cpu::softmax_cross_entropy_backward);
  table.add(Op::MeanSquaredErrorBackward, cpu::mean_squared_error_backward);

  table.add(Op::FusedNormalize, cpu::normalize);
  table.add(Op::FusedNormalizeBackward, cpu::normalize_backward);
  table.add(Op::FusedNormalizeInference, cpu::normalize_inference);
  table.add(Op::FusedBias, cpu::fused_bias);
  table.add(Op::FusedBiasBackward, cpu::fused_bias_backward);

  table.add(Op::Sum, cpu::sum);
  table.add(Op::Copy, cpu::copy);
  table.add(Op::Arrival, cpu::arrival);
  table.add(Op::Quorum, cpu::quorum);
  table.add(Op::Orthogonalize, cpu::orthogonalize);
  table.add(Op::Quotient, cpu::quotient);
  table.add(Op::TopK, cpu::top_k);
  table.add(Op::ScatterAdd, cpu::scatter_add);

  table.add(Op::Sgd, cpu::sgd);
  table.add(Op::Adam, cpu::adam);
  table.add(Op::Assign, cpu::assign);
  table.add(Op::Average, cpu::average);
  table.add(Op::AverageWith, cpu::average_with);
  table.add(Op::Lookahead, cpu::lookahead);
}

bool cpu_favours_direct_convolutions(ElementType element) {
  return element == ElementType::BF16 && cpu::has_amx_bf16();
}

}  // namespace regatta
