package dev.holdfast.gateway;

import java.time.Duration;

/**
 * How long a connection may take.
 *
 * @param head for the head of a request, from its first byte on
 * @param keepAlive between two requests
 */
record ConnectionTimes(Duration head, Duration keepAlive) {}
