# The programs that tests run inside a box (probe) and around cordon (without): static, so that they run in any root.
PROBE_SRC := tests/probe/main.c tests/probe/calls.c tests/probe/files.c tests/probe/net.c tests/probe/process.c

.PHONY: probe
probe: build/test/probe build/test/without build/test/inner
build/test/probe: $(PROBE_SRC) tests/probe/probe.h
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $(PROBE_SRC) -o $@
build/test/without: tests/probe/without.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $< -o $@
# In the place of cordon-init, for tests/engine.
build/test/inner: tests/engine/inner.c
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g $(WARN) -static $< -o $@

# For tests/fault: who lets calls fail, who tells its world, and what takes calls past valgrind.
probe: build/test/inject build/test/world build/test/through.so
build/test/inject build/test/world: build/test/%: tests/fault/%.c tests/fault/through.h src/os/syscalls.def
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g -Wall -Wextra -Werror -Isrc -static $< -o $@
build/test/through.so: tests/fault/through.c tests/fault/through.h
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) -D_GNU_SOURCE -std=gnu17 -O1 -g -Wall -Wextra -Werror -fPIC -shared $< -o $@

# Of the library of this variant, so that they are linked each time: programs that use it, for tests/life/living.sh, tests/limits/quota.sh and
# tests/fault/lives.sh.
USERS := build/test/living build/test/living_disk build/test/lives
.PHONY: $(USERS)
probe: $(USERS)
build/test/lives: tests/fault/lives.c
build/test/living build/test/living_disk: build/test/%: tests/life/%.c
$(USERS): $(B)/libcordon.a
	@mkdir -p $(@D)
	@echo "  CC $@"; $(CC) $(CPPFLAGS_ALL) $(CFLAGS_ALL) -MF $@.d $(filter %.c,$^) $(B)/libcordon.a $(LDFLAGS_$(V)) $(LIBS) -pthread -o $@
