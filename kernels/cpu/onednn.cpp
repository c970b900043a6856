// SPDX-License-Identifier: Apache-2.0
#include "kernels/cpu/onednn.h"

#include <string>

#include "kernels/base/error.h"
#include "kernels/cpu/buffer.h"

namespace regatta::cpu::onednn {
namespace {

[[noreturn]] void fail(const std::string& words, dnnl_status_t status,
                       const std::source_location& where) {
  const bool missing = status == dnnl_unimplemented;
  throw RunError(ErrorKind::Unsupported,
                 "oneDNN: " + words + " (status " + std::to_string(static_cast<int>(status)) +
                     ") at " + where.file_name() + ":" + std::to_string(where.line()) +
                     (missing ? "; it computes bf16 only with AVX-512; fix: on other "
                                "processors run with --dtype f32"
                              : ""));
}

/// The result of `call`. Throws: RunError(Unsupported) for oneDNN's errors.
template <typename Call>
auto checked(const std::source_location& where, const Call& call) {
  try {
    return call();
  } catch (const dnnl::error& error) {
    fail(error.message, error.status, where);
  }
}

const dnnl::engine& engine() {
  static const dnnl::engine cpu(dnnl::engine::kind::cpu, 0);
  return cpu;
}

/// The stream of all primitives. They run on the calling thread and its OpenMP threads; the stream
/// keeps no state of either.
dnnl::stream& stream() {
  static dnnl::stream cpu(engine());
  return cpu;
}

dnnl::primitive_attr own_scratchpad() {
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  return attributes;
}

// Differences between versions: 2.x describes an operation before choosing an implementation, 3.x
// does both in one call; two getters have other names.
#if DNNL_VERSION_MAJOR >= 3
template <typename Primitive, typename... Arguments>
auto implementation(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(engine(), arguments..., attributes);
}
template <typename Primitive, typename Hint, typename... Arguments>
auto implementation_of_backward(const Hint& hint, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(engine(), arguments..., hint, own_scratchpad());
}
dnnl::memory::dims dims_of(const Descriptor& layout) { return layout.get_dims(); }
dnnl::memory::data_type type_of(const Descriptor& layout) { return layout.get_data_type(); }
#else
template <typename Primitive, typename... Arguments>
auto implementation(const dnnl::primitive_attr& attributes, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...), attributes,
                                            engine());
}
template <typename Primitive, typename Hint, typename... Arguments>
auto implementation_of_backward(const Hint& hint, const Arguments&... arguments) {
  return typename Primitive::primitive_desc(typename Primitive::desc(arguments...),
                                            own_scratchpad(), engine(), hint);
}
dnnl::memory::dims dims_of(const Descriptor& layout) { return layout.dims(); }
dnnl::memory::data_type type_of(const Descriptor& layout) { return layout.data_type(); }
#endif

dnnl::memory::data_type type_of(ElementType element) {
  switch (element) {
    case ElementType::F32: return dnnl::memory::data_type::f32;
    case ElementType::BF16: return dnnl::memory::data_type::bf16;
    case ElementType::U8: return dnnl::memory::data_type::u8;
    case ElementType::I32: return dnnl::memory::data_type::s32;
  }
  return dnnl::memory::data_type::undef;
}

Choice choose_convolution(const Convolution& c) {
  const dnnl::memory::dims strides{c.stride, c.stride};
  const dnnl::memory::dims padding{c.padding, c.padding};
  const auto algorithm = dnnl::algorithm::convolution_direct;
  // Backward passes take the forward pass as a hint; its weights have the images' type even if the
  // gradient of bf16 weights is f32.
  const Descriptor weights = c.pass == Pass::Forward
                                 ? c.weights
                                 : Descriptor(dims_of(c.weights), type_of(c.x), Format::any);
  const auto forward = implementation<dnnl::convolution_forward>(
      own_scratchpad(), dnnl::prop_kind::forward_training, algorithm, c.x, weights, c.y, strides,
      padding, padding);
  switch (c.pass) {
    case Pass::Forward:
      return {dnnl::convolution_forward(forward), forward.src_desc(), forward.weights_desc(),
              forward.dst_desc(), forward.scratchpad_desc()};
    case Pass::BackwardData: {
      const auto backward = implementation_of_backward<dnnl::convolution_backward_data>(
          forward, algorithm, c.x, c.weights, c.y, strides, padding, padding);
      return {dnnl::convolution_backward_data(backward), backward.diff_src_desc(),
              backward.weights_desc(), backward.diff_dst_desc(), backward.scratchpad_desc()};
    }
    case Pass::BackwardWeights: {
      const auto backward = implementation_of_backward<dnnl::convolution_backward_weights>(
          forward, algorithm, c.x, c.weights, c.y, strides, padding, padding);
      return {dnnl::convolution_backward_weights(backward), backward.src_desc(),
              backward.diff_weights_desc(), backward.diff_dst_desc(), backward.scratchpad_desc()};
    }
  }
  return {};
}

}  // namespace

