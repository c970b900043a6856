// SPDX-License-Identifier: Apache-2.0
//
// input: a slice of the k-th global batch of the data set; read: the value of a variable.
#include "kernels/graph/ops/rules.h"

namespace regatta {
namespace {

Attributes slice_attributes(const InputSlice& slice) {
  Attributes attributes{
      {"batch", slice.batch}, {"offset", slice.offset}, {"global_batch", slice.global_batch}};
  if (slice.order == ExampleOrder::Sequential) attributes.set("sequential", std::int64_t{1});
  if (slice.element != ElementType::F32) {
    attributes.set("element", static_cast<std::int64_t>(slice.element));
  }
  return attributes;
}

std::vector<std::int64_t> with_batch(std::int64_t batch, const std::vector<std::int64_t>& dims) {
  std::vector<std::int64_t> all{batch};
  all.insert(all.end(), dims.begin(), dims.end());
  return all;
}

}  // namespace

std::vector<Value> Builder::input_images(const InputSlice& slice, const TensorType& example,
                                         const Augmentation& augmentation) {
  Attributes attributes = slice_attributes(slice);
  attributes.set("example", example.dims);
  attributes.set("pad", augmentation.pad);
  attributes.set("border", static_cast<std::int64_t>(augmentation.border));
  attributes.set("flip", static_cast<std::int64_t>(augmentation.flip));
  attributes.set("cutout", augmentation.cutout);
  attributes.set("mean", augmentation.mean);
  attributes.set("deviation", augmentation.deviation);
  const Value images = node(Op::Input, {}, attributes);
  return {images, {images.node, 1}};
}

std::vector<Value> Builder::input_features(const InputSlice& slice, std::int64_t features,
                                           std::int64_t targets) {
  Attributes attributes = slice_attributes(slice);
  attributes.set("example", std::vector<std::int64_t>{features});
  attributes.set("targets", targets);
  const Value inputs = node(Op::Input, {}, attributes);
  return {inputs, {inputs.node, 1}};
}

Value Builder::read(VariableId variable) { return node(Op::Read, {}, {}, {variable}); }

namespace rules {

Types infer_input(const InferRequest& request) {
  const std::int64_t batch = request.attributes.integer("batch");
  check(batch > 0, "an input yields at least one example");
  TensorType examples{ElementType::F32, with_batch(batch, request.attributes.integers("example"))};
  if (request.attributes.has("element")) {
    examples.element = static_cast<ElementType>(request.attributes.integer("element"));
  }
  if (request.attributes.has("targets")) {
    return {examples, {ElementType::F32, {batch, request.attributes.integer("targets")}}};
  }
  return {examples, {ElementType::I32, {batch}}};
}

Types infer_read(const InferRequest& request) {
  check(request.variables.size() == 1, "read names one variable");
  return {request.variables[0]};
}

}  // namespace rules
}  // namespace regatta
