// SPDX-License-Identifier: Apache-2.0
//
// Tests stream capture with a double of the CUDA calls (graph_calls.h) that enforces CUDA's rules
// for a step and names the broken rule. kernels/cuda/gpu_test.cpp tests captures on a real GPU.
#include "kernels/cuda/device/stream_recorder.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "kernels/base/error.h"
#include "kernels/runtime/device.h"

namespace regatta::cuda {
namespace {

using Names = std::vector<std::string>;

/// The contents of a graph: for each kernel, by name, those that come right before it.
using Edges = std::map<std::string, std::set<std::string>>;

struct Stream {
  bool is_captured = false;
  std::set<std::string> last;  ///< these come before the next item
};

/// The state of the double.
struct Cuda {
  std::map<std::string, Stream> streams;
  std::map<const int*, std::pair<std::string, std::set<std::string>>> events;
  Names calls;         ///< calls outside of a capture, and its begin and end
  std::string origin;  ///< of the capture; empty: none
  bool is_invalid = false;
  Edges edges;
  int live_events = 0, live_graphs = 0, live_executables = 0;
};

Cuda& cuda() {
  static Cuda state;
  return state;
}

std::string name_of(cudaStream_t stream) { return reinterpret_cast<const char*>(stream); }
template <typename Handle>
const int* key_of(Handle handle) {
  return reinterpret_cast<const int*>(handle);
}
template <typename Handle>
Handle make_handle() {
  return reinterpret_cast<Handle>(new int);
}
template <typename Handle>
void delete_handle(Handle handle) {
  delete reinterpret_cast<int*>(handle);
}

/// Puts a kernel into a stream.
void put(const std::string& stream, const std::string& kernel) {
  Stream& own = cuda().streams[stream];
  if (!own.is_captured) return cuda().calls.push_back("run " + kernel);
  cuda().edges[kernel] = own.last;
  own.last = {kernel};
}

/// Fails unless the origin comes after everything that was captured.
cudaError_t end_capture(cudaStream_t stream, cudaGraph_t* graph) {
  Cuda& all = cuda();
  all.calls.push_back("end capture of " + name_of(stream));
  *graph = nullptr;
  std::set<std::string> joined = all.streams[all.origin].last;
  for (bool grows = true; grows;) {
    const std::size_t before = joined.size();
    for (const std::string& kernel : std::set<std::string>(joined)) {
      joined.insert(all.edges[kernel].begin(), all.edges[kernel].end());
    }
    grows = joined.size() > before;
  }
  bool all_joined = true;
  for (auto& [name, each] : all.streams) {
    for (const std::string& kernel : each.last) all_joined &= joined.contains(kernel);
    each = {};
  }
  all.origin.clear();
  if (all.is_invalid) return cudaErrorStreamCaptureInvalidated;
  if (!all_joined) return cudaErrorStreamCaptureUnjoined;
  *graph = make_handle<cudaGraph_t>();
  ++all.live_graphs;
  return cudaSuccess;
}

GraphCalls calls() {
  return {.set_device = [](int) { return cudaSuccess; },
          .event_create =
              [](cudaEvent_t* event, unsigned) {
                *event = make_handle<cudaEvent_t>();
                ++cuda().live_events;
                return cudaSuccess;
              },
          .event_destroy =
              [](cudaEvent_t event) {
                cuda().events.erase(key_of(event));
                delete_handle(event);
                --cuda().live_events;
                return cudaSuccess;
              },
          .event_record =
              [](cudaEvent_t event, cudaStream_t stream) {
                const std::string name = name_of(stream);
                if (!cuda().streams[name].is_captured) return cudaErrorStreamCaptureIsolation;
                cuda().events[key_of(event)] = {name, cuda().streams[name].last};
                return cudaSuccess;
              },
          .stream_wait_event =
              [](cudaStream_t stream, cudaEvent_t event, unsigned) {
                Stream& own = cuda().streams[name_of(stream)];
                own.is_captured = true;
                const auto& after = cuda().events.at(key_of(event)).second;
                own.last.insert(after.begin(), after.end());
                return cudaSuccess;
              },
          .stream_begin_capture =
              [](cudaStream_t stream, cudaStreamCaptureMode mode) {
                if (mode != cudaStreamCaptureModeThreadLocal) return cudaErrorInvalidValue;
                cuda().calls.push_back("begin capture of " + name_of(stream));
                cuda().origin = name_of(stream);
                cuda().streams[cuda().origin].is_captured = true;
                cuda().edges.clear();
                return cudaSuccess;
              },
          .stream_is_capturing =
              [](cudaStream_t, cudaStreamCaptureStatus* status) {
                *status = cuda().is_invalid ? cudaStreamCaptureStatusInvalidated
                                            : cudaStreamCaptureStatusActive;
                return cudaSuccess;
              },
          .stream_end_capture = end_capture,
          .graph_instantiate =
              [](cudaGraphExec_t* executable, cudaGraph_t, unsigned long long) {
                *executable = make_handle<cudaGraphExec_t>();
                ++cuda().live_executables;
                return cudaSuccess;
              },
          .graph_destroy =
              [](cudaGraph_t graph) {
                delete_handle(graph);
                --cuda().live_graphs;
                return cudaSuccess;
              },
          .graph_upload =
              [](cudaGraphExec_t, cudaStream_t stream) {
                cuda().calls.push_back("upload to " + name_of(stream));
                return cudaSuccess;
              },
          .graph_launch =
              [](cudaGraphExec_t, cudaStream_t stream) {
                cuda().calls.push_back("launch in " + name_of(stream));
                return cudaSuccess;
              },
          .graph_exec_destroy =
              [](cudaGraphExec_t executable) {
                delete_handle(executable);
                --cuda().live_executables;
                return cudaSuccess;
              }};
}

/// A queue of the stream with that name.
class NamedQueue final : public LaneQueue {
 public:
  explicit NamedQueue(const char* name) : name_(name) {}
  void set_step(const StepContext&) override {}
  void copy(void*, const void*, std::int64_t) override {}
  void finish() override {}
  std::optional<StreamPlace> stream_place() const override {
    return StreamPlace{
        .stream = reinterpret_cast<CUstream_st*>(const_cast<char*>(name_)), .device = 0, .gpu = {}};
  }

