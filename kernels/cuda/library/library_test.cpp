// SPDX-License-Identifier: Apache-2.0
//
// Libraries that are found at run time or are missing.
#include "kernels/cuda/library/library.h"

#include <gtest/gtest.h>

#include "kernels/cuda/device/emulated_for_test.h"
#include "kernels/cuda/ops/widen.h"
#include "kernels/graph/error.h"
#include "kernels/runtime/shared_library.h"

namespace regatta::cuda {
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
                      "/usr/local/cuda/lib64/ and /usr/local/cuda/lib/ ("),
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

TEST(Library, TellsItsVersionOrWhatIsMissing) {
  EXPECT_NE(version_of_cublas_lt().has_value(), why_no_cublas_lt().find("libcublasLt") == 0);
  EXPECT_NE(version_of_cudnn().has_value(), why_no_cudnn().find("libcudnn") == 0);
  if (version_of_cublas_lt()) {
    EXPECT_EQ(version_of_cublas_lt()->substr(0, 3), "13.");
  }
  if (version_of_cudnn()) {
    EXPECT_EQ(version_of_cudnn()->substr(0, 2), "9.");
  }
}

TEST(Widen, CopiesBothElementTypesToF32) {
  const auto queue = make_emulated_queue();
  const std::vector<std::uint16_t> halves{0x3F80, 0xC000};
  std::vector<float> floats{3, 4};
  std::vector<float> to(2);
  widen(*queue,
        {.type = {ElementType::BF16, {2}}, .data = const_cast<std::uint16_t*>(halves.data())},
        to.data());
  EXPECT_EQ(to, (std::vector<float>{1, -2}));
  widen(*queue, {.type = {ElementType::F32, {2}}, .data = floats.data()}, to.data());
  EXPECT_EQ(to, floats);
}

}  // namespace
}  // namespace regatta::cuda
