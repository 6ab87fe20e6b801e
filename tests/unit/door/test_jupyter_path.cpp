#include <gtest/gtest.h>

#include "door/jupyter_path.h"

namespace assay::door {
namespace {

std::string path_of(std::string path, std::string query, std::string method = "GET") {
  serve::HttpRequest request;
  request.method = std::move(method);
  request.path = std::move(path);
  request.query = std::move(query);
  return jupyter_path(request);
}

TEST(JupyterPath, OfAFolderOfCheckpointsIsNotThatOfANotebooksCheckpoints) {
  EXPECT_EQ(path_of("/api/contents/checkpoints", "type=directory&_=17"),
            "/api/contents/%63heckpoints");
  EXPECT_EQ(path_of("/api/contents/a/checkpoints/checkpoints", "content=1&hash=0&17"),
            "/api/contents/a/%63heckpoints/%63heckpoints");
  EXPECT_EQ(path_of("/api/contents/checkpoints/model", "type=file&content=0"),
            "/api/contents/%63heckpoints/model");
}

TEST(JupyterPath, OfANotebooksCheckpointsStays) {
  EXPECT_EQ(path_of("/api/contents/a.ipynb/checkpoints", "_=17"),
            "/api/contents/a.ipynb/checkpoints");
  EXPECT_EQ(path_of("/api/contents/a.ipynb/checkpoints", "", "POST"),
            "/api/contents/a.ipynb/checkpoints");
}

TEST(JupyterPath, OfEverythingElseStays) {
  EXPECT_EQ(path_of("/tree/checkpoints", "type=directory"), "/tree/checkpoints");
  EXPECT_EQ(path_of("/api/contents/my-checkpoints", "type=directory"),
            "/api/contents/my-checkpoints");
  EXPECT_EQ(path_of("/api/contents/", "type=directory"), "/api/contents/");
}

}  // namespace
}  // namespace assay::door
