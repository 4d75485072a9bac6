// Student's t distribution, as far as a test of two means needs it.
#ifndef SIGHTLINE_LOADTEST_VERDICT_STUDENT_T_H_
#define SIGHTLINE_LOADTEST_VERDICT_STUDENT_T_H_

namespace sightline {

// Probability that a t variable of `degrees` (>= 1) degrees of freedom exceeds `t`.
// Abramowitz and Stegun, "Handbook of Mathematical Functions", 26.7.3 and 26.7.4.
double StudentTail(double t, int degrees);

// The t that is exceeded with probability `tail`, 0 < tail < 0.5.
double StudentQuantile(double tail, int degrees);

}  // namespace sightline

#endif  // SIGHTLINE_LOADTEST_VERDICT_STUDENT_T_H_
