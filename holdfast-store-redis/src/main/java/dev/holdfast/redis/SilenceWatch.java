package dev.holdfast.redis;

import io.lettuce.core.protocol.RedisCommand;
import io.netty.channel.ChannelDuplexHandler;
import io.netty.channel.ChannelHandlerContext;
import io.netty.channel.ChannelPromise;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Closes a connection on which nothing comes though Redis was asked something, and Lettuce makes another one. In a cluster there is a
 * connection to each master: one of them may carry nothing any more while others do.
 */
final class SilenceWatch extends ChannelDuplexHandler {
    private static final Logger logger = LoggerFactory.getLogger(SilenceWatch.class);

    /** What came while this machine stood still is read before the second look. */
    private static final long SECOND_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Timeouts timeouts;
    private boolean watching;
    private long silentSince;
    private long patience;

    /** Whether an answer is awaited. */
    private boolean asked;

    private boolean lookedOnce;

    SilenceWatch(Timeouts timeouts) {
        this.timeouts = timeouts;
    }

    @Override
    public void write(ChannelHandlerContext context, Object message, ChannelPromise promise) {
        if (!asked) {
            asked = true;
            lookedOnce = false;
            silentSince = System.nanoTime();
            patience = 0;
        }
        patience = Math.max(patience, patienceFor(message));
        if (!watching) {
            look(context, patience);
        }
        context.write(message, promise);
    }

    /** Commands that go together have the same time. */
    private long patienceFor(Object message) {
        long millis =
                message instanceof RedisCommand<?, ?, ?> command ? timeouts.getTimeout(command) : timeouts.usual();
        return TimeUnit.MILLISECONDS.toNanos(millis);
    }

    @Override
    public void channelRead(ChannelHandlerContext context, Object message) {
        asked = false;
        context.fireChannelRead(message);
    }

    private void look(ChannelHandlerContext context, long nanos) {
        watching = true;
        Future<?> unused = context.executor().schedule(() -> looked(context), nanos, TimeUnit.NANOSECONDS);
    }

    private void looked(ChannelHandlerContext context) {
        watching = false;
        if (!asked || !context.channel().isActive()) {
            return;
        }
        long left = patience - (System.nanoTime() - silentSince);
        if (left > 0) {
            look(context, left);
        } else if (!lookedOnce) {
            lookedOnce = true;
            look(context, SECOND_LOOK_NANOS);
        } else {
            logger.debug("nothing comes over the connection {}, it is closed", context.channel());
            context.close();
        }
    }
}
