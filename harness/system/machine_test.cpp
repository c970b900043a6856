// SPDX-License-Identifier: Apache-2.0
#include "harness/system/machine.h"

#include <gtest/gtest.h>
#include <sched.h>

#include <cstdlib>
#include <thread>

namespace regatta::system {
namespace {

TEST(Machine, IsDescribed) {
  const MachineFacts facts = machine_facts();
  EXPECT_FALSE(facts.cpu.empty());
#ifdef __aarch64__
  EXPECT_EQ(facts.architecture, "aarch64");
#else
  EXPECT_EQ(facts.architecture, "x86_64");
#endif
  EXPECT_GE(facts.cores_available, facts.cores_physical);
  EXPECT_EQ(facts.cores_used, facts.cores_available);
  EXPECT_GT(facts.memory_bytes, 100'000'000);
}

TEST(Machine, CountsTheCoresThisThreadMayRunOn) {
  std::int64_t seen = 0;
  std::thread([&seen] {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(sched_getcpu(), &one);
    ASSERT_EQ(sched_setaffinity(0, sizeof one, &one), 0);
    seen = machine_facts().cores_available;
  }).join();
  EXPECT_EQ(seen, 1);
}

TEST(Machine, FindsTheExtensionsThatMatterAmongTheFlags) {
  EXPECT_EQ(isa_from_flags("fpu avx avx2 sse2 amx_bf16 avx512f"),
            (std::vector<std::string>{"avx2", "avx512f", "amx_bf16"}));
  EXPECT_EQ(isa_from_flags("fp asimd sve"), (std::vector<std::string>{"neon", "sve"}));
  EXPECT_TRUE(isa_from_flags("").empty());
}

TEST(Machine, NamesArmProcessors) {
  EXPECT_EQ(arm_model("0x41", "0xd4f"), "Arm Neoverse-V2");
  EXPECT_EQ(arm_model("0x41", "0xfff"), "Arm processor of implementer 0x41, part 0xfff");
  EXPECT_EQ(arm_model("", ""), "unknown");
}

TEST(Machine, CountsTheThreadsOfOthersThatRun) {
  EXPECT_EQ(others_from_loadavg("0.20 0.18 0.12 3/80 11206"), 2);
  EXPECT_EQ(others_from_loadavg("0.20 0.18 0.12 0/80 11206"), 0);
  EXPECT_EQ(others_from_loadavg("0.20 0.18 0.12"), std::nullopt);
  EXPECT_GE(load_of_others(), 0);
}

TEST(Machine, AddsTheBytesThatInterfacesHaveSent) {
  const std::string text =
      "Inter-|   Receive  |  Transmit\n face |bytes packets|bytes packets\n"
      "    lo: 100 1 0 0 0 0 0 0     100 1 0 0 0 0 0 0\n"
      "  eth0:2000 5 0 0 0 0 0 0  30 1 0 0 0 0 0 0\n";
  EXPECT_EQ(sent_from_net_dev(text), 130);
  EXPECT_EQ(sent_from_net_dev(text + "eth1: 7 1"), std::nullopt);
  EXPECT_EQ(sent_from_net_dev(""), std::nullopt);
}

TEST(Software, NamesCompilerLibraryAndCommit) {
  const SoftwareFacts facts = software_facts();
  EXPECT_NE(facts.compiler.find("-march="), std::string::npos);
  EXPECT_EQ(facts.onednn.find_first_not_of("0123456789."), std::string::npos);
  EXPECT_FALSE(facts.onednn.empty());
  EXPECT_TRUE(facts.git_commit == "unknown" || facts.git_commit.size() == 40) << facts.git_commit;
}

TEST(Software, NamesTheGpuLibrariesThatWereFound) {
  SoftwareFacts facts = software_facts();
  EXPECT_EQ(facts.cudnn, std::nullopt);
  add_gpu_libraries({{.name = "cuDNN", .version = "9.14.0"}, {.name = "NCCL", .missing = "gone"}},
                    facts);
  EXPECT_EQ(facts.cudnn, "9.14.0");
  EXPECT_EQ(facts.nccl, std::nullopt);
}

TEST(Environment, HoldsWhatLibrariesReadAndNothingElse) {
  setenv("OMP_REGATTA_TEST", "spin=yes", 1);
  setenv("REGATTA_TEST_TOKEN", "secret", 1);
  const auto facts = environment_facts();
  unsetenv("OMP_REGATTA_TEST");
  unsetenv("REGATTA_TEST_TOKEN");
  EXPECT_EQ(facts.at("OMP_REGATTA_TEST"), "spin=yes");
  EXPECT_FALSE(facts.count("REGATTA_TEST_TOKEN"));
  EXPECT_FALSE(facts.count("PATH"));
}

TEST(Environment, IsChosenByPrefixOrName) {
  EXPECT_TRUE(is_recorded_variable("ONEDNN_MAX_CPU_ISA"));
  for (const char* name : {"OMPI_MCA_btl", "PRTE_MCA_plm", "PMIX_MCA_ptl", "UCX_TLS"}) {
    EXPECT_TRUE(is_recorded_variable(name)) << name;
  }
  EXPECT_TRUE(is_recorded_variable("LD_PRELOAD"));
  EXPECT_TRUE(is_recorded_variable("REGATTA_HOSTS_LINKS"));
  EXPECT_FALSE(is_recorded_variable("LD_PRELOAD_KEY"));
  EXPECT_FALSE(is_recorded_variable("MY_OMP_NUM_THREADS"));
}

}  // namespace
}  // namespace regatta::system
