// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are found at run time or are missing.
#include "kernels/runtime/shared_library.h"

#include <gtest/gtest.h>
#include <stdlib.h>

#include <array>
#include <filesystem>
#include <string>

namespace regatta {
namespace {

/// The text of the RunError(Unsupported) that `body` throws.
template <typename Body>
std::string refusal(const Body& body) {
  try {
    body();
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Unsupported);
    return error.what();
  }
  ADD_FAILURE() << "no error";
  return {};
}

TEST(SharedLibrary, SaysWhatToInstallAndWhereItLooked) {
  const std::string text =
      refusal([] { const SharedLibrary absent({.soname = "libabsent.so.1", .package = "some"}); });
  EXPECT_EQ(text.find("libabsent.so.1 cannot be loaded: install some or put its folder into "
                      "LD_LIBRARY_PATH; looked for it in the loader's path, "
                      "/usr/local/cuda/lib64/, /usr/local/cuda/lib/ and what pip installed "
                      "(nvidia/*/lib) ("),
            0U)
      << text;
}

TEST(SharedLibrary, SaysWhichFunctionOrVersionIsMissing) {
  const SharedLibrary library({.soname = "libm.so.6", .package = "a newer libc"});
  double (*cosine)(double) = nullptr;
  library.find(cosine, "cos");
  EXPECT_EQ(cosine(0), 1);
  EXPECT_NE(refusal([&] { library.find(cosine, "cosine_of"); }).find("has no function cosine_of"),
            std::string::npos);
  library.require(2, 2, "2");
  EXPECT_NE(refusal([&] {
              library.require(1, 2, "2.0");
            }).find("is version 1, too old: install a newer libc 2.0 or newer"),
            std::string::npos);
}

/// A folder of this test's own.
class Wheels : public testing::Test {
 protected:
  Wheels() : folder_(mkdtemp(name_.data())) {}
  ~Wheels() override { std::filesystem::remove_all(folder_); }

  std::array<char, 32> name_{"/tmp/regatta-wheels-XXXXXX"};
  std::filesystem::path folder_;
};

TEST_F(Wheels, AreLookedIntoForLibraries) {
  const SharedLibrary::Name made{.soname = "libregatta_made.so.1", .package = "regatta-made"};
  EXPECT_NE(refusal([&] { const SharedLibrary none(made); }), "");
  const auto library = folder_ / "lib/python3.99/site-packages/nvidia/made/lib" / made.soname;
  std::filesystem::create_directories(library.parent_path());
  std::filesystem::copy_file(SharedLibrary({.soname = "libm.so.6", .package = "libc"}).path(),
                             library);
  setenv("VIRTUAL_ENV", folder_.c_str(), 1);
  EXPECT_EQ(SharedLibrary(made).path(), library);
  unsetenv("VIRTUAL_ENV");
}

}  // namespace
}  // namespace regatta
