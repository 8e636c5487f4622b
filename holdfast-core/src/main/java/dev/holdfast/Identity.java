package dev.holdfast;

import dev.holdfast.spi.Backend;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.MessageFactory.Introduction;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RecordChange;
import java.util.List;

/**
 * Whether a session's backends are the same server, by what each says of itself when it begins. Where a fresh one is another
 * than the one before, the client is told to ask again for the lists that it may have kept: for those whose changes the server
 * promised to tell when the client initialized the session. Called without the session's lock.
 */
final class Identity {
    private final LiveSession session;
    private final SessionEngine engine;
    private final Upkeep upkeep;
    private final Outflow outflow;

    Identity(LiveSession session, SessionEngine engine, Upkeep upkeep, Outflow outflow) {
        this.session = session;
        this.engine = engine;
        this.upkeep = upkeep;
        this.outflow = outflow;
    }

    /** The session's first backend has begun. */
    void first(OutboundMessage response) {
        Introduction said = engine.messages().introduction(response.bytes());
        session.locked(() -> upkeep.introduced(said));
    }

    /** The same for a session that has its record already. */
    void first(InboundMessage initialize, Backend.Opened opened) {
        first(opened.response());
        session.locked(() -> outflow.log()
                .insist(List.of(
                        new RecordChange.Negotiated(opened.revision(), initialize.bytes()), upkeep.extended())));
    }

    /** A fresh backend is there, in the state of the one before. */
    void again(int life, OutboundMessage response) {
        engine.news().restored(session);
        Introduction said = engine.messages().introduction(response.bytes());
        boolean another = session.locked(() -> session.lives(life) && another(said));
        outflow.log().drain();
        if (another) {
            engine.news().backendChanged(session);
        }
    }

    private boolean another(Introduction said) {
        Introduction before = upkeep.introduction();
        if (!said.known() || said.server() == before.server() || outflow.log().closed()) {
            return false;
        }
        upkeep.introduced(before.known() ? new Introduction(said.server(), before.lists()) : said);
        outflow.whenOpen(this::keep);
        if (before.known()) {
            engine.messages().listsChanged(before.lists()).forEach(outflow::announce);
        }
        return before.known();
    }

    /** Lets the record have it, behind whatever else changes the record. */
    private void keep() {
        outflow.log().enqueue(new Entry(null, List.of(upkeep.extended()), null, this::keep));
    }
}
