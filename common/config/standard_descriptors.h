// What a program that was started without standard input, output or error has in their place.
#ifndef SIGHTLINE_COMMON_CONFIG_STANDARD_DESCRIPTORS_H_
#define SIGHTLINE_COMMON_CONFIG_STANDARD_DESCRIPTORS_H_

namespace sightline {

// Those of descriptors 0 to 2 that are closed are taken, so that no file that is opened later gets
// their numbers, and with them what is printed or logged.  What is printed to one of these fails,
// as to a closed one (WithOutput tells).  For the start of main(), before anything is opened.
void TakeStandardDescriptors();

}  // namespace sightline

#endif  // SIGHTLINE_COMMON_CONFIG_STANDARD_DESCRIPTORS_H_
