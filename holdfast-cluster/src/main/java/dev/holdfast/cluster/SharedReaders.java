package dev.holdfast.cluster;

import dev.holdfast.CallWatch.Attachment;
import dev.holdfast.EventId;
import dev.holdfast.Resume;
import dev.holdfast.Session.KeptStream;
import dev.holdfast.StreamReader;
import dev.holdfast.cluster.SharedSessionStore.Part;
import dev.holdfast.log.Epochs.ResumePoint;
import dev.holdfast.log.StreamCursor;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Epoch;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionStore.Extent;
import dev.holdfast.spi.SessionStore.Look;
import dev.holdfast.spi.StreamId;
import java.util.List;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionStage;
import java.util.function.LongFunction;

/** How clients of sessions come to read streams: each takes the stream's token, which ends whoever reads it, wherever that is. */
final class SharedReaders {
    private static final Extent NEW = new Extent(0, 0);
    private static final int READ_BYTES = 1 << 16;
    private static final String NOBODY = "";

    private final ClusterWriter store;
    private final StreamWriters writers;
    private final Tails tails;

    SharedReaders(ClusterWriter store, StreamWriters writers, Tails tails) {
        this.store = store;
        this.writers = writers;
        this.tails = tails;
    }

    /**
     * A call that has been started on another node.
     *
     * @param epoch the epoch that has started it
     * @param writer the node that writes its stream; empty for none
     */
    record Started(StreamId stream, Epoch epoch, String writer) {}

    /** A stream that is to be read from the store. */
    private record Source(StreamId stream, String writer, List<RequestId> requests, boolean over, Look look) {
        /** A stream whose call has ended. */
        private static Source over(StreamId stream, Look look) {
            List<RequestId> lost = look.streams().getOrDefault(stream, NEW).lost();
            return new Source(stream, NOBODY, lost, true, look);
        }

        private Extent extent() {
            return look.streams().getOrDefault(stream, NEW);
        }

        /** Whether the answer that has ended it is not kept, though nobody has trimmed it. */
        private boolean lost() {
            return over && extent().bare();
        }
    }

    /** Where a client goes on, and whether it has missed something. */
    private record Place(StreamCursor.Start start, boolean missed) {}

    private static CompletionStage<Resume> is(Resume resume) {
        return CompletableFuture.completedFuture(resume);
    }

    /** From its token to its first read a reader has the stream alone on this node. */
    private <T> CompletionStage<T> taking(
            LiveSession here, StreamId stream, String writer, LongFunction<CompletionStage<T>> reading) {
        return tails.alone(here, stream, () -> take(here, stream, writer).thenCompose(reading::apply));
    }

    private Resume closed(LiveSession here) {
        return new Resume.Closed(here.ended());
    }

    CompletionStage<Resume> listen(LiveSession here) {
        return taking(
                here,
                StreamId.LISTENING,
                NOBODY,
                token -> store.look(here.key()).thenApply(look -> {
                    if (look.isEmpty()) {
                        return closed(here);
                    }
                    Source source = listening(look.get());
                    long confirmed = Math.min(
                            here.readers().confirmed(look.get().record()),
                            source.extent().last());
                    boolean missed = source.extent().trimmed() > confirmed;
                    StreamCursor.Start start =
                            new StreamCursor.Start(0, confirmed, look.get().epoch());
                    writers.listened(here, confirmed);
                    return begin(here, source, token, new Place(start, missed), Attachment.LISTENED);
                }));
    }

    private static Source listening(Look look) {
        return new Source(StreamId.LISTENING, NOBODY, List.of(), false, look);
    }

    /** Reads the stream of a call that another node runs, from its start. */
    CompletionStage<StreamReader> first(LiveSession here, Started call, List<RequestId> requests) {
        StreamCursor.Start start = new StreamCursor.Start(0, 0, call.epoch());
        return taking(here, call.stream(), NOBODY, token -> {
            StoreTail tail =
                    new StoreTail(here, store, writers, tails, call.stream(), call.writer(), token, start, requests);
            if (!tails.begin(here, tail, Attachment.STARTED)) {
                tail.endReading();
            }
            return CompletableFuture.completedFuture(tail.cursor());
        });
    }

    /** What is kept of the stream of a call, whoever writes it; one whose node has died is taken over. */
    CompletionStage<Optional<KeptStream>> kept(LiveSession here, StreamId stream) {
        Optional<KeptStream> own = here.keptHere(stream);
        if (own.isPresent()) {
            return CompletableFuture.completedFuture(own);
        }
        return writers.of(here, stream, 0).thenCompose(standing -> {
            if (standing instanceof StreamWriters.Here) {
                return CompletableFuture.completedFuture(here.keptHere(stream));
            }
            return standing instanceof StreamWriters.Unknown
                    ? CompletableFuture.completedFuture(Optional.empty())
                    : store.all(here.key(), stream)
                            .thenApply(events ->
                                    Optional.of(new KeptStream(events, standing instanceof StreamWriters.Over)));
        });
    }

    CompletionStage<Resume> resume(LiveSession here, EventId after) {
        StreamId stream = after.stream();
        if (stream.equals(StreamId.LISTENING)) {
            return store.look(here.key())
                    .thenCompose(look -> look.isEmpty() ? is(closed(here)) : resumeListening(here, after));
        }
        if (here.writes(stream)) {
            return resumeHere(here, after);
        }
        return writers.of(here, stream, after.offset()).thenCompose(standing -> {
            if (standing instanceof StreamWriters.Here) {
                return resumeHere(here, after);
            } else if (standing instanceof StreamWriters.Elsewhere elsewhere) {
                return resume(
                        here,
                        new Source(stream, elsewhere.node(), elsewhere.requests(), false, elsewhere.look()),
                        after);
            } else if (standing instanceof StreamWriters.Over over) {
                return resume(here, Source.over(stream, over.look()), after);
            }
            return here.resume(after);
        });
    }

