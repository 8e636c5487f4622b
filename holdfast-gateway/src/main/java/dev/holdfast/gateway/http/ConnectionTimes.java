package dev.holdfast.gateway.http;

import java.time.Duration;

/**
 * How long a connection may take.
 *
 * @param head for the head of a request, from its first byte on
 * @param keepAlive between two requests
 */
public record ConnectionTimes(Duration head, Duration keepAlive) {}
