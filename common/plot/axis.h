// One axis of a plot: which values it shows, where they lie, and what is written beside it.
#ifndef SIGHTLINE_COMMON_PLOT_AXIS_H_
#define SIGHTLINE_COMMON_PLOT_AXIS_H_

#include <functional>
#include <string>
#include <vector>

namespace sightline {

struct Tick {
  double value = 0;
  std::string label;  // empty: a line without words
};

// A value; immutable.
class Axis {
 public:
  using Label = std::function<std::string(double value)>;

  // From `low` to `high`, both finite.  An empty range is widened.
  static Axis Linear(double low, double high, Label label);
  // As Linear from zero, and reaching to a round value above `high`.
  static Axis FromZero(double high, Label label);
  // Logarithmic, widened to values of 1, 2 or 5 times a power of ten.  Values must be positive;
  // others lie at the lower end.
  static Axis Log(double low, double high, Label label);
  // Shares of samples (0 <= share <= high < 1) as percentile curves have it: each nine takes
  // the same room, so that the tail can be seen.
  static Axis Nines(double high, Label label);

  // 0 at the lower end, 1 at the upper; beyond them for values outside.
  double Place(double value) const;
  // At most about `most`, none outside: at multiples of 1, 2 or 5 times a power of ten; of a
  // logarithmic axis there or at powers of ten alone; of shares at the nines, however many.
  std::vector<Tick> Ticks(int most) const;

 private:
  enum class Scale { kLinear, kLog, kNines };

  Axis(Scale scale, double low, double high, Label label);
  double Scaled(double value) const;

  Scale scale_;
  double low_, high_;
  Label label_;
};

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_PLOT_AXIS_H_
