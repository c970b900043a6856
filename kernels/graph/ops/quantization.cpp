// SPDX-License-Identifier: Apache-2.0
//
// quantize and dequantize: gradients as integers of a few bits (kernels/graph/quantization.h).
#include "kernels/graph/quantization.h"

#include "kernels/graph/ops/rules.h"

namespace regatta {

QuantizedValues Builder::quantize(Value x, std::int64_t bits, std::int64_t parts) {
  const Value packed = node(Op::Quantize, {x}, {{"bits", bits}, {"parts", parts}});
  return {.packed = packed, .rest = {packed.node, 1}};
}
Value Builder::dequantize(std::vector<Value> packed, std::int64_t bits, std::int64_t parts,
                          std::vector<std::int64_t> dims) {
  return node(Op::Dequantize, std::move(packed),
              {{"bits", bits}, {"parts", parts}, {"dims", std::move(dims)}});
}

namespace rules {
namespace {

TensorType packed_type(const TensorType& whole, const Attributes& attributes) {
  const std::int64_t bits = attributes.integer("bits"), parts = attributes.integer("parts");
  check((bits == 8 || bits == 4) && parts >= 1, "quantize: 8 or 4 bits, at least one part");
  return {ElementType::F32, {parts * quantized_part(whole.elements(), parts, bits).words()}};
}

}  // namespace

Types infer_quantize(const InferRequest& request) {
  check(request.inputs.size() == 1 && request.inputs[0].element == ElementType::F32,
        "quantize: x f32");
  return {packed_type(request.inputs[0], request.attributes), request.inputs[0]};
}

Types infer_dequantize(const InferRequest& request) {
  const TensorType y{ElementType::F32, request.attributes.integers("dims")};
  const TensorType packed = packed_type(y, request.attributes);
  check(!request.inputs.empty(), "dequantize: at least one input");
  for (const TensorType& input : request.inputs) {
    check(input == packed, "dequantize: tensors that quantize has packed");
  }
  return {y};
}

}  // namespace rules
}  // namespace regatta
