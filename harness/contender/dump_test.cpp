// SPDX-License-Identifier: Apache-2.0
//
// Dumps every workload in small, and holds the reference against the record of a run of `single`.
#include "harness/contender/dump.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

#include "harness/contender/proof.h"
#include "harness/contender/safetensors.h"
#include "harness/plan/race_flags.h"
#include "harness/plan/training_options.h"
#include "harness/race/race.h"
#include "kernels/base/error_for_test.h"
#include "kernels/cpu/lacks_for_test.h"
#include "workloads/data/digest.h"

namespace regatta::contender {
namespace {

using regatta::testing_support::error_of;

namespace fs = std::filesystem;
using Json = nlohmann::json;
using Words = std::vector<std::string>;

class Dump : public testing::Test {
 protected:
  ~Dump() override { fs::remove_all(folder_); }

  const fs::path folder_ = fs::temp_directory_path() / ("regatta_dump_" + std::to_string(getpid()));
};

std::string bytes_of(const fs::path& path) {
  std::string bytes(fs::file_size(path), '\0');
  std::ifstream(path, std::ios::binary).read(bytes.data(), std::ssize(bytes));
  return bytes;
}

/// The values of a tensor of a file.
template <typename T>
std::vector<T> tensor(const fs::path& path, const std::string& name) {
  std::ifstream file(path, std::ios::binary);
  std::uint64_t length = 0;
  file.read(reinterpret_cast<char*>(&length), sizeof length);
  std::string header(length, '\0');
  file.read(header.data(), std::ssize(header));
  const Json entry = Json::parse(header).at(name);
  const auto begin = entry["data_offsets"][0].get<std::size_t>();
  const auto end = entry["data_offsets"][1].get<std::size_t>();
  std::vector<T> values((end - begin) / sizeof(T));
  file.seekg(static_cast<std::streamoff>(sizeof length + length + begin));
  file.read(reinterpret_cast<char*>(values.data()), static_cast<std::streamsize>(end - begin));
  EXPECT_TRUE(file) << path << " is cut short at " << name;
  return values;
}

/// A run of three steps of eight examples.
plan::RaceRequest small(const workloads::Workload& workload, Words words = {}) {
  words.insert(words.end(), {"--workload", std::string(workload.name), "--steps", "3",
                             "--global-batch", "8", "--seed", "5", "--cores", "1"});
  if (workload.metric == workloads::Metric::Accuracy)
    words.insert(words.end(), {"--dataset", "shapes", "--normalization-group", "8"});
  return plan::parse_run(words);
}

std::string refusal(const plan::RaceRequest& request, const fs::path& folder) {
  return error_of([&] { dump(request, folder); });
}

TEST(SafetensorsFile, HoldsTensorsThatAreWrittenSideBySide) {
  const fs::path path = fs::temp_directory_path() / ("regatta_" + std::to_string(getpid()));
  SafetensorsFile file(path, {{"a", "F32", {4}}, {"b", "I64", {1, 2}}});
  for (const int k : {0, 1}) {
    file.add(0, std::vector{0.5F + static_cast<float>(k), 2.0F});
    file.add(1, std::vector{std::int64_t{7} + k});
  }
  file.close();
  EXPECT_EQ(tensor<float>(path, "a"), (std::vector{0.5F, 2.0F, 1.5F, 2.0F}));
  EXPECT_EQ(tensor<std::int64_t>(path, "b"), (std::vector<std::int64_t>{7, 8}));
  const std::string header = R"({"a":{"dtype":"F32","shape":[4],"data_offsets":[0,16]},)"
                             R"("b":{"dtype":"I64","shape":[1,2],"data_offsets":[16,32]}})";
  const std::string bytes = bytes_of(path);
  EXPECT_EQ(bytes.substr(8, header.size()), header);
  EXPECT_EQ(static_cast<std::size_t>(bytes[0]) % 8, 0U);
  EXPECT_EQ(bytes.size(), 8 + static_cast<std::size_t>(bytes[0]) + 32);
  fs::remove(path);
}

class Workloads : public Dump, public testing::WithParamInterface<workloads::Workload> {};

TEST_P(Workloads, AreDumpedAsSingleTrainsThem) {
  const workloads::Workload& workload = GetParam();
  const plan::RaceRequest request = small(workload);
  dump(request, folder_);
  const Reference reference = read_reference(folder_);
  const Proof& expected = reference.expected;
  ASSERT_EQ(expected.losses.size(), 3U);
  EXPECT_EQ(compare(reference, expected).failure, "");

  workloads::Digest weights = workloads::Digest::sha256(), order = workloads::Digest::sha256();
  const Json manifest = Json::parse(bytes_of(folder_ / "manifest.json"));
  for (const Json& parameter : manifest["parameters"]) {
    const auto values = tensor<float>(folder_ / "weights.safetensors", parameter["name"]);
    weights.add(std::as_bytes(std::span(values)));
  }
  const auto examples = tensor<std::int64_t>(folder_ / "inputs.safetensors", "example");
  order.add(std::as_bytes(std::span(examples)));
  EXPECT_EQ(expected.weights, weights.digits());
  EXPECT_EQ(expected.order, order.digits());
  EXPECT_EQ(tensor<float>(folder_ / "schedule.safetensors", "rate").size(), 3U);

  const workloads::DataSets data =
      workloads::load_data(workload, plan::dataset_of(request, workload), plan::files_of(request));
  const auto* const targets = data.train.targets.bytes().data();
  const auto each = data.train.targets.bytes().size() / static_cast<std::size_t>(data.train.count);
  const bool is_text = workload.name.starts_with("gpt"), is_curve = workload.name == "parabola";
  const auto written = tensor<std::byte>(folder_ / "inputs.safetensors", is_curve  ? "y"
                                                                         : is_text ? "targets"
                                                                                   : "labels");
  ASSERT_EQ(written.size(), 24 * each);
  for (std::size_t i = 0; i < examples.size(); ++i) {
    const auto example = static_cast<std::size_t>(examples[i]);
    EXPECT_EQ(std::memcmp(written.data() + i * each, targets + example * each, each), 0) << i;
  }
}

INSTANTIATE_TEST_SUITE_P(All, Workloads, testing::ValuesIn(workloads::all_workloads()),
                         [](const auto& test) { return std::string(test.param.name); });

TEST_F(Dump, OfTheSameWorkIsTheSameAgain) {
  const workloads::Workload& workload = workloads::find_workload("gpt_tiny");
  dump(small(workload), folder_);
  const std::string first = bytes_of(folder_ / "reference.json");
  dump(small(workload, {"--rate-scale", "2"}), folder_);
  EXPECT_NE(bytes_of(folder_ / "reference.json"), first);
  dump(small(workload), folder_);
  EXPECT_EQ(bytes_of(folder_ / "reference.json"), first);
}

/// A small step of plain SGD lowers the loss of its batch by rate |g|².
TEST_F(Dump, HasTheNormOfTheFirstGradientBeforeClipping) {
  const auto reference = [&](Words words) {
    words.insert(words.end(), {"--seed", "5", "--steps", "2", "--cores", "1"});
    dump(plan::parse_run(words), folder_);
    return read_reference(folder_).expected;
  };
  const Proof slow = reference({"--workload", "parabola", "--rate-scale", "0.01"});
  const double squared = slow.gradient_norm * slow.gradient_norm;
  EXPECT_NEAR((slow.losses[0] - slow.losses[1]) / 1e-4, squared, 0.01 * squared);
  const Proof clipped = reference({"--workload", "gpt_thin"});
  const Proof whole = reference({"--workload", "gpt_thin", "--optimizer", "sgd"});
  EXPECT_GT(clipped.gradient_norm, 1);
  EXPECT_EQ(clipped.gradient_norm, whole.gradient_norm);
}

TEST_F(Dump, InBf16HoldsRoundedInputs) {
  if (const std::string why = cpu::why_cpu_lacks(ElementType::BF16); !why.empty())
    GTEST_SKIP() << why;
  const workloads::Workload& workload = workloads::find_workload("resnet9_thin");
  dump(small(workload), folder_);
  const auto exact = tensor<float>(folder_ / "inputs.safetensors", "images");
  dump(small(workload, {"--dtype", "bf16"}), folder_);
  const auto rounded = tensor<float>(folder_ / "inputs.safetensors", "images");
  ASSERT_EQ(rounded.size(), exact.size());
  for (std::size_t i = 0; i < exact.size(); ++i)
    ASSERT_NEAR(rounded[i], exact[i], std::abs(exact[i]) * 0x1p-8);
  EXPECT_NE(rounded, exact);
}

/// Muon and AdamW in one step: each parameter names its own.
TEST_F(Dump, NamesTheOptimizerOfEachParameter) {
  dump(small(workloads::find_workload("gpt_tiny"), {"--optimizer", "muon"}), folder_);
  const Json manifest = Json::parse(bytes_of(folder_ / "manifest.json"));
  EXPECT_TRUE(manifest["optimizer"].is_null());
  EXPECT_EQ(manifest["optimizers"].size(), 2U);
  for (const Json& each : manifest["parameters"]) {
    const std::string name = each["name"];
    EXPECT_EQ(each["optimizer"], name.ends_with(".qkv") ? "muon" : each["optimizer"]) << name;
    EXPECT_EQ(each["rate"], each["optimizer"] == "muon" ? "rate1" : "rate") << name;
    EXPECT_EQ(each["weight_decay"], name.ends_with(".gain") ? 0.0 : 0.1) << name;
  }
}

TEST_F(Dump, RefusesFoldersOfOthers) {
  const plan::RaceRequest request = small(workloads::find_workload("parabola"));
  fs::create_directory(folder_);
  std::ofstream(folder_ / "thesis.txt") << "mine";
  EXPECT_NE(refusal(request, folder_).find("other files than a dump"), std::string::npos);
  EXPECT_EQ(bytes_of(folder_ / "thesis.txt"), "mine");
  EXPECT_NE(refusal(request, folder_ / "thesis.txt").find("cannot create the folder"),
            std::string::npos);
}

TEST_F(Dump, RefusesOtherWorkThanThatOfSingle) {
  const workloads::Workload& workload = workloads::find_workload("parabola");
  EXPECT_NE(refusal(small(workload, {"--strategy", "all_reduce"}), folder_).find("--strategy"),
            std::string::npos);
  EXPECT_NE(refusal(small(workload, {"--device", "cuda"}), folder_).find("--device cpu"),
            std::string::npos);
  EXPECT_FALSE(fs::exists(folder_));
}

TEST_F(Dump, TellsOfTheBytesThatTheDiskLacks) {
  plan::RaceRequest request = small(workloads::find_workload("resnet9_thin"));
  request.steps = 100'000'000;
  std::string told;
  EXPECT_THROW(dump(request, folder_, [&](const std::string& line) { told = line; }), RunError);
  EXPECT_NE(told.find("9840000000000 bytes"), std::string::npos) << told;
  EXPECT_FALSE(fs::exists(folder_ / "manifest.json"));
}

}  // namespace
}  // namespace regatta::contender
