# The egress process: programs of its own, the only ones that link c-ares. cordon-egress looks into no TLS and has none in it;
# cordon-egress-tls does, and is the only one of a box's processes that reads TLS. libegress.a is all of the latter but main.c, for tests and fuzzers.
EGRESS_NO_TLS := src/egress/no_tls.c
EGRESS_TLS := $(addprefix src/egress/,authority.c certificates.c keystore.c known.c roots.c stream_tls.c)
EGRESS_SRC := $(sort $(filter-out src/egress/main.c $(EGRESS_NO_TLS),$(wildcard src/egress/*.c)))
EGRESS_OBJ := $(EGRESS_SRC:%.c=$(B)/%.o)
EGRESS_PLAIN_OBJ := $(patsubst %.c,$(B)/%.o,$(filter-out $(EGRESS_TLS),$(EGRESS_SRC)) $(EGRESS_NO_TLS))
EGRESS_LIBS := -lssl -lcrypto -lcares
EGRESS_MAIN := $(B)/src/egress/main.o
EGRESS_LINK = $(CC) $(if $(STATIC_$(V)),$(STATIC_$(V)),-pie) $(LDFLAGS_$(V)) $(LDFLAGS) $^

$(B)/libegress.a: $(EGRESS_OBJ)
	@mkdir -p $(@D); rm -f $@
	ar rcs $@ $^
all: $(B)/cordon-egress $(B)/cordon-egress-tls
$(B)/cordon-egress: $(EGRESS_MAIN) $(EGRESS_PLAIN_OBJ) $(B)/libcordon.a
	@echo "  CC $@"; $(EGRESS_LINK) -lcares $(LIBS) -o $@
$(B)/cordon-egress-tls: $(EGRESS_MAIN) $(B)/libegress.a $(B)/libcordon.a
	@echo "  CC $@"; $(EGRESS_LINK) $(EGRESS_LIBS) $(LIBS) -o $@
-include $(EGRESS_OBJ:.o=.d) $(EGRESS_PLAIN_OBJ:.o=.d) $(EGRESS_MAIN:.o=.d)
