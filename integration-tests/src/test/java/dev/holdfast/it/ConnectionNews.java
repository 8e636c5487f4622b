package dev.holdfast.it;

import dev.holdfast.mcp.client.ClientListener;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;

/** What a client's transport tells of its connection: {@code reconnecting}, {@code resumed}, {@code gap}, {@code replaced}. */
final class ConnectionNews implements ClientListener {
    /** All of it, in order. */
    final List<String> told = new CopyOnWriteArrayList<>();

    @Override
    public void onReconnecting(Throwable cause) {
        told.add("reconnecting");
    }

    @Override
    public void onResumed(Duration away) {
        told.add("resumed");
    }

    @Override
    public void onGap() {
        told.add("gap");
    }

    @Override
    public void onSessionReplaced() {
        told.add("replaced");
    }
}
