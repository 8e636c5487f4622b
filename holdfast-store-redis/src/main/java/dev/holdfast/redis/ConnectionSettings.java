package dev.holdfast.redis;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Optional;

/**
 * How Redis is reached.
 *
 * @param address where it is, and as whom
 * @param prefix what the name of each key begins with
 * @param timeout how long it may take to answer
 * @param mostWaiting how many commands may wait for their answers
 * @param trusted the certificates that a server's has to be signed by, where they are not those that this JVM trusts
 */
record ConnectionSettings(Address address, String prefix, Duration timeout, int mostWaiting, Optional<Path> trusted) {}
