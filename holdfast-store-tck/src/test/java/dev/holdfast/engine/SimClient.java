package dev.holdfast.engine;

import dev.holdfast.Call;
import dev.holdfast.EndReason;
import dev.holdfast.EventId;
import dev.holdfast.Finding;
import dev.holdfast.Resume;
import dev.holdfast.SessionState;
import dev.holdfast.engine.SimLog.Fact;
import dev.holdfast.session.LiveSession;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.JournalChange;
import dev.holdfast.spi.RequestId;
import dev.holdfast.spi.StreamId;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import org.jspecify.annotations.Nullable;

/** The client of one session: posts, listens, comes back, answers, cancels; and checks what it gets. */
final class SimClient {
    private final SimSession session;
    private final Simulation world;
    private final SimReturn back;
    private final List<SimCall> undispatched = new ArrayList<>();
    private final List<RequestId> questions = new ArrayList<>();
    private final Map<StreamId, Long> last = new HashMap<>();

    SimClient(SimSession session, boolean namesCursor) {
        this.session = session;
        this.world = session.world;
        this.back = new SimReturn(session, namesCursor);
    }

    /** A message has arrived. */
    void received(SimConnection connection, Event event, String id, boolean replacement) {
        Optional<EventId> cursor = EventId.parse(id);
        world.check(cursor.isPresent(), () -> "no event id: " + id);
        connection.call.ifPresentOrElse(call -> call.cursor = cursor, () -> back.listening = cursor);
        RequestId answered = event.id();
        if (answered != null && EventKind.answers(event.kind())) {
            SimCall call = world.call(answered);
            world.check(call.session == session, () -> "an answer of another session: " + answered);
            boolean first = call.answers.add(answered);
            world.check(first || !back.namesCursor, () -> "the client has two answers to " + answered);
        } else if (answered != null && EventKind.asks(event.kind()) && !questions.contains(answered)) {
            questions.add(answered);
        }
        if (replacement) {
            return;
        }
        session.log.fact(event).received = true;
        if (back.namesCursor) {
            long before = last.getOrDefault(connection.stream, 0L);
            world.check(event.offset() > before, () -> "the client got twice " + SimLog.name(event));
            for (Fact missing : session.log.between(connection.stream, before, event.offset())) {
                boolean known =
                        missing.dropped || session.answered(missing) || (missing.ping() && !session.awaited(missing));
                world.check(known, () -> "the client lost " + SimLog.name(missing));
            }
            last.put(connection.stream, event.offset());
        }
    }

    /** Opens the stream of a session that listens only, and initializes it. */
    void begin() {
        back.listen();
        post(List.of(session.initialize(world.next())));
    }

    /** The server has died: what was about to be handed to a backend is not. */
    void cut() {
        undispatched.clear();
        for (SimCall call : session.calls) {
            call.outcome.completeExceptionally(new IllegalStateException("the connection is gone"));
        }
    }

    /** Looks for its session, in memory or in the store. */
    void find() {
        world.trace(() -> "client " + session.number + " looks for its session");
        world.engine.find(session.id, session.principal()).whenComplete(this::found);
        if (world.oneIn(8)) {
            world.engine
                    .find(session.id, session.principal() + "'s enemy")
                    .whenComplete((finding, failure) -> world.check(
                            !(finding instanceof Finding.Found), () -> "a stranger finds " + session.number));
        }
    }

    private void found(@Nullable Finding finding, @Nullable Throwable failure) {
        world.trace(() -> "client " + session.number + " finds " + (failure == null ? finding : failure));
        if (finding instanceof Finding.Found found) {
            if (session.session.isEmpty()) {
                session.session = Optional.of(found.session());
            }
            world.check(session.live() == found.session(), () -> "there are two of session " + session.number);
            world.check(found.session().id().equals(session.id), "a session comes back under another name");
        } else if (finding instanceof Finding.Missing && session.closed.isEmpty()) {
            boolean ends = session.session.isPresent() && session.live().state() == SessionState.CLOSED;
            world.check(
                    ends || !session.kept() || (world.ephemeral() && session.session.isEmpty()),
                    () -> "session " + session.number + " is missing");
            if (!ends) {
                session.closed = Optional.of(EndReason.EXPIRED);
            }
        }
    }

