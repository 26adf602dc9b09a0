/*
 * How a policy holds what is more than a word: a rule of the network and a secret are one text each, "key=value" lines in a fixed
 * order, so that equal ones are equal texts and lists of them are copied, merged and compared like any other. Pure.
 */
#ifndef POLICY_NETWORK_LINE_H
#define POLICY_NETWORK_LINE_H

#include "net/config.h"

/* "host=api.example.com\nports=443\nmethod=GET\npath=/v1/x"; malloc'd or NULL. */
char *rule_line(const struct net_rule *rule);
/* Back again; ret->text is what an operator would write. 0, -EINVAL or -ENOMEM; ret is empty then. */
int rule_from_line(const char *line, struct net_rule *ret);

/* "from=env:X\nheader=Authorization: Bearer {}\nttl=300000", without the name; malloc'd or NULL. */
char *secret_line(const struct net_secret *secret);
int secret_from_line(const char *name, const char *line, struct net_secret *ret);
void secret_done(struct net_secret *secret);

#endif
