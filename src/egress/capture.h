/* What was opened in the box's gateway and handed over: listeners, DNS sockets, the packet socket. Runs in the egress process. */
#ifndef EGRESS_CAPTURE_H
#define EGRESS_CAPTURE_H

#include "egress/egress.h"

/* Begins to receive captures on `fd`. End of file stops the loop. Takes it. 0 or -errno. */
int capture_start(struct egress *egress, int fd);
void capture_free(struct egress *egress);
bool capture_has_port(const struct egress *egress, uint16_t port);
/* Whether ports without a listener wait for one (os/gateway.h). */
bool capture_is_lazy(const struct egress *egress);
/* One more listener. 0 or -errno. */
int capture_listen(struct egress *egress, uint16_t port);

/* The DNS that the box sees (service_dns.c). Takes fd; 0 or -errno. */
struct dns_service;
int dns_service_start(struct egress *egress, int fd, bool tcp, struct dns_service **ret);
void dns_service_free(struct egress *egress, struct dns_service *service);

/* What was tried where nothing listens (attempt.c): SYNs, or UDP. Takes fd; 0 or -errno. */
int attempts_start(struct egress *egress, int fd, bool udp);
void attempts_free(struct egress *egress);
/* Whether this is news; bounded: the oldest are forgotten. Also false while too much news comes. */
bool attempts_news(struct egress *egress, const void *key, size_t len);

#endif
