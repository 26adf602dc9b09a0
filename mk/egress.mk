# The egress process: a program of its own, the only one that links OpenSSL and c-ares. libegress.a is all of it but main.c, for its
# tests and fuzzers.
EGRESS_SRC := $(sort $(filter-out src/egress/main.c,$(wildcard src/egress/*.c)))
EGRESS_OBJ := $(EGRESS_SRC:%.c=$(B)/%.o)
EGRESS_LIBS := -lssl -lcrypto -lcares
EGRESS_MAIN := $(patsubst %.c,$(B)/%.o,$(wildcard src/egress/main.c))

$(B)/libegress.a: $(EGRESS_OBJ)
	@mkdir -p $(@D); rm -f $@
	ar rcs $@ $^
ifneq ($(EGRESS_MAIN),)
all: $(B)/cordon-egress
$(B)/cordon-egress: $(EGRESS_MAIN) $(B)/libegress.a $(B)/libcordon.a
	@echo "  CC $@"; $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^ $(EGRESS_LIBS) $(LIBS) -o $@
endif
-include $(EGRESS_OBJ:.o=.d) $(EGRESS_MAIN:.o=.d)
