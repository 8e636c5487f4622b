package dev.holdfast.cluster;

import dev.holdfast.EndReason;
import dev.holdfast.StreamReader.Close;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.OutboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.Collection;
import java.util.List;
import java.util.concurrent.CompletionStage;

/** What a node does for those who read, in one session, what other nodes write. */
final class TailHost implements TailReader.Host {
    private final LiveSession session;
    private final NodeStore store;
    private final SharedSession.Node node;

    TailHost(LiveSession session, NodeStore store, SharedSession.Node node) {
        this.session = session;
        this.store = store;
        this.node = node;
    }

    @Override
    public CompletionStage<List<Event>> read(TailReader reader, long after, int maxBytes) {
        return store.read(session.key(), reader.stream(), after, maxBytes);
    }

    /** The writer may have died, or have ended the call without an answer. */
    @Override
    public void idle(TailReader reader) {
        if (reader.listening()) {
            return;
        }
        node.writers().of(session, reader.stream(), reader.fetched()).thenAccept(standing -> {
            if (standing instanceof Writers.Elsewhere elsewhere) {
                reader.writtenBy(elsewhere.node());
            } else if (!(standing instanceof Writers.Here)) {
                long lost = standing instanceof Writers.Over over ? over.lost(reader.stream()) : 0;
                if (reader.over(lost)) {
                    session.replica().missed(reader.stream());
                }
            }
        });
    }

    /** Whether what is not there was trimmed is for the store to say. */
    @Override
    public void jumped(TailReader reader, long after) {
        store.look(session.key())
                .thenAccept(look -> look.map(found -> found.streams().get(reader.stream()))
                        .filter(extent -> extent.trimmed() > after)
                        .ifPresent(extent -> session.replica().missed(reader.stream())));
    }

    @Override
    public List<OutboundMessage> lastWords(Collection<RequestId> unanswered, EndReason why) {
        return session.replica().lastWords(unanswered, why);
    }

    @Override
    public List<OutboundMessage> lost(Collection<RequestId> unanswered) {
        return session.replica().lost(unanswered);
    }

    @Override
    public void confirmed(TailReader reader, long offset) {
        if (reader.listening()) {
            session.replica().confirm(offset);
            node.peers().tellOthers(session.key(), new NodeMessage.Confirmed(session.key(), offset));
        }
    }

    @Override
    public void unreadable(Throwable why) {
        session.replica().unreadable(why);
    }

    @Override
    public void closed(TailReader reader, Close how) {
        session.replica().leave(reader, reader.listening(), how);
        if (!node.tails().remove(session, reader) || how == Close.BROKEN) {
            return;
        }
        if (reader.listening()) {
            confirmed(reader, reader.cursor());
        } else if (reader.atEnd()) {
            node.deliveries().of(session, reader.stream(), reader.writer());
        }
    }
}
