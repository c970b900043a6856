// SPDX-License-Identifier: Apache-2.0
#include "harness/system/terminal.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regatta::system {
namespace {

using ::testing::ElementsAre;

TEST(Wrapped, FillsLinesWithoutBreakingAPiece) {
  EXPECT_THAT(wrapped({"12 s", "step 1 of 2", "loss 3"}, "  ", 17),
              ElementsAre("12 s  step 1 of 2", "loss 3"));
  EXPECT_THAT(wrapped({"12 s", "step 1 of 2", "loss 3"}, "  ", 16),
              ElementsAre("12 s", "step 1 of 2", "loss 3"));
  EXPECT_THAT(wrapped("a  bc def", 5), ElementsAre("a  bc", "def"));
}

TEST(Wrapped, LeavesAPieceThatIsTooWideAlone) {
  EXPECT_THAT(wrapped("a longword b c", 4), ElementsAre("a", "longword", "b c"));
  EXPECT_TRUE(wrapped("", 4).empty());
}

TEST(OneLine, EscapesWhatWouldBreakIt) {
  EXPECT_EQ(one_line("a\nb\tc\x1b[2J\x7f µ"), "a\\nb\\x09c\\x1b[2J\\x7f µ");
  EXPECT_EQ(one_line("\xc2\x9b"  // in C1; some terminals take it for ESC [
                     "2J"),
            "\xc2\\x9b2J");
}

TEST(ShortLine, KeepsBothEndsOfALongText) {
  EXPECT_EQ(short_line("as\nit is"), "as\\nit is");
  const std::string cut = short_line("begin" + std::string(5000, '\n') + "end");
  EXPECT_LT(cut.size(), 1100U);
  EXPECT_TRUE(cut.starts_with("begin\\n\\n")) << cut;
  EXPECT_TRUE(cut.ends_with("\\nend")) << cut;
  EXPECT_NE(cut.find(" ... "), std::string::npos);
}

}  // namespace
}  // namespace regatta::system
