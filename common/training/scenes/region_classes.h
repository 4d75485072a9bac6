// What the net of Sightline Scenes tells apart.  No torch in here.
#ifndef SIGHTLINE_COMMON_TRAINING_SCENES_REGION_CLASSES_H_
#define SIGHTLINE_COMMON_TRAINING_SCENES_REGION_CLASSES_H_

namespace sightline {

inline constexpr int kRegionFeatures = 256;
// Class 0 is nothing, as detectors have it: a false proposal.  Class i + 1 is noun i of Nouns().
inline constexpr int kNothing = 0;
inline constexpr int kRegionClasses = 144;

inline constexpr int ClassOfNoun(int noun) {
  return noun + 1;
}
inline constexpr int NounOfClass(int region_class) {
  return region_class - 1;
}

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_TRAINING_SCENES_REGION_CLASSES_H_
