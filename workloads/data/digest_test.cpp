// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/digest.h"

#include <gtest/gtest.h>

#include <fstream>

namespace regatta::workloads {
namespace {

std::string md5_of_text(const std::string& text) {
  const std::string file = testing::TempDir() + "digest_test";
  std::ofstream(file, std::ios::binary) << text;
  return md5_of(file);
}

TEST(Md5, IsThatOfItsRfc) {  // RFC 1321, appendix A.5
  EXPECT_EQ(md5_of_text(""), "d41d8cd98f00b204e9800998ecf8427e");
  EXPECT_EQ(md5_of_text("message digest"), "f96b697d7cb7938d525a2f31aaf161d0");
}

TEST(Md5, HoldsAllPiecesOfALargeFile) {
  const std::string large((std::size_t{3} << 20) + 1, 'a');
  EXPECT_EQ(md5_of_text(large), "9aa778d728a1108a6e8457026db5a877");
}

TEST(Md5, IsEmptyWhereThereIsNoFile) { EXPECT_EQ(md5_of("/no/such/file"), ""); }

}  // namespace
}  // namespace regatta::workloads
