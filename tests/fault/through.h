/* What through.c and inject.c agree on: prctl(THROUGH, NUMBER, ARGUMENTS) is the call NUMBER with the six words at ARGUMENTS. */
#ifndef TESTS_THROUGH_H
#define TESTS_THROUGH_H

#define THROUGH 0x74687275UL

#endif
