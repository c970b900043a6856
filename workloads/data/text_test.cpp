// SPDX-License-Identifier: Apache-2.0
#include "workloads/data/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <numeric>

#include "harness/system/folder_for_test.h"
#include "kernels/base/error_for_test.h"

namespace regatta::workloads {
namespace {

namespace fs = std::filesystem;
using testing::HasSubstr;
using Tokens = std::vector<std::int32_t>;

constexpr Sequences kBytes{.context = 3, .vocabulary = 256};
constexpr Sequences kWords{.context = 3, .vocabulary = 340};

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
  Tokens inputs(const Sequences& sequences) const {
    return load_text(folder_, sequences).train.inputs.as<std::int32_t>();
  }
  std::string error_of(const Sequences& sequences, auto&& load) const {
    const std::string text =
        testing_support::error_of([&] { load(folder_, sequences); }, ErrorKind::Data);
    EXPECT_THAT(text, HasSubstr("fix: "));
    EXPECT_EQ(text.find('\n'), std::string::npos) << text;
    return text;
  }
  std::string error_of(const Sequences& sequences) const { return error_of(sequences, load_text); }

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
  EXPECT_EQ(data.train.inputs.as<std::int32_t>(), range(100, 132));
  EXPECT_EQ(data.train.targets.as<std::int32_t>(), range(101, 133));
  EXPECT_EQ(data.test.inputs.as<std::int32_t>(), range(136, 138));
  EXPECT_EQ(data.test.targets.as<std::int32_t>(), range(137, 139));
  EXPECT_EQ(data.train.count, 11);
  EXPECT_EQ(data.test.count, 1);
  EXPECT_EQ(sizes_of_text(folder_, kBytes).train, 11);
  EXPECT_EQ(sizes_of_text(folder_, kBytes).test, 1);
}

TEST_F(Text, HasBytesAboveAscii) {
  write("text", std::string(50, '\xff'));
  EXPECT_EQ(inputs(kBytes).front(), 255);
}

TEST_F(Text, ReadsTokensAsNanoGptWritesThem) {
  write("val.bin", forty_tokens().substr(60));
  write("train.bin", forty_tokens().substr(0, 60));
  write("meta.pkl", "is not read");
  EXPECT_EQ(inputs(kWords), range(300, 332));
}

TEST_F(Text, ReadsTokensAsLlmCWritesThem) {
  write("tokens.bin", header(1, 40) + forty_tokens());
  EXPECT_EQ(inputs(kWords), range(300, 332));
  EXPECT_EQ(sizes_of_text(folder_, kWords).train, 11);
}

TEST_F(Text, NeedsAFolderWithAFile) {
  const std::string fix = "`--data-dir DIR`, get one with `ci/fetch_text DIR`";
  EXPECT_THAT(error_of(kBytes), HasSubstr("there is no file in " + folder_.string()));
  EXPECT_THAT(error_of(kBytes), HasSubstr(fix));
  fs::remove(folder_);
  EXPECT_THAT(error_of(kBytes), HasSubstr("cannot read the folder " + folder_.string()));
  EXPECT_EQ(error_of(kBytes, sizes_of_text), error_of(kBytes));
}

TEST_F(Text, RefusesAnEmptyFile) {
  write("a.txt", text_of(range(1, 40)));
  write("b.txt", "");
  EXPECT_THAT(error_of(kBytes), HasSubstr("b.txt is empty"));
  write("tokens.bin", header(1, 0));
  EXPECT_THAT(error_of(kWords), HasSubstr("tokens.bin is empty"));
}

TEST_F(Text, RefusesATextThatIsShorterThanABlock) {
  write("text", text_of(range(1, 30)));
  EXPECT_THAT(error_of(kBytes), HasSubstr("has 30 tokens; the last tenth, for validation, has 3, "
                                          "fewer than a context of 3 and the next token"));
  EXPECT_EQ(error_of(kBytes, sizes_of_text), error_of(kBytes));
  write("text", text_of(range(1, 31)));
  EXPECT_EQ(load_text(folder_, kBytes).test.count, 1);
}

TEST_F(Text, RefusesATokenBeyondTheVocabulary) {
  write("text", text_of(range(80, 130)));
  EXPECT_THAT(error_of({.context = 3, .vocabulary = 128}),
              HasSubstr("text has token 128 at position 48, but the vocabulary is 128; fix: use a "
                        "vocabulary of 131 or more"));
  write("tokens.bin", forty_tokens());
  EXPECT_THAT(error_of({.context = 3, .vocabulary = 320}),
              HasSubstr("tokens.bin has token 320 at position 20, but the vocabulary is 320; fix: "
                        "use a vocabulary of 340 or more"));
}

TEST_F(Text, SuspectsTheByteOrderOfTokens) {
  write("tokens.bin", swapped(forty_tokens(), 2));
  EXPECT_THAT(error_of(kWords), HasSubstr("16-bit tokens of the wrong byte order?"));
}

TEST_F(Text, RefusesDamagedFilesOfTokens) {
  const auto error_of_file = [this](const std::string& bytes) {
    write("tokens.bin", bytes);
    return error_of(kWords);
  };
  const std::string tokens = forty_tokens();
  EXPECT_THAT(error_of_file(swapped(header(1, 40), 4) + tokens),
              HasSubstr("tokens.bin has a header of the wrong byte order"));
  EXPECT_THAT(error_of_file(header(7, 40) + tokens), HasSubstr("a header of version 7"));
  EXPECT_THAT(error_of_file(header(1, 41) + tokens),
              HasSubstr("80 bytes of tokens, but its header promises 41 tokens"));
  EXPECT_THAT(error_of_file(tokens + "x"), HasSubstr("an odd number of bytes"));
}

}  // namespace
}  // namespace regatta::workloads