bool uses(dnnl::cpu_isa instructions) {
  const auto needed = static_cast<unsigned>(instructions);
  return (static_cast<unsigned>(dnnl::get_effective_cpu_isa()) & needed) == needed;
}

Descriptor describe(const dnnl::memory::dims& dims, ElementType element, Format format,
                    std::source_location where) {
  return checked(where, [&] { return Descriptor(dims, type_of(element), format); });
}

Descriptor describe_strided(const dnnl::memory::dims& dims, const dnnl::memory::dims& strides,
                            std::source_location where) {
  return checked(where, [&] { return Descriptor(dims, type_of(ElementType::F32), strides); });
}

Descriptor describe_images(const TensorType& t) {
  return describe({t.dim(0), t.dim(3), t.dim(1), t.dim(2)}, t.element, Format::nhwc);
}

Descriptor describe_weights(const TensorType& w, std::int64_t groups, Layout layout) {
  dnnl::memory::dims dims{w.dim(0) / groups, w.dim(3), w.dim(1), w.dim(2)};
  if (groups > 1) dims.insert(dims.begin(), groups);
  const Format plain = groups > 1 ? Format::gohwi : Format::ohwi;
  return describe(dims, w.element, layout == Layout::Plain ? plain : Format::any);
}

Choice choose(const Convolution& convolution, std::source_location where) {
  return checked(where, [&] { return choose_convolution(convolution); });
}

Choice choose(const Product& product, std::source_location where) {
  return checked(where, [&]() -> Choice {
    dnnl::primitive_attr attributes = own_scratchpad();
    if (product.store == Store::Add) {
      dnnl::post_ops sum;
      sum.append_sum(1);
      attributes.set_post_ops(sum);
    }
    const auto chosen =
        implementation<dnnl::matmul>(attributes, product.x, product.weights, product.y);
    return {dnnl::matmul(chosen), chosen.src_desc(), chosen.weights_desc(), chosen.dst_desc(),
            chosen.scratchpad_desc()};
  });
}

dnnl::memory Program::bind(const Descriptor& layout, void* data) {
  return checked(std::source_location::current(),
                 [&] { return dnnl::memory(layout, engine(), data); });
}

dnnl::memory Program::allocate(const Descriptor& layout) {
  dnnl::memory memory = bind(layout, DNNL_MEMORY_NONE);
  const std::size_t offset = temporary_bytes_;
  temporary_bytes_ +=
      (layout.get_size() + kBufferAlignment - 1) / kBufferAlignment * kBufferAlignment;
  scratch_->reserve(temporary_bytes_, [memory, offset](std::byte* begin) mutable {
    memory.set_data_handle(begin + offset);
  });
  return memory;
}

dnnl::memory Program::read_as(const Descriptor& wanted, const Descriptor& layout, void* data) {
  const dnnl::memory given = bind(layout, data);
  if (wanted == layout) return given;
  const dnnl::memory converted = allocate(wanted);
  copy(given, converted);
  return converted;
}

dnnl::memory Program::write_as(const Descriptor& wanted, const Descriptor& layout, void* data) {
  return wanted == layout ? bind(layout, data) : allocate(wanted);
}

void Program::add(const dnnl::primitive& primitive, const Descriptor& scratchpad,
                  std::vector<Argument> arguments) {
  if (scratchpad.get_size() > 0) {
    arguments.push_back({DNNL_ARG_SCRATCHPAD, allocate(scratchpad)});
  }
  add(primitive, std::move(arguments));
}

void Program::add(const dnnl::primitive& primitive, std::vector<Argument> arguments) {
  Instruction& instruction = instructions_.emplace_back();
  instruction.primitive = primitive;
  instruction.memories = std::move(arguments);
  for (const Argument& argument : instruction.memories) {
    instruction.arguments.push_back({argument.index, argument.memory.get()});
  }
}

void Program::copy(const dnnl::memory& source, const dnnl::memory& target) {
  if (source.get_data_handle() == target.get_data_handle()) return;
  checked(std::source_location::current(), [&] {
    const dnnl::reorder::primitive_desc chosen(engine(), source.get_desc(), engine(),
                                               target.get_desc(), own_scratchpad());
    add(dnnl::reorder(chosen), chosen.scratchpad_desc(),
        {{DNNL_ARG_FROM, source}, {DNNL_ARG_TO, target}});
  });
}

void Program::run(const StepContext&) {
  for (const Instruction& instruction : instructions_) {
    const dnnl_status_t status = dnnl_primitive_execute(
        instruction.primitive.get(), stream().get(), static_cast<int>(instruction.arguments.size()),
        instruction.arguments.data());
    if (status != dnnl_success) {
      fail("a primitive did not run", status, std::source_location::current());
    }
  }
}

}  // namespace regatta::cpu::onednn
