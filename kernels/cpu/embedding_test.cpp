// SPDX-License-Identifier: Apache-2.0
//
// embed, positions and rotary with their backward ops, for every device that has kernels
// (test_support.h).
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

struct Shape {
  std::int64_t tokens, vocabulary, columns;
};

// One of each, odd widths, a table larger than the batch, and enough for two threads.
constexpr Shape kShapes[] = {{1, 1, 1}, {5, 3, 7}, {40, 300, 33}, {3, 5, 200}, {700, 84, 65}};

std::string name_of(const Shape& s) {
  return std::to_string(s.tokens) + " of " + std::to_string(s.vocabulary) + " x " +
         std::to_string(s.columns);
}

/// Tokens of a vocabulary; two of three are from its first eighth.
Array uneven_tokens(const Shape& s) {
  Array tokens = random_labels(s.tokens, static_cast<int>(s.vocabulary), 1);
  for (std::int64_t i = 0; i < s.tokens; ++i) {
    if (i % 3 != 0) tokens.tensor().as<std::int32_t>()[i] /= 8;
  }
  return tokens;
}

TEST(Embed, CopiesTheRowsOfTheTokens) {
  for (const Shape& s : kShapes) {
    const Array tokens = uneven_tokens(s), table = random_array({s.vocabulary, s.columns}, 2);
    expect_agrees({Op::Embed, {}, {tokens, table}, {}, "embed " + name_of(s)}, {});
    const OpCase part{// a third of the rows: tokens before, in and behind it
                      Op::Embed,
                      {{"offset", s.vocabulary / 3}},
                      {tokens, random_array({(s.vocabulary + 2) / 3, s.columns}, 2)},
                      {},
                      "part of a table"};
    expect_agrees(part, {});
    for (const Subject& subject : subjects()) {
      const OpResult result =
          subject.run({Op::Embed, {}, {tokens, to_bf16(table)}, {}, "embed"}, 1);
      ASSERT_EQ(result.outputs[0].type.element, ElementType::BF16);
      for (std::int64_t i = 0; i < s.tokens * s.columns; ++i) {
        const auto token = static_cast<std::int64_t>(tokens.at(i / s.columns));
        ASSERT_EQ(result.outputs[0].at(i), table.at(token * s.columns + i % s.columns))
            << name_of(s) << " element " << i << subject.name;
      }
    }
  }
}

TEST(EmbedBackward, AgreesWithTheReference) {
  for (const Shape& s : kShapes) {
    const OpCase op_case{Op::EmbedBackward,
                         {{"rows", s.vocabulary}},
                         {random_array({s.tokens, s.columns}, 3), uneven_tokens(s)},
                         {},
                         "embed_backward " + name_of(s)};
    expect_agrees(op_case, sum_of(s.tokens));
    expect_agrees_in_bf16(op_case, 1, sum_of(s.tokens));
    OpCase part = op_case;
    part.attributes.set("rows", (s.vocabulary + 2) / 3);
    part.attributes.set("offset", s.vocabulary / 3);
    expect_agrees(part, sum_of(s.tokens));
  }
}

// Sequences of one and of several tokens, odd widths, and enough for two threads.
const Dims kSequences[] = {{1, 1, 1}, {3, 5, 7}, {2, 9, 64}, {12, 64, 48}, {7, 33, 150}};

TEST(Positions, AgreeWithTheReference) {
  for (const Dims& dims : kSequences) {
    const OpCase op_case{Op::Positions,
                         {},
                         {random_array(dims, 1), random_array({dims[1], dims[2]}, 2)},
                         {},
                         "positions"};
    expect_agrees(op_case, {.absolute = 0x1p-24, .relative = 0x1p-23});
    expect_agrees_in_bf16(op_case, 1, {});
  }
}

TEST(PositionsBackward, AgreesWithTheReference) {
  for (const Dims& dims : kSequences) {
    const OpCase op_case{Op::PositionsBackward, {}, {random_array(dims, 1)}, {}, "positions"};
    expect_agrees(op_case, sum_of(dims[0]));
    expect_agrees_in_bf16(op_case, 1, sum_of(dims[0]));
  }
}

TEST(Rotary, AgreesWithTheReferenceThereAndBack) {
  // Heads of 2, 6, 32, 34 and 64 channels.
  for (const auto& [dims, heads] :
       {std::pair{Dims{1, 1, 6}, 1}, std::pair{Dims{2, 5, 54}, 3}, std::pair{Dims{3, 64, 384}, 4},
        std::pair{Dims{2, 7, 102}, 1}, std::pair{Dims{1, 300, 384}, 2}}) {
    for (const std::int64_t back : {0, 1}) {
      const OpCase op_case{Op::Rotary,
                           {{"heads", std::int64_t{heads}}, {"base", 10000.0}, {"back", back}},
                           {random_array(dims, 1)},
                           {},
                           "rotary of " + std::to_string(heads) + " heads"};
      expect_agrees(op_case, {.absolute = 4e-7, .relative = 0x1p-23});
      expect_agrees_in_bf16(op_case, 1, {.absolute = 4e-7});
    }
  }
}

TEST(Rotary, OfChunksIsThatOfTheWholeSequence) {
  using Numbers = std::vector<std::int64_t>;
  const Array x = random_array({2, 20, 36}, 1);
  const Attributes whole{{"heads", 3}, {"base", 100.0}, {"back", 0}};
  Attributes part = whole;
  part.set("chunks", Numbers{1, 3});
  const auto tokens_of = [](const Array& from) {
    const Attributes tokens{{"axis", 1}, {"begins", Numbers{5, 15}}, {"length", 5}};
    return run_op(reference_table(), {Op::Take, tokens, {from}, {}, "take"}, 1).outputs[0];
  };
  const Array y = run_op(reference_table(), {Op::Rotary, whole, {x}, {}, "whole"}, 1).outputs[0];
  const OpCase chunks{Op::Rotary, part, {tokens_of(x)}, {}, "two of four chunks"};
  expect_agrees(chunks, {.absolute = 4e-7, .relative = 0x1p-23});
  for (const Subject& subject : subjects()) {
    expect_close(subject.run(chunks, 1).outputs, {tokens_of(y)}, {.absolute = 4e-7},
                 chunks.name + subject.name);
  }
}

}  // namespace
}  // namespace regatta::cpu::test
