package dev.holdfast.client.held;

import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import java.util.Optional;
import java.util.concurrent.atomic.AtomicInteger;

/** How the application introduced itself, and what its server promised: what another session needs to begin like the first. Thread-safe. */
final class Introduction {
    private final AtomicInteger ids = new AtomicInteger();
    private volatile Optional<Said> said = Optional.empty();
    private volatile boolean initialized;
    private volatile byte lists;
    private volatile Optional<String> revision = Optional.empty();

    /** The request, and what came with it. */
    record Said(Envelope initialize, Object context) {}

    /** The application has introduced itself. */
    void said(Envelope initialize, Object context) {
        said = Optional.of(new Said(initialize, context));
        initialized = false;
    }

    Optional<Said> said() {
        return said;
    }

    /** The application has told that it is ready. */
    void initialized() {
        initialized = true;
    }

    boolean isInitialized() {
        return initialized;
    }

    /** The application has the server's answer. */
    void answered(Envelope answer) {
        revision = answer.protocolVersion();
        promised(answer);
    }

    /** The revision that the application speaks since that answer. */
    Optional<String> revision() {
        return revision;
    }

    /** The server promises to tell of changes in the lists that its answer names. */
    void promised(Envelope answer) {
        lists = JsonRpc.MESSAGES.introduction(answer.bytes()).lists();
    }

    byte promised() {
        return lists;
    }

    /** A request of this client's own, like that of the application, with an id that the application does not use. */
    int nextId() {
        return ids.incrementAndGet();
    }
}
