package dev.holdfast.engine;

import dev.holdfast.EndReason;
import dev.holdfast.Session;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RecordChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.SessionKey;
import dev.holdfast.spi.SessionRecord;
import dev.holdfast.spi.SessionStore;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.function.Predicate;

/** One session as the simulation knows it, without asking the engine. */
final class SimSession {
    final Simulation world;
    final int number;
    /** Everything goes to the listening stream. */
    final boolean listensOnly;
    /** No client knows it: questions that are answered are not kept. */
    final boolean carrier;

    final SimLog log;
    final List<SimBackend.Life> lives = new ArrayList<>();
    final List<SimCall> calls = new ArrayList<>();
    /** Connections that have not ended, those that were taken over too. */
    final List<SimConnection> connections = new ArrayList<>();
    /** Streams whose responses the client has, or could have: they may be dropped. */
    final Set<StreamId> delivered = new HashSet<>();
    /** How far the client has named its cursor: what lies before it may be dropped. */
    final Map<StreamId, Long> released = new HashMap<>();
    /** Questions that the client has answered. */
    final Set<RequestId> settled = new HashSet<>();
    /** Questions whose answer the backend got. */
    final Set<RequestId> answered = new HashSet<>();
    /** Streams that were delivered once: nobody waits for the answers to what was asked there. */
    final Set<StreamId> finished = new HashSet<>();
    /** Streams of calls whose clients were told that these do not start: nobody asks for what is in them. */
    private final Set<StreamId> refused = new HashSet<>();
    /** How often a gap was reported, by stream as in its event ids. */
    final Map<String, Integer> gaps = new HashMap<>();

    private final Map<RequestId, InboundMessage> journaling = new HashMap<>();
    private final Map<String, InboundMessage> journal = new LinkedHashMap<>();
    /** Requests whose change of the journal the store has, and has not told yet. */
    private final List<InboundMessage> accepting = new ArrayList<>();

    Optional<Session> session = Optional.empty();
    Optional<EndReason> closed = Optional.empty();
    boolean created;
    /** What its client knows it by. */
    String id = "";
    /** It is being opened, and nobody knows it yet. */
    boolean opening = true;
    /** How often it was claimed to bring it back. */
    int life;
    /** The store has its record. */
    boolean stored;
    /** When the store forgets it, in milliseconds. */
    long expiresAt;
    /** Streams that were there when it came back. */
    final Set<StreamId> brought = new HashSet<>();
    /** Complete streams that came back, and until when they are kept. */
    final Map<StreamId, Long> undecided = new HashMap<>();
    /** What its client has sent for the journal and no backend has got yet: it waits for one, or stands in the journal since none came. */
    private final Map<String, InboundMessage> unheard = new LinkedHashMap<>();

    /** What the store had of its journal, at any time. */
    final Set<String> journaled = new HashSet<>();
    /** A backend has accepted it. */
    boolean accepted;
    /** Appends and claims on their way. */
    int operations;
    /** An append or a claim has failed since the last claim. */
    boolean doubtful;

    long lastSign;

    SimSession(Simulation world, int number, boolean listensOnly, boolean carrier) {
        this.world = world;
        this.number = number;
        this.listensOnly = listensOnly;
        this.carrier = carrier;
        this.log = new SimLog(world::tick, this::acked);
    }

    /** The number in any message that belongs to a session. */
    static int number(String text) {
        int begin = text.indexOf('#') + 1;
        int end = begin;
        while (end < text.length() && Character.isDigit(text.charAt(end))) {
            end++;
        }
        return Integer.parseInt(text.substring(begin, end));
    }

    InboundMessage initialize(int id) {
        return message(InboundMessage.Kind.REQUEST, Wire.id(id), "initialize", JournalChange.NONE);
    }

    InboundMessage request(int id, String method, JournalChange change) {
        InboundMessage request = message(InboundMessage.Kind.REQUEST, Wire.id(id), method, change);
        if (!(change instanceof JournalChange.None)) {
            journaling.put(request.requiredId(), request);
        }
        return request;
    }

