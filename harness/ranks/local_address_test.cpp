// SPDX-License-Identifier: Apache-2.0
#include "harness/ranks/local_address.h"

#include <gtest/gtest.h>

namespace regatta::ranks {
namespace {

TEST(LocalAddress, OfLoopbackIsLoopbacks) {
  EXPECT_EQ(address_towards("127.0.0.1:1"), "127.0.0.1");
}

TEST(LocalAddress, HasAnInterfaceOfThisMachineOnly) {
  EXPECT_EQ(interface_with("127.0.0.1"), "lo");
  EXPECT_EQ(interface_with("192.0.2.1"), "");  // reserved for documentation, RFC 5737
  EXPECT_EQ(interface_with("a name"), "");
  EXPECT_EQ(interface_with(""), "");
}

}  // namespace
}  // namespace regatta::ranks
