#include "services/sightlinectl/command.h"

int main(int argc, char** argv) {
  return sightline::RunMain(sightline::Sightlinectl(), argc, argv);
}
