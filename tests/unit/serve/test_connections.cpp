#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "serve/connection_table.h"
#include "serve/fair_queue.h"
#include "serve/request_head.h"

namespace assay::serve {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

constexpr std::int64_t kOneSecond = 1'000'000'000;

ConnectionLimits limits() {
  return {.total = 4,
          .per_address = 3,
          .idle = std::chrono::seconds(15),
          .grace = std::chrono::seconds(10),
          .bytes_per_s = 1000,
          .fresh = std::chrono::milliseconds(0)};
}

TEST(Connections, ACrowdThatComesAtOnceIsLetInForAMoment) {
  ConnectionLimits some = limits();
  some.fresh = std::chrono::milliseconds(500);
  ConnectionTable table(some);
  for (ConnectionTable::Id id = 1; id <= 48; ++id)
    EXPECT_FALSE(table.opened(id, "a", static_cast<std::int64_t>(id))) << id;
  EXPECT_EQ(table.opened(49, "a", 49), 1U) << "sixteen times the limit is the end";
  EXPECT_EQ(table.opened(50, "a", kOneSecond), 2U) << "who still says nothing makes room";
}

TEST(Connections, OfOneAddressTheIdlestMakesRoom) {
  ConnectionTable table(limits());
  EXPECT_FALSE(table.opened(1, "a", 0));
  EXPECT_FALSE(table.opened(2, "a", 1));
  EXPECT_FALSE(table.opened(3, "a", 2));
  table.received(1, 10, 3);
  EXPECT_EQ(table.opened(4, "a", 4), 2U);
}

TEST(Connections, WhatIsBeingAnsweredStays) {
  ConnectionTable table(limits());
  for (ConnectionTable::Id id : {1, 2, 3}) {
    EXPECT_FALSE(table.opened(id, "a", 0));
    table.asked(id);
  }
  EXPECT_EQ(table.opened(4, "a", 1), 4U) << "there is nobody else to let go";
  table.closed(4);
  table.answered(2, 2);
  EXPECT_EQ(table.opened(5, "a", 3), 2U);
}

TEST(Connections, AnotherAddressAlwaysGetsIn) {
  ConnectionTable table(limits());
  EXPECT_FALSE(table.opened(1, "a", 0));
  EXPECT_FALSE(table.opened(2, "a", 1));
  EXPECT_FALSE(table.opened(3, "a", 2));
  EXPECT_FALSE(table.opened(4, "b", 3));
  EXPECT_EQ(table.opened(5, "c", 4), 1U) << "of the address that has the most";
  table.closed(1);
  EXPECT_EQ(table.size(), 4U);
}

TEST(Connections, SilentOnesEnd) {
  ConnectionTable table(limits());
  (void)table.opened(1, "a", 0);
  EXPECT_THAT(table.overdue(14 * kOneSecond), IsEmpty());
  EXPECT_THAT(table.overdue(15 * kOneSecond), ElementsAre(1));
  table.asked(1);
  EXPECT_THAT(table.overdue(99 * kOneSecond), IsEmpty()) << "it waits for us";
  table.answered(1, 100 * kOneSecond);
  EXPECT_THAT(table.overdue(114 * kOneSecond), IsEmpty());
}

TEST(Connections, ARequestMustComeFastEnough) {
  ConnectionTable table(limits());
  (void)table.opened(1, "drips", 0);
  (void)table.opened(2, "slow line", 0);
  for (int second = 1; second <= 60; ++second) {
    table.received(1, 1, second * kOneSecond);
    table.received(2, 1500, second * kOneSecond);
  }
  EXPECT_THAT(table.overdue(60 * kOneSecond), ElementsAre(1));
}

TEST(FairQueueTest, LinesTakeTurns) {
  FairQueue<int> queue(100, 50);
  for (int i = 0; i < 5; ++i) EXPECT_TRUE(queue.push("flood", i));
  EXPECT_TRUE(queue.push("one", 100));
  EXPECT_EQ(queue.pop(), 0);
  EXPECT_EQ(queue.pop(), 100);
  EXPECT_EQ(queue.pop(), 1);
  EXPECT_EQ(queue.size(), 3U);
}

TEST(FairQueueTest, IsBoundedByKeyAndInAll) {
  FairQueue<int> queue(3, 2);
  EXPECT_TRUE(queue.push("a", 1));
  EXPECT_TRUE(queue.push("a", 1));
  EXPECT_FALSE(queue.push("a", 1));
  EXPECT_TRUE(queue.push("b", 1));
  EXPECT_FALSE(queue.push("c", 1));
}

std::string fault_of(const std::string& request) {
  RequestHeads heads;
  // Byte by byte, as a slow peer sends it.
  for (const char c : request) heads.feed({&c, 1});
  const HeadFault fault = heads.next_fault();
  return fault.status == 0 ? "" : std::to_string(fault.status) + " " + fault.text;
}

TEST(RequestHeadsTest, GoodRequestsPass) {
  EXPECT_EQ(fault_of("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), "");
  EXPECT_EQ(fault_of("GET / HTTP/1.0\r\n\r\n"), "");
  EXPECT_EQ(fault_of("\r\nPUT /x?a=b HTTP/1.1\r\nhost: [::1]:8480\r\nX-Empty:\r\n\r\n"), "");
}

TEST(RequestHeadsTest, WhatTwoParsersMayReadDifferentlyIsRefused) {
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost : x\r\n\r\n"),
              HasSubstr("400 the name of a header"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\r\nA: b\r\n c\r\n\r\n"), HasSubstr("folded"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\n folded: x\r\nHost: x\r\n\r\n"), HasSubstr("folded"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nA: b\r\n\r\n"), HasSubstr("no Host"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n"), HasSubstr("several Host"));
  EXPECT_THAT(fault_of("GET / HTTP/9.9\r\nHost: x\r\n\r\n"), HasSubstr("505"));
  EXPECT_THAT(fault_of("GET  / HTTP/1.1\r\nHost: x\r\n\r\n"), HasSubstr("request line"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\r\nno colon\r\n\r\n"), HasSubstr("name"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\r\nA: b\x01\r\n\r\n"), HasSubstr("control"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: a b\r\n\r\n"), HasSubstr("Host header"));
}

TEST(RequestHeadsTest, WhatIsTooLongIsSaid) {
  const auto get = [](std::size_t size) {
    return "GET /" + std::string(size - 1, 'a') + " HTTP/1.1\r\nHost: x\r\n\r\n";
  };
  EXPECT_EQ(fault_of(get(kMaxTarget)), "");
  EXPECT_THAT(fault_of(get(kMaxTarget + 1)), HasSubstr("414"));
  EXPECT_THAT(fault_of(get(100'000)), HasSubstr("414"));
  const auto header = [](std::size_t size) {
    return "GET / HTTP/1.1\r\nHost: x\r\nA: " + std::string(size, 'a') + "\r\n\r\n";
  };
  EXPECT_EQ(fault_of(header(kMaxHeaderValue)), "");
  EXPECT_THAT(fault_of(header(kMaxHeaderValue + 1)), HasSubstr("431"));
  EXPECT_THAT(fault_of(header(100'000)), HasSubstr("431"));
}

TEST(RequestHeadsTest, TwoLengthsAreRefused) {
  EXPECT_THAT(fault_of("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: "
                       "1\r\n\r\n"),
              HasSubstr("400 the request has several Content-Length"));
  EXPECT_THAT(fault_of("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nTransfer-Encoding: "
                       "chunked\r\n\r\n"),
              HasSubstr("400 the request has a Content-Length and"));
}

TEST(RequestHeadsTest, LinesEndWithBothCharacters) {
  EXPECT_THAT(fault_of("GET / HTTP/1.1\nHost: x\r\n\r\n"), HasSubstr("400 a line"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\n\r\n"), HasSubstr("400 a line"));
  EXPECT_THAT(fault_of("GET / HTTP/1.1\r\nHost: x\r\n\n"), HasSubstr("400 a line"));
}

TEST(RequestHeadsTest, OnlyChunkedIsKnownAsTransferEncoding) {
  const std::string head = "PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: ";
  EXPECT_EQ(fault_of(head + "Chunked\r\n\r\n0\r\n\r\n"), "");
  EXPECT_THAT(fault_of(head + "gzip, chunked\r\n\r\n"), HasSubstr("501"));
  EXPECT_THAT(fault_of(head + "gzip\r\n\r\n"), HasSubstr("501"));
  EXPECT_THAT(fault_of(head + "chunked\r\nTransfer-Encoding: chunked\r\n\r\n"),
              HasSubstr("400 the request has several"));
  EXPECT_THAT(fault_of("PUT / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n"),
              HasSubstr("400 HTTP/1.0"));
}

TEST(RequestHeadsTest, ChunksAreToTheLetter) {
  const auto body = [](const std::string& bytes) {
    return fault_of("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n" + bytes);
  };
  EXPECT_EQ(body("2\r\n{}\r\n0\r\n\r\n"), "");
  EXPECT_EQ(body("A;a=b\r\n0123\n\r\n\r\n9\r\n0\r\nA: b\r\n\r\n"), "");
  for (const char* wrong :
       {"2\r\n{}XX0\r\n\r\n", "2\r\n{}\n0\r\n\r\n", "2\n{}\r\n0\r\n\r\n", "+2\r\n{}\r\n0\r\n\r\n",
        "0x2\r\n{}\r\n0\r\n\r\n", " 2\r\n{}\r\n0\r\n\r\n", "\r\n", "11112222333344445\r\n",
        "0\r\nA: b\n\r\n"})
    EXPECT_THAT(body(wrong), HasSubstr("400")) << wrong;
}

TEST(RequestHeadsTest, WhoWaitsForAWordBeforeTheBodyIsTold) {
  const std::string put = "PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n";
  RequestHeads heads;
  heads.feed(put + "Expect: 100-con");
  EXPECT_FALSE(heads.take_expectation());
  heads.feed("tinue\r\n\r\n");
  const auto waits = heads.take_expectation();
  ASSERT_TRUE(waits);
  EXPECT_EQ(waits->status, 0);
  EXPECT_FALSE(heads.take_expectation()) << "once";
  const auto asked = [](const std::string& bytes) {
    RequestHeads others;
    others.feed(bytes);
    const auto expected = others.take_expectation();
    return expected ? expected->status : -1;
  };
  EXPECT_EQ(asked(put + "Expect: a miracle\r\n\r\n"), 417);
  EXPECT_EQ(asked(put + "Content-Length: 3\r\nExpect: 100-continue\r\n\r\n"), 400);
  EXPECT_EQ(asked(put + "Expect: 100-continue\r\n\r\n{"), -1) << "the body has begun";
  EXPECT_EQ(asked(put + "\r\n"), -1);
  EXPECT_EQ(asked("GET / HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n\r\n"), -1);
  EXPECT_EQ(asked("GET / HTTP/1.1\r\nHost: x\r\n\r\n" + put + "Expect: 100-continue\r\n\r\n"), -1)
      << "an answer may be on its way";
}

TEST(RequestHeadsTest, WhyTheParserGaveUp) {
  const auto given_up = [](const std::string& bytes) {
    RequestHeads heads;
    heads.feed(bytes);
    return heads.given_up().status;
  };
  EXPECT_EQ(given_up(""), 0);
  EXPECT_EQ(given_up("GET /" + std::string(3000, 'a')), 414);
  EXPECT_EQ(given_up("GET /" + std::string(100'000, 'a')), 414);
  EXPECT_EQ(given_up("GET / HTTP/1.1\r\nA: " + std::string(100'000, 'a')), 431);
  EXPECT_EQ(given_up("\x16\x03\x01"), 400);
  EXPECT_EQ(given_up("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 9999\r\n\r\n"), 413);
  EXPECT_EQ(given_up("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nxyz"), 400);
  RequestHeads answered;
  answered.feed("GET / HTTP/1.1\r\nHost: x\r\n\r\n");
  (void)answered.next_fault();
  EXPECT_EQ(answered.given_up().status, 0);
}

TEST(RequestHeadsTest, BodiesAreNotTakenForHeads) {
  RequestHeads heads;
  heads.feed("PUT / HTTP/1.1\r\nHost: x\r\nContent-Length: 12\r\n\r\n bad : body\n");
  heads.feed("\nGET / HTTP/1.1\r\nHost : x\r\n\r\n");
  EXPECT_EQ(heads.next_fault().status, 0);
  EXPECT_EQ(heads.next_fault().status, 400);
  EXPECT_TRUE(heads.lost()) << "where it ends is not certain";
}

TEST(RequestHeadsTest, AfterAChunkedBodyNothingIsCertain) {
  RequestHeads heads;
  heads.feed("PUT / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n");
  EXPECT_TRUE(heads.lost());
  EXPECT_EQ(heads.next_fault().status, 0);
}

}  // namespace
}  // namespace assay::serve
