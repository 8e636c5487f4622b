package dev.holdfast.spring.actuate;

import dev.holdfast.Session;
import dev.holdfast.engine.SessionEngine;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.OutboundMessage;
import java.util.ArrayList;
import java.util.List;

/** The sessions of an engine. It shows them only to whom wants to announce something, so this asks and announces to none. */
final class OpenSessions {
    private static final OutboundMessage NOTHING = new OutboundMessage(EventKind.NOTIFICATION, null, new byte[0]);

    private final SessionEngine engine;

    OpenSessions(SessionEngine engine) {
        this.engine = engine;
    }

    List<Session> all() {
        List<Session> all = new ArrayList<>();
        engine.announce(NOTHING, session -> {
            all.add(session);
            return false;
        });
        return all;
    }

    /** Those whose shortened id is this. */
    List<Session> named(String shortId) {
        return all().stream()
                .filter(session -> session.shortId().equals(shortId))
                .toList();
    }
}
