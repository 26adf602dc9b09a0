/* A root that is an image: `files.root: image:NAME`. For plan.c. */
#ifndef PLAN_IMAGE_H
#define PLAN_IMAGE_H

#include "plan/plan.h"

#define PLAN_IMAGE_PREFIX "image:"

/* Finds it in the store and locks it for as long as the plan lives: root, root_fd, image and path of the plan. */
int plan_resolve_image(struct cordon_plan *plan, const char *name, struct cordon_error *err);
/* For engines with images of their own: `root` must name one. Nothing is looked up. */
int plan_take_engine_image(struct cordon_plan *plan, const char *root, struct cordon_error *err);
/* Whether the image wants the payload to start in a directory of its own that a box shows: it, or NULL. */
const char *plan_image_workdir(const struct cordon_plan *plan);

#endif
