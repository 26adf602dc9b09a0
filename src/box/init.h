/* init: pid 1 of a box (at process level an ordinary child that adopts what the payload leaves behind). */
#ifndef BOX_INIT_H
#define BOX_INIT_H

#include "box/inside.h"

/* Waits for LINK_MAPPED, sets the box up, starts the payload and serves the keeper until it is gone. */
_Noreturn void init_main(struct inside *in);

#endif
