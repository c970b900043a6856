// SPDX-License-Identifier: Apache-2.0
#include "kernels/graph/tensor_type.h"

#include <functional>
#include <numeric>

namespace regatta {

std::int64_t size_of(ElementType element) {
  switch (element) {
    case ElementType::F32: return 4;
    case ElementType::BF16: return 2;
    case ElementType::U8: return 1;
    case ElementType::I32: return 4;
  }
  return 0;
}

std::string_view to_string(ElementType element) {
  switch (element) {
    case ElementType::F32: return "f32";
    case ElementType::BF16: return "bf16";
    case ElementType::U8: return "u8";
    case ElementType::I32: return "i32";
  }
  return "unknown";
}

std::int64_t TensorType::elements() const {
  return std::accumulate(dims.begin(), dims.end(), std::int64_t{1}, std::multiplies<>());
}

std::string to_string(const TensorType& type) {
  std::string text(to_string(type.element));
  text += '[';
  for (std::size_t i = 0; i < type.dims.size(); ++i) {
    if (i != 0) text += ',';
    text += std::to_string(type.dims[i]);
  }
  return text + ']';
}

}  // namespace regatta
