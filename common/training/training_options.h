// Everything that decides how a model is trained.  The defaults suit some 5 000 captioned
// pictures; deploy/demo/encoder.yaml has what the demo's encoder is trained with.
//
// "Row" is a row of the training set.  A bi step trains the bi-encoder on one batch of
// pictures with a caption each, a cross step the cross-encoder on problems of one match
// among wrong pairs.  An epoch is one pass over all captioned rows that may be learnt
// from, of the kind of step that it counts.
#ifndef SIGHTLINE_COMMON_TRAINING_TRAINING_OPTIONS_H_
#define SIGHTLINE_COMMON_TRAINING_TRAINING_OPTIONS_H_

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "absl/status/status.h"

namespace sightline {

enum class BiLoss {
  // Softmax over the batch, both directions, with a learned temperature.
  kContrastive,
  // Hinge on the hardest wrong pair of the batch ("Retrieve Fast, Rerank Smart").
  kHinge,
};

enum class CrossLoss {
  // Softmax over a match and its hard negatives.
  kListwise,
  // Match or not, one wrong pair for each right one, half of them a wrong picture and half
  // a wrong caption ("Retrieve Fast, Rerank Smart").
  kPairwise,
};

enum class DecayShape {
  kCosine,
  kLinear,
  kConstant,
  // By a factor every so many steps (SGRAF drops once, to a tenth).
  kStep,
  // With the root of the steps there were, warm-up included ("Attention Is All You Need", Vaswani
  // et al., 2017; M3P).
  kInverseRoot,
};

enum class Precision {
  kFloat32,
  // Products of matrices and convolutions in bfloat16; weights, moments, sums, softmaxes
  // and losses in float32.
  kBfloat16,
};

// How the learning rate runs through a stage: linearly up to `peak` in `warmup_steps`,
// then as `decay` says.
struct RateOptions {
  double peak = 5e-4;
  int64_t warmup_steps = 100;
  DecayShape decay = DecayShape::kCosine;
  // Of the peak, at the end of kCosine and kLinear.
  double final_share = 0.02;
  // kStep: after each so many steps, counted from the stage's first one, the rate is
  // `drop_factor` of what it was.  0 for the others.
  int64_t drop_every = 0;
  double drop_factor = 0.1;
};

// Which caption of a row is shown, and how: with `other_language` one that is not in the set's
// first language; else with `first` the row's first one; else another one of the first
// language.  A row that has none of a kind shows one that it has.
struct CaptionOptions {
  double first = 0.5;
  double other_language = 0.0;
  // Probability with which a bi step leaves each of its tokens out; one always stays.
  // Teaches that a query with an unknown word still says something.  Not in cross steps:
  // their wrong pairs are wrong for the whole caption, and may be right for what is left.
  double token_dropout = 0.0;
};

// Random changes of each picture at each use.  Numbers are half ranges; 0 is never.
struct AugmentOptions {
  double scale = 0.15;            // size by 1 - scale to 1 + scale
  double shift = 0.08;            // of the side, in x and in y
  double rotation_degrees = 10;   // either way
  double flip_probability = 0.0;  // left to right; captions know left and right
  double brightness = 0.2;        // ink by 1 - brightness to 1 + brightness
  double contrast = 0.2;          // ink to the power of 1 / (1 + contrast) to 1 + contrast
  double saturation = 0.3;        // distance from grey by 1 - saturation to 1 + saturation
  double grey_probability = 0.0;
  double erase_probability = 0.0;  // a white rectangle
  double erase_side = 0.4;         // its longest side, of the picture's
};

// The text encoder alone, on the set's concepts, before it meets pictures: a word that is
// spelt in pieces takes many lessons, and one without pictures is cheap.
struct TextOptions {
  // Passes over all concepts; 0 for no such stage.
  int64_t epochs = 0;
  // Concepts of a batch, two texts of each; by the bi stage's loss.
  int64_t batch_size = 256;
  RateOptions rate = {1e-3, 200, DecayShape::kCosine, 0.1};
};

struct BiOptions {
  int64_t epochs = 60;
  BiLoss loss = BiLoss::kContrastive;
  // Rows of a batch.
  int64_t batch_size = 128;
  // Further pictures of the batch, wrong for every caption of it: distractors and other
  // rows, as they come.
  int64_t distractors = 32;
  // Concepts of the set whose texts a step learns to tell apart, two texts of each, beside
  // the batch and by the same loss: words that no caption has get a place among those that
  // captions have.  2 or more; with 0, none.
  int64_t concepts = 0;
  // Share of that loss in the sum.
  double concept_weight = 1.0;
  RateOptions rate = {8e-4, 100, DecayShape::kCosine, 0.1};
  double hinge_margin = 0.1;
  // Of the softmax; learned from there on, never below 0.01.
  double initial_temperature = 0.07;
};

struct JointOptions {
  // In cross epochs; with 0 the bundle has no cross-encoder.
  int64_t epochs = 40;
  CrossLoss loss = CrossLoss::kListwise;
  RateOptions rate = {2e-4, 200, DecayShape::kCosine, 0.02};
  // A bi step, then so many cross steps, and again.  0: cross steps alone, for a job with a
  // retriever.
  int64_t cross_steps_per_bi = 1;
  // Rate of bi steps, relative to cross steps'.
  double bi_rate_share = 1.0;
  // Problems of a batch.
  int64_t queries = 16;
  // Wrong pairs of a problem; kPairwise has one.
  int64_t negatives = 7;
  // Of these, how many are drawn from all rows instead of from the mined ones.  The paper
  // draws all so.
  int64_t random_negatives = 3;
  // Probability that a problem is a picture with wrong captions instead of a caption with
  // wrong pictures; kPairwise has a half.
  double text_negatives = 0.2;
  // Cross epochs from one mining of hard negatives to the next.  A retriever's are mined
  // once, for it does not change.
  int64_t mine_every = 2;
  // Wrong rows kept of each row, those that the bi-encoder finds most alike; a draw
  // prefers the first ones.
  int64_t mined = 32;
  // Whether the stem that reads pixels stays as the bi stage has left it.  Then its output
  // is computed ahead, for `variants` randomly changed copies of each picture, anew every
  // `refresh_every` cross epochs; a step draws one of them, and costs a fraction of what it
  // would.  Takes 18 kB a picture and variant at 36 cells of 256 numbers.  Needs a bi
  // stage, a start or a retriever.
  bool freeze_grid = true;
  int64_t variants = 2;
  int64_t refresh_every = 2;
  // Rows, padding included, that pass the transformer at once in a cross step: more is
  // faster on a GPU and takes memory, about 60 kB a row at width 256 with 4 layers.
  int64_t pass_rows = 16384;
};

// Which parameters weight decay draws to zero.
enum class DecayRule {
  // Matrices and kernels, not biases, norms, scalars and embedding tables.
  kMatrices,
  // Those whose names contain neither "bias" nor "LayerNorm.weight", as BERT's recipe has it
  // and the code of UNITER, LightningDOT, OSCAR and VLDeformer after it: embedding tables are
  // decayed, and norms of another name, such as UNITER's img_layer_norm.
  kByName,
  // All of them: AdamW as it comes.
  kAll,
};

struct AdamWOptions {
  double beta1 = 0.9;
  double beta2 = 0.98;
  double epsilon = 1e-6;
  double weight_decay = 0.05;
  DecayRule decays = DecayRule::kMatrices;
  // Longest gradient that is used as it is; 0 for any.
  double clip_norm = 1.0;
};

struct ValidationOptions {
  // Epochs (of the stage) from one validation to the next; there is one at each stage's
  // end in any case.  0: only there.
  int64_t every = 5;
  // Captioned training rows that are asked for as well, to see what is learnt by heart.
  int64_t training_queries = 500;
  // Candidates that the cross-encoder reorders.
  int64_t depth = 20;
};

struct TrainingOptions {
  uint64_t seed = 1;
  double dropout = 0.1;
  // Share of the old average that a step keeps, in an average of the weights that is
  // validated and written in the place of the weights; 0 for none.  Grows up to it: after
  // t steps it is at most (1 + t) / (10 + t).
  double average = 0.995;
  Precision precision = Precision::kFloat32;
  // Learns from validation rows too, for a last run whose choices are made.
  bool with_validation = false;