    /** Does one thing. */
    void step() {
        int choice = world.random.nextInt(22);
        if (choice < 5) {
            post();
        } else if (choice < 7 && !undispatched.isEmpty()) {
            dispatch(world.pick(undispatched));
        } else if (choice < 10) {
            back.listen();
        } else if (choice < 14 && !session.calls.isEmpty()) {
            back.resume(world.pick(session.calls));
        } else if (choice < 16 && !questions.isEmpty()) {
            answer(world.pick(questions));
        } else if (choice < 17 && !session.calls.isEmpty()) {
            cancel(world.pick(session.calls));
        } else if (choice < 18) {
            sendNotification();
        } else if (choice < 19) {
            misbehave();
        } else if (choice < 20) {
            session.calls.stream().filter(SimCall::mayBeNoted).findAny().ifPresent(this::note);
        } else if (choice < 21) {
            session.calls.stream()
                    .filter(call -> call.noted() && call.over() && world.oneIn(3))
                    .findAny()
                    .ifPresent(back::expire);
        } else if (world.oneIn(10)) {
            world.trace(() -> "client " + session.number + " terminates");
            session.live()
                    .terminate()
                    .thenRun(() -> world.check(!session.stored, "a session was terminated, and is still there"));
        }
    }

    private void post() {
        if (session.listensOnly && world.oneIn(10)) {
            post(List.of(session.initialize(world.next())));
            return;
        }
        List<InboundMessage> requests = new ArrayList<>();
        int size = world.oneIn(5) ? 1 + world.random.nextInt(3) : 1;
        for (int i = 0; i < size; i++) {
            requests.add(request());
        }
        post(requests);
    }

    private InboundMessage request() {
        int id = world.next();
        return switch (world.random.nextInt(10)) {
            case 0 -> session.request(id, "logging/setLevel", new JournalChange.Put("level"));
            case 1 -> session.request(id, "resources/subscribe", new JournalChange.Put("r" + world.random.nextInt(3)));
            case 2 ->
                session.request(id, "resources/unsubscribe", new JournalChange.Remove("r" + world.random.nextInt(3)));
            case 3, 4, 5, 6 -> session.request(id, "tools/list", JournalChange.NONE);
            default -> session.request(id, "tools/call", JournalChange.NONE);
        };
    }

    private void post(List<InboundMessage> requests) {
        SimCall call = new SimCall(session, requests);
        session.calls.add(call);
        world.posted(call);
        world.trace(() -> "client " + session.number + " posts "
                + requests.stream().map(InboundMessage::requiredId).toList());
        session.live().call(requests).whenComplete((outcome, failure) -> {
            if (failure == null) {
                call.outcome.complete(outcome);
            } else {
                call.outcome.completeExceptionally(failure);
            }
        });
        look();
    }

    SimReturn back() {
        return back;
    }

    /** Looks what became of the calls that were being opened. */
    void look() {
        for (SimCall call : session.calls) {
            if (call.call.isPresent() || !call.outcome.isDone() || call.outcome.isCompletedExceptionally()) {
                continue;
            }
            if (call.outcome.join() instanceof Call.Accepted accepted) {
                call.call = Optional.of(accepted.call());
                accepted.call().reader().ifPresent(reader -> {
                    call.stream = EventId.parse(reader.position()).map(EventId::stream);
                    new SimConnection(session, reader, Optional.of(call), 0, 0, false);
                });
                world.check(call.stream.isPresent() != session.listensOnly, () -> "a call on the wrong stream");
                undispatched.add(call);
                if (world.random.nextInt(3) > 0) {
                    dispatch(call);
                }
            }
        }
    }

    void dispatchAll() {
        List.copyOf(undispatched).forEach(this::dispatch);
    }

    private void dispatch(SimCall call) {
        undispatched.remove(call);
        call.call.orElseThrow().dispatch();
    }

