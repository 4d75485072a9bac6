// How a network learns from pairs: tasks, each an objective with a batch of its own, and the
// numbers that all of them share.
//
// No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_RECIPE_H_
#define SIGHTLINE_COMMON_TRAINING_RECIPE_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"
#include "common/training/objectives/loss_choices.h"
#include "common/training/objectives/masking.h"
#include "common/training/pair_sampler.h"
#include "common/training/training_options.h"

namespace sightline {

// What of a network learns from a teacher: its cross-encoder, or its towers' inner products.
enum class Student { kPairs, kTowers };

// What is made up to be wrong beside a batch ("VLDeformer", Zhang et al., 2022).
enum class MadeWrong { kNone, kTexts, kImages, kBoth };

// Which words of a caption that is made wrong may be replaced: the paper's nouns, verbs, adjectives
// and adverbs, or nouns alone, as a data set beside the released main training has it.
enum class ReplacedKinds { kAll, kNouns };

inline bool MakesTexts(MadeWrong made) {
  return made == MadeWrong::kTexts || made == MadeWrong::kBoth;
}
inline bool MakesImages(MadeWrong made) {
  return made == MadeWrong::kImages || made == MadeWrong::kBoth;
}

struct TaskRecipe {
  std::string objective;  // of objectives/registry.h
  // Of the objective; negative: the paper's.
  double margin = -1;
  double temperature = -1;
  // Of a hinge over a matrix, and of divergences.
  WrongPairs wrong_pairs = WrongPairs::kHardest;
  ClassReduction classes = ClassReduction::kSum;
  // Of a hinge over embeddings.
  BatchReduction reduction = BatchReduction::kMean;
  // How often, relative to the other tasks' shares.
  double share = 1;
  // Of the corpora, counted from 1, whose pictures are shown; 0: of all.  So each may have tasks
  // and shares of its own, as LightningDOT's four have.  Not of objectives over pairs and matches,
  // whose wrong ones are drawn from all.
  int64_t corpus = 0;
  // Captions with their pictures; of an objective over pairs, problems.
  int64_t batch = 96;
  // Instead: as many captions with their pictures, of like lengths, as fit into so many rows
  // (tokens and regions); 0: by number.
  int64_t batch_rows = 0;
  EpochUnit unit = EpochUnit::kCaptions;
  // Of objectives over a batch: whether what may be right for a caption counts as wrong all the
  // same, as LightningDOT's code has it.
  bool counts_relatives = false;
  // Of objectives over pairs: pairs of a problem, which side the wrong ones change, and, of one,
  // the probability that it is the caption.  Of matching the last, and how many pairs are wrong.
  int64_t candidates = 2;
  WrongSides sides = WrongSides::kOne;
  double text_negatives = 0.5;
  // Of losses of pairs: so many wrong ones are drawn, the network scores them, and of each problem
  // those that it scores highest are its candidates ("UNITER", Chen et al., 2020: 31 of 399); 0:
  // what is drawn.
  int64_t mined_from = 0;
  // How many wrong ones are drawn from the nearest that were mined: of the candidates of a problem,
  // or, of objectives over a batch, further pictures for each caption and further captions for each
  // picture, of which a matrix of scores has none.
  int64_t nearest = 0;
  // Of distillation: the bundle that is learnt from, as RecipeJob::others names it, and what learns
  // to score as it does.
  std::string teacher;
  Student student = Student::kPairs;
  double wrong_share = 0.5;
  // Of matching: of the pairs that are wrong how many have another picture's tags, and the right
  // caption and regions ("Oscar", Li et al., 2020: all), rather than another caption or picture.
  double wrong_tags = 0;
  // Of matching: by how much the transport between words and regions is added to the loss, that of
  // right pairs less that of wrong ones ("UNITER": 0.1).
  double alignment = 0;
  // Of losses that take them: captions whose words are replaced, each that can be with this
  // probability, and pictures whose regions are, those that the caption mentions and this share of
  // the rest.
  MadeWrong made_wrong = MadeWrong::kNone;
  double replaced_words = 0.5;
  ReplacedKinds replaced_kinds = ReplacedKinds::kAll;
  double replaced_regions = 0.5;
  // Of objectives of hidden words and regions: the probability with which each is hidden; of two
  // towers, what a row is given of the other one, and by whose table a text's words are predicted;
  // whether the words in a picture are hidden with the caption's, and whether a picture's tags are
  // hidden and predicted as if they were words of the caption ("Oscar").
  double masked_share = 0.15;
  // Of hidden words: those that alone are hidden, with spaces between, each a token of its own; of
  // a text that has none of them, and if empty, any.
  std::string masked_words;
  GlobalVector other_tower = GlobalVector::kNone;
  WordTable word_table = WordTable::kImage;
  bool co_mask = false;
  bool masks_tags = false;
};

enum class TaskOrder {
  kDrawn,  // each step draws its task by the shares
  kInTurn  // one after another; the joint training of "Retrieve Fast, Rerank Smart"
};

// Of each caption the pictures and of each picture the captions that are wrong for it and nearest,
// by embeddings ("Approximate Nearest Neighbor Negative Contrastive Learning", Xiong et al., 2020).
struct MiningOptions {
  // Steps from one mining to the next, each by the weights of its step; 0: once, before the first.
  int64_t every = 0;
  int64_t kept = 50;  // of each
};

struct Recipe {
  uint64_t seed = 1;
  std::vector<TaskRecipe> tasks;
  TaskOrder order = TaskOrder::kDrawn;
  int64_t steps = 30'000;
  // What tasks that ask for nearest ones draw from.
  MiningOptions mining;
  // The bundle that they are found by, as RecipeJob::others names it; empty: what learns.
  std::string retriever;
  // The folder of the WordNet that captions' words are known by; empty: none is needed.
  std::string wordnet;
  RateOptions rate = {5e-5, 0, DecayShape::kLinear, 0};
  AdamWOptions adamw;
  // Of all dropout layers; negative: each as its paper has it.
  double dropout = -1;
  Precision precision = Precision::kFloat32;
  // Batches of a step, all of one task: their gradients' mean is what it goes by.  A loss that sees
  // a whole batch sees each by itself.
  int64_t accumulation = 1;
  // Rows (tokens and regions) that are computed at once; 0: whatever a batch has.
  int64_t pass_rows = 0;
  // Of objectives with a learned scale.
  double initial_temperature = 0.07;
  // Steps from one look at the development pictures to the next; what scores best there is what is
  // written.  0: at the end alone.
  int64_t develop_every = 1'000;
  // Pictures that are looked at, the first ones; 0: all.
  int64_t develop_pictures = 1'000;
};

// Shows all but seed, tasks, retriever and wordnet, and all of a task but its objective, its masked
// teacher, and its masked words, in a fixed order.
void VisitRecipe(Recipe* recipe, OptionVisitor* visitor);
void VisitTask(const std::string& prefix, TaskRecipe* task, OptionVisitor* visitor);

// What reports call task `i`, and no other: "mlm", "mlm of corpus 2", "listwise (2)" for the second
// one of that name.
std::string TaskName(const Recipe& recipe, size_t i);

// InvalidArgument, every problem at once, with values and ranges: of numbers and of names that are
// no objective's.
absl::Status CheckRecipe(Recipe recipe);

// Every number that decides the weights, and no bundle, as a line "tasks.0.batch=96", in a fixed
// order: what a checkpoint was trained with.
std::string DescribeRecipe(Recipe recipe);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_RECIPE_H_
