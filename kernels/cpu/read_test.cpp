// SPDX-License-Identifier: Apache-2.0
//
// read of shared variables.
#include <atomic>
#include <chrono>
#include <optional>
#include <thread>

#include "kernels/cpu/reader_for_test.h"
#include "kernels/cpu/test_support.h"

namespace regatta::cpu::test {
namespace {

/// A variable of more than two shards, with a reader.
class SharedRead {
 public:
  explicit SharedRead(Sharing sharing) : value_(random_array({2 * kShardElements + 5}, 1)) {
    storage_.tensor = value_.tensor();
    storage_.sharing = sharing;
    storage_.counts = &counts_;
    counts_.version = 7;
    if (sharing == Sharing::Locked) storage_.shards = std::vector<std::mutex>(3);
    reader_.emplace(storage_);
  }

  void run() { reader_->run(); }
  std::uint64_t seen() const { return reader_->seen(); }
  const Array& value() const { return value_; }
  const Array& copy() const { return reader_->copy(); }
  VariableStorage& storage() { return storage_; }

 private:
  Array value_;
  VersionCounts counts_;
  VariableStorage storage_;
  std::optional<Reader> reader_;
};

TEST(Read, CopiesASharedVariableAndNotesItsVersion) {
  for (Sharing sharing : {Sharing::Relaxed, Sharing::Locked}) {
    SharedRead read(sharing);
    read.run();
    EXPECT_EQ(read.seen(), 7U);
    expect_same_bits({read.copy()}, {read.value()}, std::string(to_string(sharing)));
  }
}

TEST(Read, WaitsForTheLockOfEachShard) {
  SharedRead read(Sharing::Locked);
  std::unique_lock lock(read.storage().shards[2]);
  std::atomic<bool> done{false};
  std::thread reader([&] {
    read.run();
    done = true;
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  EXPECT_FALSE(done);
  float* last = read.value().f32() + 2 * kShardElements + 4;
  *last = 42;
  lock.unlock();
  reader.join();
  EXPECT_EQ(read.copy().f32()[2 * kShardElements + 4], 42);
}

}  // namespace
}  // namespace regatta::cpu::test
