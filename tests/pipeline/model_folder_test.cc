// Which folders count as a PAN 2 checkpoint, and what is said of others.
#include "pipeline/model_folder.h"

#include <gtest/gtest.h>

#include "support/expect_error.h"
#include "support/temp_dir.h"

namespace pantograph {
namespace {

using test::expect_error;
using test::TempDir;
using test::write_file;

class ModelFolderTest : public testing::Test {
 protected:
  ModelFolderTest() {
    for (const char* name : {"transformer", "text_encoder", "tokenizer", "vae", "scheduler"}) {
      std::filesystem::create_directory(folder_ / name);
    }
  }
  void write_index(const std::string& name, const std::string& text) {
    write_file(folder_ / name, text);
  }
  void expect_refused(ErrorKind kind, std::initializer_list<std::string_view> parts) {
    expect_error(kind, parts, [&] { open_model_folder(folder_.path()); });
  }
  TempDir folder_;
};

TEST_F(ModelFolderTest, EitherIndexIsTaken) {
  for (const char* index : {"modular_model_index.json", "model_index.json"}) {
    write_index(index, R"({"_class_name": "PAN2ModularPipeline"})");
    const ModelFolder folder = open_model_folder(folder_.path());
    EXPECT_EQ(folder.transformer, folder_ / "transformer");
    EXPECT_EQ(folder.text_encoder, folder_ / "text_encoder");
    EXPECT_EQ(folder.tokenizer, folder_ / "tokenizer");
    EXPECT_EQ(folder.vae, folder_ / "vae");
    EXPECT_EQ(folder.scheduler, folder_ / "scheduler");
    std::filesystem::remove(folder_ / index);
  }
}

TEST_F(ModelFolderTest, OtherFoldersAreNamed) {
  expect_error(ErrorKind::kNotFound, {(folder_ / "none").string(), "no such folder", "PAN 2"},
               [&] { open_model_folder(folder_ / "none"); });
  expect_refused(ErrorKind::kNotFound, {"no modular_model_index.json or model_index.json"});
  write_index("model_index.json", R"({"_class_name": "WanPipeline"})");
  expect_refused(ErrorKind::kUnsupported, {"model_index.json", "\"WanPipeline\"", "PAN2"});
  write_index("model_index.json", "{}");
  expect_refused(ErrorKind::kFormat, {"no \"_class_name\""});
  write_index("model_index.json", "[");
  expect_refused(ErrorKind::kFormat, {"model_index.json", "line 1"});
}

TEST_F(ModelFolderTest, EveryMissingComponentIsListed) {
  write_index("modular_model_index.json", R"({"_class_name": "PAN2ModularPipeline"})");
  std::filesystem::remove(folder_ / "tokenizer");
  std::filesystem::remove(folder_ / "vae");
  write_file(folder_ / "vae", "a file, not a folder");
  expect_refused(ErrorKind::kNotFound, {"without the component folders tokenizer, vae;"});
}

}  // namespace
}  // namespace pantograph