    InboundMessage notification(String method, JournalChange change) {
        return new InboundMessage(
                InboundMessage.Kind.NOTIFICATION,
                null,
                method,
                Wire.bytes(method + " #" + number + " " + world.next()),
                change,
                InboundMessage.NO_CONTEXT);
    }

    private InboundMessage message(InboundMessage.Kind kind, RequestId id, String method, JournalChange change) {
        return new InboundMessage(
                kind, id, method, Wire.bytes(method + " #" + number + " " + id), change, InboundMessage.NO_CONTEXT);
    }

    LiveSession live() {
        return (LiveSession) session.orElseThrow();
    }

    /** Whether a client can do something with it. */
    boolean usable() {
        return session.isPresent() && closed.isEmpty();
    }

    /** The connection that reads a stream now. */
    Optional<SimConnection> reading(StreamId stream) {
        return connections.stream()
                .filter(connection -> !connection.replaced && connection.stream.equals(stream))
                .findFirst();
    }

    Optional<SimCall> call(StreamId stream) {
        return calls.stream()
                .filter(call -> call.stream.equals(Optional.of(stream)))
                .findFirst();
    }

    int gaps(StreamId stream) {
        return gaps.getOrDefault(stream.epoch() + "." + stream.number(), 0);
    }

    /** Whether it is part of what a call has come to for whoever comes back for that. */
    boolean noted(SimLog.Fact fact) {
        return (fact.note() || fact.answer())
                && log.after(fact.event.stream(), 0).stream().anyMatch(SimLog.Fact::note);
    }

    /** Whether the client owes an answer to this. */
    boolean open(SimLog.Fact fact) {
        RequestId id = fact.event.id();
        return fact.event.kind() == EventKind.SERVER_REQUEST
                && id != null
                && awaited(fact)
                && !finished.contains(fact.event.stream())
                && !(listensOnly
                        && world.question(id).call().filter(SimCall::over).isPresent());
    }

    /** Whether a question belongs to a call that may not be over: what was cancelled had an answer on its way, perhaps. */
    boolean mayBeOpen(SimLog.Fact fact) {
        RequestId id = fact.event.id();
        return fact.event.kind() == EventKind.SERVER_REQUEST
                && id != null
                && world.question(id).call().stream()
                        .flatMap(call -> call.perhapsCancelled.stream())
                        .anyMatch(request -> !log.answered(request));
    }

    /** Whether somebody waits for the answer to this. */
    boolean awaited(SimLog.Fact fact) {
        RequestId id = fact.event.id();
        return EventKind.asks(fact.event.kind())
                && id != null
                && !settled.contains(id)
                && !world.question(id).asker().lost;
    }

    /** Whether somebody waits for the answer to a question that is kept. */
    boolean awaits(RequestId question) {
        return log.asked(question)
                .filter(fact -> fact.acked && !fact.dropped && awaited(fact))
                .isPresent();
    }

    /** Whether this was asked and answered: the client has surely got it, and is not bothered again. */
    boolean answered(SimLog.Fact fact) {
        return fact.event.kind() == EventKind.SERVER_REQUEST && taken(fact);
    }

    /** Whether the client has answered this. */
    boolean taken(SimLog.Fact fact) {
        RequestId id = fact.event.id();
        return EventKind.asks(fact.event.kind()) && id != null && answered.contains(id);
    }

    /** The client has everything of a stream, or wants nothing more of it. */
    void delivered(StreamId stream) {
        if (!stream.equals(StreamId.LISTENING)) {
            delivered.add(stream);
            finished.add(stream);
        }
    }

    /** The client of a call was told that this does not start. */
    void refused(StreamId stream) {
        refused.add(stream);
        delivered(stream);
    }

