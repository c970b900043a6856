// SPDX-License-Identifier: Apache-2.0
//
// Bytes in pieces that end inside elements and begin at any address.
#include "kernels/comm/grpc/scatter.h"

#include <gtest/gtest.h>

#include <random>

namespace regatta::comm {
namespace {

using Floats = std::vector<float>;

Floats random_floats(std::int64_t count, unsigned seed) {
  std::mt19937 generator(seed);
  std::normal_distribution<float> normal;
  Floats values(static_cast<std::size_t>(count));
  for (float& value : values) value = normal(generator);
  return values;
}

/// A message's tensors, with random values.
struct Message {
  explicit Message(unsigned seed) {
    for (std::int64_t count : {1, 5, 1000, 3}) {
      parts.push_back(random_floats(count, seed++));
      tensors.push_back({.type = {ElementType::F32, {count}}, .data = parts.back().data()});
    }
  }
  std::vector<std::uint8_t> bytes() const {
    std::vector<std::uint8_t> all;
    for (const Tensor& tensor : tensors) {
      all.insert(all.end(), tensor.as<std::uint8_t>(),
                 tensor.as<std::uint8_t>() + tensor.type.bytes());
    }
    return all;
  }
  std::vector<Floats> parts;
  std::vector<Tensor> tensors;
};

/// Lands the message in pieces of up to `largest` bytes, each at its address in the message.
void land(Scatter& scatter, const std::vector<std::uint8_t>& bytes, std::size_t largest) {
  std::mt19937 generator(7);
  scatter.begin();
  for (std::size_t done = 0; done < bytes.size();) {
    const std::size_t count = std::min(1 + generator() % largest, bytes.size() - done);
    scatter.land(std::span(bytes).subspan(done, count));
    done += count;
  }
}

TEST(Scatter, LaysDownWhatComesInPiecesOfAnySize) {
  for (std::size_t largest : {1U, 13U, 900U, 10'000U}) {
    Message here(1);
    const Message came(20);
    Scatter scatter(here.tensors, Landing::Replaces);
    land(scatter, came.bytes(), largest);
    EXPECT_EQ(here.parts, came.parts) << largest;
  }
}

TEST(Scatter, AddsWhatComesInPiecesOfAnySizeOntoWhatIsThere) {
  for (std::size_t largest : {1U, 13U, 900U, 10'000U}) {
    Message here(1);
    std::vector<Floats> expected = here.parts;
    Scatter scatter(here.tensors, Landing::Adds);
    for (unsigned seed : {20U, 30U}) {
      const Message came(seed);
      for (std::size_t p = 0; p < expected.size(); ++p) {
        for (std::size_t i = 0; i < expected[p].size(); ++i) expected[p][i] += came.parts[p][i];
      }
      land(scatter, came.bytes(), largest);
    }
    EXPECT_EQ(here.parts, expected) << largest;
  }
}

}  // namespace
}  // namespace regatta::comm
