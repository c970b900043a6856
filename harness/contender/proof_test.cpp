// SPDX-License-Identifier: Apache-2.0
#include "harness/contender/proof.h"

#include <gtest/gtest.h>

#include <limits>

#include "kernels/base/error.h"

namespace regatta::contender {
namespace {

const Reference kReference{
    .expected = {.weights = "aa",
                 .order = "bb",
                 .gradient_norm = 2,
                 .losses = {4, 3, 2},
                 .parameter_norm = 10},
    .bounds = {.gradient_norm = 1e-3, .losses = {1e-5, 1e-4, 1e-4}, .parameter_norm = 1e-5}};

std::string failure_of(const Proof& proof) { return compare(kReference, proof).failure; }
Proof right() { return kReference.expected; }

void expect_named(const Proof& proof, const std::string& name) {
  EXPECT_NE(failure_of(proof).find(name), std::string::npos) << failure_of(proof);
}

TEST(Proof, HoldsIfDifferencesStayWithinTheBoundOfTheirStep) {
  Proof proof = right();
  proof.losses = {4 * (1 + 0.9e-5), 3 * (1 - 0.9e-4), 2};
  proof.gradient_norm *= 1 + 0.9e-3;
  const ProofResult result = compare(kReference, proof);
  EXPECT_EQ(result.failure, "");
  EXPECT_NEAR(result.gradient_difference, 0.9e-3, 1e-12);
  EXPECT_NEAR(result.loss_difference, 0.9e-4, 1e-12);
  EXPECT_EQ(result.parameter_difference, 0);
}

TEST(Proof, NamesEachKindOfDifference) {
  Proof proof = right();
  proof.weights = "cc";
  expect_named(proof, "the first weights are others: their SHA-256 is cc, not aa");
  proof = right();
  proof.order = "cc";
  expect_named(proof, "the order of examples is another: its SHA-256 is cc, not bb");
  proof = right();
  proof.losses[0] *= 1 + 1e-4;
  expect_named(proof, "the loss of step 0 is 4.0004, not 4 (difference 1.0e-04, bound 1.0e-05)");
  proof = right();
  proof.losses[2] *= 1 + 1e-3;
  expect_named(proof, "the loss of step 2 is 2.002, not 2");
  expect_named(proof, "the first step agrees, so its update differs");
  proof = right();
  proof.parameter_norm *= 1 + 1e-4;
  expect_named(proof, "the norm of all parameters behind step 2 is 10.001, not 10");
  expect_named(proof, "weight decay");
  proof = right();
  proof.losses.pop_back();
  expect_named(proof, "the proof has the losses of 2 steps, not of 3");
}

TEST(Proof, NamesTheFactorOfAGradientThatIsASum) {
  Proof proof = right();
  proof.gradient_norm = 6.01;
  expect_named(proof, "the norm of the first gradient is 6.01, not 2 ");
  expect_named(proof, "; it is 3 times as large");
  proof.gradient_norm = 1.001;
  expect_named(proof, "; it is 1/2 times as large");
  proof.gradient_norm = 2.4;
  EXPECT_EQ(failure_of(proof).find("times"), std::string::npos) << failure_of(proof);
}

TEST(Proof, OfAnotherExchangeHasNoLosses) {
  const Proof proof = parse_proof(R"({"weights":"aa","order":"bb","gradient_norm":2})");
  EXPECT_EQ(failure_of(proof), "");
}

TEST(Proof, IsRefusedIfItIsNoNumber) {
  Proof proof = right();
  proof.losses[1] = std::numeric_limits<double>::quiet_NaN();
  expect_named(proof, "the loss of step 1 is nan");
  for (const char* text :
       {"", "[]", "{", R"({"weights":"aa"})", R"({"weights":1,"order":"bb","gradient_norm":2})",
        R"({"weights":"aa","order":"bb","gradient_norm":1e999})",
        R"({"weights":"aa","order":"bb","gradient_norm":2,"losses":[1]})",
        R"({"weights":"aa","order":"bb","gradient_norm":2,"losses":["1"],"parameter_norm":1})"}) {
    EXPECT_THROW(parse_proof(text), RunError) << text;
  }
}

}  // namespace
}  // namespace regatta::contender