    private void acked(SimLog.Fact fact) {
        RequestId id = fact.event.id();
        if (id != null && fact.answer()) {
            boolean cancelled = world.call(id).cancelled.contains(id);
            if (!refused.contains(fact.event.stream())) {
                delivered.remove(fact.event.stream());
            }
            world.check(!cancelled, () -> "an answer came after the cancellation: " + SimLog.name(fact));
        }
        if (fact.event.kind() == EventKind.PROGRESS) {
            progress(fact);
        }
        if (fact.event.kind() == EventKind.ERROR
                && id != null
                && Wire.text(fact.event).contains("the server ended")) {
            SimCall call = world.call(id);
            boolean due = life > call.postedIn && (!call.harmless() || call.tried());
            world.check(due, () -> "given up without need: " + SimLog.name(fact));
        }
    }

    /** The store has told the engine of everything it took. */
    void acked() {
        log.acked();
        List.copyOf(accepting).forEach(this::journal);
        accepting.clear();
    }

    private double progressKept(StreamId stream) {
        return log.after(stream, 0).stream()
                .filter(fact -> !fact.trimmed && fact.event.kind() == EventKind.PROGRESS)
                .mapToDouble(fact -> Wire.MESSAGES.progress(fact.event.bytes()).orElse(0))
                .max()
                .orElse(0);
    }

    /** What a client is told of a call's progress grows beyond what is kept of it, however often it is run. */
    private void progress(SimLog.Fact fact) {
        OptionalDouble progress = Wire.MESSAGES.progress(fact.event.bytes());
        if (progress.isPresent()) {
            String text = Wire.text(fact.event);
            SimCall call = calls.get(number("#" + text.substring(text.indexOf(" c") + 2)));
            world.check(progress.getAsDouble() > call.progress, () -> "progress goes back: " + SimLog.name(fact));
            call.progress = progress.getAsDouble();
        }
    }

    /** A message has changed the journal. */
    void journal(InboundMessage message) {
        if (message.journal() instanceof JournalChange.Put put) {
            journal.put(put.key(), message);
        } else if (message.journal() instanceof JournalChange.Remove remove) {
            journal.remove(remove.key());
        }
    }

    /** Its client sends what may change the journal. */
    void sends(InboundMessage notification) {
        if (notification.journal() instanceof JournalChange.Put) {
            unheard.put(Wire.text(notification.bytes()), notification);
        }
    }

    /** A backend gets it: what was sent before it, for whatever key, is not to come any more. */
    void heard(String text) {
        List<String> sent = List.copyOf(unheard.keySet());
        unheard.keySet().removeAll(sent.subList(0, sent.indexOf(text) + 1));
    }

    /**
     * Whether a message that is replayed was sent and not heard yet: it stood in the journal since no backend came for it, in the place of
     * the next one or before that.
     */
    boolean turnedAway(String text, String next) {
        InboundMessage message = unheard.get(text);
        if (message == null || !(message.journal() instanceof JournalChange.Put put)) {
            return false;
        }
        Map<String, InboundMessage> before = new LinkedHashMap<>(journal);
        journal.clear();
        before.forEach((key, entry) -> {
            if (Wire.text(entry.bytes()).equals(next)) {
                journal.put(put.key(), message);
            }
            if (!key.equals(put.key())) {
                journal.put(key, entry);
            }
        });
        return true;
    }

    /** The store has changed its record. */
    void stored(List<RecordChange> changes) {
        for (RecordChange change : changes) {
            if (change instanceof RecordChange.Expires expires) {
                expiresAt = expires.at();
            } else if (change instanceof RecordChange.JournalPut put) {
                journaled.add(Wire.text(put.message()));
                accepted(message -> Arrays.equals(message.bytes(), put.message()));
            } else if (change instanceof RecordChange.JournalRemoved removed) {
                accepted(message -> message.journal() instanceof JournalChange.Remove remove
                        && remove.key().equals(removed.key()));
            }
        }
    }

    /** The store has what a request has changed, if it was one. */
    private void accepted(Predicate<InboundMessage> which) {
        journaling.values().stream().filter(which).forEach(request -> {
            accepting.add(request);
            journaled.add(Wire.text(request.bytes()));
        });
    }

