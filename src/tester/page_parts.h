#pragma once

#include <string>
#include <string_view>

#include "judge/result.h"
#include "page/markup.h"
#include "page/table.h"
#include "report/html_page.h"
#include "serve/http_server.h"

namespace assay::tester {

// The parts of all the tester's pages.

/// A complete page with a policy under which nothing may run or be loaded. Forms lead to the tester
/// itself.
[[nodiscard]] serve::HttpResponse html_response(std::string_view title, const page::Html& body,
                                                int status = 200);
[[nodiscard]] report::html::Masthead top(std::string title, std::string sentence,
                                         page::Html facts = {});
[[nodiscard]] page::Html section(std::string_view title, const page::Html& content);
[[nodiscard]] page::Html tests_table(const page::Table& table);
/// INCOMPLETE for a text that is not a verdict.
[[nodiscard]] judge::Validity validity_of(std::string_view text);
[[nodiscard]] page::Html test_link(const std::string& id);
/// The links to the tester's pages; `here` is this page's address.
[[nodiscard]] page::Html navigation(std::string_view here);
/// "Signed by …", for people.
[[nodiscard]] std::string signature_words(const std::string& fingerprint, const std::string& name);

}  // namespace assay::tester
