package dev.holdfast.client;

import java.net.URI;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/**
 * Finds out by experiment whether a server still has a session: by a ping in it, and where that is refused too, by an
 * {@code initialize} beside it. There is one experiment at a time, for all whose messages were refused by then. Thread-safe.
 */
final class Doubt {
    private final Link link;
    private @Nullable CompletableFuture<Probe.Finding> last;
    private long endedAt;

    Doubt(Link link) {
        this.link = link;
    }

    /**
     * Asks; the stage never fails.
     *
     * @param context what came with the message that was refused
     * @param sentAt when that was sent, by {@link System#nanoTime}
     */
    CompletionStage<Probe.Finding> settle(URI uri, Object context, long sentAt) {
        CompletableFuture<Probe.Finding> begun = new CompletableFuture<>();
        synchronized (this) {
            if (last != null && (!last.isDone() || sentAt - endedAt < 0)) {
                return last;
            }
            last = begun;
        }
        if (link.loss().isPresent()) {
            end(begun, Probe.Finding.GONE);
        } else {
            Probe.ask(link, uri, context)
                    .thenCompose(pinged -> pinged == Probe.Finding.GONE || pinged == Probe.Finding.REFUSED
                            ? link.another(context, pinged)
                            : CompletableFuture.completedFuture(pinged))
                    .thenAccept(found -> end(begun, found));
        }
        return begun;
    }

    private void end(CompletableFuture<Probe.Finding> begun, Probe.Finding found) {
        synchronized (this) {
            endedAt = System.nanoTime();
        }
        begun.complete(found);
    }
}