    /** Whether the store has what a request changes, or its record is as that would leave it: to remove what is not there is no change. */
    boolean stands(InboundMessage request) {
        return journaled.contains(Wire.text(request.bytes()))
                || (request.journal() instanceof JournalChange.Remove remove && !journal.containsKey(remove.key()));
    }

    /** It leaves memory: for the store, or with its process. */
    void leaves() {
        List.copyOf(connections).forEach(SimConnection::cut);
        session = Optional.empty();
    }

    /** It is claimed and will come back: whatever its last life knew beside the store is forgotten. */
    void returns(SessionStore.Claim claim) {
        world.check(closed.isEmpty(), () -> "session " + number + " comes back after its end: " + closed);
        life++;
        lives.forEach(older -> older.lost = true);
        log.returned(claim.streams());
        answered.clear();
        accepted = !claim.record().revision().isEmpty();
        unheard.clear();
        accepting.clear();
        journal.clear();
        claim.record().journal().forEach((key, message) -> {
            if (!key.equals(SessionRecord.INITIALIZE)) {
                journal.put(
                        key,
                        new InboundMessage(
                                InboundMessage.Kind.NOTIFICATION,
                                null,
                                "",
                                message,
                                JournalChange.NONE,
                                InboundMessage.NO_CONTEXT));
            }
        });
        Set<StreamId> running = claim.record().running().keySet();
        brought.clear();
        brought.addAll(claim.streams().keySet());
        brought.addAll(running);
        long now = world.time.getAsLong();
        // the life before may have forgotten these, and died before anybody looked
        undecided.values().removeIf(until -> now - until < 0);
        for (StreamId stream : claim.streams().keySet()) {
            if (running.contains(stream)) {
                delivered.remove(stream);
            } else if (!stream.equals(StreamId.LISTENING)) {
                delivered.add(stream);
                undecided.putIfAbsent(stream, now + world.patience());
            }
        }
        for (SimCall call : calls) {
            // the store may not have learnt of a cancellation
            call.perhapsCancelled.addAll(call.cancelled);
            call.cancelled.clear();
            // what the store keeps no more is not known to have been told; on the listening stream it is not known by
            // whom
            call.progress = call.stream.map(this::progressKept).orElse(0.0);
        }
        if (carrier) {
            running.forEach(stream -> call(stream).filter(call -> !call.noted()).ifPresent(this::left));
        }
    }

    /** Its client has gone with the process, and cannot come back: what it had no answer to is cancelled. */
    private void left(SimCall call) {
        call.requests.stream()
                .map(InboundMessage::requiredId)
                .filter(id -> !log.answered(id))
                .forEach(call.cancelled::add);
        call.stream.ifPresent(this::delivered);
    }

    /** Whether its client knows it, and the engine does not. */
    boolean away(SessionKey key) {
        return !id.isEmpty() && !world.engine.live().has(key);
    }

    /** Whether the store has it, and it is not too late. */
    boolean kept() {
        return stored && world.time.instant().toEpochMilli() < expiresAt;
    }

    String principal() {
        return listensOnly ? "#" + number : "";
    }

    /** What has to be replayed into a fresh backend now, in order. */
    List<String> journal() {
        return journal.values().stream()
                .map(message -> Wire.text(message.bytes()))
                .toList();
    }

    /** Where an event belongs: to the stream of a call, or to none. */
    Optional<SimCall> home(SimLog.Fact fact) {
        String text = Wire.text(fact.event);
        RequestId id = fact.event.id();
        if (listensOnly) {
            return Optional.empty();
        }
        if (id != null && fact.answer()) {
            return Optional.of(world.call(id));
        }
        if (text.startsWith("cancelled ")) {
            return world.question(new RequestId(text.substring("cancelled ".length(), text.indexOf(':'))))
                    .call();
        }
        if (number(text) != number) {
            throw new AssertionError(SimLog.name(fact) + " belongs to another session than " + number);
        }
        int mark = text.indexOf(" c");
        return mark < 0 ? Optional.empty() : Optional.of(calls.get(number("#" + text.substring(mark + 2))));
    }
}
