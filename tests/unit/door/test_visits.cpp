#include <gtest/gtest.h>

#include "door/visits.h"

namespace assay::door {
namespace {

const Visit kAnn{.by = {.user = "ann"}, .job = 7, .label = "web"};

TEST(Visits, ATicketIsGoodOnce) {
  Visits visits;
  const std::string ticket = visits.make_ticket(kAnn, 0);
  const auto secret = visits.redeem(ticket, 7, "web", 1);
  ASSERT_TRUE(secret);
  EXPECT_NE(*secret, ticket);
  EXPECT_EQ(visits.find(*secret, 2), kAnn);
  EXPECT_FALSE(visits.redeem(ticket, 7, "web", 3)) << "twice";
  EXPECT_FALSE(visits.find(ticket, 3)) << "a ticket is no visit";
}

TEST(Visits, ATicketIsForItsEndpointAlone) {
  Visits visits;
  EXPECT_FALSE(visits.redeem(visits.make_ticket(kAnn, 0), 8, "web", 1));
  EXPECT_FALSE(visits.redeem(visits.make_ticket(kAnn, 0), 7, "jupyter", 1));
  const std::string shown = visits.make_ticket(kAnn, 0);
  EXPECT_FALSE(visits.redeem(shown, 8, "web", 1));
  EXPECT_FALSE(visits.redeem(shown, 7, "web", 1)) << "it was shown elsewhere";
  EXPECT_FALSE(visits.redeem("", 7, "web", 1));
}

TEST(Visits, TicketsAndVisitsEnd) {
  Visits visits;
  const std::string ticket = visits.make_ticket(kAnn, 0);
  EXPECT_FALSE(visits.redeem(ticket, 7, "web", Visits::kTicketTime.count()));
  const auto secret = visits.redeem(visits.make_ticket(kAnn, 0), 7, "web", 1);
  EXPECT_TRUE(visits.find(*secret, Visits::kVisitTime.count()));
  EXPECT_FALSE(visits.find(*secret, Visits::kVisitTime.count() + 2));
}

TEST(Visits, ThereAreNeverTooManyTickets) {
  Visits visits;
  const std::string first = visits.make_ticket(kAnn, 0);
  for (std::size_t i = 0; i < Visits::kMost; ++i) (void)visits.make_ticket(kAnn, 1);
  EXPECT_FALSE(visits.redeem(first, 7, "web", 2)) << "the oldest goes";
}

}  // namespace
}  // namespace assay::door
