/* The state directory: records for the sweep. Ours alone, or an error. */
#ifndef BOX_STATE_H
#define BOX_STATE_H

/* Opens state_dir/sub, making both (0700). -EPERM when somebody else could have a hand in it; -errno otherwise. */
int state_open(const char *state_dir, const char *sub);
/* The same without making anything; -ENOENT where there is none. */
int state_open_existing(const char *state_dir, const char *sub);

#endif
