// SPDX-License-Identifier: Apache-2.0
#include "kernels/cuda/library/library_factories.h"
#include "kernels/runtime/devices.h"

namespace regatta {
namespace cuda {
// each in the file of this name: ops/activation.cu, ...
KernelRows activation_kernels(), adam_kernels(), arithmetic_kernels(), attention_kernels(),
    attention_backward_kernels(), average_kernels(), bias_kernels(), clip_kernels(),
    collective_kernels(), copy_kernels(), dense_kernels(), embedding_kernels(), input_kernels(),
    layer_normalize_kernels(), lookahead_kernels(), loss_kernels(), muon_kernels(),
    normalize_kernels(), normalize_backward_kernels(), normalize_inference_kernels(),
    orthogonalize_kernels(), pool_kernels(), quantization_kernels(), read_kernels(),
    selection_kernels(), sgd_kernels(), softmax_part_kernels();
}  // namespace cuda

namespace {

void add_convolutions(KernelTable& table, EngineRule engines) {
  const auto add = [&](Op op, KernelPointer (*factory)(const KernelRequest&, EngineRule)) {
    table.add(op, [=](const KernelRequest& request) { return factory(request, engines); });
  };
  add(Op::Convolution, cuda::convolution);
  add(Op::ConvolutionBackwardData, cuda::convolution_backward_data);
  add(Op::ConvolutionBackwardWeights, cuda::convolution_backward_weights);
}

}  // namespace

void add_cuda_kernels(KernelTable& table, EngineRule engines) {
  for (const auto rows : {cuda::activation_kernels,
                          cuda::adam_kernels,
                          cuda::arithmetic_kernels,
                          cuda::attention_kernels,
                          cuda::attention_backward_kernels,
                          cuda::average_kernels,
                          cuda::bias_kernels,
                          cuda::clip_kernels,
                          cuda::collective_kernels,
                          cuda::copy_kernels,
                          cuda::dense_kernels,
                          cuda::embedding_kernels,
                          cuda::input_kernels,
                          cuda::layer_normalize_kernels,
                          cuda::lookahead_kernels,
                          cuda::loss_kernels,
                          cuda::muon_kernels,
                          cuda::normalize_kernels,
                          cuda::normalize_backward_kernels,
                          cuda::normalize_inference_kernels,
                          cuda::orthogonalize_kernels,
                          cuda::pool_kernels,
                          cuda::quantization_kernels,
                          cuda::read_kernels,
                          cuda::selection_kernels,
                          cuda::sgd_kernels,
                          cuda::softmax_part_kernels})
    table.add(rows());
  add_convolutions(table, engines);
}

}  // namespace regatta
