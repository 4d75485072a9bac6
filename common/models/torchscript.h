// The family "torchscript": towers and a cross-encoder that come as scripted modules, so that
// a model of any architecture can be served (CLIP: deploy/models/script_clip.py).
//
// The manifest's torch_script names one file for each module that there is, as torch.jit.save
// writes it; tokenizer and preprocessing are the bundle's, too.  B is any number of items, L
// any number of tokens up to tokenizer.max_token_count, R any number of regions up to
// max_region_count, F is region_feature_size, S pixels.image_size, D embedding.dimension.
// Ids are int64, all else is float32.  A mask is 1 where an item is and 0 where it was padded
// (with zeros); what is padded must not matter.
//
//   text_encoder      forward(ids B x L, mask B x L) -> B x D
//   image_encoder     forward(features B x R x F, boxes B x R x 4, mask B x R) -> B x D
//   region_extractor  forward(pixels 1 x 3 x S x S)
//                       -> (features 1 x R x F, boxes 1 x R x 4)
//   cross_encoder     prepare(features 1 x R x F, boxes 1 x R x 4) -> rows 1 x R' x H
//                     forward(ids B x L, text_mask B x L, rows B x R' x H, row_mask B x R')
//                       -> B x 1, the score of rank_raw, or the probability of sigmoid; or
//                       -> B x 2, logits of no match and match, for softmax_match, logit_match
//
// Ids carry the first and the last special token.  A box is x1/W, y1/H, x2/W, y2/H.  Regions
// are a detector's, or what the region extractor makes of pixels (PixelSpec, pictures.h): of
// a vision transformer its tokens, or its class token alone.  The rows that `prepare` gives
// are an image's item features, tensor "rows"; a method beside forward is marked with
// @torch.jit.export.  H and the most rows are found when the bundle is loaded.
//
// A bundle with an embedding has both towers, one with a cross_encoder that module, one with
// pixels a region extractor.  Each module is tried when the bundle is loaded, with the longest
// text and the most regions beside the shortest and fewest: what does not fit the signature is
// InvalidArgument and names the file, what it gave and what was wanted.
//
// Embeddings are normalised by us if the metric is COSINE.  A module must not change its own
// attributes and must not draw random numbers.  It is a program: it is interpreted without
// limits of time and memory and can read files, so add only modules of people whose programs
// you would run.
#ifndef SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_H_
#define SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_H_

#include "common/models/family.h"

namespace sightline {

// The registry's line.  There are no initial weights: see script_bundle.h.
Family TorchScriptFamily();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_MODELS_TORCHSCRIPT_H_
