// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/text.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error.h"

namespace regatta::workloads {
namespace {

namespace fs = std::filesystem;
using Tokens = std::vector<std::int32_t>;

constexpr Sequences kBytes{.context = 3, .vocabulary = 256};

/// Returns the numbers first … last.
Tokens range(std::int32_t first, std::int32_t last) {
  Tokens tokens(static_cast<std::size_t>(last - first + 1));
  std::iota(tokens.begin(), tokens.end(), first);
  return tokens;
}

std::string text_of(const Tokens& tokens) { return {tokens.begin(), tokens.end()}; }

/// Returns the numbers, little-endian.
template <typename T>
std::string bytes_of(const std::vector<T>& numbers) {
  std::string bytes;
  for (const T number : numbers) {
    for (std::size_t i = 0; i < sizeof number; ++i) {
      bytes += static_cast<char>(number >> (8 * i) & 0xff);
    }
  }
  return bytes;
}

/// Returns bytes of tokens 300 … 339, 40 in all.
std::string forty_tokens() {
  const Tokens tokens = range(300, 339);
  return bytes_of(std::vector<std::uint16_t>(tokens.begin(), tokens.end()));
}

std::string header(std::uint32_t version, std::uint32_t tokens) {
  std::vector<std::uint32_t> numbers{20240520, version, tokens};
  numbers.resize(256);
  return bytes_of(numbers);
}

std::string swapped(std::string bytes, std::size_t size) {
  for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size)) {
    std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
  }
  return bytes;
}

class Text : public testing::Test {
 protected:
  void write(const std::string& name, const std::string& bytes) const {
    std::ofstream(folder_ / name, std::ios::binary) << bytes;
  }

  /// The tokens that 40 tokens in `files` yield for training: the inputs of their blocks.
  Tokens inputs(const Sequences& sequences) const {
    return load_text(folder_, sequences).train.inputs.as<std::int32_t>();
  }

  /// Checks that the text is refused in one line that contains `part`; its size, too, if `sizes`
  /// needs no token.
  enum class Seen { InSizes, InTokens };
  void expect_refused(const std::string& part, Seen seen, const Sequences& sequences) const {
    const auto expect = [&](auto&& load) {
      try {
        load(folder_, sequences);
        ADD_FAILURE() << "no error, but " << part;
      } catch (const RunError& error) {
        const std::string text = error.what();
        EXPECT_EQ(error.kind(), ErrorKind::Data);
        EXPECT_NE(text.find(part), std::string::npos) << text;
        EXPECT_NE(text.find("fix: "), std::string::npos) << text;
        EXPECT_EQ(text.find('\n'), std::string::npos) << text;
      }
    };
    expect(load_text);
    if (seen == Seen::InSizes) expect(sizes_of_text);
  }

  const testing_support::ScratchFolder scratch_;
  const fs::path& folder_ = scratch_.path();
};

