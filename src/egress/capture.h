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

/* The DNS that the box sees (service_dns.c). Takes fd, which may be -1: questions are brought to it. 0 or -errno. */
struct dns_service;
int dns_service_start(struct egress *egress, int fd, bool tcp, struct dns_service **ret);
/* One question; the length of its answer, 0: say nothing. And one connection to it, whose fd it takes. */
size_t dns_service_answer(struct dns_service *service, const uint8_t *packet, size_t len, uint8_t *ret, size_t size);
void dns_service_client(struct dns_service *service, int fd);
void dns_service_free(struct egress *egress, struct dns_service *service);

/* What was tried where nothing listens (attempt.c): SYNs, or UDP. Takes fd; 0 or -errno. */
int attempts_start(struct egress *egress, int fd, bool udp);
void attempts_free(struct egress *egress);
/* One that somebody else has seen (address in host order). With `asks` nobody has answered it yet: true, the rules allow it, and a listener
 * shall be made. */
bool attempts_carried(struct egress *egress, uint8_t protocol, uint32_t address, uint16_t port, bool asks);
/* Whether this is news; bounded: the oldest are forgotten. Also false while too much news comes. */
bool attempts_news(struct egress *egress, const void *key, size_t len);
void attempts_forget(struct egress *egress); /* everything is news again */

/* Connections, questions and attempts that come over a stream instead (carried.c). Takes fd; 0 or -errno. */
struct carried;
int carried_start(struct egress *egress, int fd, struct carried **ret);
void carried_free(struct carried *carried);

#endif
