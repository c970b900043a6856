// SPDX-License-Identifier: Apache-2.0
//
// quantize and dequantize agree with the reference bit for bit, for parts of every size; values and
// rests add up to the original; a rest is at most half a scale.
#include "kernels/graph/quantization.h"

#include <bit>
#include <limits>

#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

OpCase quantize(const Array& x, std::int64_t bits, std::int64_t parts) {
  return {Op::Quantize, {{"bits", bits}, {"parts", parts}}, {x}, {}, "quantize"};
}

OpCase dequantize(const std::vector<Array>& packed, const Dims& dims, std::int64_t bits,
                  std::int64_t parts) {
  return {Op::Dequantize, {{"bits", bits}, {"parts", parts}, {"dims", dims}}, packed, {}, "sum"};
}

std::vector<std::vector<Array>> results_of(const OpCase& op_case) {
  std::vector<std::vector<Array>> all{run_op(reference_table(), op_case, 1).outputs};
  for (const Subject& subject : subjects()) {
    all.push_back(subject.run(op_case, 1).outputs);
    expect_same_bits(all.back(), all.front(), op_case.name + subject.name);
  }
  return all;
}

/// With several parts, one of which may be partly or wholly zeros, and blocks cut short.
TEST(Quantization, AgreesWithTheReference) {
  for (const Dims& dims : {Dims{1}, Dims{5}, Dims{64, 3}, Dims{256}, Dims{1003}, Dims{90, 70}}) {
    const Array x = random_array(dims, 1);
    for (const std::int64_t bits : {8, 4}) {
      for (const std::int64_t parts : {1, 2, 3, 4}) {
        const Array packed = results_of(quantize(x, bits, parts)).front()[0];
        EXPECT_EQ(packed.type.elements(),
                  parts * quantized_part(x.type.elements(), parts, bits).words());
        results_of(dequantize({packed}, dims, bits, parts));
      }
    }
  }
}

/// Enough elements for several threads.
TEST(Quantization, AgreesWithTheReferenceForMany) {
  const Dims dims{600'001};
  for (const std::int64_t bits : {8, 4}) {
    std::vector<Array> packed;
    for (int i = 0; i < 3; ++i) {
      packed.push_back(results_of(quantize(random_array(dims, i), bits, 3)).front()[0]);
    }
    results_of(dequantize(packed, dims, bits, 3));
  }
}

TEST(Quantization, LosesAtMostHalfAScaleWhichIsTheRest) {
  const Dims dims{1000};
  Array x = random_array(dims, 3);
  for (std::int64_t i = 0; i < 256; ++i) x.f32()[i] *= 1e-6F;  // a scale of its own
  x.f32()[700] = 1;
  for (const std::int64_t bits : {8, 4}) {
    const std::vector<Array> made = results_of(quantize(x, bits, 1)).back();
    const Array y = results_of(dequantize({made[0]}, dims, bits, 1)).back()[0];
    EXPECT_EQ(y.f32()[700], 1.0F / largest_code(bits) * largest_code(bits));
    for (std::int64_t i = 0; i < 1000; ++i) {
      EXPECT_NEAR(y.f32()[i] + made[1].f32()[i], x.f32()[i], 1e-7F) << i;
      EXPECT_LE(std::abs(made[1].f32()[i]), made[0].f32()[i / 256] * 0.5001F) << i;
    }
  }
}

/// Codes in order from the lowest bits, ties to even.
TEST(Quantization, PacksCodesFromTheLowestBits) {
  Array x = random_array({9}, 1);
  const std::vector<float> values{7, -7, 0, 1, 2.5F, 3.5F, -1, -0.5F, 4};
  std::copy(values.begin(), values.end(), x.f32());
  const std::vector<Array> made = results_of(quantize(x, 4, 1)).back();
  ASSERT_EQ(made[0].type.elements(), 3);
  EXPECT_EQ(made[0].f32()[0], 1);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(made[0].f32()[1]), 0x0f421097U);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(made[0].f32()[2]), 4U);
}

TEST(Quantization, KeepsZerosAndDenormalsAndShowsWhatIsNoNumber) {
  Array x = random_array({1024}, 4);
  std::fill_n(x.f32(), 512, 0.0F);
  x.f32()[300] = std::numeric_limits<float>::denorm_min();
  x.f32()[600] = std::numeric_limits<float>::infinity();
  x.f32()[900] = std::numeric_limits<float>::quiet_NaN();
  for (const Subject& subject : subjects()) {
    const Array packed = subject.run(quantize(x, 8, 1), 1).outputs[0];
    const Array y = subject.run(dequantize({packed}, {1024}, 8, 1), 1).outputs[0];
    for (std::int64_t i = 0; i < 1024; ++i) {
      EXPECT_EQ(std::isnan(y.f32()[i]), i >= 512) << i << subject.name;
    }
    EXPECT_EQ(std::count(y.f32(), y.f32() + 512, 0.0F), 512) << subject.name;
  }
}

}  // namespace
}  // namespace regatta::cpu::test
