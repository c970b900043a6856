// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/cifar10.h"

#include <array>
#include <fstream>
#include <span>
#include <string_view>
#include <system_error>

#include "kernels/base/error.h"
#include "workloads/data/digest.h"

namespace regatta::workloads {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kSide = 32;
constexpr std::size_t kPlaneBytes = kSide * kSide;
constexpr std::size_t kPictureBytes = 3 * kPlaneBytes;
constexpr std::size_t kRecordBytes = 1 + kPictureBytes;
constexpr std::size_t kRecordsPerFile = 10'000;
constexpr std::size_t kFileBytes = kRecordsPerFile * kRecordBytes;
constexpr int kClasses = 10;

constexpr std::string_view kWaysOut =
    "; fix: get the data with `ci/fetch_cifar10 DIR` and pass `--data-dir DIR`, or train on "
    "generated "
    "pictures with `--dataset shapes`";

struct KnownFile {
  std::string_view name;
  std::string_view md5;
};

/// The training files, then the test file, with their MD5. Source: the authors' archive.
constexpr std::array<KnownFile, 6> kFiles = {{
    {"data_batch_1.bin", "5dd7e06a14cb22eb9f671a540d1b7c25"},
    {"data_batch_2.bin", "5ea93a67294ea407fff1d09f752e9692"},
    {"data_batch_3.bin", "942cd6a4bcdd0dd3c604fbe906cb4421"},
    {"data_batch_4.bin", "ae636b3ba5c66a11e91e8cb52e771fcb"},
    {"data_batch_5.bin", "53f37980c15c3d472c316c40844f3f0d"},
    {"test_batch.bin", "803d5f7f4d78ea53de84dbe85f74fb6d"},
}};

std::span<const KnownFile> files_of(Split split) {
  const std::span<const KnownFile> all = kFiles;
  return split == Split::Train ? all.first(5) : all.last(1);
}

[[noreturn]] void fail(const std::string& what) {
  throw RunError(ErrorKind::Data, "cifar10: " + what + std::string(kWaysOut));
}

[[noreturn]] void refuse_other(const fs::path& path, const std::string& md5,
                               std::string_view published) {
  throw RunError(
      ErrorKind::Data,
      "cifar10: " + path.string() + " is another file than the published one (MD5 " + md5 +
          " instead of " + std::string(published) +
          "); fix: get it again with `ci/fetch_cifar10 DIR`, or train on it with `--data "
          "unverified`, which the record tells");
}

void check_size(const fs::path& path) {
  std::error_code error;
  if (!fs::is_regular_file(path, error)) fail(path.string() + " is missing");
  const std::uintmax_t size = fs::file_size(path, error);
  if (error) fail(path.string() + " cannot be read: " + error.message());
  if (size == kFileBytes) return;
  fail(path.string() + (size < kFileBytes ? " is truncated: " : " is too long: ") +
       std::to_string(size) + " bytes instead of " + std::to_string(kFileBytes));
}

void read_file(const fs::path& path, std::span<std::uint8_t> bytes) {
  std::ifstream file(path, std::ios::binary);
  const auto size = static_cast<std::streamsize>(bytes.size());
  if (!file.read(reinterpret_cast<char*>(bytes.data()), size)) {
    fail(path.string() + " cannot be read");
  }
}

/// Planes [3, 32, 32] to pixels [32, 32, 3].
void interleave_planes(const std::uint8_t* planes, std::uint8_t* pixels) {
  for (std::size_t i = 0; i < kPlaneBytes; ++i) {
    pixels[3 * i] = planes[i];
    pixels[3 * i + 1] = planes[kPlaneBytes + i];
    pixels[3 * i + 2] = planes[2 * kPlaneBytes + i];
  }
}

void append_records(const fs::path& path, std::span<const std::uint8_t> bytes, DataSet& data) {
  auto& labels = data.targets.as<std::int32_t>();
  const std::size_t first = labels.size();
  for (std::size_t record = 0; record < kRecordsPerFile; ++record) {
    const std::uint8_t* at = bytes.data() + record * kRecordBytes;
    if (*at >= kClasses) {
      fail(path.string() + " is mislabelled: record " + std::to_string(record) + " has label " +
           std::to_string(*at) + ", not one of 0 to 9");
    }
    labels.push_back(*at);
    interleave_planes(at + 1,
                      data.inputs.as<std::uint8_t>().data() + (first + record) * kPictureBytes);
  }
}

}  // namespace

DataSet load_cifar10(const fs::path& folder, Split split, DataCheck check) {
  std::error_code error;
  if (!fs::is_directory(folder, error)) fail("there is no folder " + folder.string());
  const std::span<const KnownFile> files = files_of(split);
  for (const KnownFile& file : files) check_size(folder / file.name);

  const std::size_t count = files.size() * kRecordsPerFile;
  DataSet data{.name = "cifar10",
               .origin = DataOrigin::Published,
               .count = static_cast<std::int64_t>(count),
               .inputs = {{kSide, kSide, 3}, std::vector<std::uint8_t>(count * kPictureBytes)},
               .targets = {{}, std::vector<std::int32_t>()}};
  data.targets.as<std::int32_t>().reserve(count);
  std::vector<std::uint8_t> bytes(kFileBytes);
  Digest all;
  for (const KnownFile& file : files) {
    const fs::path path = folder / file.name;
    read_file(path, bytes);
    append_records(path, bytes, data);
    Digest own;
    own.add(std::as_bytes(std::span(bytes)));
    const std::string md5 = own.digits();
    all.add(md5);
    if (md5 == file.md5) continue;
    if (check == DataCheck::Verified) refuse_other(path, md5, file.md5);
    data.origin = DataOrigin::Unverified;
  }
  data.digest = all.digits();
  return data;
}

std::vector<FileCheck> check_cifar10(const fs::path& folder) {
  std::vector<FileCheck> checks;
  for (const KnownFile& file : kFiles) {
    const fs::path path = folder / file.name;
    FileCheck check{.name = std::string(file.name)};
    std::error_code error;
    check.present = fs::is_regular_file(path, error);
    if (check.present) {
      const std::uintmax_t size = fs::file_size(path, error);
      if (!error) check.size_bytes = static_cast<std::int64_t>(size);
      check.size_ok = check.size_bytes == static_cast<std::int64_t>(kFileBytes);
      check.genuine = check.size_ok && md5_of(path) == file.md5;
    }
    checks.push_back(check);
  }
  return checks;
}

}  // namespace regatta::workloads
