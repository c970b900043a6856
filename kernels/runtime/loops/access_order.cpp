// SPDX-License-Identifier: Apache-2.0
#include "kernels/runtime/loops/access_order.h"

#include <algorithm>
#include <array>
#include <span>
#include <utility>

#include "kernels/base/error.h"
#include "kernels/base/random.h"

namespace regatta {
namespace {

AccessOrder::Access access_of(const Node& node) {
  if (node.op == Op::Average) return AccessOrder::Access::Average;
  if (node.op == Op::Lookahead) return AccessOrder::Access::LookAhead;
  return op_info(node.op).assigns ? AccessOrder::Access::Update : AccessOrder::Access::Read;
}

class InTurn : public Kernel {
 public:
  InTurn(std::unique_ptr<Kernel> kernel, std::vector<AccessOrder::Seat*> seats,
         const Patience& patience)
      : kernel_(std::move(kernel)), seats_(std::move(seats)), patience_(patience) {}

  /// Takes no turn when run again in the same step, as the diagnosis of a diverged run does.
  void run(const StepContext& context) override {
    if (std::exchange(last_step_, context.step) == context.step) return kernel_->run(context);
    const std::span<AccessOrder::Seat* const> seats = seats_in(context.step);
    for (AccessOrder::Seat* seat : seats) seat->take(patience_);
    kernel_->run(context);
    for (AccessOrder::Seat* seat : seats) seat->pass();
  }

 protected:
  virtual std::span<AccessOrder::Seat* const> seats_in(std::int64_t /*step*/) { return seats_; }
  const std::vector<AccessOrder::Seat*>& all() const { return seats_; }

 private:
  std::unique_ptr<Kernel> kernel_;
  std::vector<AccessOrder::Seat*> seats_;
  Patience patience_;
  std::int64_t last_step_ = -1;
};

/// The first seat is for the replica's own variable, the others for its peers' variables.
class AverageInTurn final : public InTurn {
 public:
  AverageInTurn(std::unique_ptr<Kernel> kernel, std::vector<AccessOrder::Seat*> seats,
                const Node& node, const AccessOrder::Turns& turns)
      : InTurn(std::move(kernel), std::move(seats), turns.patience),
        replica_(static_cast<std::uint32_t>(node.attributes.integer("replica"))) {}

 private:
  std::span<AccessOrder::Seat* const> seats_in(std::int64_t step) override {
    const auto peers = static_cast<std::uint32_t>(all().size() - 1);
    two_ = {all().front(), all()[1 + draw_peer(replica_, step, peers)]};
    return two_;
  }

  std::uint32_t replica_;
  std::array<AccessOrder::Seat*, 2> two_{};
};

}  // namespace

void AccessOrder::Seat::take(const Patience& patience) {
  if (granted_.wait_for(++taken_, patience)) return;
  throw RunError(ErrorKind::Timeout, "waited in vain for its turn at " + all_->orders_[order_].of +
                                         ", in the order of virtual time");
}

void AccessOrder::Seat::pass() { all_->pass(order_); }

std::size_t AccessOrder::order_named(const std::string& name) {
  const auto [entry, is_new] = numbers_.try_emplace(name, orders_.size());
  if (is_new) orders_.emplace_back().of = name;
  return entry->second;
}

std::size_t AccessOrder::order_of_claims(int model) {
  return order_named("the examples of model " + std::to_string(model));
}

std::size_t AccessOrder::order_of(const Variable& variable) {
  return order_named(variable.name + " of " + to_string(variable.place));
}

AccessOrder::Seat& AccessOrder::seat(std::size_t order, const Who& who) {
  Seat& seat = orders_[order].seats[who];
  seat.all_ = this;
  seat.order_ = order;
  return seat;
}

AccessOrder::Seat& AccessOrder::use(std::size_t order, const Who& who) {
  Seat& used = seat(order, who);
  check(!std::exchange(used.is_used_, true), "a loop uses a shared variable once in each way");
  return used;
}

void AccessOrder::add(std::size_t order, const Who& who) {
  orders_[order].turns.push_back(&seat(order, who));
}

void AccessOrder::begin() {
  for (Order& order : orders_) {
    check(order.next == order.begun, "all turns that were given before have been taken");
    order.turns.erase(order.turns.begin(),
                      order.turns.begin() + static_cast<std::ptrdiff_t>(order.next));
    order.next = 0;
    order.begun = order.turns.size();
    const bool all = std::all_of(order.turns.begin(), order.turns.end(),
                                 [](const Seat* seat) { return seat->is_used_; });
    if (!all) {
      throw RunError(ErrorKind::Unsupported,
                     "virtual time has turns at " + order.of + " that no kernel takes");
    }
    if (!order.turns.empty()) {
      Counter& first = order.turns.front()->granted_;
      first.advance_to(first.value() + 1);
    }
  }
}

/// Threads: the lane that has the turn, so one at a time.
void AccessOrder::pass(std::size_t number) {
  Order& order = orders_[number];
  if (++order.next == order.turns.size()) return;
  Counter& next = order.turns[order.next]->granted_;
  next.advance_to(next.value() + 1);
}

std::unique_ptr<Kernel> AccessOrder::in_turn(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                             const Node& node, const Turns& turns) {
  std::vector<Seat*> seats;
  for (const VariableId v : node.variables) {
    const Variable& variable = graph.variable(v);
    if (variable.sharing == Sharing::None) continue;
    seats.push_back(&use(order_of(variable), {.loop = turns.loop, .access = access_of(node)}));
  }
  if (seats.empty()) return kernel;
  if (node.op == Op::Average) {
    return std::make_unique<AverageInTurn>(std::move(kernel), std::move(seats), node, turns);
  }
  return std::make_unique<InTurn>(std::move(kernel), std::move(seats), turns.patience);
}

}  // namespace regatta
