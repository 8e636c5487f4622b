package dev.holdfast.servlet.sse;

import java.time.Duration;

/**
 * The times of a connection.
 *
 * @param heartbeat how long it may be silent before a comment is written
 * @param retry what it tells its client to wait before a reconnect
 * @param maxAge when it is ended in order; zero for never
 * @param stall how long its peer may take no bytes before it is ended
 */
public record SseTimes(Duration heartbeat, Duration retry, Duration maxAge, Duration stall) {}
