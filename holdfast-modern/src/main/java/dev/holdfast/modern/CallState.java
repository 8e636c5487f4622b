package dev.holdfast.modern;

import dev.holdfast.Session.KeptStream;
import dev.holdfast.json.Envelope;
import dev.holdfast.json.EnvelopeReader;
import dev.holdfast.json.JsonParts;
import dev.holdfast.spi.Event;
import dev.holdfast.spi.EventKind;
import dev.holdfast.spi.InboundMessage;
import dev.holdfast.spi.RequestId;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Optional;
import org.jspecify.annotations.Nullable;

/** What has become of a call whose client has a {@link CallHandle}, by what is kept of its stream. */
public final class CallState {
    private static final EnvelopeReader ENVELOPES = new EnvelopeReader();

    private final CallNote note;
    private final boolean complete;
    private final List<Question> questions = new ArrayList<>();
    /** The answers to what the client cannot be asked. */
    private final List<InboundMessage> ours = new ArrayList<>();

    private @Nullable Event progress;
    private @Nullable Event answer;

    /** Where a call stands. */
    public enum Status {
        WORKING,
        INPUT_REQUIRED,
        COMPLETED,
        FAILED,
        CANCELLED;

        /** As a client reads it. */
        public String text() {
            return name().toLowerCase(Locale.ROOT);
        }
    }

    private CallState(CallNote note, KeptStream stream) {
        this.note = note;
        this.complete = stream.complete();
        for (Event event : stream.events()) {
            add(event);
        }
    }

    /** The state of a call; empty where its stream has no note with this nonce. */
    static Optional<CallState> of(KeptStream stream, String nonce) {
        return stream.events().stream()
                .filter(event -> event.kind() == EventKind.NOTE)
                .findFirst()
                .flatMap(event -> CallNote.of(event.bytes()))
                .filter(note -> note.nonce().equals(nonce))
                .map(note -> new CallState(note, stream));
    }

    private void add(Event event) {
        switch (event.kind()) {
            case EventKind.PROGRESS -> progress = event;
            case EventKind.SERVER_REQUEST -> asked(Question.of(event));
            case EventKind.RESPONSE, EventKind.ERROR -> answer = event;
            case EventKind.NOTIFICATION ->
                withdrawn(event)
                        .ifPresent(id ->
                                questions.removeIf(question -> question.id().equals(id)));
            default -> {}
        }
    }

    private void asked(Question question) {
        if (note.answers().contains(question.capability())) {
            questions.add(question);
        } else {
            ours.add(question.declined("the client has not declared " + question.capability()));
        }
    }

    /** The answers that its backend waits for, and that are not for the client to give. */
    List<InboundMessage> ours() {
        return ours;
    }

    /** The question that a notification withdraws. */
    static Optional<RequestId> withdrawn(Event notification) {
        return ENVELOPES.read(notification.bytes()) instanceof EnvelopeReader.Single single
                ? Optional.of(single.message()).flatMap(Envelope::cancelledRequest)
                : Optional.empty();
    }

    public CallNote note() {
        return note;
    }

    /** Where it stands. */
    public Status status() {
        Event last = answer;
        if (last != null) {
            return last.kind() == EventKind.RESPONSE ? Status.COMPLETED : Status.FAILED;
        }
        if (complete) {
            return Status.CANCELLED;
        }
        return questions.isEmpty() ? Status.WORKING : Status.INPUT_REQUIRED;
    }

    /** What its client has yet to answer. */
    List<Question> questions() {
        return questions;
    }

    /** The answer to its request, if it has one. */
    Optional<Event> answer() {
        return Optional.ofNullable(answer);
    }

    /** What it has last told of its progress. */
    Optional<String> message() {
        Event last = progress;
        return last == null ? Optional.empty() : JsonParts.string(last.bytes(), "params", "message");
    }
}
