// SPDX-License-Identifier: Apache-2.0
//
// input: a slice of the k-th global batch of the data set; read: the value of a variable.
#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

/// The attributes of an input. `example` and `target`: the types of an example's values as they are
/// yielded.
Attributes input_attributes(const InputSlice& slice, const TensorType& example,
                            const TensorType& target) {
  Attributes attributes{{"batch", slice.batch},
                        {"offset", slice.offset},
                        {"global_batch", slice.global_batch},
                        {"element", static_cast<std::int64_t>(example.element)},
                        {"example", example.dims},
                        {"target_element", static_cast<std::int64_t>(target.element)},
                        {"target", target.dims}};
  if (slice.order == ExampleOrder::Sequential) attributes.set("sequential", std::int64_t{1});
  return attributes;
}

TensorType with_batch(std::int64_t batch, const Attributes& attributes, const char* element,
                      const char* dims) {
  const std::vector<std::int64_t>& own = attributes.integers(dims);
  TensorType type{static_cast<ElementType>(attributes.integer(element)), {batch}};
  type.dims.insert(type.dims.end(), own.begin(), own.end());
  return type;
}

/// Features are yielded as the slice's element, integers as they are.
TensorType yielded(const InputSlice& slice, const TensorType& example) {
  return {example.element == ElementType::I32 ? ElementType::I32 : slice.element, example.dims};
}

}  // namespace

std::vector<Value> Builder::input(const InputSlice& slice, const TensorType& example,
                                  const TensorType& target) {
  const Value inputs =
      node(Op::Input, {}, input_attributes(slice, yielded(slice, example), target));
  return {inputs, {inputs.node, 1}};
}

std::vector<Value> Builder::input_images(const InputSlice& slice, const TensorType& example,
                                         const Augmentation& augmentation) {
  Attributes attributes = input_attributes(slice, yielded(slice, example), {ElementType::I32, {}});
  attributes.set("pad", augmentation.pad);
  attributes.set("border", static_cast<std::int64_t>(augmentation.border));
  attributes.set("flip", static_cast<std::int64_t>(augmentation.flip));
  attributes.set("cutout", augmentation.cutout);
  attributes.set("mean", augmentation.mean);
  attributes.set("deviation", augmentation.deviation);
  const Value images = node(Op::Input, {}, attributes);
  return {images, {images.node, 1}};
}

Value Builder::read(VariableId variable) { return node(Op::Read, {}, {}, {variable}); }

namespace rules {

Types infer_input(const InferRequest& request) {
  const std::int64_t batch = request.attributes.integer("batch");
  check(batch > 0, "an input yields at least one example");
  return {with_batch(batch, request.attributes, "element", "example"),
          with_batch(batch, request.attributes, "target_element", "target")};
}

Types infer_read(const InferRequest& request) {
  check(request.variables.size() == 1, "read names one variable");
  return {request.variables[0]};
}

}  // namespace rules
}  // namespace regatta