 private:
  const char* name_;
};

class StreamRecorder : public testing::Test {
 protected:
  void SetUp() override { cuda() = {}; }
  void TearDown() override {
    EXPECT_EQ(cuda().live_events, 0);
    EXPECT_EQ(cuda().live_graphs, 0);
    EXPECT_EQ(cuda().live_executables, 0);
  }
  std::unique_ptr<StepRecorder> recorder() { return make_stream_recorder(0, calls_); }

  NamedQueue main_{"main"}, side_{"side"}, other_{"other"};
  const std::vector<LaneQueue*> queues_{&main_, &side_, &other_};

 private:
  GraphCalls calls_ = calls();
};

TEST_F(StreamRecorder, OrdersKernelsByTheirStreamAndByWhatTheyWaitFor) {
  const auto recorder = this->recorder();
  recorder->begin(queues_);
  put("main", "forward");
  const StepRecorder::Mark gradient = recorder->mark(0);
  put("main", "backward");
  recorder->wait(1, gradient);
  put("side", "sum");
  const StepRecorder::Mark sum = recorder->mark(1);
  put("side", "sum of the next");
  recorder->wait(0, sum);
  put("main", "update");
  recorder->end();
  const Edges expected{{"forward", {}},
                       {"backward", {"forward"}},
                       {"sum", {"forward"}},
                       {"sum of the next", {"sum"}},
                       {"update", {"backward", "sum"}}};
  EXPECT_EQ(cuda().edges, expected);
}

TEST_F(StreamRecorder, ForksFromTheOriginAndJoinsEveryStreamToIt) {
  const auto recorder = this->recorder();
  recorder->begin(queues_);
  put("side", "a");
  put("other", "b");
  put("main", "c");
  recorder->end();                     // the double rejects streams that are not joined
  EXPECT_EQ(cuda().edges.size(), 3U);  // none of them ran
  EXPECT_EQ(cuda().calls,
            (Names{"begin capture of main", "end capture of main", "upload to main"}));
}

TEST_F(StreamRecorder, LaunchesTheGraphAndNothingElse) {
  const auto recorder = this->recorder();
  recorder->begin(queues_);
  put("side", "a");
  const auto step = recorder->end();
  cuda().calls.clear();
  step->launch();
  step->launch();
  EXPECT_EQ(cuda().calls, (Names{"launch in main", "launch in main"}));
  put("side", "b");
  EXPECT_EQ(cuda().calls.back(), "run b");  // the capture has ended
}

TEST_F(StreamRecorder, SeesThatWhatWasPutInCannotBeCaptured) {
  const auto recorder = this->recorder();
  recorder->begin(queues_);
  recorder->look();
  cuda().is_invalid = true;
  try {
    recorder->look();
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_EQ(error.kind(), ErrorKind::Device);
    EXPECT_NE(std::string(error.what()).find("not allowed while a stream is captured"),
              std::string::npos)
        << error.what();
  }
}

TEST_F(StreamRecorder, EndsACaptureThatIsGivenUp) {
  {
    const auto recorder = this->recorder();
    recorder->begin(queues_);
    put("side", "a");
  }
  EXPECT_EQ(cuda().calls.back(), "end capture of main");
  put("main", "b");
  EXPECT_EQ(cuda().calls.back(), "run b");
}

TEST_F(StreamRecorder, SaysWhichCallFailed) {
  const auto recorder = this->recorder();
  recorder->begin(queues_);
  cuda().is_invalid = true;
  try {
    recorder->end();
    FAIL() << "no error";
  } catch (const RunError& error) {
    EXPECT_NE(std::string(error.what()).find("cudaStreamEndCapture"), std::string::npos)
        << error.what();
  }
}

}  // namespace
}  // namespace regatta::cuda
