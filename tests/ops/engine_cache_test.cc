// What is kept on disk of cuDNN's engines: the choices, and the engines as they were compiled.
#include "ops/cudnn/engine_cache.h"

#include <gtest/gtest.h>

#include <chrono>

#include "ops/cudnn/engine_store.h"
#include "support/as_ordinary_user.h"
#include "support/temp_dir.h"

namespace pantograph::ops::cudnn {
namespace {

namespace fs = std::filesystem;
using test::read_file;
using test::TempDir;
using test::write_file;

TEST(EngineCache, RemembersAndIgnoresWhatIsNoCache) {
  const TempDir folder;
  const fs::path file = folder / "cache/engines.txt";
  EngineCache(file).store("a problem", "an engine");
  EXPECT_EQ(EngineCache(file).find("a problem"), "an engine");
  EXPECT_EQ(EngineCache(file).find("another"), std::nullopt);
  write_file(file, "rubbish\n\x01\t");
  EXPECT_EQ(EngineCache(file).find("a problem"), std::nullopt);
}

const std::string kKey = "a GPU, cuDNN 9.19.0: a problem: fused eng4_k2=1";
const std::string kEngine("{\"code\": \"\0\n\r\xff\"}", 15);  // any bytes

fs::path only_file(const TempDir& folder) {
  EXPECT_EQ(folder.entries(), 1);
  return *fs::directory_iterator(folder.path());
}

TEST(EngineStore, GivesBackWhatWasSaved) {
  const TempDir folder;
  EngineStore(folder / "a/b").save(kKey, kEngine);
  EXPECT_EQ(EngineStore(folder / "a/b").load(kKey), kEngine);
  EngineStore(folder / "a/b").save(kKey, "a longer engine than before");
  EXPECT_EQ(EngineStore(folder / "a/b").load(kKey), "a longer engine than before");
}

TEST(EngineStore, TellsKeysApart) {
  const TempDir folder;
  const EngineStore store(folder.path());
  store.save(kKey, kEngine);
  EXPECT_EQ(store.load(kKey + "0"), std::nullopt);
  // As if both keys had the same checksum.
  const std::string content = read_file(only_file(folder));
  store.save(kKey + "0", "another engine");
  for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
    write_file(entry, content);
  }
  EXPECT_EQ(store.load(kKey), kEngine);
  EXPECT_EQ(store.load(kKey + "0"), std::nullopt);
}

TEST(EngineStore, TakesNoDamagedFile) {
  const TempDir folder;
  const EngineStore store(folder.path());
  store.save(kKey, kEngine);
  const fs::path file = only_file(folder);
  const std::string content = read_file(file);
  for (std::size_t i = 0; i < content.size(); ++i) {
    write_file(file, content.substr(0, i));
    EXPECT_EQ(store.load(kKey), std::nullopt) << "cut at " << i;
    std::string flipped = content;
    flipped[i] = static_cast<char>(flipped[i] ^ 0x10);
    write_file(file, flipped);
    EXPECT_EQ(store.load(kKey), std::nullopt) << "flipped at " << i;
  }
  write_file(file, content + '\0');
  EXPECT_EQ(store.load(kKey), std::nullopt);
  store.save(kKey, kEngine);
  EXPECT_EQ(store.load(kKey), kEngine);
}

TEST(EngineStore, KeepsNothingWhereItCannotWrite) {
  const TempDir folder;
  EngineStore("").save(kKey, kEngine);
  EXPECT_EQ(EngineStore("").load(kKey), std::nullopt);

  fs::permissions(folder.path(), fs::perms::owner_read | fs::perms::owner_exec);
  const test::AsOrdinaryUser user;
  for (const fs::path& unwritable : {folder / "engines", fs::path("/dev/null")}) {
    EngineStore(unwritable).save(kKey, kEngine);
    EXPECT_EQ(EngineStore(unwritable).load(kKey), std::nullopt);
  }
}

TEST(EngineStore, DropsWhatWasUsedLongestAgo) {
  using std::chrono::hours;
  const TempDir folder;
  const std::string engine(1000, 'x');
  const EngineStore store(folder.path(), 3500);
  const auto let_age = [&](hours age) {
    for (const fs::directory_entry& entry : fs::directory_iterator(folder.path())) {
      fs::last_write_time(entry, entry.last_write_time() - age);
    }
  };
  for (const char* key : {"a", "b", "c"}) {
    store.save(key, engine);
    let_age(hours(1));
  }
  EXPECT_EQ(folder.entries(), 3);
  EXPECT_EQ(store.load("a"), engine);  // used just now
  store.save("d", engine);
  EXPECT_EQ(folder.entries(), 3);
  EXPECT_EQ(store.load("a"), engine);
  EXPECT_EQ(store.load("b"), std::nullopt);
  EXPECT_EQ(store.load("c"), engine);
  EXPECT_EQ(store.load("d"), engine);
}

}  // namespace
}  // namespace pantograph::ops::cudnn
