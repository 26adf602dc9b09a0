/* Values of secrets: fetched by the front when egress asks for one, sent to it, and wiped. */
#ifndef BOX_FETCH_H
#define BOX_FETCH_H

#include "box/traffic.h"

/* An unknown name is answered as such. What takes time (a command) goes on in fetch_serve(). */
void fetch_start(struct traffic *t, const char *name);
void fetch_serve(struct traffic *t, struct fetch *f, short events);
void fetch_cancel(struct fetch *f);

#endif
