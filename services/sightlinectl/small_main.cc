#include "services/sightlinectl/small_command.h"

int main(int argc, char** argv) {
  return sightline::RunMain(sightline::SmallSightlinectl(), argc, argv);
}
