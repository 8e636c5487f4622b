package dev.holdfast.redis;

import io.lettuce.core.TimeoutOptions;
import io.lettuce.core.protocol.CommandType;
import io.lettuce.core.protocol.RedisCommand;
import java.time.Duration;
import java.util.concurrent.TimeUnit;

/** How long Redis has for a command: each has the same time, but for that which waits for messages. */
final class Timeouts extends TimeoutOptions.TimeoutSource {
    private final long millis;

    Timeouts(Duration timeout) {
        millis = timeout.toMillis();
    }

    /** The time of most commands, in milliseconds. */
    long usual() {
        return millis;
    }

    @Override
    public long getTimeout(RedisCommand<?, ?, ?> command) {
        return command.getType() == CommandType.XREAD ? millis + LettuceConnector.LONGEST_WAIT.toMillis() : millis;
    }

    @Override
    public TimeUnit getTimeUnit() {
        return TimeUnit.MILLISECONDS;
    }
}
