package dev.holdfast.redis;

import io.lettuce.core.SslOptions;
import java.time.Duration;

/**
 * How Redis is reached.
 *
 * @param address where it is, and as whom
 * @param prefix what the name of each key begins with
 * @param timeout how long it may take to answer
 * @param mostWaiting how many commands may wait for their answers
 * @param tls how TLS is spoken, where the address asks for it
 */
record ConnectionSettings(Address address, String prefix, Duration timeout, int mostWaiting, SslOptions tls) {}
