// SPDX-License-Identifier: Apache-2.0
//
// Tests when a rank counts as lost. harness/program_tests kill and stop real ranks.
#include "harness/ranks/rank_watch.h"

#include <gmock/gmock.h>

namespace regatta::ranks {
namespace {

using std::chrono::seconds;
using testing::HasSubstr;
using testing::Optional;

TEST(RankWatch, LosesARankThatHangsBeforeItJoins) {
  EXPECT_EQ(why_lost({.coming = seconds(30)}), std::nullopt);
  EXPECT_THAT(why_lost({.coming = seconds(31)}),
              Optional(HasSubstr("has not joined the run within 30 s, so it or mpirun is stuck")));
  EXPECT_EQ(why_lost({.greeted = true, .coming = seconds(31)}), std::nullopt);
}

TEST(RankWatch, LosesARankThatIsGoneOrStoppedBeforeItIsReady) {
  EXPECT_EQ(why_lost({.stopped = seconds(5)}), std::nullopt);
  EXPECT_THAT(why_lost({.silence = seconds(6), .stopped = seconds(6)}),
              Optional(HasSubstr("stopped for 5 s before it joined")));
  EXPECT_EQ(why_lost({.silence = seconds(6), .stopped = seconds(4)}), std::nullopt);
  EXPECT_THAT(why_lost({.greeted = true, .stopped = seconds(6)}),
              Optional(HasSubstr("stopped for 5 s before it was ready")));
  EXPECT_THAT(why_lost({.silence = seconds(6)}), Optional(HasSubstr("has ended before it joined")));
}

TEST(RankWatch, LosesARankThatIsSilentOrWhoseConnectionBroke) {
  EXPECT_EQ(why_lost({.greeted = true, .silence = seconds(5)}), std::nullopt);
  EXPECT_THAT(why_lost({.greeted = true, .silence = seconds(6)}),
              Optional(HasSubstr("has said nothing for 5 s")));
  EXPECT_THAT(why_lost({.greeted = true, .broken = true}),
              Optional(HasSubstr("its connection broke")));
}

}  // namespace
}  // namespace regatta::ranks
