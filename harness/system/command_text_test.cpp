// SPDX-License-Identifier: Apache-2.0
#include "harness/system/command_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace regatta::system {
namespace {

using testing::ElementsAre;
using Words = std::vector<std::string>;

TEST(CommandText, LeavesPlainWordsAlone) {
  const Words plain = {"regatta", "run", "--out=out/a_b-c", "1:2.5,2:3", "a+b@c%"};
  EXPECT_EQ(command_text(plain), "regatta run --out=out/a_b-c 1:2.5,2:3 a+b@c%");
}

TEST(CommandText, QuotesWhatAShellWouldTakeApart) {
  EXPECT_EQ(command_text(Words{"my folder", "$HOME", "", "it's"}),
            R"('my folder' '$HOME' '' 'it'"'"'s')");
}

TEST(CommandText, IsReadBackAsItWas) {
  const Words words = {"",          "a b",   "\t\n",    "'", "\"", "\\",
                       "a'b\"c\\d", "$(rm)", "caf\xe9", "#", "~"};
  EXPECT_EQ(words_of(command_text(words)), words);
}

TEST(CommandText, ReadsWhatAShellReads) {
  EXPECT_THAT(words_of("  a\\ b \"c \\\" d\"e  'f \\ g' "),
              ElementsAre("a b", "c \" de", "f \\ g"));
  EXPECT_THAT(words_of("open 'quote at the end"), ElementsAre("open", "quote at the end"));
}

}  // namespace
}  // namespace regatta::system
