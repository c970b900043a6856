// SPDX-License-Identifier: Apache-2.0
//
// The prescribed order in which loops claim their steps and read, average and update variables that
// they share. It comes from a simulation with a clock of its own (kernels/virtual). Each count of
// examples and each shared variable has its own order, in which a lane waits for its turn. A turn
// covers a whole variable. Threads: turns are added and begun while no lane runs; a seat is used by
// the lane of its kernel.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "kernels/graph/graph.h"
#include "kernels/runtime/counter.h"
#include "kernels/runtime/kernel.h"

namespace regatta {

class AccessOrder {
 public:
  enum class Access : std::uint8_t { Claim, Read, Average, Update, LookAhead };
  struct Who {
    int loop = 0;  ///< in the whole graph
    Access access = Access::Read;
    auto operator<=>(const Who&) const = default;
  };

  class Seat {
   public:
    /// Waits for the next turn. Throws: Aborted; RunError(Timeout).
    void take(const Patience& patience);
    /// Ends the turn.
    void pass();

   private:
    friend class AccessOrder;
    AccessOrder* all_ = nullptr;
    std::size_t order_ = 0;
    Counter granted_;
    std::uint64_t taken_ = 0;
    bool is_used_ = false;  ///< a kernel or a leader takes its turns
  };

  /// The number of the order of a model's claims or a variable's accesses.
  std::size_t order_of_claims(int model);
  std::size_t order_of(const Variable& variable);

  /// Adds the next turn.
  void add(std::size_t order, const Who& who);
  /// Grants the first of the turns added. Throws: RunError(Unsupported) for a turn that no loop
  /// takes.
  void begin();

  /// The seat of a loop's leader.
  Seat& seat_of_claims(int model, int loop) {
    return use(order_of_claims(model), {.loop = loop, .access = Access::Claim});
  }
  struct Turns {
    int loop = 0;
    Patience patience;
  };
  /// Wraps a kernel that uses shared variables so that it waits for its turn at each, or at its own
  /// and at the drawn peer's; returns other kernels unchanged.
  std::unique_ptr<Kernel> in_turn(std::unique_ptr<Kernel> kernel, const Graph& graph,
                                  const Node& node, const Turns& turns);

 private:
  struct Order {
    std::string of;
    std::map<Who, Seat> seats;
    std::vector<Seat*> turns;  ///< since begin()
    std::size_t next = 0;
    std::size_t begun = 0;  ///< number of turns at begin()
  };

  std::size_t order_named(const std::string& name);
  Seat& seat(std::size_t order, const Who& who);
  Seat& use(std::size_t order, const Who& who);
  void pass(std::size_t order);

  std::deque<Order> orders_;
  std::map<std::string, std::size_t> numbers_;  ///< by name
};

}  // namespace regatta