    private CompletionStage<Resume> resumeHere(LiveSession here, EventId after) {
        return taking(here, after.stream(), NOBODY, token -> {
            store.membership(here.key()).ifPresent(own -> {
                own.keep(here::writes);
                own.reads(after.stream(), token);
            });
            return here.resume(after);
        });
    }

    private CompletionStage<Resume> resume(LiveSession here, Source source, EventId after) {
        return taking(here, source.stream(), source.writer(), token -> goOn(here, source, token, after));
    }

    /** What the store has lost shows in a look that comes after the token. */
    private CompletionStage<Resume> resumeListening(LiveSession here, EventId after) {
        return taking(
                here,
                StreamId.LISTENING,
                NOBODY,
                token -> store.look(here.key())
                        .thenCompose(look ->
                                look.isEmpty() ? is(closed(here)) : goOn(here, listening(look.get()), token, after)));
    }

    private CompletionStage<Resume> goOn(LiveSession here, Source source, long token, EventId after) {
        return place(here, source, after).thenApply(place -> {
            if (source.over() && place.start().cursor() >= source.extent().last()) {
                writers.delivered(here, source.stream());
                return new Resume.Ended();
            }
            if (source.lost() && source.requests().isEmpty()) {
                here.readers().missed(source.stream());
                return new Resume.Unknown();
            }
            if (source.stream().equals(StreamId.LISTENING)) {
                long had = place.start().cursor();
                here.readers().release(had);
                store.peers().tellOthers(here.key(), new NodeMessage.Released(here.key(), had));
                writers.listened(here, had);
            }
            return begin(here, source, token, place, place.missed() ? Attachment.GAP : Attachment.RESUMED);
        });
    }

    /** Finds the place of a cursor: of what is kept, the client has no event that is newer than its cursor's epoch. */
    private CompletionStage<Place> place(LiveSession here, Source source, EventId after) {
        Extent extent = source.extent();
        ResumePoint point = here.readers()
                .resumePoint(after, source.look().epoch(), source.look().certainFrom());
        // what a call's heir writes comes behind what its client has seen
        long last = source.stream().equals(StreamId.LISTENING) ? extent.last() : Long.MAX_VALUE;
        return reach(here, source.stream(), after, 0, point.most(last)).thenApply(cursor -> {
            boolean missed = point.missed(cursor, extent.trimmed(), extent.last());
            Epoch epoch = point.ours() ? after.epoch() : source.look().epoch();
            return new Place(new StreamCursor.Start(cursor, 0, epoch), missed);
        });
    }

    private CompletionStage<Long> reach(LiveSession here, StreamId stream, EventId after, long from, long most) {
        if (from >= most) {
            return CompletableFuture.completedFuture(most);
        }
        return store.read(here.key(), stream, from, READ_BYTES).thenCompose(events -> {
            for (Event event : events) {
                if (event.offset() > most) {
                    return CompletableFuture.completedFuture(most);
                }
                if (!after.covers(event.offset(), event.epoch())) {
                    return CompletableFuture.completedFuture(event.offset() - 1);
                }
            }
            return events.isEmpty()
                    ? CompletableFuture.completedFuture(most)
                    : reach(here, stream, after, events.get(events.size() - 1).offset(), most);
        });
    }

    private Resume begin(LiveSession here, Source source, long token, Place place, Attachment how) {
        StoreTail tail = new StoreTail(
                here, store, writers, tails, source.stream(), source.writer(), token, place.start(), source.requests());
        if (source.over()) {
            boolean unused = tail.endAt(source.lost() ? source.extent().last() : 0);
        }
        if (!tails.begin(here, tail, how)) {
            return closed(here);
        }
        if (place.missed()) {
            here.readers().missed(source.stream());
            return new Resume.Gap(tail.cursor());
        }
        return new Resume.Resumed(tail.cursor());
    }

    /**
     * Takes the token of a stream, and ends whoever reads it now.
     *
     * @param writer the node on which the first reader of a call's stream may be, who has no token
     */
    private CompletionStage<Long> take(LiveSession here, StreamId stream, String writer) {
        Epoch epoch = here.epoch();
        Optional<Membership> own = store.membership(here.key());
        if (own.isEmpty()) {
            throw new IllegalStateException("the session has left this node");
        }
        return take(
                here,
                stream,
                writer,
                epoch,
                SharedSessionStore.NO_TOKEN,
                own.get().nextToken(epoch),
                own.get());
    }

    private CompletionStage<Long> take(
            LiveSession here, StreamId stream, String writer, Epoch epoch, long expected, long token, Membership own) {
        return store.token(here.key(), epoch, stream, Part.READER, expected, token)
                .thenCompose(now -> {
                    if (now != token) {
                        return take(here, stream, writer, epoch, now, token, own);
                    }
                    end(here, stream, writer, expected, own);
                    return CompletableFuture.completedFuture(token);
                });
    }

    private void end(LiveSession here, StreamId stream, String writer, long older, Membership own) {
        if (!writer.isEmpty()) {
            // nobody may have told the first reader, who has no token, of those that came before this one
            store.peers().tell(writer, new NodeMessage.Superseded(here.key(), stream, SharedSessionStore.NO_TOKEN));
        }
        int counter = (int) (older >>> Integer.SIZE);
        if (own.has(counter)) {
            tails.superseded(here, stream, older);
        } else if (older != SharedSessionStore.NO_TOKEN) {
            store.peers().tell(here.key(), counter, new NodeMessage.Superseded(here.key(), stream, older));
        }
    }
}
