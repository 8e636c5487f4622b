package dev.holdfast.upstream;

import dev.holdfast.client.wire.HttpSender;
import java.util.concurrent.Executor;

/** An HTTP client that runs, with one pool of connections. */
interface UpstreamClient extends AutoCloseable {
    /** Sends by it. */
    HttpSender sender();

    /** Runs what is due, which does not block. */
    Executor threads();

    /** Ends what was made for the upstream. */
    @Override
    void close();
}
