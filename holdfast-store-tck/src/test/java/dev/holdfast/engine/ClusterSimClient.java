package dev.holdfast.engine;

import static org.assertj.core.api.Assertions.assertThat;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Finding;
import dev.holdfast.Resume;
import dev.holdfast.Session;
import dev.holdfast.StreamReader;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletionStage;
import org.jspecify.annotations.Nullable;

/** One client of a simulated cluster: what it has asked, what it reads, and what it has got. */
final class ClusterSimClient {
    static final String SET_LEVEL = "logging/setLevel";

    private final ClusterSimulation world;
    /** What the backends of its session know it by. */
    final RequestId name;

    private final String id;
    private boolean initialized;
    /** What was posted last, and where. */
    private Optional<Posted> last = Optional.empty();

    /** What it has set the level of its log with. */
    private Optional<Stream> level = Optional.empty();

    private final Set<RequestId> cancelled = new HashSet<>();
    private final Set<String> answered = new HashSet<>();
    private final Stream listening = new Stream(List.of());
    private final List<Stream> streams = new ArrayList<>(List.of(listening));

    private record Posted(RequestId call, ClusterSimNode node, Session session) {}

    /** One stream as the client sees it, through all its connections. */
    private static final class Stream {
        private final List<RequestId> requests;
        private final List<String> received = new ArrayList<>();
        private @Nullable EventId cursor;
        private Optional<Connection> connection = Optional.empty();
        private Optional<ClusterSimNode> at = Optional.empty();
        private boolean over;
        /** Its connection has ended before its client heard of it: nobody knows whether the call has run. */
        private boolean unknown;

        private Optional<Call> call = Optional.empty();
        /** What was noted in it: from then on its client has no connection, and looks at what is kept. */
        private Optional<String> note = Optional.empty();
        /** The nodes at which it was found complete. */
        private final Set<ClusterSimNode> foundAt = new HashSet<>();

        private Stream(List<RequestId> requests) {
            this.requests = requests;
        }

        private void posted(Call accepted, ClusterSimNode node) {
            call = Optional.of(accepted);
            connection = Optional.of(Connection.unheard(accepted.reader().orElseThrow()));
            at = Optional.of(node);
        }

        private void connected(StreamReader reader, ClusterSimNode node) {
            breakOff();
            connection = Optional.of(new Connection(reader));
            at = Optional.of(node);
            cursor = EventId.parse(reader.position()).orElseThrow();
        }

        /**
         * Reads what there is.
         *
         * @param headDue whether the client is to hear of its call, though nothing may have come for it
         */
        private void pump(boolean headDue) {
            if (connection.isEmpty()) {
                return;
            }
            Connection reading = connection.get();
            int before = reading.received.size();
            reading.read();
            received.addAll(reading.received.subList(before, reading.received.size()));
            if (cursor != null || reading.received.size() > before || (headDue && reading.headDue())) {
                cursor = reading.cursor();
            }
            reading.end.ifPresent(end -> {
                over |= end.reason() == EndReason.COMPLETED || end.reason() == EndReason.CANCELLED;
                reading.inOrder();
                left();
            });
        }

        private void breakOff() {
            connection.ifPresent(reading -> {
                reading.broken();
                left();
            });
        }

        private boolean mayBeNoted() {
            return call.isPresent()
                    && note.isEmpty()
                    && !over
                    && at.filter(node -> !node.store.frozen).isPresent();
        }

        private void noted(String text) {
            if (!over && note.isEmpty()) {
                note = Optional.of(text);
                connection.ifPresent(Connection::broken);
                connection = Optional.empty();
            }
        }

        private void left() {
            connection = Optional.empty();
            unknown |= cursor == null && !over;
            over |= unknown;
        }

        private boolean lost(ClusterSimNode node) {
            return connection.isPresent() && at.filter(node::equals).isPresent();
        }
    }

    ClusterSimClient(ClusterSimulation world, ClusterSimNode node) {
        this.world = world;
        this.name = Wire.id(world.next());
        Session session = node.open(name);
        this.id = session.id();
        // so that it has a cursor from the first event on
        listening.connected(((Resume.Resumed) TestBed.now(session.listen())).reader(), node);
    }

    private Optional<Session> find(ClusterSimNode node) {
        return ClusterSimulation.value(node.engine.find(id, "").toCompletableFuture())
                .map(finding -> {
                    assertThat(finding).isInstanceOf(Finding.Found.class);
                    return ((Finding.Found) finding).session();
                });
    }

