// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/md5.h"

#include <gtest/gtest.h>

#include <string>

namespace regatta {
namespace {

TEST(Md5, DigestsTheVectorsOfItsRfc) {  // RFC 1321, appendix A.5
  EXPECT_EQ(md5(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5("a"), "0cc175b9c0f1b6a831c399e269772661");
  EXPECT_EQ(md5("abc"), "900150983cd24fb0d6963f7d28e17f72");
  EXPECT_EQ(md5("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
  EXPECT_EQ(md5("abcdefghijklmnopqrstuvwxyz"), "c3fcd3d76192e4007dfb496cca67e13b");
  EXPECT_EQ(md5("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            "d174ab98d277d9f5a5611c2c9f419d9f");
  EXPECT_EQ(md5("12345678901234567890123456789012345678901234567890123456789012345678901234567890"),
            "57edf4a22be3c955ac49da2e2107b67a");
}

TEST(Md5, DoesNotDependOnHowTheMessageIsCut) {
  std::string message;
  for (int i = 0; i < 300; ++i) message += static_cast<char>(i);
  for (std::size_t length = 0; length <= message.size(); ++length) {
    const std::string whole = message.substr(0, length);
    for (const std::size_t piece : {1, 7, 63, 64, 65}) {
      Md5 digest;
      for (std::size_t at = 0; at < length; at += piece) {
        const std::string part = whole.substr(at, piece);
        digest.update(part.data(), part.size());
      }
      ASSERT_EQ(digest.finish(), md5(whole)) << length << " bytes in pieces of " << piece;
    }
  }
}

}  // namespace
}  // namespace regatta