  CaptionOptions captions;
  AugmentOptions augment;
  TextOptions text;
  BiOptions bi;
  JointOptions joint;
  AdamWOptions adamw;
  ValidationOptions validation;

  // How the reranked block is ordered by default, as the bundle declares it: "replace",
  // "add_lambda", "norm_add_lambda" with `combination_lambda` in both directions, or "auto"
  // for what finds most among the validation rows in each, "none" included.
  std::string combination = "auto";
  double combination_lambda = 0.5;
};

// Sees options one by one, and may change them.  A name is the path of a key of `trainer train`,
// "joint.rate.peak"; `low` to `high` is what CheckTrainingOptions allows.
class OptionVisitor {
 public:
  virtual ~OptionVisitor() = default;
  virtual void Number(const std::string& name, double* value, double low, double high) = 0;
  virtual void Count(const std::string& name, int64_t* value, int64_t low, int64_t high) = 0;
  virtual void Flag(const std::string& name, bool* value) = 0;
  // `value` is a place in `names`.
  virtual void Choice(const std::string& name, const std::vector<std::string>& names,
                      size_t* value) = 0;
};

// Shows all but seed and combination, in a fixed order.
void VisitTrainingOptions(TrainingOptions* options, OptionVisitor* visitor);

// InvalidArgument, every problem at once, with values and ranges.
absl::Status CheckTrainingOptions(TrainingOptions options);

// Every option that decides the weights as a line "joint.queries=48", in a fixed order: what
// a checkpoint was trained with.  Validation and combination are not among them.
std::string DescribeTrainingOptions(TrainingOptions options);

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_TRAINING_OPTIONS_H_