    /** Tells that it is there, until somebody has heard it. */
    private void initialize(Session session) {
        String method = "notifications/initialized";
        session.notify(Wire.notification(method, new JournalChange.Put(method)))
                .thenAccept(refusal -> initialized |= refusal.isEmpty());
    }

    /** Cancels what it has posted last, where it has posted it or at this node. */
    void cancel(ClusterSimNode node) {
        last.ifPresent(posted -> {
            ClusterSimNode at = world.random.nextBoolean() ? posted.node : node;
            if (at.store.frozen) {
                return;
            }
            Optional<Session> session = at == posted.node ? Optional.of(posted.session) : find(at);
            session.ifPresent(there -> {
                last = Optional.empty();
                world.trace("call " + posted.call + " is cancelled at " + at);
                cancelled.add(posted.call);
                there.cancel(posted.call, Wire.cancelled(0))
                        .thenAccept(done -> world.cancelled(posted.call, posted.node, at));
            });
        });
    }

    /** Whether it reads the listening stream. */
    boolean listens() {
        listening.pump(true);
        return listening.connection.isPresent();
    }

    /** Reads the listening stream, if it does not. */
    void listen(ClusterSimNode node) {
        if (!listens()) {
            find(node).ifPresent(session -> comeBack(listening, session, node));
        }
    }

    /** Whether it may set the level of its log: it has not yet, or knows what became of that. */
    private boolean settable() {
        return level.isEmpty() || level() > 0;
    }

    /** What it knows to be the level of its log. */
    private int level() {
        return level.filter(set -> set.received.stream().anyMatch(text -> text.startsWith("result")))
                .map(set -> Integer.parseInt(set.requests.get(0).token()))
                .orElse(0);
    }

    void post(ClusterSimNode node) {
        int number = world.next();
        find(node).ifPresent(session -> {
            if (!initialized) {
                initialize(session);
                return;
            }
            boolean sets = settable() && world.random.nextInt(4) == 0;
            boolean batch = !sets && world.random.nextInt(4) == 0;
            List<RequestId> ids = batch ? List.of(Wire.id(number), Wire.id(world.next())) : List.of(Wire.id(number));
            last = sets ? Optional.empty() : Optional.of(new Posted(ids.get(ids.size() - 1), node, session));
            world.trace((sets ? "level " : "call ") + ids + " is posted to " + node);
            ids.forEach(id -> world.posted(id, level()));
            List<InboundMessage> requests = ids.stream()
                    .map(id -> sets
                            ? Wire.request(id, SET_LEVEL, new JournalChange.Put(SET_LEVEL))
                            : Wire.request(id, "tools/call", JournalChange.NONE))
                    .toList();
            CompletionStage<Call.Outcome> outcome = session.call(requests);
            if (sets) {
                level = Optional.of(new Stream(ids));
            }
            outcome.whenComplete((taken, failure) -> {
                if (taken instanceof Call.Accepted accepted) {
                    Stream stream = sets ? level.orElseThrow() : new Stream(ids);
                    streams.add(stream);
                    stream.posted(accepted.call(), node);
                    accepted.call().dispatch();
                } else if (!(taken instanceof Call.Undecided)) {
                    ids.forEach(world::refused);
                }
            });
        });
    }

    /** Everything that is not read now is read from where the client is, at this node. */
    void comeBack(ClusterSimNode node) {
        for (Stream stream : List.copyOf(streams)) {
            if (!stream.over && (stream.connection.isEmpty() || world.random.nextInt(4) == 0)) {
                find(node).ifPresent(session -> comeBack(stream, session, node));
            }
        }
    }

    /** The edge notes something in the stream of a call whose connection is at a node that lives. */
    void note() {
        streams.stream().filter(Stream::mayBeNoted).findAny().ifPresent(stream -> {
            String text = "note " + world.next();
            world.trace(text + " of call " + stream.requests);
            stream.call.orElseThrow().note(Wire.bytes(text)).thenAccept(done -> {
                if (done) {
                    stream.noted(text);
                }
            });
        });
    }

    /** Looks at a node for what has become of the calls that were noted. */
    void look(ClusterSimNode node) {
        for (Stream stream : streams) {
            if (stream.note.isPresent() && !stream.foundAt.contains(node)) {
                find(node).ifPresent(session -> look(stream, session, node));
            }
        }
    }

