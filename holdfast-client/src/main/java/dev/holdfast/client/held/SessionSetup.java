package dev.holdfast.client.held;

import dev.holdfast.client.ServerSession.Repeat;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.JsonRpc;
import dev.holdfast.json.RepeatRules;
import dev.holdfast.spi.InboundMessage;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * What an application has set up in its session, and what its server promised there, so that another session can be brought to the same
 * state: its {@code initialize}, its log level, its subscriptions. Learned from its requests and their answers. Thread-safe.
 */
final class SessionSetup {
    /** Requests that do no more harm the second time. */
    private static final Set<String> SETTINGS =
            Set.of("logging/setLevel", "resources/subscribe", "resources/unsubscribe");

    /** How many subscriptions are remembered; further ones are lost with their session. */
    private static final int MOST = 10_000;

    private final RepeatRules rules = new RepeatRules();
    private final AtomicInteger ids = new AtomicInteger();
    private final Map<String, Envelope> subscriptions = new LinkedHashMap<>();
    private Optional<Envelope> level = Optional.empty();
    private volatile Optional<Handshake> handshake = Optional.empty();
    private volatile boolean initialized;
    private volatile byte lists;
    private volatile Optional<String> revision = Optional.empty();

    /** The {@code initialize} of the application, and what came with it. */
    record Handshake(Envelope initialize, Object context) {}

    /** The application begins a session of its own, which has nothing set. */
    synchronized void begin(Envelope initialize, Object context) {
        handshake = Optional.of(new Handshake(initialize, context));
        initialized = false;
        subscriptions.clear();
        level = Optional.empty();
    }

    Optional<Handshake> handshake() {
        return handshake;
    }

    /** The application has the answer to its {@code initialize}, and speaks the revision that it names. */
    void negotiated(Envelope answer) {
        revision = answer.protocolVersion();
        promised(answer);
    }

    Optional<String> revision() {
        return revision;
    }

    /** The server promises to tell of changes in the lists that its answer to {@code initialize} names. */
    void promised(Envelope answer) {
        lists = JsonRpc.MESSAGES.introduction(answer.bytes()).lists();
    }

    byte promised() {
        return lists;
    }

    void initialized() {
        initialized = true;
    }

    boolean isInitialized() {
        return initialized;
    }

    /** Whether a request may be sent once more when its fate is unknown. */
    Repeat repeat(Envelope request) {
        boolean harmless =
                SETTINGS.contains(request.method()) || rules.harmless("", request.inbound(InboundMessage.NO_CONTEXT));
        return harmless ? Repeat.HARMLESS : Repeat.NEVER;
    }

    void answered(Envelope request, Envelope response) {
        if (request.method().equals(RepeatRules.TOOLS_LIST)) {
            rules.learn("", response.bytes());
        } else if (SETTINGS.contains(request.method())) {
            set(request);
        }
    }

    private synchronized void set(Envelope request) {
        switch (request.method()) {
            case "logging/setLevel" -> level = Optional.of(request);
            case "resources/subscribe" ->
                request.uri()
                        .filter(uri -> subscriptions.size() < MOST)
                        .ifPresent(uri -> subscriptions.put(uri, request));
            default -> request.uri().ifPresent(subscriptions::remove);
        }
    }

    /** The requests that set everything again. */
    synchronized List<Envelope> settings() {
        List<Envelope> requests = new ArrayList<>(subscriptions.values());
        level.ifPresent(requests::add);
        return requests;
    }

    synchronized List<String> subscribed() {
        return List.copyOf(subscriptions.keySet());
    }

    /** A copy of a request of the application, with an id that the application does not use. */
    Envelope ownCopy(Envelope request) {
        return request.withId(JsonRpc.stringId("holdfast-" + ids.incrementAndGet()));
    }
}
