// SPDX-License-Identifier: Apache-2.0
//
// Nodes that cross places. Only partition() inserts copy, send, sent and receive; strategies insert
// collectives. An all_reduce takes k values, its bucket, and yields k sums; the inputs of its
// members have the same types. A reduce_scatter yields the pieces of these sums that are in the
// member's share (collective.h); an all_gather takes such pieces and yields the bucket. An
// all_gather with the attribute `evenly` takes one value of any shape from each member, all alike,
// and lays them one behind the other in the slowest dimension, whose rows become sequences if there
// is an attribute `length`; a reduce_scatter with it yields the rows of a member's share. An
// all_gather only waits for its further inputs; with the attribute `frees` its bucket is freed
// after its last use. A message of send and receive also holds k values, in turn and without gaps.
// A receive with inputs adds the values of its message onto them, in place.
#include <algorithm>

#include "kernels/graph/collective.h"
#include "kernels/graph/listed_types.h"
#include "kernels/graph/ops/rules.h"

namespace regatta {

Value Builder::all_reduce(Value value, const AllReduceMember& member) {
  Attributes attributes{
      {"group", member.group}, {"members", member.members}, {"algorithm", member.algorithm}};
  if (member.round != 0) attributes.set("round", member.round);
  if (!member.mark.empty()) attributes.set(member.mark, std::int64_t{1});
  set_alike_members(attributes, member.alike);
  return node(Op::AllReduce, {value}, std::move(attributes), {}, member.member);
}

namespace rules {
namespace {

/// Types of the pieces that make up the member's share.
Types types_of_pieces(std::span<const TensorType> bucket, const InferRequest& request) {
  Types types;
  for (const Piece& piece : pieces(bucket, request.attributes.integer("members"), request.member)) {
    types.push_back(type_of(piece, bucket));
  }
  return types;
}

}  // namespace

Types infer_copy(const InferRequest& request) {
  check(request.inputs.size() == 1, "copy takes one input");
  return {request.inputs[0]};
}

Types infer_send(const InferRequest& request) {
  check(!request.inputs.empty(), "send and sent take at least one input");
  return {};
}

Types infer_receive(const InferRequest& request) {
  const Types types = listed_types(request.attributes);
  const bool fits =
      std::equal(types.begin(), types.end(), request.inputs.begin(), request.inputs.end());
  check(request.inputs.empty() || fits, "receive: what is added onto has the message's types");
  return types;
}

Types infer_all_reduce(const InferRequest& request) {
  check(!request.inputs.empty(), "all_reduce takes at least one input");
  return {request.inputs.begin(), request.inputs.end()};
}

Types infer_reduce_scatter(const InferRequest& request) {
  check(!request.inputs.empty(), "reduce_scatter takes at least one input");
  if (request.attributes.has("evenly")) {
    const TensorType& whole = request.inputs[0];
    const std::int64_t members = request.attributes.integer("members");
    check(whole.rows() % members == 0, "reduce_scatter: members divide the rows");
    return {{whole.element, {whole.rows() / members, whole.columns()}}};
  }
  return types_of_pieces(request.inputs, request);
}

Types infer_all_gather(const InferRequest& request) {
  if (request.attributes.has("evenly")) {
    TensorType whole = request.inputs[0];
    check(whole.rank() >= 1, "all_gather takes a value with dimensions");
    whole.dims[0] *= request.attributes.integer("members");
    if (const std::int64_t length = request.attributes.integer("length", 0); length != 0) {
      check(whole.dims[0] % length == 0, "all_gather takes rows of whole sequences");
      whole.dims[0] /= length;
      whole.dims.insert(whole.dims.begin() + 1, length);
    }
    return {whole};
  }
  const Types bucket = listed_types(request.attributes);
  const Types pieces = types_of_pieces(bucket, request);
  check(!bucket.empty() && pieces.size() <= request.inputs.size() &&
            std::equal(pieces.begin(), pieces.end(), request.inputs.begin()),
        "all_gather takes the pieces of its member's share");
  return bucket;
}

}  // namespace rules
}  // namespace regatta