    private void look(Stream stream, Session session, ClusterSimNode node) {
        StreamId id = stream.call.orElseThrow().stream();
        session.kept(id).thenAccept(kept -> {
            List<String> texts = kept.stream()
                    .flatMap(found -> found.events().stream())
                    .map(Wire::text)
                    .toList();
            if (!texts.contains(stream.note.orElseThrow())) {
                world.shared.wrong(stream.note.get() + " is not found in " + name(id) + " at " + node);
            }
            if (kept.filter(Session.KeptStream::complete).isPresent()) {
                stream.foundAt.add(node);
                stream.over = true;
                texts.stream().filter(text -> !stream.received.contains(text)).forEach(stream.received::add);
            }
        });
    }

    /** Whether what has become of them was found at all of these nodes. */
    boolean foundAt(List<ClusterSimNode> nodes) {
        return streams.stream()
                .filter(stream -> stream.note.isPresent())
                .allMatch(stream -> stream.foundAt.containsAll(nodes));
    }

    private void comeBack(Stream stream, Session session, ClusterSimNode node) {
        if (stream.note.isPresent()) {
            look(stream, session, node);
            return;
        }
        stream.pump(true);
        EventId cursor = stream.cursor;
        if (cursor == null || stream.over) {
            return;
        }
        world.trace(name(cursor.stream()) + " is read at " + node + " after " + cursor);
        session.resume(cursor).whenComplete((resume, failure) -> {
            boolean stale = !cursor.equals(stream.cursor) || stream.over || stream.note.isPresent();
            if (resume instanceof Resume.Resumed resumed) {
                if (stale) {
                    resumed.reader().close(StreamReader.Close.BROKEN);
                } else {
                    stream.connected(resumed.reader(), node);
                    stream.cursor = cursor;
                }
            } else if (resume instanceof Resume.Ended) {
                stream.over = true;
            } else if (resume instanceof Resume.Unknown
                    && stream != listening
                    && cancelled.containsAll(stream.requests)) {
                // it was cancelled before anybody had kept anything of it
                stream.over = true;
                return;
            } else if (resume != null && !(resume instanceof Resume.Closed)) {
                throw new AssertionError(name(cursor.stream()) + " after " + cursor + ": " + resume);
            }
            if (resume instanceof Resume.Gap || resume instanceof Resume.Unknown) {
                world.shared.wrong(name(cursor.stream()) + " after " + cursor + " is " + resume);
            }
        });
    }

    /** Answers one of the questions that it has got. */
    void answer(ClusterSimNode node) {
        streams.stream()
                .flatMap(stream -> stream.received.stream())
                .filter(text -> text.startsWith("question") && !answered.contains(text))
                .findAny()
                .ifPresent(text -> find(node).ifPresent(session -> {
                    answered.add(text);
                    world.trace(text + " is answered at " + node);
                    session.answer(Wire.answer(new RequestId(text.substring("question ".length()))));
                }));
    }

    private static String name(StreamId stream) {
        return "stream " + stream.epoch() + "." + stream.number();
    }

    void breakOff() {
        streams.forEach(stream -> {
            if (world.random.nextBoolean()) {
                stream.breakOff();
            }
        });
    }

    void pump() {
        streams.forEach(stream -> stream.pump(world.random.nextBoolean()));
    }

    /** The connections to a node that has died are gone; what it had written to them before has arrived. */
    void died(ClusterSimNode node) {
        streams.stream().filter(stream -> stream.lost(node)).forEach(Stream::left);
    }

    boolean complete() {
        return streams.stream().filter(stream -> stream != listening).allMatch(stream -> stream.over)
                && listening.received.containsAll(world.shared.acknowledged(id));
    }

    void check() {
        world.shared.check();
        for (Stream stream : streams) {
            // two heirs, one after the other, may each withdraw a question
            assertThat(stream.received)
                    .filteredOn(text -> !text.startsWith("cancelled"))
                    .as("nothing comes twice")
                    .doesNotHaveDuplicates();
            stream.requests.forEach(request -> {
                assertThat(stream.over).as("call %s is over", request).isTrue();
                assertThat(stream.received)
                        .as("call %s has one answer", request)
                        .filteredOn(
                                text -> text.equals("result " + request) || text.startsWith("error " + request + " "))
                        .hasSizeBetween(stream.unknown || cancelled.contains(request) ? 0 : 1, 1);
            });
        }
        List<String> written = world.shared.listening(id);
        if (!listening.received.isEmpty()) {
            assertThat(written).as("in the order of the log").containsSubsequence(listening.received);
        }
        assertThat(listening.received).as("nothing acknowledged is lost").containsAll(world.shared.acknowledged(id));
    }
}