    private void answer(RequestId question) {
        world.trace(() -> "client " + session.number + " answers " + question);
        if (world.random.nextInt(4) > 0) {
            questions.remove(question);
        }
        boolean awaited = session.awaits(question);
        boolean taken = TestBed.now(session.live().answer(Wire.answer(question)));
        if (session.live().state() != SessionState.CLOSED) {
            world.check(taken || !awaited, () -> "an answer was not taken: " + question);
            session.settled.add(question);
        }
        if (taken) {
            session.answered.add(question);
        }
        world.check(
                !taken || !world.question(question).asker().lost,
                () -> "an answer for a dead backend was taken: " + question);
    }

    private void cancel(SimCall call) {
        if (call.mayBecomeNoted()) {
            return;
        }
        RequestId id = world.pick(call.requests).requiredId();
        boolean sure = !world.store.busy(session) && call.call.isPresent();
        boolean before = session.log.answered(id);
        world.trace(() -> "client " + session.number + " cancels " + id);
        session.live().cancel(id, session.notification("notifications/cancelled", JournalChange.NONE));
        if (!before) {
            (sure ? call.cancelled : call.perhapsCancelled).add(id);
        }
        if (call.left() && call.stream.flatMap(session::reading).isEmpty()) {
            call.stream.ifPresent(session::delivered);
        }
    }

    /** Notes that somebody may come back for what becomes of a call, whatever its readers had. */
    private void note(SimCall call) {
        byte[] note = Wire.bytes("note #" + session.number + " c" + call.index + " " + world.next());
        world.trace(() -> "client " + session.number + " notes " + Wire.text(note));
        CompletableFuture<Boolean> noting = call.call.orElseThrow().note(note).toCompletableFuture();
        call.noting = Optional.of(noting);
        noting.thenAccept(done -> world.check(
                session.log.acked(note) == done,
                () -> Wire.text(note) + (done ? " is not kept" : " was told as lost")));
    }

    private void sendNotification() {
        JournalChange change = world.oneIn(3) ? new JournalChange.Put("initialized") : JournalChange.NONE;
        InboundMessage notification = session.notification("notifications/some", change);
        world.trace(() -> "client " + session.number + " sends " + Wire.text(notification.bytes()));
        String text = Wire.text(notification.bytes());
        LiveSession live = session.live();
        session.sends(notification);
        live.notify(notification).thenAccept(refusal -> {
            boolean due = refusal.isEmpty() && !(change instanceof JournalChange.None) && session.closed.isEmpty();
            boolean ended = live.state() == SessionState.CLOSED && live.ended() != EndReason.PARKED;
            world.check(
                    !due || ended || session.journaled.contains(text), () -> text + " was taken, but is not stored");
        });
    }

    private void misbehave() {
        if (session.live().state() == SessionState.CLOSED) {
            return;
        }
        Optional<SimCall> running = session.calls.stream()
                .filter(call -> call.call.isPresent() && !call.over() && call.perhapsCancelled.isEmpty())
                .filter(call -> call.postedIn == session.life || call.told())
                .findFirst();
        if (running.isPresent() && session.live().listensOnly()) {
            InboundMessage again = running.get().requests.stream()
                    .filter(request -> !session.log.answered(request.requiredId()))
                    .filter(request -> !running.get().cancelled.contains(request.requiredId()))
                    .findFirst()
                    .orElseThrow();
            Call.Outcome outcome =
                    session.live().call(List.of(again)).toCompletableFuture().join();
            world.check(
                    outcome instanceof Call.Duplicate
                            || outcome instanceof Call.Closed
                            || outcome instanceof Call.Refused,
                    () -> "a request id in flight was taken again: " + again.id());
        }
        EventId nowhere =
                new EventId(new StreamId(1, 1_000_000), session.live().log().epoch(), 1);
        world.check(
                TestBed.now(session.live().resume(nowhere)) instanceof Resume.Unknown,
                "a stream that never was is known");
        EventId beyond = new EventId(StreamId.LISTENING, session.live().log().epoch(), 1_000_000);
        world.check(
                TestBed.now(session.live().resume(beyond)) instanceof Resume.Unknown,
                "a cursor beyond the log is known");
    }
}