TEST_F(Text, IsCutIntoBlocksThatShareOneToken) {
  write("b.txt", text_of(range(121, 140)));
  write("a.txt", text_of(range(101, 120)));
  write("B", text_of(range(100, 100)));
  fs::create_directory(folder_ / "folder");
  const DataSets data = load_text(folder_, kBytes);  // 41 tokens: 36 and 5
  EXPECT_EQ(data.train.name, "text");
  EXPECT_EQ(data.train.origin, DataOrigin::Unverified);
  EXPECT_EQ(data.train.inputs.dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(data.train.targets.dims, std::vector<std::int64_t>{3});
  EXPECT_EQ(data.train.count, 11);
  EXPECT_EQ(data.train.inputs.as<std::int32_t>(), range(100, 132));
  EXPECT_EQ(data.train.targets.as<std::int32_t>(), range(101, 133));
  EXPECT_EQ(data.test.inputs.as<std::int32_t>(), range(136, 138));
  EXPECT_EQ(data.test.targets.as<std::int32_t>(), range(137, 139));
  const DataSetSizes sizes = sizes_of_text(folder_, kBytes);
  EXPECT_EQ(sizes.train, data.train.count);
  EXPECT_EQ(sizes.test, data.test.count);
}

TEST_F(Text, HasBytesAboveAscii) {
  write("text", std::string(50, '\xff'));
  EXPECT_EQ(inputs(kBytes).front(), 255);
}

TEST_F(Text, ReadsTokensAsNanoGptWritesThem) {
  write("val.bin", forty_tokens().substr(60));
  write("train.bin", forty_tokens().substr(0, 60));
  write("meta.pkl", "is not read");
  EXPECT_EQ(inputs({.context = 3, .vocabulary = 340}), range(300, 332));
}

TEST_F(Text, ReadsTokensAsLlmCWritesThem) {
  write("tokens.bin", header(1, 40) + forty_tokens());
  const Sequences sequences{.context = 3, .vocabulary = 340};
  EXPECT_EQ(inputs(sequences), range(300, 332));
  EXPECT_EQ(sizes_of_text(folder_, sequences).train, 11);
  EXPECT_EQ(sizes_of_text(folder_, sequences).test, 1);
}

TEST_F(Text, NeedsAFolderWithAFile) {
  expect_refused("there is no file in ", Seen::InSizes, kBytes);
  expect_refused("`--data-dir DIR`, get one with `ci/fetch_text DIR`", Seen::InSizes, kBytes);
  fs::remove(folder_);
  expect_refused("cannot read the folder " + folder_.string(), Seen::InSizes, kBytes);
}

TEST_F(Text, RefusesAnEmptyFile) {
  write("a.txt", text_of(range(1, 40)));
  write("b.txt", "");
  expect_refused("b.txt is empty", Seen::InSizes, kBytes);
  write("tokens.bin", header(1, 0));
  expect_refused("tokens.bin is empty", Seen::InSizes, kBytes);
}

TEST_F(Text, RefusesATextThatIsShorterThanABlock) {
  write("text", text_of(range(1, 30)));
  expect_refused(
      "has 30 tokens; the last tenth, for validation, has 3, fewer than a context of 3 "
      "and the next token",
      Seen::InSizes, kBytes);
  write("text", text_of(range(1, 31)));
  EXPECT_EQ(load_text(folder_, kBytes).test.count, 1);
}

TEST_F(Text, RefusesATokenBeyondTheVocabulary) {
  write("text", text_of(range(80, 130)));
  expect_refused(
      "has token 128 at position 48, but the vocabulary is 128; fix: use a vocabulary "
      "of 131 or more",
      Seen::InTokens, {.context = 3, .vocabulary = 128});
  fs::remove(folder_ / "text");
  write("tokens.bin", forty_tokens());
  expect_refused(
      "tokens.bin has token 320 at position 20, but the vocabulary is 320; fix: use a "
      "vocabulary of 340 or more",
      Seen::InTokens, {.context = 3, .vocabulary = 320});
}

TEST_F(Text, SuspectsTheByteOrderOfTokens) {
  write("tokens.bin", swapped(forty_tokens(), 2));
  expect_refused("16-bit tokens of the wrong byte order?", Seen::InTokens,
                 {.context = 3, .vocabulary = 512});
}

TEST_F(Text, RefusesDamagedFilesOfTokens) {
  const auto refused = [this](const std::string& bytes, const std::string& part) {
    write("tokens.bin", bytes);
    expect_refused("tokens.bin has " + part, Seen::InSizes, {.context = 3, .vocabulary = 512});
  };
  refused(swapped(header(1, 40), 4) + forty_tokens(), "a header of the wrong byte order");
  refused(header(7, 40) + forty_tokens(), "a header of version 7");
  refused(header(1, 41) + forty_tokens(), "80 bytes of tokens, but its header promises 41 tokens");
  refused(forty_tokens() + "x", "an odd number of bytes");
}

}  // namespace
}  // namespace regatta::workloads
