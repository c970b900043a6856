// SPDX-License-Identifier: Apache-2.0
//
// Tests with the real files if they lie beside the repository, and with damaged files made here.
#include "workloads/data/cifar10.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kFileBytes = 30'730'000;
constexpr std::int64_t kRecordBytes = 3073;
const fs::path kRealFolder = "../shared/data/cifar-10-batches-bin";

std::vector<std::int32_t> first_labels(const DataSet& data) {
  const auto& labels = data.targets.as<std::int32_t>();
  return {labels.begin(), labels.begin() + 10};
}

void expect_balanced(const DataSet& data) {
  for (int label = 0; label < 10; ++label) {
    EXPECT_EQ(std::ranges::count(data.targets.as<std::int32_t>(), label), data.count / 10);
  }
}

class RealCifar10 : public testing::Test {
 protected:
  void SetUp() override {
    if (!fs::exists(kRealFolder)) GTEST_SKIP() << "no CIFAR-10 in " << kRealFolder;
  }
};

TEST_F(RealCifar10, TrainingSetHasThePublishedLabelsMeansAndDeviations) {
  const DataSet data = load_cifar10(kRealFolder, Split::Train, DataCheck::Verified);
  EXPECT_EQ(data.name, "cifar10");
  EXPECT_EQ(data.count, 50'000);
  EXPECT_EQ(data.inputs.dims, (std::vector<std::int64_t>{32, 32, 3}));
  ASSERT_EQ(data.inputs.bytes().size(), 50'000U * 3072);
  EXPECT_EQ(first_labels(data), (std::vector<std::int32_t>{6, 9, 9, 4, 1, 1, 2, 7, 8, 3}));
  expect_balanced(data);

  // Source: mean and deviation of the verified files, as fractions of 255.
  constexpr double kMean[3] = {0.49139968, 0.48215841, 0.44653091};
  constexpr double kDeviation[3] = {0.24703223, 0.24348513, 0.26158784};
  for (std::size_t channel = 0; channel < 3; ++channel) {
    std::uint64_t sum = 0;
    std::uint64_t sum_of_squares = 0;
    for (std::size_t i = channel; i < data.inputs.bytes().size(); i += 3) {
      sum += data.inputs.as<std::uint8_t>()[i];
      sum_of_squares +=
          std::uint64_t{data.inputs.as<std::uint8_t>()[i]} * data.inputs.as<std::uint8_t>()[i];
    }
    const double pixels = 50'000.0 * 1024;
    const double mean = static_cast<double>(sum) / pixels;
    const double variance = static_cast<double>(sum_of_squares) / pixels - mean * mean;
    EXPECT_NEAR(mean / 255, kMean[channel], 1e-7);
    EXPECT_NEAR(std::sqrt(variance) / 255, kDeviation[channel], 1e-7);
  }
}

TEST_F(RealCifar10, TestSetHasThePublishedLabels) {
  const DataSet data = load_cifar10(kRealFolder, Split::Test, DataCheck::Verified);
  EXPECT_EQ(data.origin, DataOrigin::Published);
  EXPECT_EQ(data.count, 10'000);
  EXPECT_EQ(first_labels(data), (std::vector<std::int32_t>{3, 8, 8, 0, 6, 6, 1, 6, 3, 1}));
  expect_balanced(data);
}

TEST_F(RealCifar10, PixelsAreThoseOfThePlanesInTheFile) {
  const DataSet data = load_cifar10(kRealFolder, Split::Test, DataCheck::Verified);
  std::ifstream file(kRealFolder / "test_batch.bin", std::ios::binary);
  for (const std::size_t record : {0, 1, 9999}) {
    std::vector<char> bytes(kRecordBytes);
    file.seekg(static_cast<std::streamoff>(record * kRecordBytes));
    ASSERT_TRUE(file.read(bytes.data(), kRecordBytes));
    for (std::size_t i = 0; i < 3072; ++i) {
      const std::size_t pixel = i / 3;
      const std::size_t channel = i % 3;
      const auto expected = static_cast<std::uint8_t>(bytes[1 + channel * 1024 + pixel]);
      ASSERT_EQ(data.inputs.as<std::uint8_t>()[record * 3072 + i], expected);
    }
  }
}

TEST_F(RealCifar10, FilesAreGenuine) {
  for (const FileCheck& check : check_cifar10(kRealFolder)) {
    EXPECT_TRUE(check.present && check.size_ok && check.genuine) << check.name;
    EXPECT_EQ(check.size_bytes, kFileBytes);
  }
}

/// A folder of six files of the right size, all zero (every label 0), for tests to damage.
class DamagedCifar10 : public testing::Test {
 protected:
  void SetUp() override {
    for (int i = 1; i <= 5; ++i) make_file("data_batch_" + std::to_string(i) + ".bin");
    make_file("test_batch.bin");
  }

  void make_file(const std::string& name) {
    std::ofstream(folder_ / name);
    fs::resize_file(folder_ / name, kFileBytes);  // sparse: takes no space
  }

  std::string message_of(Split split) const {
    const std::string text = testing_support::error_of(
        [&] { load_cifar10(folder_, split, DataCheck::Unverified); }, ErrorKind::Data);
    EXPECT_NE(text.find("ci/fetch_cifar10 DIR"), std::string::npos) << text;
    EXPECT_NE(text.find("--dataset shapes"), std::string::npos) << text;
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }

  void expect_message(Split split, const std::string& part) const {
    const std::string text = message_of(split);
    EXPECT_NE(text.find(part), std::string::npos) << text;
  }

  const testing_support::ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(DamagedCifar10, OtherBytesThanThePublishedOnesAreUsedOnlyWhereThatWasAskedFor) {
  EXPECT_THAT([&] { load_cifar10(folder_, Split::Test, DataCheck::Verified); },
              testing::ThrowsMessage<RunError>(testing::AllOf(
                  testing::HasSubstr("test_batch.bin is another file than the published one"),
                  testing::HasSubstr("--data unverified"))));
  const DataSet test = load_cifar10(folder_, Split::Test, DataCheck::Unverified);
  EXPECT_EQ(test.origin, DataOrigin::Unverified);
  std::fstream file(folder_ / "test_batch.bin", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(1'000'000).put(1);
  file.close();
  EXPECT_NE(load_cifar10(folder_, Split::Test, DataCheck::Unverified).digest, test.digest);
}

TEST_F(DamagedCifar10, UnknownBytesLoadButAreNotCalledGenuine) {
  EXPECT_EQ(load_cifar10(folder_, Split::Test, DataCheck::Unverified).count, 10'000);
  for (const FileCheck& check : check_cifar10(folder_)) {
    EXPECT_TRUE(check.present && check.size_ok) << check.name;
    EXPECT_FALSE(check.genuine) << check.name;
  }
}

TEST_F(DamagedCifar10, TruncatedFileIsNamedWithBothSizes) {
  fs::resize_file(folder_ / "data_batch_3.bin", kFileBytes - 1);
  expect_message(Split::Train, "data_batch_3.bin is truncated: 30729999 bytes instead of 30730000");
  EXPECT_EQ(load_cifar10(folder_, Split::Test, DataCheck::Unverified).count, 10'000);
  const FileCheck check = check_cifar10(folder_)[2];
  EXPECT_TRUE(check.present);
  EXPECT_EQ(check.size_bytes, kFileBytes - 1);
  EXPECT_FALSE(check.size_ok || check.genuine);
}

TEST_F(DamagedCifar10, OverLongFileIsNamedWithBothSizes) {
  fs::resize_file(folder_ / "test_batch.bin", kFileBytes + kRecordBytes);
  expect_message(Split::Test, "test_batch.bin is too long: 30733073 bytes instead of 30730000");
}

TEST_F(DamagedCifar10, LabelOutOfRangeIsNamedWithItsRecord) {
  std::fstream file(folder_ / "data_batch_2.bin", std::ios::binary | std::ios::in | std::ios::out);
  file.seekp(1234 * kRecordBytes).put(static_cast<char>(200));
  file.close();
  expect_message(Split::Train,
                 "data_batch_2.bin is mislabelled: record 1234 has label 200, not one of 0 to 9");
}

TEST_F(DamagedCifar10, MissingFileIsNamed) {
  fs::remove(folder_ / "data_batch_5.bin");
  expect_message(Split::Train, "data_batch_5.bin is missing");
  EXPECT_FALSE(check_cifar10(folder_)[4].present);
}

TEST_F(DamagedCifar10, FolderInPlaceOfAFileCountsAsMissing) {
  fs::remove(folder_ / "test_batch.bin");
  fs::create_directory(folder_ / "test_batch.bin");
  expect_message(Split::Test, "test_batch.bin is missing");
}

TEST_F(DamagedCifar10, MissingFolderIsNamed) {
  fs::remove_all(folder_);
  expect_message(Split::Test, "there is no folder " + folder_.string());
  for (const FileCheck& check : check_cifar10(folder_)) EXPECT_FALSE(check.present);
}

}  // namespace
}  // namespace regatta::workloads
